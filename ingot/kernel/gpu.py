"""GPU schedules: which moves a kernel gets on a GPU. In: nests, and hints of their sizes. Out: the moved kernel.

Each schedule looks at structure, never at the name of an operation:

    contraction            tiles in shared memory, tiles of tiles in registers      gpu_tiles.contraction_tiles
    reductions in rows     a block a row, kept in registers if it fits there        gpu_rows.resident, gpu_rows.looped
    one reduction of all   partial results by blocks, then one block                gpu_rows.whole
    a transposed copy      square tiles in shared memory                            gpu_tiles.turned
    anything elementwise   128-bit accesses, several in flight                      elementwise

Hints decide which member of the family is made; what it relies on is in `kernel.guards`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind
from ingot.kernel import gpu_rows, gpu_tiles
from ingot.kernel.align import align, common_loops, fuse_all
from ingot.kernel.launch import aligned, tiles
from ingot.kernel.maps import widest
from ingot.kernel.moves import bind, split, vector
from ingot.kernel.nest import Kernel, Nest, Store
from ingot.kernel.specialise import predicate
from ingot.kernel.structure import contraction, loads_of, unit_axis
from ingot.target import SM90A, GpuTarget

THREADS = 128
IN_FLIGHT = 4  # vectors a thread has on their way at once


def choose(kernel: Kernel, hints: Mapping[UOp, int] | None = None, target: GpuTarget = SM90A) -> Kernel:
    """The moves for a kernel on this GPU."""
    sizes = hints or {}
    width = min(target.vector_bytes // widest(nest).itemsize for nest in kernel.nests)
    kernel = aligned(kernel, width, sizes)
    if any(contraction(kernel, nest) for nest in kernel.nests):
        return gpu_tiles.contraction_tiles(kernel, width, sizes)
    if not any(nest.reduced for nest in kernel.nests):
        return _maps(kernel, width)
    kernel = align(kernel)
    if not common_loops(kernel):
        return gpu_rows.whole(kernel, width, blocks=target.sms * 4)
    return gpu_rows.plan(kernel, width, sizes)


def _maps(kernel: Kernel, width: int) -> Kernel:
    for nest in kernel.nests:
        if turns(kernel, nest):
            kernel = gpu_tiles.turned(kernel, nest.name, width)
        else:
            kernel = elementwise(kernel, nest.name, width)
    return kernel


def turns(kernel: Kernel, nest: Nest) -> bool:
    """Some load runs through memory along another axis than the store."""
    if not isinstance(nest.body, Store):
        return False
    unit = unit_axis(kernel, nest, nest.body.offset)
    units = {unit_axis(kernel, nest, u.src[1]) for u in loads_of(nest)}
    return unit is not None and bool(units - {None, unit})


def elementwise(kernel: Kernel, nest: str, width: int, threads: int = THREADS, in_flight: int = IN_FLIGHT) -> Kernel:
    """All axes as one; each thread has `in_flight` vectors, a block's width apart from each other."""
    kernel, flat = fuse_all(kernel, kernel.nest(nest).loops, f"{nest}_all")
    vectors, lane = f"{flat}_q", f"{flat}_v"
    kernel = predicate(split(kernel, flat, width, vectors, lane), lane)
    kernel = tiles(kernel, vectors, threads, in_flight)
    return vector(bind(kernel, f"{vectors}_o", LoopKind.BLOCK), lane)
