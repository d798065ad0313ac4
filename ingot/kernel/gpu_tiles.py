"""Tiles in shared memory: transposed copies and contractions on a GPU. In: nests. Out: tiles that a block fills.

A tile is staged with loops of its own, so it is filled along the source and read along the result: both sides touch
memory in 128-bit pieces, and rows in shared memory are padded so that neighbouring threads meet in different banks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ingot.errors import MoveError
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Scope
from ingot.kernel.align import align
from ingot.kernel.launch import onto_threads, vectors_of, whole_tiles
from ingot.kernel.moves import bind, fuse, reorder, split, unroll, vector
from ingot.kernel.nest import Kernel, Nest, Reduce, Store, axes_in
from ingot.kernel.specialise import multiple_of, predicate
from ingot.kernel.staging import layout, stage
from ingot.kernel.structure import contraction, loads_of, unit_axis

TURN_TILE = 64


@dataclass(frozen=True, slots=True)
class Side:
    """The loops of one axis: blocks, vectors in a block's part of it, elements of a vector."""

    block: str
    part: str
    lane: str

    @property
    def inner(self) -> tuple[str, str]:
        return self.part, self.lane


def _side(kernel: Kernel, loop: str, width: int, tile: int) -> tuple[Kernel, Side]:
    side = Side(f"{loop}_b", f"{loop}_s", f"{loop}_v")
    kernel = vectors_of(kernel, loop, width, f"{loop}_q", side.lane)
    kernel = whole_tiles(kernel, f"{loop}_q", tile // width, side.block, side.part)
    return kernel, side


def _on_blocks(kernel: Kernel, loops: list[str]) -> Kernel:
    for loop in loops:
        kernel = bind(kernel, loop, LoopKind.BLOCK)
    return kernel


# --- transposed copies ------------------------------------------------------------------------------------------------


def turned(kernel: Kernel, name: str, width: int, tile: int = TURN_TILE) -> Kernel:
    """out[i, j] = x[j, i]   ->   square tiles: read along i into shared memory, written along j"""
    i, j = _directions(kernel, kernel.nest(name))
    loops = [kernel.loops[a].name for a in kernel.nest(name).loops]
    batch = [loop for loop in loops if loop not in (i, j)]
    kernel, rows = _side(kernel, i, width, tile)
    kernel, columns = _side(kernel, j, width, tile)
    blocks = [*batch, rows.block, columns.block]
    kernel = _on_blocks(kernel, blocks)
    kernel = reorder(kernel, name, *blocks, *rows.inner, *columns.inner)
    kernel = _turned_loads(kernel, name, blocks, rows, columns)
    kernel = fuse(kernel, rows.part, rows.lane, f"{i}_all")
    kernel = split(kernel, f"{i}_all", tile // width, f"{i}_u", f"{i}_r")
    return _square(kernel, name, blocks, (f"{i}_r", f"{i}_u"), columns.inner)


def _directions(kernel: Kernel, nest: Nest) -> tuple[str, str]:
    """The loops along which the turned load and the store run through memory."""
    assert isinstance(nest.body, Store)
    along = unit_axis(kernel, nest, nest.body.offset)
    units = [unit_axis(kernel, nest, load.src[1]) for load in loads_of(nest)]
    across = [axis for axis in units if axis not in (None, along)]
    if along is None or not across:
        raise MoveError(f"turned: no load of {nest.name} runs across its store")
    return kernel.loops[across[0] or 0].name, kernel.loops[along].name


def _turned_loads(
    kernel: Kernel, name: str, blocks: list[str], rows: Side, columns: Side
) -> Kernel:
    """The loads along the rows, through shared memory: there they are the columns."""
    order = (*columns.inner, *rows.inner)
    axis = kernel.loop(rows.lane).axis
    nest = kernel.nest(name)
    turned_loads = [
        u for u in loads_of(nest) if unit_axis(kernel, nest, u.src[1]) == axis
    ]
    for number, load in enumerate(turned_loads):
        part = f"{name}_tile{number}"
        kernel = stage(
            kernel,
            name,
            load,
            columns.block,
            part,
            Scope.SHARED,
            order,
            pad=(0, 0, 1, 0),
        )
        own = [f"{part}.{loop}" for loop in order]
        kernel = _square(kernel, part, blocks, (own[0], own[1]), (own[2], own[3]))
    return kernel


def _square(
    kernel: Kernel,
    name: str,
    blocks: list[str],
    down: tuple[str, str],
    along: tuple[str, str],
) -> Kernel:
    """A thread for each (down, along): it takes its rows one by one, and neighbouring columns as a vector."""
    rows, row = down
    columns, column = along
    kernel = reorder(kernel, name, *blocks, row, rows, columns, column)
    kernel = _side_by_side(kernel, name, rows, columns)
    threads = int(kernel.loop(rows).capacity.value) * int(
        kernel.loop(columns).capacity.value
    )
    kernel = fuse(kernel, rows, columns, f"{name}_t")
    kernel = onto_threads(kernel, f"{name}_t", threads)
    kernel = unroll(kernel, row)
    return vector(kernel, column)


def _side_by_side(kernel: Kernel, name: str, first: str, second: str) -> Kernel:
    """The nest's axes with `second` next to `first`: what is fused must be neighbours."""
    dims = kernel.nest(name).dims
    if not dims:
        return kernel
    names = [kernel.loops[a].name for a in dims]
    names.remove(second)
    names.insert(names.index(first) + 1, second)
    return layout(kernel, name, *names)


# --- contractions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tile:
    """A block's share of the result, the depth of a shared tile, the square that each thread holds twice each way."""

    rows: int = 128
    columns: int = 128
    depth: int = 16
    square: int = 4

    @property
    def threads(self) -> int:
        each = 2 * self.square
        return self.rows * self.columns // (each * each)


SHALLOW, DEEP = Tile(depth=16), Tile(depth=32)


@dataclass(frozen=True, slots=True)
class Roles:
    """Loop names: batch, row, column (it runs through the result's memory), and the one that is summed over."""

    batch: list[str]
    row: str
    column: str
    summed: str


def contraction_tiles(
    kernel: Kernel, width: int, hints: Mapping[UOp, int], tile: Tile | None = None
) -> Kernel:
    """sum over k of a(i, k) * b(k, j)   ->   a and b through shared memory, the result in registers"""
    kernel = align(kernel)
    name = next(nest.name for nest in kernel.nests if contraction(kernel, nest))
    roles = _roles(kernel, kernel.nest(name))
    i, j, k = roles.row, roles.column, roles.summed
    tile = tile or _tile(kernel, k, hints)
    kernel = _whole_depth(kernel, k, tile.depth, hints)
    kernel, columns = _side(kernel, j, width, tile.columns)
    kernel = whole_tiles(kernel, i, tile.rows, f"{i}_b", f"{i}_s")
    kernel = split(kernel, k, tile.depth, f"{k}_b", f"{k}_s")
    blocks = [*roles.batch, f"{i}_b", columns.block]
    kernel = _on_blocks(kernel, blocks)
    kernel = reorder(
        kernel, name, *blocks, f"{k}_b", f"{k}_s", f"{i}_s", *columns.inner
    )
    kernel = _shared_operands(kernel, name, f"{k}_b", width, tile.threads)
    return _register_tiles(kernel, name, blocks, roles, tile)


def _tile(kernel: Kernel, summed: str, hints: Mapping[UOp, int]) -> Tile:
    sizes = kernel.loop(summed).extent.variables()
    is_deep = all(hints.get(size, 1) % DEEP.depth == 0 for size in sizes)
    return DEEP if is_deep else SHALLOW


def _whole_depth(
    kernel: Kernel, loop: str, depth: int, hints: Mapping[UOp, int]
) -> Kernel:
    """Where the summed axis is a multiple of the depth, a guard says so and no step asks for its end."""
    for size in kernel.loop(loop).extent.variables():
        if hints.get(size, 1) % depth == 0:
            kernel = multiple_of(kernel, size, depth)
    return kernel


def _roles(kernel: Kernel, nest: Nest) -> Roles:
    output = kernel.nests[-1]
    assert isinstance(output.body, Store)
    column = unit_axis(kernel, output, output.body.offset)
    left, right = (axes_in(operand) for operand in _product(nest).src)
    alone = [a for a in nest.dims if (a in left) != (a in right) and a != column]
    if column is None or len(alone) != 1 or len(nest.reduced) != 1:
        raise MoveError(
            f"{nest.name}: wanted one row, one column and one summed axis; fuse the others first"
        )
    batch = [a for a in nest.dims if a not in (column, *alone)]
    row, summed = alone[0], nest.reduced[0]
    names = {axis: loop.name for axis, loop in kernel.loops.items()}
    return Roles(
        [names[a] for a in batch], names[row], names[column], names[summed]
    )


def _product(nest: Nest) -> UOp:
    assert isinstance(nest.body, Reduce)
    return nest.body.values[0]


def _shared_operands(
    kernel: Kernel, name: str, at: str, width: int, threads: int
) -> Kernel:
    """Both operands in shared memory, the summed axis outermost, rows a vector longer than they need to be."""
    for number, label in enumerate("ab"):
        value = _product(kernel.nest(name)).src[number]
        used = axes_in(value)
        loops = [
            loop
            for loop in _inside(kernel, name, at)
            if kernel.loop(loop).axis in used
        ]
        part = f"{name}_{label}"
        pad = (0, width, 0)[: len(loops)]
        kernel = stage(
            kernel, name, value, at, part, Scope.SHARED, tuple(loops), pad
        )
        kernel = _fill(
            kernel, part, [f"{part}.{loop}" for loop in loops], width, threads
        )
    return kernel


def _inside(kernel: Kernel, name: str, at: str) -> list[str]:
    """The nest's loops inside one of them."""
    names = [kernel.loops[a].name for a in kernel.nest(name).loops]
    return names[names.index(at) + 1 :]


def _fill(
    kernel: Kernel, part: str, loops: list[str], width: int, threads: int
) -> Kernel:
    """All threads fill a tile: vectors along the axis that runs through memory, neighbours on neighbouring threads."""
    names = [kernel.loops[a].name for a in kernel.nest(part).loops]
    outer = [name for name in names if name not in loops]
    for loop in loops:
        kernel = predicate(kernel, loop)
    kernel, (rows, columns, lane) = _in_vectors(kernel, part, loops, width)
    kernel = reorder(kernel, part, *outer, rows, columns, lane)
    kernel = _side_by_side(kernel, part, rows, columns)
    kernel = fuse(kernel, rows, columns, f"{part}_all")
    kernel = split(kernel, f"{part}_all", threads, f"{part}_u", f"{part}_t")
    kernel = onto_threads(kernel, f"{part}_t", threads)
    kernel = unroll(kernel, f"{part}_u")
    return vector(kernel, lane)


def _in_vectors(
    kernel: Kernel, part: str, loops: list[str], width: int
) -> tuple[Kernel, list[str]]:
    """(row, column, element) loops of a tile; of two loops, the one along memory is split."""
    if len(loops) == 3:
        return kernel, loops
    unit = _unit(kernel, part, loops)
    other = next(loop for loop in loops if loop != unit)
    kernel = split(kernel, unit, width, f"{unit}_q", f"{unit}_v")
    return kernel, [other, f"{unit}_q", f"{unit}_v"]


def _unit(kernel: Kernel, part: str, loops: list[str]) -> str:
    nest = kernel.nest(part)
    units = [unit_axis(kernel, nest, load.src[1]) for load in loads_of(nest)]
    found = [loop for loop in loops if kernel.loop(loop).axis in units]
    return found[0] if found else loops[-1]


def _register_tiles(
    kernel: Kernel, name: str, blocks: list[str], roles: Roles, tile: Tile
) -> Kernel:
    """Each thread a square of squares: two groups of rows by two of columns, half a tile apart."""
    i, j, k = roles.row, roles.column, roles.summed
    kernel = split(kernel, f"{i}_s", tile.rows // 2, f"{i}_u", f"{i}_h")
    kernel = split(kernel, f"{i}_h", tile.square, f"{i}_t", f"{i}_v")
    kernel = split(
        kernel, f"{j}_s", tile.columns // 2 // tile.square, f"{j}_u", f"{j}_t"
    )
    own = [f"{i}_u", f"{i}_v", f"{j}_u", f"{j}_v"]
    threads = [f"{i}_t", f"{j}_t"]
    kernel = reorder(kernel, name, *blocks, f"{k}_b", *threads, f"{k}_s", *own)
    kernel = _side_by_side(kernel, name, *threads)
    for follower in _after(kernel, name):
        kernel = reorder(kernel, follower, *blocks, *threads, *own)
        kernel = _side_by_side(kernel, follower, *threads)
    kernel = fuse(kernel, f"{i}_t", f"{j}_t", f"{name}_t")
    kernel = onto_threads(kernel, f"{name}_t", tile.threads)
    kernel = _operand_registers(kernel, name, f"{k}_s", (f"{i}_v", f"{j}_v"))
    for loop in own[:-1]:
        kernel = unroll(kernel, loop)
    depth = kernel.loop(f"{k}_s")
    if depth.extent is depth.capacity:
        kernel = unroll(kernel, depth.name)
    return vector(kernel, own[-1])


def _after(kernel: Kernel, name: str) -> list[str]:
    """The nests that run after one: they take the result tile by tile."""
    names = [nest.name for nest in kernel.nests]
    return names[names.index(name) + 1 :]


def _operand_registers(
    kernel: Kernel, name: str, at: str, lanes: tuple[str, str]
) -> Kernel:
    """A step's row of a and of b in registers before its products."""
    for number, label in enumerate("ab"):
        value = _product(kernel.nest(name)).src[number]
        used = axes_in(value)
        lane = next(loop for loop in lanes if kernel.loop(loop).axis in used)
        part = f"{name}_{label}_now"
        kernel = stage(kernel, name, value, at, part, Scope.REGISTER)
        for loop in _inside(kernel, part, at):
            is_lane = loop == f"{part}.{lane}"
            kernel = vector(kernel, loop) if is_lane else unroll(kernel, loop)
    return kernel
