"""Regions: one kernel's part of a graph, with numbered leaves. In: a stored node and what else is stored. Out: a Region.

Two regions with the same root are the same work over other memory, so whatever is worked out for one holds for the other.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
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

    def is_leaf(u: UOp) -> bool:
        return u is not node and (u.op in (Ops.BUFFER, Ops.PARAM) or u in stored)

    leaves: dict[UOp, UOp] = {}
    became: dict[UOp, UOp] = {}
    size = 0
    for u in node.toposort(lambda v: not is_leaf(v)):
        if is_leaf(u):
            became[u] = leaves[u] = UOp(
                Ops.PARAM, u.dtype, _dims(u.shape), ParamArg(len(leaves))
            )
            continue
        size += u.op in ELEMENTWISE
        src = tuple([became[s] for s in u.src])
        became[u] = u if src == u.src else u.replace(src=src)
    return Region(became[node], leaves, became, size)


def _dims(shape: Shape) -> tuple[UOp, ...]:
    return tuple(n if isinstance(n, UOp) else UOp.const(dt.index, n) for n in shape)
