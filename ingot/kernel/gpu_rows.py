"""Rows on a GPU: reductions inside common loops. In: nests that share their rows. Out: a block for each row.

A row that fits stays in registers: it is read once, however many passes go over it (softmax two, layer_norm three).
A longer row is read anew by each pass, in a loop. Each thread reduces its own elements, the lanes of a warp combine
theirs by shuffles, the warps through shared memory: two `rfactor`s.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingot.errors import MoveError
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Ops, Scope
from ingot.ir.rewrite import substitute
from ingot.kernel.align import common_loops, fuse_all
from ingot.kernel.gpu_maps import elementwise
from ingot.kernel.launch import WARP, order, rounds, tiles, vectors_of, whole_tiles
from ingot.kernel.moves import bind, detach, unroll, vector
from ingot.kernel.nest import Kernel, Nest, Reduce, axes_in
from ingot.kernel.reduction import rfactor
from ingot.kernel.staging import share, stage
from ingot.kernel.structure import DEAR, loads_of

MOST_THREADS = 1024
ROUNDS = 8  # vectors of a resident row that one thread holds
IN_FLIGHT = 4  # vectors on their way at once in a loop
LOOPED_THREADS = 256

Loops = dict[
    str, tuple[str, ...]
]  # nest -> its loops inside the row: rounds, warp, lane, element of a vector


def plan(kernel: Kernel, width: int, hints: Mapping[UOp, int]) -> Kernel:
    """The row on as many threads as its length asks for."""
    kernel = by_row(kernel)
    passes = [nest for nest in kernel.nests if _own(kernel, nest)]
    vectors = -(-_length(kernel, passes[0], hints) // width)
    threads = WARP
    while threads < MOST_THREADS and threads * ROUNDS < vectors:
        threads *= 2
    if len(passes) > 1 and vectors <= threads * ROUNDS:
        return resident(kernel, width, threads)
    return looped(kernel, width)


def by_row(kernel: Kernel) -> Kernel:
    """for i: for j: ...   ->   a block for each i; what runs inside is one loop per nest"""
    kernel, row = fuse_all(kernel, common_loops(kernel), "row")
    kernel = bind(kernel, row, LoopKind.BLOCK)
    for nest in kernel.nests:
        own = _own(kernel, nest)
        if len(own) > 1:
            kernel, _ = fuse_all(kernel, own, f"{nest.name}_row")
    return kernel


def _own(kernel: Kernel, nest: Nest) -> tuple[int, ...]:
    return tuple(
        a for a in nest.loops if kernel.loops[a].kind is not LoopKind.BLOCK
    )


def _length(kernel: Kernel, nest: Nest, hints: Mapping[UOp, int]) -> int:
    """How long a row is expected to be."""
    (axis, *_) = _own(kernel, nest)
    values = {size: UOp.const(size.dtype, value) for size, value in hints.items()}
    known = substitute(kernel.loops[axis].extent, values).simplify()
    return int(known.value) if known.op is Ops.CONST else 1 << 30


# --- a row in registers -----------------------------------------------------------------------------------------------


def resident(
    kernel: Kernel, width: int, threads: int, count: int = ROUNDS
) -> Kernel:
    """Rows of at most threads * count * width elements: read once, kept in registers, written once."""
    loops: Loops = {}
    for nest in kernel.nests:
        for axis in _own(kernel, nest):
            kernel, loops[nest.name] = _spread(
                kernel, kernel.loops[axis].name, width, threads, count
            )
    for name in list(loops):
        if kernel.nest(name).reduced:
            kernel = _keep_loads(kernel, name, loops)
            kernel = _keep_dear(kernel, name, loops)
    kernel = _marked(kernel, loops)
    for name in loops:
        if kernel.nest(name).reduced:
            kernel = combined(kernel, name, loops[name][1], loops[name][2])
    return kernel


def _spread(
    kernel: Kernel, j: str, width: int, threads: int, count: int
) -> tuple[Kernel, tuple[str, ...]]:
    kernel = vectors_of(kernel, j, width, f"{j}_q", f"{j}_v")
    kernel = rounds(kernel, f"{j}_q", threads, count)
    return kernel, (f"{j}_q_k", f"{j}_q_t_w", f"{j}_q_t_l", f"{j}_v")


def _keep_loads(kernel: Kernel, name: str, loops: Loops) -> Kernel:
    """What a pass reads along the row is read before it, for all passes."""
    nest = kernel.nest(name)
    along = {kernel.loop(loop).axis for loop in loops[name]}
    loads = [load for load in loads_of(nest) if axes_in(load.src[1]) & along]
    for number, load in enumerate(loads):
        kernel, _ = _keep(kernel, name, load, f"{name}_in{number}", loops)
    return kernel


def _keep_dear(kernel: Kernel, name: str, loops: Loops) -> Kernel:
    """A value with exp or a division in it that a later pass needs again."""
    body = kernel.nest(name).body
    assert isinstance(body, Reduce)
    along = {kernel.loop(loop).axis for loop in loops[name]}
    for value in body.values:
        if any(u.op in DEAR and axes_in(u) & along for u in value.toposort()):
            before = dict(loops)
            kept, readers = _keep(kernel, name, value, f"{name}_kept", loops)
            if readers:
                return kept
            loops.clear()
            loops.update(before)
    return kernel


def _keep(
    kernel: Kernel, name: str, value: UOp, kept: str, loops: Loops
) -> tuple[Kernel, int]:
    """Stage a value in registers, and let the other passes that compute it read it there."""
    row = kernel.loops[kernel.nest(name).loops[0]].name
    kernel = stage(kernel, name, value, row, kept, Scope.REGISTER)
    along = tuple(f"{kept}.{loop}" for loop in loops[name])
    readers = 0
    for other, own in loops.items():
        if other != name:
            try:
                kernel = share(kernel, kept, other, own, along)
            except MoveError:
                continue
            readers += 1
    loops[kept] = along
    return kernel, readers


def _marked(kernel: Kernel, loops: Loops) -> Kernel:
    """Memory is touched in vectors, registers one by one."""
    for name, own in loops.items():
        kernel = (
            unroll(kernel, own[-1])
            if kernel.nest(name).reduced
            else vector(kernel, own[-1])
        )
    return kernel


def combined(kernel: Kernel, name: str, warp: str, lane: str) -> Kernel:
    """Every thread reduces what it has, then the lanes of a warp, then the warps."""
    kernel = rfactor(kernel, name, warp, lane, name=f"{name}_thread")
    return rfactor(kernel, name, warp, name=f"{name}_warp")


# --- a row in a loop --------------------------------------------------------------------------------------------------


def looped(
    kernel: Kernel,
    width: int,
    threads: int = LOOPED_THREADS,
    count: int = IN_FLIGHT,
) -> Kernel:
    """Rows of any length: every pass loops over the row, with `count` vectors a thread on their way at once."""
    for nest in kernel.nests:
        for axis in _own(kernel, nest):
            kernel = _pass(
                kernel, nest.name, kernel.loops[axis].name, width, threads, count
            )
    return kernel


def _pass(
    kernel: Kernel, name: str, j: str, width: int, threads: int, count: int
) -> Kernel:
    kernel = vectors_of(kernel, j, width, f"{j}_q", f"{j}_v")
    kernel = tiles(kernel, f"{j}_q", threads, count)
    row = [
        kernel.loops[a].name
        for a in kernel.nest(name).loops
        if kernel.loops[a].kind is LoopKind.BLOCK
    ]
    warp, lane, ahead = f"{j}_q_t_w", f"{j}_q_t_l", f"{j}_q_u"
    kernel = order(kernel, name, *row, f"{j}_q_o", warp, lane, ahead)
    if not kernel.nest(name).reduced:
        return vector(kernel, f"{j}_v")
    kernel = _load_ahead(kernel, name, lane, f"{j}_v")
    kernel = unroll(kernel, f"{j}_v")
    return combined(kernel, name, warp, lane)


def _load_ahead(kernel: Kernel, name: str, at: str, lane: str) -> Kernel:
    """All vectors of an iteration are asked for before the first is used."""
    axis = kernel.loop(lane).axis
    loads = [
        load for load in loads_of(kernel.nest(name)) if axis in axes_in(load.src[1])
    ]
    for number, load in enumerate(loads):
        part = f"{name}_in{number}"
        kernel = stage(kernel, name, load, at, part, Scope.REGISTER)
        kernel = vector(kernel, f"{part}.{lane}")
    return kernel


# --- one result -------------------------------------------------------------------------------------------------------


def whole(
    kernel: Kernel,
    width: int,
    blocks: int,
    threads: int = LOOPED_THREADS,
    count: int = IN_FLIGHT,
) -> Kernel:
    """Reductions over everything: each block a part, then one block over the parts; then what reads them."""
    for nest in kernel.nests:
        if nest.reduced:
            kernel = _by_blocks(kernel, nest.name, width, blocks, threads, count)
        else:
            kernel = elementwise(kernel, nest.name, width, threads, count)
    return kernel


def _by_blocks(
    kernel: Kernel, name: str, width: int, blocks: int, threads: int, count: int
) -> Kernel:
    kernel, flat = fuse_all(kernel, kernel.nest(name).loops, f"{name}_all")
    vectors, lane = f"{flat}_q", f"{flat}_v"
    kernel = vectors_of(kernel, flat, width, vectors, lane)
    kernel = tiles(kernel, vectors, threads, count)
    kernel = whole_tiles(kernel, f"{vectors}_o", blocks, f"{flat}_k", f"{flat}_b")
    warp, thread, block = f"{vectors}_t_w", f"{vectors}_t_l", f"{flat}_b"
    kernel = order(kernel, name, block, f"{flat}_k", warp, thread, f"{vectors}_u")
    kernel = _load_ahead(kernel, name, thread, lane)
    kernel = unroll(kernel, lane)
    kernel = rfactor(kernel, name, block, warp, thread, name=f"{name}_thread")
    kernel = rfactor(kernel, name, block, warp, name=f"{name}_warp")
    kernel = rfactor(kernel, name, block, name=f"{name}_block")
    kernel = detach(kernel, name, block, f"{flat}_p")
    kernel = bind(kernel, block, LoopKind.BLOCK)
    return _last_block(kernel, name, f"{flat}_p", threads)


def _last_block(kernel: Kernel, name: str, parts: str, threads: int) -> Kernel:
    kernel = tiles(kernel, parts, threads, 1)
    return combined(kernel, name, f"{parts}_t_w", f"{parts}_t_l")
