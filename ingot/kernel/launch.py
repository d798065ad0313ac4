"""Loops onto the threads of a GPU. In: a kernel and the names of loops. Out: the loops bound, vectors aligned.

A block has `threads` threads: warps of 32 lanes. What runs on the threads is one loop of just that extent, split by 32.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingot.errors import MoveError
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Ops
from ingot.kernel.moves import bind, reorder, split, unroll
from ingot.kernel.nest import Kernel, Store
from ingot.kernel.specialise import at_most, multiple_of, predicate
from ingot.kernel.structure import loads_of, unit_axes

WARP = 32


def onto_threads(kernel: Kernel, loop: str, threads: int) -> Kernel:
    """for t in 0..threads: s   ->   s on `threads` threads: t = warp * 32 + lane"""
    extent = kernel.loop(loop).extent
    if extent.op is not Ops.CONST or int(extent.value) != threads:
        raise MoveError(
            f"onto_threads: loop {loop} must run exactly {threads} times; split it by that and predicate it"
        )
    kernel = split(kernel, loop, WARP, f"{loop}_w", f"{loop}_l")
    kernel = bind(kernel, f"{loop}_w", LoopKind.WARP)
    return bind(kernel, f"{loop}_l", LoopKind.LANE)


def vectors_of(
    kernel: Kernel, loop: str, width: int, outer: str, lane: str
) -> Kernel:
    """for j in 0..n   ->   for q: for v in 0..width: if q*width + v < n; nothing is asked where width divides n"""
    kernel = split(kernel, loop, width, outer, lane)
    return predicate(kernel, lane)


def whole_tiles(
    kernel: Kernel, loop: str, by: int, outer: str, inner: str
) -> Kernel:
    """for j in 0..n   ->   for o in 0..ceil(n/by): for i in 0..by: if o*by + i < n"""
    kernel = split(kernel, loop, by, outer, inner)
    return predicate(kernel, inner)


def rounds(kernel: Kernel, loop: str, threads: int, count: int) -> Kernel:
    """for j in 0..n, n <= threads * count   ->   for k in 0..count, unrolled: a j a thread, neighbours beside it"""
    kernel = at_most(kernel, loop, threads * count)
    kernel = predicate(kernel, loop)
    kernel = split(kernel, loop, threads, f"{loop}_k", f"{loop}_t")
    kernel = unroll(kernel, f"{loop}_k")
    return onto_threads(kernel, f"{loop}_t", threads)


def tiles(kernel: Kernel, loop: str, threads: int, count: int) -> Kernel:
    """for j in 0..n   ->   for o: for u in 0..count, unrolled: one j a thread, neighbours on neighbours"""
    kernel = whole_tiles(kernel, loop, threads * count, f"{loop}_o", f"{loop}_r")
    kernel = split(kernel, f"{loop}_r", threads, f"{loop}_u", f"{loop}_t")
    kernel = unroll(kernel, f"{loop}_u")
    return onto_threads(kernel, f"{loop}_t", threads)


def aligned(kernel: Kernel, width: int, hints: Mapping[UOp, int]) -> Kernel:
    """Strides and row lengths that are multiples of the vector width, by their hints, become such by a guard."""
    for size in _row_lengths(kernel):
        if hints.get(size, 1) % width == 0:
            kernel = multiple_of(kernel, size, width)
    return kernel


def _row_lengths(kernel: Kernel) -> list[UOp]:
    """The sizes that offsets are made of, and the lengths of the axes along which nests run through memory."""
    found: dict[UOp, None] = {}
    for nest in kernel.nests:
        loads = loads_of(nest)
        offsets = [u.src[1] for u in loads]
        if isinstance(nest.body, Store):
            offsets.append(nest.body.offset)
        axes = unit_axes(kernel, nest) if loads else []
        extents = [kernel.loops[a].extent for a in axes]
        for expression in (*offsets, *extents):
            found.update(dict.fromkeys(expression.variables()))
    return list(found)


def order(kernel: Kernel, nest: str, *first: str) -> Kernel:
    """The named loops first, outermost first; the others stay as they are."""
    rest = [kernel.loops[a].name for a in kernel.nest(nest).loops]
    return reorder(kernel, nest, *first, *(n for n in rest if n not in first))
