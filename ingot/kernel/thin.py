"""Contractions with few rows or few columns: nothing is packed beforehand.

In: a contraction whose operands are plain loads. Out: register tiles over panels of the right operand. An element of a
thin contraction is used too rarely to pay for a copy in memory; what counts is that it is read once, in long runs.

    b[k, j], neighbours along j     a tile of rows x vectors of columns, a run of k at a time
    b[j, k], neighbours along k     a tile of rows x columns of dot products, vectors along k
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Ops, Scope
from ingot.kernel.align import fuse_all
from ingot.kernel.moves import bind, edge, reorder, split, unroll, vector
from ingot.kernel.nest import Edge, Kernel, Nest, Reduce
from ingot.kernel.plan import Plan, expected
from ingot.kernel.reduction import rfactor
from ingot.kernel.staging import layout, stage
from ingot.kernel.structure import unit_axis


class Way(NamedTuple):
    """A tile for at most so many rows and columns (of 16 lanes; None: any number), and how memory is read for it."""

    most_rows: int | None
    most_columns: int | None
    rows: int
    columns: int  # by_columns: vectors of them
    run: int = 0  # by_columns: so many rows of b at a time; 0: all
    copied: bool = False  # a run of a panel of b is copied first: aligned, in the first-level cache
    row_blocks: int = 1  # blocks of rows that threads share
    column_blocks: int = 4  # and of columns


# The first that holds is taken. Compared on one core with 8 to 128 rows of 1024 x 1024 and a few others, not beyond.
BY_COLUMNS = (
    Way(None, 16, 8, 1, run=128, copied=True, row_blocks=4, column_blocks=1),
    Way(None, 32, 8, 2, run=128, copied=True, row_blocks=4, column_blocks=1),
    Way(16, None, 8, 3, run=32, column_blocks=2),
    Way(128, None, 6, 4, run=128, copied=True),
)
BY_DOTS = (
    Way(None, 32, 4, 6, row_blocks=4, column_blocks=1),
    Way(128, None, 4, 6),
)
MOST_ROWS_IN_BLOCK = 128
DOT_ELEMENTS = 1 << 15  # of the rows in a block: the second-level cache holds them
SHALLOW = 128  # so many k are one run: their sums stay in registers
UNROLL = 2  # more, and LLVM moves loads up until registers run out


class Contraction(NamedTuple):
    """The names of a contraction and its loops; `right` is the operand that has the columns."""

    nest: str
    batch: tuple[str, ...]
    row: str
    column: str
    inner: str
    right: int


def plan(
    kernel: Kernel, of: Contraction, hints: Mapping[UOp, int], wide: int
) -> Plan | tuple[UOp, ...]:
    """The plan for few rows or columns; else the guards that keep those off whatever is made for more."""
    nest = kernel.nest(of.nest)
    followers = kernel.nests[kernel.nests.index(nest) + 1 :]
    along = [_reads_along(kernel, nest, n) for n in (1 - of.right, of.right)]
    if None in along or any(n.reduced for n in followers):
        return ()
    inner = kernel.loop(of.inner).axis
    dots = along == [inner, inner]
    if not dots and along[1] != kernel.loop(of.column).axis:
        return ()
    way, guards = _way(kernel, of, hints, BY_DOTS if dots else BY_COLUMNS, wide)
    if way is None:
        return guards
    names = [n.name for n in followers]
    if dots:
        kernel, extra = _by_dots(kernel, of, way, wide, names)
        return Plan(kernel, guards, extra)
    depth = kernel.loop(of.inner).extent
    known = expected(depth, hints)
    shallow = known is not None and known <= SHALLOW
    limit = depth < SHALLOW + 1 if shallow else UOp.const(dt.index, SHALLOW) < depth
    if shallow:
        way = way._replace(run=0)
    kernel, extra = _by_columns(kernel, of, way, wide, names)
    return Plan(kernel, (*guards, limit), extra)


def _reads_along(kernel: Kernel, nest: Nest, operand: int) -> int | None:
    """The loop along which an operand lies in memory, if it is a plain load."""
    body = nest.body
    assert isinstance(body, Reduce)
    value = body.values[0].src[operand]
    if value.op is not Ops.LOAD or len(value.src) != 2:
        return None
    return unit_axis(kernel, nest, value.src[1])


def _way(
    kernel: Kernel,
    of: Contraction,
    hints: Mapping[UOp, int],
    ways: tuple[Way, ...],
    wide: int,
) -> tuple[Way | None, tuple[UOp, ...]]:
    """The first way that holds for the sizes by the hints, and what keeps other sizes off."""
    sizes = [kernel.loop(n).extent for n in (of.row, of.column)]
    known = [expected(size, hints) for size in sizes]
    guards: list[UOp] = []
    for way in ways:
        limits = (way.most_rows, (way.most_columns or 0) * wide // 16 or None)
        for size, given, limit in zip(sizes, known, limits, strict=True):
            if limit is None or given is None:
                continue
            if given <= limit:
                return way, (*guards, size < limit + 1)
            guards.append(UOp.const(dt.index, limit) < size)
    return None, tuple(guards)


Arranged = tuple[Kernel, dict[UOp, UOp]]


def _blocks(
    kernel: Kernel, of: Contraction, way: Way, columns: int, most_rows: UOp
) -> Arranged:
    """i, j   ->   blocks (ic, jc) for the threads, tiles in them (ir, jo), what a tile has (ii, jn)"""
    sizes = [kernel.loop(n).extent for n in (of.row, of.column)]
    rows, cols = (
        _share(size, parts * tile) * tile
        for size, parts, tile in zip(
            sizes,
            (way.row_blocks, way.column_blocks),
            (way.rows, columns),
            strict=True,
        )
    )
    most = 1 << 30
    g_rows = UOp.variable("g_rows", way.rows, most, dt.index)
    g_columns = UOp.variable("g_columns", columns, most, dt.index)
    kernel = split(kernel, of.row, g_rows, "ic", "im")
    kernel = split(kernel, "im", way.rows, "ir", "ii")
    kernel = split(kernel, of.column, g_columns, "jc", "jm")
    kernel = split(kernel, "jm", columns, "jo", "jn")
    return kernel, {
        g_rows: rows.minimum(most_rows).maximum(way.rows),
        g_columns: cols.maximum(columns),
    }


def _share(size: UOp, parts: int) -> UOp:
    return (size + (parts - 1)) // parts


def ordered(kernel: Kernel, names: list[str], order: tuple[str, ...]) -> Kernel:
    """The loops of these nests, and the axes that their values have, in one order.

    Loops along which the sum is the same run round a tile, which they read again.
    """
    places = {name: place for place, name in enumerate(order)}
    round_tile = places.get("ir", len(order))
    for name in names:
        nest = kernel.nest(name)
        dims, loops = (
            sorted(
                (kernel.loops[a].name for a in axes),
                key=lambda loop: places.get(loop, round_tile),
            )
            for axes in (nest.dims, nest.loops)
        )
        if dims:
            kernel = layout(kernel, name, *dims)
        kernel = reorder(kernel, name, *loops)
    return kernel


def _by_columns(
    kernel: Kernel, of: Contraction, way: Way, wide: int, followers: list[str]
) -> Arranged:
    """for i, j, k   ->   for blocks of i, j: for runs of k: for panels of j: for tiles of i: the run's sum, then added

    The rows of b in a run are read side by side, as many streams; the sums of a block stay in the caches.
    """
    kernel, extra = _blocks(
        kernel, of, way, way.columns * wide, UOp.const(dt.index, MOST_ROWS_IN_BLOCK)
    )
    kernel = split(kernel, "jn", wide, "ju", "jv")
    names, inner = [of.nest, *followers], of.inner
    if way.run:
        kernel = split(kernel, of.inner, way.run, "kb", "kd")
        kernel = rfactor(kernel, of.nest, "kb", name=f"{of.nest}_run")
        names, inner = [f"{of.nest}_run", *names], "kd"
    grid = (*of.batch, "ic", "jc")
    order = (*grid, "kb", "jo", "ir", inner, "ii", "ju", "jv")
    kernel = ordered(kernel, names, order)
    if way.copied:
        kernel = _copied(kernel, names[0], of.right, inner)
    kernel = vector(unroll(unroll(kernel, "ii"), "ju"), "jv")
    kernel = edge(kernel, "ii", Edge.CLAMP)
    kernel = split(kernel, inner, UNROLL, "ks", "ku")
    kernel = edge(unroll(kernel, "ku"), "ks", Edge.PEEL)
    return _on_threads(kernel, grid), extra


def _copied(kernel: Kernel, name: str, right: int, inner: str) -> Kernel:
    body = kernel.nest(name).body
    assert isinstance(body, Reduce)
    panel, at = body.values[0].src[right], (inner, "ju", "jv")
    kernel = stage(kernel, name, panel, "jo", "b", Scope.PACKED, at)
    return vector(unroll(kernel, "b.ju"), "b.jv")


def _by_dots(
    kernel: Kernel, of: Contraction, way: Way, wide: int, followers: list[str]
) -> Arranged:
    """for i, j, k   ->   for blocks and tiles of j, i: for vectors of k: rows x columns sums of vectors, then of lanes"""
    depth = kernel.loop(of.inner).extent
    most_rows = UOp.const(dt.index, DOT_ELEMENTS) // depth.maximum(1)
    kernel, extra = _blocks(
        kernel, of, way, way.columns, (most_rows // way.rows) * way.rows
    )
    kernel = split(kernel, of.inner, wide, "ko", "kv")
    part = f"{of.nest}_lanes"
    kernel = rfactor(kernel, of.nest, "kv", name=part)
    grid = (*of.batch, "ic", "jc")
    order = (*grid, "jo", "ir", "ko", "ii", "jn", "kv")
    kernel = ordered(kernel, [part, of.nest, *followers], order)
    kernel = vector(unroll(unroll(kernel, "ii"), "jn"), "kv")
    kernel = edge(edge(kernel, "ii", Edge.CLAMP), "jn", Edge.CLAMP)
    kernel = edge(kernel, "ko", Edge.PEEL)
    return _on_threads(kernel, grid), extra


def _on_threads(kernel: Kernel, grid: tuple[str, ...]) -> Kernel:
    axes = tuple(kernel.loop(n).axis for n in grid)
    kernel, chunk = fuse_all(kernel, axes, "tile")
    return bind(kernel, chunk, LoopKind.CHUNK)
