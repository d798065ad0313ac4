"""`ingot show`: what a stage of the compiler makes of an expression."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from ingot.cli.expression import HELP, roots
from ingot.errors import ArgumentError
from ingot.pipeline.normalise import normalise
from ingot.pipeline.stages import RENDERERS, STAGES, Work, dump, find
from ingot.settings import settings
from ingot.target import host

LANGUAGES = {"CPU": "llvm", "CUDA": "cuda"}


def run(words: list[str]) -> int:
    options = parser().parse_args(words)
    if options.list:
        width = max(len(stage.name) for stage in STAGES)
        print(
            *(f"{stage.name:{width}}  {stage.change}" for stage in STAGES), sep="\n"
        )
        return 0
    if options.expression is None:
        raise ArgumentError("ingot show: no expression", wanted=HELP)
    sink, found = normalise(roots(options.expression))
    work = Work(
        host(),
        settings.codegen,
        language=options.language or LANGUAGES[options.device],
        sizes=found.variables,
        replaced=replacements(options.replace),
    )
    print(dump(sink, options.stage, work, options.exact))
    return 0


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog="ingot show", description=__doc__)
    out.add_argument("expression", metavar="EXPR", nargs="?", help=HELP)
    out.add_argument(
        "--stage",
        metavar="STAGE",
        default="tree",
        help=", ".join(stage.name for stage in STAGES),
    )
    out.add_argument(
        "--device",
        choices=tuple(LANGUAGES),
        default="CPU",
        help="whose moves and language to show",
    )
    out.add_argument(
        "--language", choices=tuple(RENDERERS), help="language of stage source"
    )
    out.add_argument(
        "--exact",
        action="store_true",
        help="as text that rebuilds what the stage made",
    )
    out.add_argument(
        "--replace",
        metavar="STAGE=FILE",
        action="append",
        help="take a stage's result from a file",
    )
    out.add_argument(
        "--list", action="store_true", help="print the stages and what each does"
    )
    return out


def replacements(given: Sequence[str] | None) -> dict[str, str]:
    """STAGE=FILE words as stage -> text."""
    found: dict[str, str] = {}
    for word in given or ():
        stage, equals, path = word.partition("=")
        if not equals or not Path(path).is_file():
            raise ArgumentError(
                "--replace",
                given=repr(word),
                wanted="STAGE=FILE with a file that exists",
            )
        found[find(stage).name] = Path(path).read_text(encoding="utf-8")
    return found
