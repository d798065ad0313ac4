"""Thread axes: every loop bound to the lanes is one axis, and so is every loop bound to the warps.

In: a Kernel. Out: the same kernel with one axis per thread kind, and what each nest must ask before it acts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ingot.errors import MoveError
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind
from ingot.ir.rewrite import substitute
from ingot.kernel.nest import GRID, THREADS, Kernel, Loop, Nest, Reduce, axes_in

Guards = dict[int, UOp]


@dataclass(frozen=True, slots=True)
class Threaded:
    """The kernel, each nest's guards (axis -> condition), and the thread axes in order warp, lane."""

    kernel: Kernel
    guards: dict[int, Guards]
    axes: tuple[int, ...]

    def conditions(self, nest: Nest) -> list[UOp]:
        """What a nest must ask beside the extents of its loops; what speaks of other loops was asked where those are."""
        return [c for c in nest.conditions if axes_in(c) <= set(nest.loops)]

    def path(self, loops: tuple[int, ...]) -> tuple[int, ...]:
        """The loops of a nest with the threads directly inside the grid."""
        table = self.kernel.loops
        grid = tuple(a for a in loops if table[a].kind in GRID)
        rest = tuple(
            a for a in loops if table[a].kind not in GRID and a not in self.axes
        )
        return (*grid, *self.axes, *rest)


def threaded(kernel: Kernel) -> Threaded:
    """Merge the thread axes of a kernel."""
    first: dict[LoopKind, Loop] = {}
    mapping: dict[UOp, UOp] = {}
    same: dict[int, int] = {}
    for loop in kernel.loops.values():
        if loop.kind in THREADS:
            kept = first.setdefault(loop.kind, loop)
            _check(kept, loop)
            mapping[loop.counter] = kept.counter
            same[loop.axis] = kept.axis
    guards = {n.id: _guards(kernel, n.loops, mapping, same) for n in kernel.nests}
    axes = tuple(
        first[k].axis for k in (LoopKind.WARP, LoopKind.LANE) if k in first
    )
    return Threaded(
        _merged(kernel, mapping, same) if mapping else kernel, guards, axes
    )


def _check(kept: Loop, loop: Loop) -> None:
    if kept.capacity is not loop.capacity:
        raise MoveError(
            f"loops {kept.name} and {loop.name} are both bound to {loop.kind.value} but differ in extent"
        )


def _guards(
    kernel: Kernel,
    loops: tuple[int, ...],
    mapping: dict[UOp, UOp],
    same: dict[int, int],
) -> Guards:
    """A question about a loop that this nest is not in was asked where the value came from."""
    guarded = [
        kernel.loops[a]
        for a in loops
        if kernel.loops[a].guarded and axes_in(kernel.loops[a].extent) <= set(loops)
    ]
    return {
        same.get(lp.axis, lp.axis): substitute(lp.inside, mapping) for lp in guarded
    }


def _merged(
    kernel: Kernel, mapping: dict[UOp, UOp], same: dict[int, int]
) -> Kernel:
    def axes(old: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(same.get(a, a) for a in old)

    nests = []
    for nest in kernel.nests:
        moved = nest.map(lambda e: substitute(e, mapping))
        body = (
            replace(moved.body, axes=axes(moved.body.axes))
            if isinstance(moved.body, Reduce)
            else moved.body
        )
        nests.append(
            replace(
                moved, loops=axes(moved.loops), dims=axes(moved.dims), body=body
            )
        )
    loops = {a: lp.substituted(mapping) for a, lp in kernel.loops.items()}
    return replace(kernel, loops=loops, nests=tuple(nests))
