"""What must hold when the moves are over. In: nests, and loops outermost first. Out: MoveError, or nothing."""

from __future__ import annotations

from ingot.errors import MoveError
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Ops
from ingot.kernel.nest import WHOLE, Kernel, Loop, Nest, Reduce, Store, axes_in


def check_order(kernel: Kernel, loops: list[Loop]) -> None:
    """Extents are known where loops begin, chunks are outermost, and nothing runs inside a vector."""
    around: set[int] = set()
    for position, loop in enumerate(loops):
        outside = axes_in(loop.extent) - around
        if loop.kind not in WHOLE and outside:
            names = ", ".join(kernel.loops[a].name for a in sorted(outside))
            raise MoveError(
                f"{loop.name} ends where {names} says, but is not inside it; unroll it or make it a vector"
            )
        if loop.kind is LoopKind.CHUNK and position:
            raise MoveError(
                f"{loop.name} is bound to chunks, but is inside {loops[position - 1].name}; fuse the two"
            )
        if loop.kind is LoopKind.VECTOR and position < len(loops) - 1:
            raise MoveError(
                f"{loops[position + 1].name} is inside the vector {loop.name}; reorder the two"
            )
        around.add(loop.axis)


def check_nest(kernel: Kernel, nest: Nest) -> None:
    """Nothing is added twice, and every question that an access needs can be asked."""
    if isinstance(nest.body, Reduce):
        _check_once(kernel, nest)
    asked = {axis for condition in nest.conditions for axis in axes_in(condition)}
    used = {axis for offset in _offsets(nest) for axis in axes_in(offset)} - asked
    for loop in (kernel.loops[a] for a in nest.loops):
        missing = axes_in(loop.extent) - set(nest.loops)
        if loop.guarded and missing and loop.axis in used:
            names = ", ".join(kernel.loops[a].name for a in sorted(missing))
            raise MoveError(
                f"{nest.name}: where {loop.name} ends depends on {names}, which it is not in"
            )


def _check_once(kernel: Kernel, nest: Nest) -> None:
    inside = False
    for axis in nest.loops:
        inside = inside or axis in nest.reduced
        if inside and axis not in nest.reduced and axis not in nest.dims:
            name = kernel.loops[axis].name
            raise MoveError(
                f"{nest.name} would add everything again in each iteration of {name}; reorder it outside"
            )


def _offsets(nest: Nest) -> list[UOp]:
    """Where a nest touches the kernel's arguments."""
    loads = [
        u.src[1]
        for e in nest.expressions()
        for u in e.toposort()
        if u.op is Ops.LOAD
    ]
    return [*loads, nest.body.offset] if isinstance(nest.body, Store) else loads
