"""A program as a tree for people. In: program nodes. Out: text; a node that is used twice is written once.

add                 float32[3, 4]     at train.py:12, y = x @ w + b
├─ matmul           float32[3, 4]     at train.py:12, y = x @ w + b
│  ├─ memory        float32[3, 5]
│  └─ memory        float32[5, 4]
└─ memory           float32[4]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import MOVEMENT, FunctionArg, OpArg, Ops
from ingot.ir.text import expr_text, type_text
from ingot.place import Place
from ingot.schedule.label import name_of

_WORDS = {Ops.BUFFER: "memory", Ops.PARAM: "argument"}


class Row(NamedTuple):
    """One line: the branches before the name, the name, the type, and what else there is to say."""

    branches: str
    name: str
    type: str
    note: str


def program_tree(roots: Sequence[UOp]) -> str:
    """The tree of each root, aligned."""
    writing = _Writing()
    rows = [row for root in roots for row in writing.rows(root)]
    names = max(len(row.branches) + len(row.name) for row in rows)
    types = max(len(row.type) for row in rows)
    return "\n".join(
        f"{row.branches}{row.name:{names - len(row.branches)}}  {row.type:{types}}  {row.note}".rstrip()
        for row in rows
    )


class _Writing:
    def __init__(self) -> None:
        self.numbers: dict[UOp, int] = {}

    def rows(self, root: UOp) -> Iterator[Row]:
        """Depth first, without recursion: a graph may be as deep as a program is long."""
        waiting = [(root, "", "")]
        while waiting:
            node, branches, below = waiting.pop()
            known = self.numbers.get(node)
            inner = _children(node)
            if known is not None and inner:
                yield Row(branches, _name(node), _type(node), f"as in {known}")
                continue
            number = self.numbers.setdefault(node, len(self.numbers) + 1)
            yield Row(branches, _name(node), _type(node), _note(node, number))
            for child in reversed(inner):
                last = child is inner[-1]
                waiting.append(
                    (
                        child,
                        below + ("└─ " if last else "├─ "),
                        below + ("   " if last else "│  "),
                    )
                )


def _children(node: UOp) -> list[UOp]:
    """What the value is made of: sizes, and the insides of functions and reductions, are no values."""
    if node.op is Ops.BUFFER:
        return []
    if node.op is Ops.REDUCE:
        return [node.src[0]]
    return [s for s in node.src if s.dtype is not dt.index and not _is_number(s)]


def _is_number(node: UOp) -> bool:
    """A constant, in whatever shape: it is written beside the node that uses it."""
    while node.op in MOVEMENT:
        node = node.src[0]
    return node.op is Ops.CONST


def _name(node: UOp) -> str:
    if isinstance(node.arg, FunctionArg):
        return f"function {node.arg.name}"
    if node.op is Ops.OP:
        return cast(OpArg, node.arg).name
    return _WORDS.get(node.op) or name_of(node) or node.op.name.lower()


def _type(node: UOp) -> str:
    """`f32[3, 4]`; a size that is computed by what it may be at most: `f32[<=4]`."""
    if all(isinstance(n, int) for n in node.shape):
        return type_text(node)
    dims = [str(n) if isinstance(n, int) else _size(n) for n in node.shape]
    return f"{type_text(node).partition('[')[0]}[{', '.join(dims)}]"


def _size(size: UOp) -> str:
    is_computed = any(u.op is Ops.SIZE_OF for u in size.toposort())
    return f"<={size.vmax}" if is_computed else expr_text(size)


def _note(node: UOp, number: int) -> str:
    parts = []
    values = () if node.op is Ops.REDUCE else node.src
    constants = [_constant(s) for s in values if s.shape == node.shape]
    shown = ", ".join(c for c in constants if c)
    if shown:
        parts.append(f"with {shown}")
    if isinstance(node.arg, OpArg) and node.arg.attrs:
        parts.append(", ".join(f"{k}={v}" for k, v in node.arg.attrs))
    if node.spot is not None and node.op not in _WORDS:
        parts.append(str(Place.of(node.spot)))
    return "  ".join([f"{number}", *parts])


def _constant(node: UOp) -> str:
    if node.dtype is dt.index or not _is_number(node):
        return ""
    while node.op is not Ops.CONST:
        node = node.src[0]
    return repr(node.value)
