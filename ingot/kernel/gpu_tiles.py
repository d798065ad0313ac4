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
from ingot.kernel.launch import onto_threads, whole_tiles
from ingot.kernel.moves import bind, fuse, layout, reorder, split, stage, unroll, vector
from ingot.kernel.nest import Kernel, Nest, Reduce, Store, axes_in
from ingot.kernel.specialise import multiple_of, predicate
from ingot.kernel.structure import contraction, loads_of, unit_axis

TURN_TILE = 64


def turned(kernel: Kernel, name: str, width: int, tile: int = TURN_TILE) -> Kernel:
    """out[i, j] = x[j, i]   ->   square tiles: read along i into shared memory, written along j"""
    nest = kernel.nest(name)
    assert isinstance(nest.body, Store)
    along = unit_axis(kernel, nest, nest.body.offset)
    across = [u for u in loads_of(nest) if unit_axis(kernel, nest, u.src[1]) not in (None, along)]
    j, i = (kernel.loops[a or 0].name for a in (along, unit_axis(kernel, nest, across[0].src[1])))
    others = [kernel.loops[a].name for a in nest.loops if kernel.loops[a].name not in (i, j)]
    sides = tile // width
    for loop in (i, j):
        kernel = predicate(split(kernel, loop, width, f"{loop}_q", f"{loop}_v"), f"{loop}_v")
        kernel = whole_tiles(kernel, f"{loop}_q", sides, f"{loop}_b", f"{loop}_s")
        kernel = bind(kernel, f"{loop}_b", LoopKind.BLOCK)
    for other in others:
        kernel = bind(kernel, other, LoopKind.BLOCK)
    blocks = [*others, f"{i}_b", f"{j}_b"]
    kernel = reorder(kernel, name, *blocks, f"{i}_s", f"{i}_v", f"{j}_s", f"{j}_v")
    rows = (f"{j}_s", f"{j}_v", f"{i}_s", f"{i}_v")
    for number, load in enumerate(_along(kernel, kernel.nest(name), f"{i}_v")):
        part = f"{name}_tile{number}"
        kernel = stage(kernel, name, load, f"{j}_b", part, Scope.SHARED, rows, pad=(0, 0, 1, 0))
        kernel = _square(kernel, part, blocks, *(f"{part}.{loop}" for loop in rows))
    kernel = split(fuse(kernel, f"{i}_s", f"{i}_v", f"{i}_all"), f"{i}_all", sides, f"{i}_u", f"{i}_r")
    return _square(kernel, name, blocks, f"{i}_r", f"{i}_u", f"{j}_s", f"{j}_v")


def _along(kernel: Kernel, nest: Nest, loop: str) -> list[UOp]:
    """The loads that run through memory along `loop`."""
    axis = kernel.loop(loop).axis
    return [u for u in loads_of(nest) if unit_axis(kernel, nest, u.src[1]) == axis]


def _square(kernel: Kernel, name: str, blocks: list[str], rows: str, row: str, columns: str, column: str) -> Kernel:
    """A thread for each (rows, columns): it takes its rows one by one, and neighbouring columns as a vector."""
    kernel = reorder(kernel, name, *blocks, row, rows, columns, column)
    if kernel.nest(name).dims:
        kernel = layout(kernel, name, *_beside(kernel, name, rows, columns))
    threads = int(kernel.loop(rows).capacity.value) * int(kernel.loop(columns).capacity.value)
    kernel = fuse(kernel, rows, columns, f"{name}_t")
    return vector(unroll(onto_threads(kernel, f"{name}_t", threads), row), column)


def _beside(kernel: Kernel, name: str, first: str, second: str) -> list[str]:
    """The nest's axes with `second` moved next to `first`."""
    names = [kernel.loops[a].name for a in kernel.nest(name).dims if kernel.loops[a].name != second]
    names.insert(names.index(first) + 1, second)
    return names


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
        return self.rows * self.columns // (2 * self.square) ** 2


SHALLOW, DEEP = Tile(depth=16), Tile(depth=32)


def contraction_tiles(kernel: Kernel, width: int, hints: Mapping[UOp, int], tile: Tile | None = None) -> Kernel:
    """sum over k of a(i, k) * b(k, j)   ->   a and b through shared memory, the result in registers"""
    kernel = align(kernel)
    name = next(n for n in kernel.nests if contraction(kernel, n)).name
    batch, i, j, k = _roles(kernel, kernel.nest(name))
    tile = tile or _tile(kernel, k, hints)
    kernel = _whole_depth(kernel, k, tile.depth, hints)
    kernel = predicate(split(kernel, j, width, f"{j}_q", f"{j}_v"), f"{j}_v")
    kernel = whole_tiles(kernel, f"{j}_q", tile.columns // width, f"{j}_b", f"{j}_s")
    kernel = whole_tiles(kernel, i, tile.rows, f"{i}_b", f"{i}_s")
    kernel = split(kernel, k, tile.depth, f"{k}_b", f"{k}_s")
    blocks = [*batch, f"{i}_b", f"{j}_b"]
    for block in blocks:
        kernel = bind(kernel, block, LoopKind.BLOCK)
    kernel = reorder(kernel, name, *blocks, f"{k}_b", f"{k}_s", f"{i}_s", f"{j}_s", f"{j}_v")
    kernel = _shared_operands(kernel, name, f"{k}_b", width, tile.threads)
    return _register_tiles(kernel, name, blocks, (i, j, k), tile)


def _tile(kernel: Kernel, summed: str, hints: Mapping[UOp, int]) -> Tile:
    sizes = kernel.loop(summed).extent.variables()
    return DEEP if all(hints.get(size, 1) % DEEP.depth == 0 for size in sizes) else SHALLOW


def _whole_depth(kernel: Kernel, loop: str, depth: int, hints: Mapping[UOp, int]) -> Kernel:
    """Where the summed axis is a multiple of the depth, a guard says so and no step asks for its end."""
    for size in kernel.loop(loop).extent.variables():
        if hints.get(size, 1) % depth == 0:
            kernel = multiple_of(kernel, size, depth)
    return kernel


def _roles(kernel: Kernel, nest: Nest) -> tuple[list[str], str, str, str]:
    """(batch, row, column, summed) loops; the column runs through the result's memory."""
    output = kernel.nests[-1]
    assert isinstance(output.body, Store)
    column = unit_axis(kernel, output, output.body.offset)
    left, right = (axes_in(s) for s in _product(nest).src)
    alone = [a for a in nest.dims if (a in left) != (a in right) and a != column]
    batch = [a for a in nest.dims if a not in (column, *alone)]
    names = {a: loop.name for a, loop in kernel.loops.items()}
    if column is None or len(alone) != 1 or len(nest.reduced) != 1:
        raise MoveError(f"{nest.name}: wanted one row, one column and one summed axis; fuse the others first")
    return [names[a] for a in batch], names[alone[0]], names[column], names[nest.reduced[0]]


def _product(nest: Nest) -> UOp:
    assert isinstance(nest.body, Reduce)
    return nest.body.values[0]


def _shared_operands(kernel: Kernel, name: str, at: str, width: int, threads: int) -> Kernel:
    """Both operands in shared memory, the summed axis outermost."""
    for number, label in enumerate(("a", "b")):
        value = _product(kernel.nest(name)).src[number]
        loops = [loop for loop in _inside(kernel, name, at) if kernel.loop(loop).axis in axes_in(value)]
        part = f"{name}_{label}"
        row_pad = (0,) * (len(loops) - 1) + (width,) if len(loops) == 2 else (0, width, 0)
        kernel = stage(kernel, name, value, at, part, Scope.SHARED, tuple(loops), pad=row_pad)
        kernel = _fill(kernel, part, [f"{part}.{loop}" for loop in loops], width, threads)
    return kernel


def _inside(kernel: Kernel, name: str, at: str) -> list[str]:
    names = [kernel.loops[a].name for a in kernel.nest(name).loops]
    return names[names.index(at) + 1 :]


def _fill(kernel: Kernel, part: str, loops: list[str], width: int, threads: int) -> Kernel:
    """All threads fill a tile: vectors along the axis that runs through memory, neighbours on neighbouring threads."""
    outer = [kernel.loops[a].name for a in kernel.nest(part).loops if kernel.loops[a].name not in loops]
    for loop in loops:
        kernel = predicate(kernel, loop)
    if len(loops) == 2:
        unit = _unit(kernel, part, loops)
        other = next(loop for loop in loops if loop != unit)
        kernel = split(kernel, unit, width, f"{unit}_q", f"{unit}_v")
        rows, columns, lane = other, f"{unit}_q", f"{unit}_v"
    else:
        rows, columns, lane = loops
    kernel = reorder(kernel, part, *outer, rows, columns, lane)
    kernel = layout(kernel, part, *_beside(kernel, part, rows, columns))
    kernel = fuse(kernel, rows, columns, f"{part}_all")
    kernel = unroll(split(kernel, f"{part}_all", threads, f"{part}_u", f"{part}_t"), f"{part}_u")
    return vector(onto_threads(kernel, f"{part}_t", threads), lane)


def _unit(kernel: Kernel, part: str, loops: list[str]) -> str:
    nest = kernel.nest(part)
    units = [unit_axis(kernel, nest, u.src[1]) for u in loads_of(nest)]
    found = [loop for loop in loops if kernel.loop(loop).axis in units]
    return found[0] if found else loops[-1]


def _register_tiles(kernel: Kernel, name: str, blocks: list[str], roles: tuple[str, str, str], tile: Tile) -> Kernel:
    """Each thread a square of squares: two groups of rows by two of columns, half a tile apart."""
    i, j, k = roles
    kernel = split(kernel, f"{i}_s", tile.rows // 2, f"{i}_u", f"{i}_h")
    kernel = split(kernel, f"{i}_h", tile.square, f"{i}_t", f"{i}_v")
    kernel = split(kernel, f"{j}_s", tile.columns // 2 // tile.square, f"{j}_u", f"{j}_t")
    own = [f"{i}_u", f"{i}_v", f"{j}_u", f"{j}_v"]
    for nest in (name, *_followers(kernel, name)):
        summed = [f"{k}_b", f"{k}_s"] if nest == name else []
        kernel = reorder(kernel, nest, *blocks, *summed[:1], f"{i}_t", f"{j}_t", *summed[1:], *own)
        if kernel.nest(nest).dims:
            kernel = layout(kernel, nest, *_beside(kernel, nest, f"{i}_t", f"{j}_t"))
    kernel = onto_threads(fuse(kernel, f"{i}_t", f"{j}_t", f"{name}_t"), f"{name}_t", tile.threads)
    kernel = _operand_registers(kernel, name, f"{k}_s", (f"{i}_v", f"{j}_v"))
    for loop in (f"{i}_u", f"{i}_v", f"{j}_u"):
        kernel = unroll(kernel, loop)
    depth = kernel.loop(f"{k}_s")
    kernel = unroll(kernel, depth.name) if depth.extent is depth.capacity else kernel
    return vector(kernel, f"{j}_v")


def _followers(kernel: Kernel, name: str) -> list[str]:
    names = [n.name for n in kernel.nests]
    return names[names.index(name) + 1 :]


def _operand_registers(kernel: Kernel, name: str, at: str, lanes: tuple[str, str]) -> Kernel:
    """A step's row of a and of b in registers before its products."""
    for number, label in enumerate(("a", "b")):
        value = _product(kernel.nest(name)).src[number]
        part = f"{name}_{label}_now"
        lane = next(loop for loop in lanes if kernel.loop(loop).axis in axes_in(value))
        kernel = stage(kernel, name, value, at, part, Scope.REGISTER)
        inner = [loop for loop in _inside(kernel, part, at) if loop != f"{part}.{lane}"]
        for loop in inner:
            kernel = unroll(kernel, loop)
        kernel = vector(kernel, f"{part}.{lane}")
    return kernel
