"""`ingot emit`: a model as source code for a target."""

import argparse
import runpy
from pathlib import Path

from ingot.emit.targets import generator, names
from ingot.emit.verify import verify
from ingot.errors import ArgumentError
from ingot.model.logical import LogicalModel

SUFFIXES = {"c": ".c", "raw_c": ".c"}


def run(words: list[str]) -> int:
    options = parser().parse_args(words)
    model = found(options.model)
    made = generator(options.target)
    texts = {SUFFIXES.get(options.target, ".py"): made.generate(model)}
    if options.header:
        texts[".h"] = made.generate_with_header(model)[1]
    if options.verify:
        verdict = str(verify(model, options.target))
    if options.out is None:
        print(
            texts.popitem()[1] if options.header else next(iter(texts.values())),
            end="",
        )
    else:
        written(Path(options.out), model, texts)
    if options.verify:
        print(verdict)
    return 0


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog="ingot emit", description=__doc__)
    out.add_argument(
        "model",
        metavar="FILE.py:NAME",
        help="a Python file, and a LogicalModel in it",
    )
    out.add_argument("--target", default="c", help=", ".join(names()))
    out.add_argument(
        "--out", metavar="DIR", help="write files there, not to the screen"
    )
    out.add_argument("--header", action="store_true", help="write a header too (C)")
    out.add_argument(
        "--verify",
        action="store_true",
        help="run the source and compare with the interpreter",
    )
    return out


def found(where: str) -> LogicalModel:
    """The model that `file.py:name` names."""
    path, colon, name = where.rpartition(":")
    if not colon:
        raise ArgumentError(f"ingot emit: {where!r}", wanted="FILE.py:NAME")
    if not Path(path).is_file():
        raise ArgumentError(f"ingot emit: there is no file {path}")
    variables = runpy.run_path(path)
    model = variables.get(name)
    if not isinstance(model, LogicalModel):
        known = [n for n, v in variables.items() if isinstance(v, LogicalModel)]
        raise ArgumentError(
            f"ingot emit: {path} has no model {name!r}",
            wanted="one of " + ", ".join(known) if known else "a LogicalModel",
        )
    return model


def written(folder: Path, model: LogicalModel, texts: dict[str, str]) -> None:
    """Write all files, or none: each goes to its place only when it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, text in texts.items():
        place = folder / f"{model.name}{suffix}"
        unfinished = place.with_suffix(f"{suffix}.tmp")
        unfinished.write_text(text)
        unfinished.replace(place)
        print(place)
