"""C11 text. In: a decomposed KERNEL, a target. Out: a file with one function of the same ABI as render/llvm.py.

The same walk writes it, so it holds the same operations in the same order: the results are the same bits. Vectors are
GCC vector types, which GCC 12 and Clang understand; no library is needed.
"""

from __future__ import annotations

import re
from typing import cast

from ingot.ir.node import UOp
from ingot.ir.opcode import KernelArg
from ingot.render.base import Walker
from ingot.render.c_prelude import Prelude
from ingot.render.c_writer import INDENT, CWriter
from ingot.target import Target


def render(kernel: UOp, target: Target) -> str:
    """The C of one kernel, as a file."""
    prelude = Prelude(target)
    head, body = function(kernel, prelude)
    return "\n".join([prelude.text(), f"{head};", f"{head}\n{body}"])


def function(kernel: UOp, prelude: Prelude) -> tuple[str, str]:
    """The head and the body of one kernel's function; what it needs goes to the prelude."""
    arg = cast(KernelArg, kernel.arg)
    writer = CWriter(len(arg.params), prelude)
    body = used(Walker(kernel, writer).walk())
    lines = [f"{INDENT}{line}" for line in (*writer.allocations, *body)]
    names = [
        name
        for name in ("args", "chunk", "scratch")
        if not any(re.search(rf"\b{name}\b", ln) for ln in lines)
    ]
    head = f"ON_TARGET int64_t {arg.name}(const uint64_t *args, int64_t chunk, char *scratch)"
    unused = [f"{INDENT}(void){name};" for name in names]
    return head, "\n".join(["{", *unused, *lines, f"{INDENT}return 0;\n}}\n"])


NAME = re.compile(r"\bv\d+\b")
TARGET = re.compile(
    r"^\s*(?:(?:\w+ )+\*?(?:const )?)?(v\d+)(?:\[\d+\])? = "
)  # a definition or an assignment


def used(lines: list[str]) -> list[str]:
    """The lines without values that nobody reads."""
    targets = [_target(line) for line in lines]
    reads: dict[str, list[str]] = {}
    wanted: list[str] = []
    for line, target in zip(lines, targets, strict=True):
        names = NAME.findall(line)
        if target is None:
            wanted += names
        else:
            reads.setdefault(target, []).extend(n for n in names if n != target)
    live = _reachable(wanted, reads)
    return [
        line
        for line, target in zip(lines, targets, strict=True)
        if target is None or target in live
    ]


def _target(line: str) -> str | None:
    found = TARGET.match(line)
    return found[1] if found else None


def _reachable(wanted: list[str], reads: dict[str, list[str]]) -> set[str]:
    live: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in live:
            live.add(name)
            wanted += reads.get(name, [])
    return live
