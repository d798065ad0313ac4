"""Maps on a GPU: nests without reductions. In: stores. Out: 128-bit accesses on all threads, tiles where they turn."""

from __future__ import annotations

from ingot.ir.opcode import LoopKind
from ingot.kernel.align import fuse_all
from ingot.kernel.gpu_tiles import turned
from ingot.kernel.launch import tiles, vectors_of
from ingot.kernel.moves import bind, vector
from ingot.kernel.nest import Kernel, Nest, Store
from ingot.kernel.structure import loads_of, unit_axis

THREADS = 128
IN_FLIGHT = 4  # vectors a thread has on their way at once


def plan(kernel: Kernel, width: int) -> Kernel:
    """Every store on its own."""
    for nest in kernel.nests:
        if turns(kernel, nest):
            kernel = turned(kernel, nest.name, width)
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


def elementwise(
    kernel: Kernel,
    nest: str,
    width: int,
    threads: int = THREADS,
    in_flight: int = IN_FLIGHT,
) -> Kernel:
    """All axes as one; each thread has `in_flight` vectors, a block's width apart from each other."""
    if not kernel.nest(nest).loops:
        return kernel
    kernel, flat = fuse_all(kernel, kernel.nest(nest).loops, f"{nest}_all")
    vectors, lane = f"{flat}_q", f"{flat}_v"
    kernel = vectors_of(kernel, flat, width, vectors, lane)
    kernel = tiles(kernel, vectors, threads, in_flight)
    kernel = bind(kernel, f"{vectors}_o", LoopKind.BLOCK)
    return vector(kernel, lane)
