"""Lines of the user's on another graph. In: a graph as the user built it, and a copy. Out: the copy knows the same lines."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.ir.node import UOp, set_spot
from ingot.ir.opcode import Ops
from ingot.place import Spot


def carry(originals: Sequence[UOp], copies: Sequence[UOp]) -> None:
    """Give each copy the line of its original; what an op is made of inside has the line of the op."""
    waiting: list[tuple[UOp, UOp, Spot | None]] = [
        (a, b, None) for a, b in zip(originals, copies, strict=True)
    ]
    seen: set[UOp] = set()
    while waiting:
        original, copy, outer = waiting.pop()
        if copy in seen or original.op is Ops.BUFFER:
            continue
        seen.add(copy)
        spot = original.spot or outer
        set_spot(copy, spot)
        if len(original.src) == len(copy.src):
            waiting += [
                (a, b, spot) for a, b in zip(original.src, copy.src, strict=True)
            ]
