"""Rows: kernels whose reductions run inside common loops: softmax, norms, sums over any axes, whole reductions.

In: nests. Out: rows in chunks for the threads; inside a row, vectors along whichever axis runs through memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ingot.errors import MoveError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Scope
from ingot.kernel import single
from ingot.kernel.align import align, common_loops, fuse_all
from ingot.kernel.maps import CHUNK_ELEMENTS, lanes, past_caches, widest
from ingot.kernel.moves import bind, detach, edge, reorder, split, unroll, vector
from ingot.kernel.nest import Edge, Kernel, Map, Nest, Reduce, Store
from ingot.kernel.plan import Plan, grain
from ingot.kernel.reduction import rfactor
from ingot.kernel.staging import share, stage
from ingot.kernel.structure import DEAR, unit_axes
from ingot.target import Target

PARTS = 4  # accumulators in flight: they hide the latency of an addition
ROWS_AT_ONCE = 8  # in a column kernel: summed in registers before memory is touched


def plan(kernel: Kernel, hints: Mapping[UOp, int], target: Target) -> Plan:
    """Share the loops, then rows or columns."""
    kernel = align(kernel)
    common = common_loops(kernel)
    if not common:
        return _whole(kernel, target)
    one = single.plan(kernel, common, target)
    if one is not None:
        return one
    if _by_columns(kernel, common):
        return _columns(kernel, common, target)
    kernel, guards = past_caches(_stage_dear(kernel, common), hints)
    names = tuple(kernel.loops[a].name for a in common)
    kernel = _vectors(kernel, set(common), target)
    return replace(_chunks(kernel, names), guards=guards)


def _by_columns(kernel: Kernel, common: tuple[int, ...]) -> bool:
    """The first reduction walks through memory along a common loop."""
    first = next(n for n in kernel.nests if n.reduced)
    units = unit_axes(kernel, first)
    return bool(units) and units[0] in common


def _vectors(kernel: Kernel, common: set[int], target: Target) -> Kernel:
    """Each nest in vectors along its unit axis inside the row, if that loop is its own."""
    for name in [n.name for n in kernel.nests]:
        nest = kernel.nest(name)
        own = [a for a in nest.loops if a not in common and _alone(kernel, nest, a)]
        units = [a for a in unit_axes(kernel, nest) if a in own]
        if not own or nest.loops[-1] not in own:
            continue
        axis = units[0] if units else own[-1]
        wide = lanes(target, widest(nest))
        loop = kernel.loops[axis].name
        if axis in nest.reduced:
            kernel = accumulate(kernel, name, loop, wide)
        else:
            kernel = _across(kernel, name, loop, wide)
    return kernel


def _alone(kernel: Kernel, nest: Nest, axis: int) -> bool:
    """Nobody else runs in this loop, but for rows that are kept as the nest goes along."""
    others = [n for n in kernel.nests if axis in n.loops and n.id != nest.id]
    return not isinstance(nest.body, Map) and all(
        isinstance(n.body, Map) and n.loops == nest.loops for n in others
    )


def _across(kernel: Kernel, name: str, loop: str, wide: int) -> Kernel:
    """for j: s(j)   ->   for jo: s(jo*wide .. jo*wide + wide), full vectors first"""
    kernel = split(kernel, loop, wide, f"{loop}_o", f"{loop}_v")
    kernel = _last(kernel, name, f"{loop}_v")
    return edge(vector(kernel, f"{loop}_v"), f"{loop}_o", Edge.PEEL)


def accumulate(kernel: Kernel, nest: str, loop: str, wide: int) -> Kernel:
    """sum over j   ->   PARTS x wide sums side by side, then their sum: vectors first, lanes last"""
    part, lane = f"{nest}_part", f"{nest}_lane"
    kernel = split(kernel, loop, PARTS * wide, f"{loop}_o", f"{loop}_t")
    kernel = split(kernel, f"{loop}_t", wide, f"{loop}_u", f"{loop}_v")
    kernel = rfactor(kernel, nest, f"{loop}_u", f"{loop}_v", name=part)
    kernel = _last(kernel, part, f"{loop}_u", f"{loop}_v")
    kernel = rfactor(kernel, nest, f"{loop}_v", name=lane)
    kernel = vector(unroll(kernel, f"{loop}_u"), f"{loop}_v")
    return edge(kernel, f"{loop}_o", Edge.PEEL)


def _last(kernel: Kernel, name: str, *inner: str) -> Kernel:
    """These loops innermost."""
    order = [kernel.loops[a].name for a in kernel.nest(name).loops]
    wanted = [n for n in order if n not in inner] + list(inner)
    return kernel if wanted == order else reorder(kernel, name, *wanted)


def _stage_dear(kernel: Kernel, common: tuple[int, ...]) -> Kernel:
    """A value with exp or a division in it that a reduction and the output both need is computed once per row."""
    output = kernel.nests[-1]
    for nest in kernel.nests[:-1]:
        body = nest.body
        if not isinstance(body, Reduce) or body.n != 1 or len(body.axes) != 1:
            continue
        if not any(u.op in DEAR for u in body.values[0].toposort()):
            continue
        own = [a for a in output.loops if a not in common]
        if len(own) == 1:
            kernel = _try_share(kernel, nest, output.name, own[0])
    return kernel


def _try_share(kernel: Kernel, nest: Nest, output: str, axis: int) -> Kernel:
    """Keep the row as the reduction runs along it, and let the output read it."""
    name = f"{nest.name}_row"
    body = nest.body
    assert isinstance(body, Reduce)
    along = kernel.loops[body.axes[0]].name
    staged = stage(kernel, nest.name, body.values[0], along, name, Scope.PACKED)
    try:
        return share(staged, name, output, kernel.loops[axis].name, along)
    except MoveError:
        return kernel


def _chunks(kernel: Kernel, names: tuple[str, ...]) -> Plan:
    """The common loops as one, in chunks of about CHUNK_ELEMENTS."""
    each = _row_work(kernel, names)
    kernel, row = fuse_all(kernel, tuple(kernel.loop(n).axis for n in names), "row")
    size, value = grain("g0", UOp.const(dt.index, CHUNK_ELEMENTS), each)
    kernel = split(kernel, row, size, "row_chunk", "row_in")
    return Plan(bind(kernel, "row_chunk", LoopKind.CHUNK), (), {size: value})


def _row_work(kernel: Kernel, names: tuple[str, ...]) -> UOp:
    """Elements touched in one row: the largest nest's."""
    total = UOp.const(dt.index, 1)
    for nest in kernel.nests:
        if isinstance(nest.body, Store) or nest.reduced:
            inner = [
                kernel.loops[a].capacity
                for a in nest.loops
                if kernel.loops[a].name not in names
            ]
            work = UOp.const(dt.index, 1)
            for extent in inner:
                work = work * extent
            total = total.maximum(work)
    return total.simplify()


def _columns(kernel: Kernel, common: tuple[int, ...], target: Target) -> Plan:
    """for c: for r: acc += x[r, c]   ->   for cb: for ro: for c in the block: acc[c] += sum over ru of x[ro*8 + ru, c]

    Rows are read in the order in which they lie, a long run of each; a few rows at a time are summed in registers.
    """
    column = kernel.loops[common[-1]].name
    wide = lanes(target, widest(kernel.nests[0]))
    size, value = _columns_in_block(kernel.loops[common[-1]].extent, wide)
    kernel = split(kernel, column, size, f"{column}_b", f"{column}_t")
    kernel = split(kernel, f"{column}_t", wide, f"{column}_o", f"{column}_v")
    kernel = edge(vector(kernel, f"{column}_v"), f"{column}_o", Edge.PEEL)
    for name in [n.name for n in kernel.nests]:
        kernel = _column_nest(kernel, name, f"{column}_o", f"{column}_v")
    names = (*(kernel.loops[a].name for a in common[:-1]), f"{column}_b")
    kernel, row = fuse_all(kernel, tuple(kernel.loop(n).axis for n in names), "row")
    return Plan(bind(kernel, row, LoopKind.CHUNK), (), {size: value})


def _columns_in_block(columns: UOp, wide: int) -> tuple[UOp, UOp]:
    """(variable, value): whole vectors, about an eighth of the columns, within bounds."""
    least, most = 4 * wide, 64 * wide
    share = (columns + (8 * wide - 1)) // (8 * wide) * wide
    return UOp.variable("g_columns", least, most, dt.index), share.minimum(
        most
    ).maximum(least)


def _column_nest(kernel: Kernel, name: str, outer: str, lane: str) -> Kernel:
    """The columns of a block inside the rows, the rows of a step inside the columns."""
    nest = kernel.nest(name)
    loops = [
        kernel.loops[a].name
        for a in nest.loops
        if kernel.loops[a].name not in (outer, lane)
    ]
    kernel = reorder(kernel, name, *loops, outer, lane)
    if len(nest.reduced) != 1:
        return kernel
    row = kernel.loops[nest.reduced[0]].name
    kernel = split(kernel, row, ROWS_AT_ONCE, f"{row}_o", f"{row}_u")
    kernel = rfactor(kernel, name, f"{row}_o", name=f"{name}_rows")
    kernel = edge(unroll(kernel, f"{row}_u"), f"{row}_o", Edge.PEEL)
    front = [n for n in loops if n != row]
    kernel = reorder(
        kernel, f"{name}_rows", *front, f"{row}_o", outer, f"{row}_u", lane
    )
    return reorder(kernel, name, *front, f"{row}_o", outer, lane)


def _whole(kernel: Kernel, target: Target) -> Plan:
    """No common loop: the outermost reduced loop goes to the threads, their partial results are combined after."""
    last = [n for n in kernel.nests if n.reduced][-1]
    outer = last.loops[0]
    if outer not in last.reduced:
        return _chunkless(kernel, target)
    loop = kernel.loops[outer].name
    inside = [
        n for n in kernel.nests if n.id != last.id and n.loops[:1] == (outer,)
    ]
    each = _inner_work(kernel, [*inside, last])
    size, value = grain("g0", UOp.const(dt.index, CHUNK_ELEMENTS), each)
    kernel = split(kernel, loop, size, f"{loop}_chunk", f"{loop}_in")
    if not inside and len(last.loops) == 1:
        kernel = _parts_of_vector(
            kernel, last.name, f"{loop}_chunk", f"{loop}_in", target
        )
    else:
        kernel = rfactor(
            kernel, last.name, f"{loop}_chunk", name=f"{last.name}_thread"
        )
        shared = {kernel.loop(f"{loop}_chunk").axis, kernel.loop(f"{loop}_in").axis}
        kernel = _vectors(kernel, shared, target)
    kernel = detach(kernel, last.name, f"{loop}_chunk", f"{loop}_part")
    return Plan(bind(kernel, f"{loop}_chunk", LoopKind.CHUNK), (), {size: value})


def _parts_of_vector(
    kernel: Kernel, name: str, chunk: str, inner: str, target: Target
) -> Kernel:
    wide = lanes(target, widest(kernel.nest(name)))
    part = f"{name}_thread"
    kernel = rfactor(kernel, name, chunk, name=part)
    return accumulate(kernel, part, inner, wide)


def _inner_work(kernel: Kernel, nests: list[Nest]) -> UOp:
    total = UOp.const(dt.index, 1)
    for nest in nests:
        work = UOp.const(dt.index, 1)
        for axis in nest.loops[1:]:
            work = work * kernel.loops[axis].capacity
        total = total.maximum(work)
    return total.simplify()


def _chunkless(kernel: Kernel, target: Target) -> Plan:
    return Plan(_vectors(kernel, set(), target))
