"""Contractions: sum over k of a(i, k) * b(k, j), with whatever prologue a and b have and whatever follows the sum.

In: nests with one contraction. Out: packed operands, register tiles, blocks that fit the caches. What is too thin to pay
for packing goes to thin.py, what is read through windows (convolutions) to windows.py; whatever else operands compute, they
compute as they are packed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ingot.errors import MoveError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Ops, Scope
from ingot.kernel import thin, windows
from ingot.kernel.align import align, fuse_all
from ingot.kernel.maps import lanes
from ingot.kernel.moves import bind, detach, edge, reorder, split, unroll, vector
from ingot.kernel.nest import Edge, Kernel, Nest, Reduce, Store, axes_in
from ingot.kernel.plan import Plan, expected
from ingot.kernel.reduction import rfactor
from ingot.kernel.staging import layout, stage
from ingot.kernel.structure import contraction, unit_axis
from ingot.kernel.windows import Axes
from ingot.target import Target

ROWS_IN_BLOCK = 64
BLOCKS = 4  # at least so many, where there are rows for them
DEPTH = 1024
DEEP_UNROLL = 4


@dataclass(frozen=True, slots=True)
class Tile:
    """Registers: `rows` broadcasts against `vectors` vectors."""

    rows: int
    vectors: int


# (columns at most, tile): the first row that holds is taken, and its condition is a guard.
TILES = ((16, Tile(8, 1)), (32, Tile(8, 2)), (None, Tile(8, 3)))


def plan(kernel: Kernel, hints: Mapping[UOp, int], target: Target) -> Plan:
    """Block, pack and tile the contraction; what reads it follows in the same tiles."""
    kernel = align(kernel)
    nest = next(n for n in kernel.nests if contraction(kernel, n))
    wide = lanes(target, nest.types[0])
    axes, left = _roles(kernel, nest)
    through = windows.plan(kernel, nest.name, axes, left, hints, wide)
    if through is not None:
        return through
    _, right = windows.operands_of(nest, left)
    kernel, roles = _single(kernel, nest.name, _plain(axes, right), left)
    few = thin.plan(kernel, _named(nest.name, roles), hints, wide)
    if isinstance(few, Plan):
        return few
    tile, guards = _tile(kernel.loop(roles.column).extent, hints, wide)
    depth = kernel.loop(roles.inner).extent
    known = expected(depth, hints)
    shallow = known is not None and known <= DEPTH
    limit = depth < DEPTH + 1 if shallow else UOp.const(dt.index, DEPTH) < depth
    block, value = _rows_in_block(kernel.loop(roles.row).extent, tile)
    kernel = _tiled(kernel, nest.name, roles, tile, block, wide, shallow)
    guards = tuple(dict.fromkeys((*few, *guards, limit)))
    return Plan(kernel, guards, {block: value})


def _named(nest: str, roles: Roles) -> thin.Contraction:
    return thin.Contraction(
        nest, roles.batch, roles.row, roles.column, roles.inner, 1 - roles.left
    )


def _rows_in_block(rows: UOp, tile: Tile) -> tuple[UOp, UOp]:
    """(variable, value): whole tiles, few enough that threads share the work and a block stays in the second-level cache."""
    variable = UOp.variable("g_rows", tile.rows, ROWS_IN_BLOCK, dt.index)
    share = (rows + (BLOCKS * tile.rows - 1)) // (BLOCKS * tile.rows) * tile.rows
    most = ROWS_IN_BLOCK // tile.rows * tile.rows
    return variable, share.minimum(most).maximum(tile.rows)


@dataclass(frozen=True, slots=True)
class Roles:
    """Loop names: batch, row (broadcast side), column (vector side), inner (summed); and the operands' positions."""

    batch: tuple[str, ...]
    row: str
    column: str
    inner: str
    left: int


def _plain(axes: Axes, right: UOp) -> Axes:
    """Columns that lie apart in memory are read as matrices of their own, unless they must be gathered anyway."""
    if len(axes.columns) == 1 or right.op is not Ops.LOAD or len(right.src) > 2:
        return axes
    *apart, column = axes.columns
    return axes._replace(batch=(*axes.batch, *apart), columns=(column,))


def _roles(kernel: Kernel, nest: Nest) -> tuple[Axes, int]:
    """Axes by what they are, and the left operand; the right one owns the axis along which the result is stored."""
    body = nest.body
    assert isinstance(body, Reduce)
    sides = [axes_in(s) for s in body.values[0].src]
    free = nest.dims
    alone = [
        tuple(a for a in free if a in sides[n] and a not in sides[1 - n])
        for n in (0, 1)
    ]
    stored = _stored_axis(kernel, nest)
    column = 0 if stored in alone[0] else 1
    batch = tuple(a for a in free if a not in alone[0] and a not in alone[1])
    columns = sorted(alone[column], key=lambda a: a == stored)
    axes = Axes(batch, alone[1 - column], tuple(columns), nest.reduced)
    return axes, 1 - column


def _stored_axis(kernel: Kernel, nest: Nest) -> int | None:
    output = kernel.nests[-1]
    return (
        unit_axis(kernel, output, output.body.offset)
        if isinstance(output.body, Store)
        else None
    )


def _single(
    kernel: Kernel, name: str, axes: Axes, left: int
) -> tuple[Kernel, Roles]:
    """Several axes in one role become one loop."""
    batch, row, column, _ = axes
    names = {a: kernel.loops[a].name for a in kernel.loops}
    batches, rows, columns = (
        [names[a] for a in axes] for axes in (batch, row, column)
    )
    inner = [names[a] for a in kernel.nest(name).reduced]
    free = [n.name for n in kernel.nests if set(row) <= set(n.loops)]
    for nest in free:
        others = [
            names[a]
            for a in kernel.nest(nest).loops
            if names[a] not in (*batches, *rows, *columns)
        ]
        kernel = reorder(kernel, nest, *batches, *rows, *columns, *others)
        if set(row) <= set(kernel.nest(nest).dims):
            kernel = layout(kernel, nest, *batches, *rows, *columns)
    kernel, one_row = fuse_all(kernel, row, "row")
    kernel, one_column = fuse_all(kernel, column, "column")
    kernel, one_inner = fuse_all(
        kernel, tuple(kernel.loop(n).axis for n in inner), "inner"
    )
    return kernel, Roles(tuple(batches), one_row, one_column, one_inner, left)


def _tile(
    columns: UOp, hints: Mapping[UOp, int], wide: int
) -> tuple[Tile, tuple[UOp, ...]]:
    known = expected(columns, hints)
    guards: list[UOp] = []
    for limit, tile in TILES:
        if limit is None or known is None:
            continue
        most = limit * wide // 16
        if known <= most:
            return tile, (*guards, columns < most + 1)
        guards.append(UOp.const(dt.index, most) < columns)
    return TILES[-1][1], tuple(guards)


def _tiled(
    kernel: Kernel,
    name: str,
    roles: Roles,
    tile: Tile,
    block: UOp,
    wide: int,
    shallow: bool,
) -> Kernel:
    kernel = split(kernel, roles.row, block, "ic", "im")
    kernel = split(kernel, "im", tile.rows, "ir", "ii")
    kernel = split(kernel, roles.column, tile.vectors * wide, "jo", "jn")
    kernel = split(kernel, "jn", wide, "ju", "jv")
    batch = roles.batch
    blocks: tuple[str, ...] = ()
    summed, k = name, roles.inner
    if not shallow:
        kernel = split(kernel, roles.inner, DEPTH, "kb", "kd")
        kernel = rfactor(kernel, name, "kb", name=f"{name}_block")
        kernel = reorder(
            kernel, name, *batch, "ic", "kb", "jo", "ir", "ii", "ju", "jv"
        )
        summed, blocks, k = f"{name}_block", ("kb",), "kd"
    kernel = reorder(
        kernel, summed, *batch, "ic", *blocks, "jo", "ir", k, "ii", "ju", "jv"
    )
    kernel = _followers(kernel, name, batch)
    kernel = _reductions(kernel, name, (*batch, "ic"))
    kernel = _pack_columns(kernel, summed, roles, (*blocks, k), wide)
    kernel = _pack_rows(
        kernel, summed, roles, "kb" if blocks else "ic", k, tile.rows
    )
    kernel = vector(unroll(unroll(kernel, "ii"), "ju"), "jv")
    kernel = split(kernel, k, DEEP_UNROLL, "ks", "ku")
    kernel = edge(unroll(kernel, "ku"), "ks", Edge.PEEL)
    kernel, chunk = fuse_all(
        kernel, tuple(kernel.loop(n).axis for n in (*batch, "ic")), "tile"
    )
    return bind(kernel, chunk, LoopKind.CHUNK)


def _followers(kernel: Kernel, name: str, batch: tuple[str, ...]) -> Kernel:
    """Everything after the sum runs tile by tile too."""
    position = [n.name for n in kernel.nests].index(name)
    for nest in kernel.nests[position + 1 :]:
        have = [kernel.loops[a].name for a in nest.loops]
        tiles = [n for n in (*batch, "ic", "jo", "ir") if n in have]
        tile = [n for n in ("ii", "ju", "jv") if n in have]
        # Loops along which the sum is the same run round a tile, which they read again.
        rest = [n for n in have if n not in (*tiles, *tile)]
        kernel = reorder(kernel, nest.name, *tiles, *rest, *tile)
    return kernel


def _reductions(kernel: Kernel, name: str, grid: tuple[str, ...]) -> Kernel:
    """A reduction of the result: lanes apart until the end of a tile, tiles of all threads combined in a launch of their own."""
    position = [n.name for n in kernel.nests].index(name)
    for follower in [n.name for n in kernel.nests[position + 1 :] if n.reduced]:
        reduced = [kernel.loops[a].name for a in kernel.nest(follower).reduced]
        outside = [n for n in grid if n in reduced]
        inside = follower
        if outside:
            if len(outside) < len(grid):
                raise MoveError(
                    f"{follower} reduces over some of the loops {grid} that threads share, not all"
                )
            inside = f"{follower}_thread"
            kernel = rfactor(kernel, follower, *outside, name=inside)
            for loop in outside:
                kernel = detach(kernel, follower, loop, f"{loop}_part")
        if "jv" in reduced and len(kernel.nest(inside).reduced) > 1:
            kernel = rfactor(kernel, inside, "jv", name=f"{follower}_lane")
    return kernel


def _operand(kernel: Kernel, nest: str, left: bool, roles: Roles) -> UOp:
    body = kernel.nest(nest).body
    assert isinstance(body, Reduce)
    return body.values[0].src[roles.left if left else 1 - roles.left]


def _pack_columns(
    kernel: Kernel, nest: str, roles: Roles, inner: tuple[str, ...], wide: int
) -> Kernel:
    """b[k, j]   ->   panels [jo][k][columns of a tile], packed by all threads before the tiles start."""
    value = _operand(kernel, nest, False, roles)
    batch = tuple(b for b in roles.batch if kernel.loop(b).axis in axes_in(value))
    kernel = stage(
        kernel,
        nest,
        value,
        None,
        "b",
        Scope.PACKED,
        (*batch, "jo", *inner, "ju", "jv"),
    )
    kernel = unroll(kernel, "b.ju")
    if not _turned(kernel, "b", f"b.{inner[-1]}"):
        kernel = vector(kernel, "b.jv")
    else:
        kernel = _turn(kernel, "b", f"b.{inner[-1]}", "b.jv", wide)
    outer = tuple(kernel.loop(f"b.{n}").axis for n in (*batch, "jo"))
    kernel, panel = fuse_all(kernel, outer, "panel")
    return bind(kernel, panel, LoopKind.CHUNK)


def _pack_rows(
    kernel: Kernel, nest: str, roles: Roles, at: str, k: str, rows: int
) -> Kernel:
    """a[i, k]   ->   panels [ir][k][rows of a tile], packed by the thread that uses them."""
    value = _operand(kernel, nest, True, roles)
    kernel = stage(kernel, nest, value, at, "a", Scope.PACKED, ("ir", k, "ii"))
    if _turned(kernel, "a", f"a.{k}"):
        return _turn(kernel, "a", f"a.{k}", "a.ii", rows)
    return vector(kernel, "a.ii")


def _turned(kernel: Kernel, fill: str, inner: str) -> bool:
    """The tile is stored along another axis than the one its source lies along: a plain load along `inner`."""
    nest = kernel.nest(fill)
    value = nest.expressions()[0]
    return (
        value.op is Ops.LOAD
        and unit_axis(kernel, nest, value.src[1]) == kernel.loop(inner).axis
    )


def _turn(kernel: Kernel, fill: str, inner: str, across: str, wide: int) -> Kernel:
    """Load along `inner`, turn a square tile in registers, store along `across`."""
    kernel = split(kernel, inner, wide, f"{inner}_o", f"{inner}_t")
    nest = kernel.nest(fill)
    names = [kernel.loops[a].name for a in nest.loops]
    order = [n for n in names if n not in (f"{inner}_o", f"{inner}_t", across)]
    kernel = reorder(kernel, fill, *order, f"{inner}_o", f"{inner}_t", across)
    value = kernel.nest(fill).expressions()[0]
    turn = f"{fill}_turn"
    kernel = stage(
        kernel,
        fill,
        value,
        f"{inner}_o",
        turn,
        Scope.REGISTER,
        (across, f"{inner}_t"),
    )
    kernel = vector(unroll(kernel, f"{turn}.{across}"), f"{turn}.{inner}_t")
    return vector(unroll(kernel, f"{inner}_t"), across)
