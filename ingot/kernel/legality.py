"""What must hold of the loops around a statement when the moves are over. In: loops, outermost first. Out: MoveError, or nothing."""

from __future__ import annotations

from ingot.errors import MoveError
from ingot.ir.opcode import LoopKind
from ingot.kernel.nest import WHOLE, Kernel, Loop, axes_in


def check_order(kernel: Kernel, loops: list[Loop]) -> None:
    """Extents are known where loops begin, chunks are outermost, and nothing runs inside a vector."""
    around: set[int] = set()
    for position, loop in enumerate(loops):
        outside = axes_in(loop.extent) - around
        if loop.kind not in WHOLE and outside:
            names = ", ".join(kernel.loops[a].name for a in sorted(outside))
            raise MoveError(f"{loop.name} ends where {names} says, but is not inside it; unroll it or make it a vector")
        if loop.kind is LoopKind.CHUNK and position:
            raise MoveError(f"{loop.name} is bound to chunks, but is inside {loops[position - 1].name}; fuse the two")
        if loop.kind is LoopKind.VECTOR and position < len(loops) - 1:
            raise MoveError(f"{loops[position + 1].name} is inside the vector {loop.name}; reorder the two")
        around.add(loop.axis)
