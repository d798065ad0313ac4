"""`ingot ops`: every operation that programs may use, from the registry."""

import argparse

from ingot.cli.env import columns
from ingot.ops.op import REGISTRY, Op
from ingot.tensor.pages import arguments_of, gradient_of, kind_of

HEAD = ("op", "takes", "kind", "gradient", "says")


def run(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="ingot ops", description=__doc__)
    parser.add_argument(
        "words",
        metavar="WORD",
        nargs="*",
        help="only ops with one of these words in their name",
    )
    options = parser.parse_args(words)
    shown = [op for op in REGISTRY.values() if op.public or op.family == "linalg"]
    rows = [row(op) for op in shown if wanted(op, options.words)]
    print(*columns([HEAD, *rows]), sep="\n")
    print(
        f"\n{len(rows)} ops. A composite is taken apart on the way to a kernel, an algorithm is a kernel of its own; "
        "only ig.linalg calls foreign code (LAPACK through NumPy)."
    )
    return 0


def wanted(op: Op, words: list[str]) -> bool:
    names = (op.name, *op.aliases)
    return not words or any(word in name for word in words for name in names)


def row(op: Op) -> tuple[str, ...]:
    """Name and aliases, arguments, how it is computed, its gradient, what it does."""
    names = ", ".join((op.name, *op.aliases))
    return names, arguments_of(op), kind_of(op), gradient_of(op), op.doc
