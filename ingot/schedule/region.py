"""Regions: one kernel's part of a graph, with numbered leaves. In: a stored node and what else is stored. Out: a Region.

Two regions with the same root are the same work over other memory, so whatever is worked out for one holds for the other.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from ingot.ir import dtype as dt
from ingot.ir.node import UOp, uop
from ingot.ir.opcode import ELEMENTWISE, Ops, ParamArg
from ingot.ir.shape import Shape


@dataclass(frozen=True, slots=True)
class Region:
    """`root` over PARAM leaves; `leaves`: node outside -> its PARAM; `became`: node of the graph -> node of the region."""

    root: UOp
    leaves: dict[UOp, UOp]
    became: dict[UOp, UOp]
    size: int


def region_of(node: UOp, stored: Container[UOp]) -> Region:
    """The nodes that the kernel of `node` computes."""
    leaves: dict[UOp, UOp] = {}
    became: dict[UOp, UOp] = {}
    size = 0
    stack = [node]
    while stack:
        u = stack.pop()
        if u in became:
            continue
        if u is not node and (u.op in LEAVES or u in stored):
            param = uop(Ops.PARAM, u.dtype, _dims(u.shape), ParamArg(len(leaves)))
            became[u] = leaves[u] = param
        elif any(s not in became for s in u.src):
            stack.append(u)
            stack.extend(u.src[::-1])
        else:
            size += u.op in ELEMENTWISE
            src = tuple([became[s] for s in u.src])
            same = src == u.src
            became[u] = u if same else uop(u.op, u.dtype, src, u.arg, u.tag)
    return Region(became[node], leaves, became, size)


LEAVES = frozenset({Ops.BUFFER, Ops.PARAM})


def _dims(shape: Shape) -> tuple[UOp, ...]:
    return tuple(n if isinstance(n, UOp) else UOp.const(dt.index, n) for n in shape)
