"""Names of kernels for people: `softmax`, `relu_add_matmul`. In: what a kernel stores. Out: a name of the user's ops.

A name says what was asked for. It is no part of what makes two kernels the same: compiled code is found by structure.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import cast

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import ELEMENTWISE, OpArg, Ops, ReduceArg
from ingot.ops.lower import origin

MOST_NAMES = 4
FOLDING = (Ops.REDUCE, Ops.PREFIX)
_FOLDS = {
    Ops.ADD: "sum",
    Ops.MUL: "prod",
    Ops.MAX: "max",
    Ops.MIN: "min",
    Ops.OR: "any",
    Ops.AND: "all",
}
_WORDS = {
    Ops.MAX: "maximum",
    Ops.MIN: "minimum",
    Ops.FDIV: "div",
    Ops.IDIV: "floor_div",
    Ops.MOD: "remainder",
}
_WORDS |= {
    Ops.CMPLT: "less",
    Ops.CMPEQ: "equal",
    Ops.CMPNE: "not_equal",
    Ops.MULACC: "fma",
}
_TURNS = (Ops.PERMUTE, Ops.FLIP, Ops.PAD, Ops.STRIDE, Ops.WINDOW)


def label(output: UOp, stored: Container[UOp]) -> str:
    """The ops that the kernel of `output` computes, the last one first."""
    nodes = inside(output, stored)
    names = dict.fromkeys(name for name in map(name_of, nodes) if name)
    if not names:
        names = dict.fromkeys([_moved(nodes)])
    shown = list(names)[:MOST_NAMES]
    more = len(names) - len(shown)
    text = "_".join((*shown, f"{more}_more")) if more else "_".join(shown)
    return re.sub(r"\W", "_", text)


def inside(output: UOp, stored: Container[UOp]) -> list[UOp]:
    """The nodes that the kernel computes, the output first; sizes and the combines of reductions are none of them."""

    def is_leaf(node: UOp) -> bool:
        return node is not output and (
            node.op in (Ops.BUFFER, Ops.PARAM) or node in stored
        )

    found: list[UOp] = []
    combines: set[UOp] = set()
    for node in output.toposort(lambda u: not is_leaf(u)):
        if node.op is Ops.STATE or (
            node.op not in FOLDING and not combines.isdisjoint(node.src)
        ):
            combines.add(node)
        elif not is_leaf(node) and node.dtype is not dt.index:
            found.append(node)
    return found[::-1]


def name_of(node: UOp) -> str:
    """The outermost op that a node came from, or what it is itself."""
    if node.op is Ops.OP:
        return (*origin(node), cast(OpArg, node.arg).name)[0]
    if node.op not in ELEMENTWISE and node.op not in FOLDING:
        return ""
    path = origin(node)
    if path:
        return path[0]
    if isinstance(node.arg, ReduceArg):
        return (
            _FOLDS.get(node.src[-1].op, "reduce") if node.arg.n == 1 else "reduce"
        )
    return _WORDS.get(node.op, node.op.name.lower())


def _moved(nodes: list[UOp]) -> str:
    """A kernel that computes nothing."""
    turns = [u.op.name.lower() for u in nodes if u.op in _TURNS]
    if turns:
        return turns[0]
    sources = {s for u in nodes for s in u.src if s.dtype is not dt.index}
    return (
        "copy"
        if any(s.op is not Ops.CONST and s not in nodes for s in sources)
        else "fill"
    )
