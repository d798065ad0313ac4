"""`ingot ops`: every operation that programs may use, from the registry."""

import argparse
import inspect

from ingot.cli.env import columns
from ingot.ops.op import Op, public_ops

HEAD = ("op", "takes", "kind", "says")


def run(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="ingot ops", description=__doc__)
    parser.add_argument(
        "words",
        metavar="WORD",
        nargs="*",
        help="only ops with one of these words in their name",
    )
    options = parser.parse_args(words)
    rows = [row(op) for op in public_ops() if wanted(op, options.words)]
    print(*columns([HEAD, *rows]), sep="\n")
    print(
        f"\n{len(rows)} ops. A composite is taken apart on the way to a kernel; none calls foreign code."
    )
    return 0


def wanted(op: Op, words: list[str]) -> bool:
    names = (op.name, *op.aliases)
    return not words or any(word in name for word in words for name in names)


def row(op: Op) -> tuple[str, ...]:
    """Name and aliases, arguments, primitive or composite, what it does."""
    kind = "composite" if op.is_named else "primitive"
    return ", ".join((op.name, *op.aliases)), _arguments(op), kind, op.doc


def _arguments(op: Op) -> str:
    """The parameters without their types."""
    parts = []
    for parameter in op.signature.parameters.values():
        has_default = parameter.default is not inspect.Parameter.empty
        parts.append(
            f"{parameter.name}={parameter.default!r}"
            if has_default
            else parameter.name
        )
    return ", ".join(parts)
