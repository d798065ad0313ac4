"""One reduction and what is stored of it: sums of rows, sums of columns, matrix times vector.

In: two nests that share their outer loops. Out: memory read in long runs, several at once: such kernels do little but wait
for it, and the more streams the processor sees coming, the more it fetches ahead.
"""

from __future__ import annotations

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind
from ingot.kernel.align import fuse_all
from ingot.kernel.maps import CHUNK_ELEMENTS, lanes, widest
from ingot.kernel.moves import bind, detach, edge, reorder, split, unroll, vector
from ingot.kernel.nest import Edge, Kernel, Nest, Store
from ingot.kernel.plan import Plan, grain
from ingot.kernel.reduction import rfactor
from ingot.kernel.structure import unit_axes
from ingot.kernel.thin import ordered
from ingot.target import Target

ROWS = 4  # rows side by side, with
PARTS = 2  # accumulators each: they hide the latency of an addition
LINES = 16  # in a sum of columns: rows that are added up in registers before memory is touched
WIDEST = 4096  # columns of a block: their sums stay in the first-level cache
BLOCKS = 8  # of rows and columns together, at least, where there is work for them
LEAST_LINES = 64


def plan(kernel: Kernel, common: tuple[int, ...], target: Target) -> Plan | None:
    """The plan for one reduction over one axis inside one loop; None for anything else."""
    if len(kernel.nests) != 2 or len(common) != 1:
        return None
    nest, output = kernel.nests
    alone = isinstance(output.body, Store) and output.loops == common
    if not alone or len(nest.reduced) != 1 or len(nest.loops) != 2:
        return None
    unit = unit_axes(kernel, nest)[:1]
    wide = lanes(target, widest(nest))
    if unit == [nest.reduced[0]]:
        return _rows(kernel, nest, wide)
    return _columns(kernel, nest, wide) if unit == [common[0]] else None


def _rows(kernel: Kernel, nest: Nest, wide: int) -> Plan:
    """for i: for j: s += x[i, j]   ->   for io: for jo: ROWS x PARTS vectors of sums; then of parts, then of lanes"""
    row, column = (kernel.loops[a].name for a in nest.loops)
    name, part, lane = nest.name, f"{nest.name}_part", f"{nest.name}_lane"
    each = kernel.loop(column).extent * ROWS
    size, value = grain("g0", UOp.const(dt.index, CHUNK_ELEMENTS), each)
    kernel = split(kernel, row, ROWS, "row", "row_u")
    kernel = split(kernel, "row", size, "row_chunk", "row_in")
    kernel = split(kernel, column, PARTS * wide, "j_o", "j_t")
    kernel = split(kernel, "j_t", wide, "j_u", "j_v")
    kernel = rfactor(kernel, name, "j_u", "j_v", name=part)
    kernel = rfactor(kernel, name, "j_v", name=lane)
    rows = ("row_chunk", "row_in")
    kernel = reorder(kernel, part, *rows, "j_o", "row_u", "j_u", "j_v")
    kernel = unroll(unroll(kernel, "row_u"), "j_u")
    kernel = edge(vector(kernel, "j_v"), "row_u", Edge.CLAMP)
    kernel = edge(kernel, "j_o", Edge.PEEL)
    return Plan(bind(kernel, "row_chunk", LoopKind.CHUNK), (), {size: value})


def _columns(kernel: Kernel, nest: Nest, wide: int) -> Plan:
    """for j: for i: s[j] += x[i, j]   ->   for blocks of i and j: p[j] = sum over the block's i;  for j: s[j] = sum of p[j]"""
    name, part = nest.name, f"{nest.name}_block"
    column, row = (kernel.loops[a].name for a in nest.loops)
    columns, rows = (kernel.loop(n).extent for n in (column, row))
    g_rows = UOp.variable("g_rows", LINES, 1 << 30, dt.index)
    g_columns = UOp.variable("g_columns", wide, WIDEST, dt.index)
    kernel = split(kernel, row, g_rows, "i_b", "i_t")
    kernel = rfactor(kernel, name, "i_b", name=part)
    kernel = detach(kernel, name, "i_b", "i_p")
    kernel = detach(kernel, part, column, "j")
    kernel = split(kernel, "j", g_columns, "j_b", "j_t")
    kernel = split(kernel, "j_t", wide, "j_o", "j_v")
    kernel = split(kernel, "i_t", LINES, "i_o", "i_u")
    lines = f"{name}_lines"
    kernel = rfactor(kernel, part, "i_o", name=lines)
    grid = ("j_b", "i_b")
    order = (*grid, "i_o", "j_o", "i_u", "j_v")
    kernel = ordered(kernel, [lines, part], order)
    kernel = edge(unroll(kernel, "i_u"), "i_o", Edge.PEEL)
    kernel = edge(vector(kernel, "j_v"), "j_o", Edge.PEEL)
    kernel = _final(kernel, name, column, wide)
    axes = tuple(kernel.loop(n).axis for n in grid)
    kernel, block = fuse_all(kernel, axes, "block")
    kernel = bind(kernel, block, LoopKind.CHUNK)
    extra = {g_rows: _lines(rows, columns), g_columns: _run(columns, wide)}
    return Plan(kernel, (), extra)


def _final(kernel: Kernel, name: str, column: str, wide: int) -> Kernel:
    """The blocks' sums added up, a vector of columns at a time."""
    kernel = split(kernel, column, WIDEST, "s_b", "s_t")
    kernel = split(kernel, "s_t", wide, "s_o", "s_v")
    kernel = reorder(kernel, name, "s_b", "s_o", "i_p", "s_v")
    kernel = edge(vector(kernel, "s_v"), "s_o", Edge.PEEL)
    return bind(kernel, "s_b", LoopKind.CHUNK)


def _run(columns: UOp, wide: int) -> UOp:
    """Columns in a block: all that there are, within bounds."""
    whole = (columns + (wide - 1)) // wide * wide
    return whole.minimum(WIDEST).maximum(wide)


def _lines(rows: UOp, columns: UOp) -> UOp:
    """Rows in a block: few where columns alone do not make enough blocks."""
    parts = (UOp.const(dt.index, BLOCKS * WIDEST) // columns.maximum(1)).maximum(1)
    parts = parts.minimum(BLOCKS)
    share = (rows + (parts - 1)) // parts
    return ((share + (LINES - 1)) // LINES * LINES).maximum(LEAST_LINES)
