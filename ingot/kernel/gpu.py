"""GPU schedules: which moves a kernel gets on a GPU. In: nests, and hints of their sizes. Out: the moved kernel.

Each schedule looks at structure, never at the name of an operation:

    contraction            tiles in shared memory, tiles of tiles in registers      gpu_tiles.contraction_tiles
    reductions in rows     a block a row, kept in registers if it fits there        gpu_rows.resident, gpu_rows.looped
    one reduction of all   partial results by blocks, then one block                gpu_rows.whole
    a transposed copy      square tiles in shared memory                            gpu_tiles.turned
    anything elementwise   128-bit accesses, several in flight                      gpu_maps.elementwise

Hints decide which member of the family is made; what it relies on is in `kernel.guards`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingot.ir.node import UOp
from ingot.kernel import gpu_maps, gpu_rows, gpu_tiles
from ingot.kernel.align import align, common_loops
from ingot.kernel.launch import aligned
from ingot.kernel.maps import widest
from ingot.kernel.nest import Kernel
from ingot.kernel.structure import contraction
from ingot.target import SM90A, GpuTarget


def choose(
    kernel: Kernel,
    hints: Mapping[UOp, int] | None = None,
    target: GpuTarget = SM90A,
) -> Kernel:
    """The moves for a kernel on this GPU."""
    sizes = hints or {}
    width = min(
        target.vector_bytes // widest(nest).itemsize for nest in kernel.nests
    )
    kernel = aligned(kernel, width, sizes)
    if any(contraction(kernel, nest) for nest in kernel.nests):
        return gpu_tiles.contraction_tiles(kernel, width, sizes)
    if not any(nest.reduced for nest in kernel.nests):
        return gpu_maps.plan(kernel, width)
    kernel = align(kernel)
    if not common_loops(kernel):
        return gpu_rows.whole(kernel, width, blocks=target.sms * 4)
    return gpu_rows.plan(kernel, width, sizes)
