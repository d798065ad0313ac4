"""Maps: kernels without reductions. In: one or more stores. Out: vector loops, chunks for the threads, tiles for transposes."""

from __future__ import annotations

from collections.abc import Mapping

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Ops, Scope
from ingot.kernel.align import fuse_all
from ingot.kernel.moves import (
    bind,
    edge,
    reorder,
    split,
    uncached,
    unroll,
    vector,
)
from ingot.kernel.nest import Edge, Kernel, Nest, Store, axes_in
from ingot.kernel.plan import Plan, expected, grain
from ingot.kernel.staging import stage
from ingot.kernel.structure import loads_of, strides, unit_axis
from ingot.target import Target

CHUNK_ELEMENTS = 1 << 15
TILE = 16
UNCACHED_BYTES = 8 << 20  # an output that no core's own cache holds


def lanes(target: Target, dtype: dt.DType) -> int:
    """Elements in one vector register."""
    return max(1, target.vector_bytes // dtype.itemsize)


def plan(kernel: Kernel, hints: Mapping[UOp, int], target: Target) -> Plan:
    """Every store on its own: neighbouring elements in a vector, the rest in chunks."""
    extra: dict[UOp, UOp] = {}
    kernel, guards = past_caches(kernel, hints)
    for nest in kernel.nests:
        kernel, more = _store(kernel, nest, target)
        extra.update(more)
    return Plan(kernel, guards, extra)


def past_caches(
    kernel: Kernel, hints: Mapping[UOp, int]
) -> tuple[Kernel, tuple[UOp, ...]]:
    """Outputs of many bytes are written past the caches; a guard says from how many on."""
    guards: dict[UOp, None] = {}
    for nest in [n for n in kernel.nests if isinstance(n.body, Store)]:
        nbytes = UOp.const(dt.index, nest.types[0].itemsize)
        for axis in nest.loops:
            nbytes = nbytes * kernel.loops[axis].extent
        nbytes = nbytes.simplify()
        known = expected(nbytes, hints)
        if known is None or not _in_runs(kernel, nest):
            continue
        many = known >= UNCACHED_BYTES
        least = UOp.const(dt.index, UNCACHED_BYTES - 1)
        guards[least < nbytes if many else nbytes < UNCACHED_BYTES] = None
        kernel = uncached(kernel, nest.name) if many else kernel
    return kernel, tuple(guards)


def _in_runs(kernel: Kernel, nest: Nest) -> bool:
    """No load is a gather: beside those, stores past the caches were ten times slower than others."""
    body = nest.body
    unit = unit_axis(kernel, nest, body.offset) if isinstance(body, Store) else None
    steps = [strides(kernel, nest, u.src[1]) for u in loads_of(nest)]
    along = [None if s is None or unit is None else s.get(unit) for s in steps]
    moving = [step for step in along if step is not None]
    whole = unit is not None and None not in steps
    return whole and all(step.op is Ops.CONST for step in moving)


def _store(
    kernel: Kernel, nest: Nest, target: Target
) -> tuple[Kernel, dict[UOp, UOp]]:
    if not nest.loops:
        return kernel, {}
    unit = (
        unit_axis(kernel, nest, nest.body.offset)
        if isinstance(nest.body, Store)
        else None
    )
    if unit is None:
        return _rows(kernel, nest.name, nest.loops[:1], UOp.const(dt.index, 1))
    across = [u for u in loads_of(nest) if _crosses(kernel, nest, u, unit)]
    if across:
        return _transposed(kernel, nest, unit, across, target)
    return _plain(kernel, nest, unit, target)


def _crosses(kernel: Kernel, nest: Nest, load: UOp, unit: int) -> bool:
    """The load walks through memory along another loop than the store, and moves along the store's too."""
    axis = unit_axis(kernel, nest, load.src[1])
    return (
        axis not in (None, unit)
        and unit in axes_in(load.src[1])
        and len(load.src) == 2
    )


def _plain(
    kernel: Kernel, nest: Nest, unit: int, target: Target
) -> tuple[Kernel, dict[UOp, UOp]]:
    """[rows.., j] -> chunks of rows, or of j itself if it is alone; j in vectors, full ones first."""
    name, j = nest.name, kernel.loops[unit].name
    wide = lanes(target, widest(nest))
    outer = tuple(a for a in nest.loops if a != unit)
    extra: dict[UOp, UOp] = {}
    if not outer:
        kernel = split(kernel, j, CHUNK_ELEMENTS, f"{j}_chunk", f"{j}_in")
        kernel, j = bind(kernel, f"{j}_chunk", LoopKind.CHUNK), f"{j}_in"
    else:
        kernel = reorder(
            kernel, name, *(kernel.loops[a].name for a in (*outer, unit))
        )
        rows = _rows if len(outer) == 1 else _lines
        kernel, extra = rows(kernel, name, outer, kernel.loops[unit].extent)
    kernel = split(kernel, j, wide, f"{j}_o", f"{j}_v")
    return edge(vector(kernel, f"{j}_v"), f"{j}_o", Edge.PEEL), extra


def _rows(
    kernel: Kernel, name: str, axes: tuple[int, ...], each: UOp
) -> tuple[Kernel, dict[UOp, UOp]]:
    """Chunks of whole rows, about CHUNK_ELEMENTS each."""
    row = kernel.loops[axes[0]].name
    size, value = grain(f"g_{name}", UOp.const(dt.index, CHUNK_ELEMENTS), each)
    kernel = split(kernel, row, size, f"{row}_chunk", f"{row}_in")
    return bind(kernel, f"{row}_chunk", LoopKind.CHUNK), {size: value}


def _lines(
    kernel: Kernel, name: str, axes: tuple[int, ...], each: UOp
) -> tuple[Kernel, dict[UOp, UOp]]:
    """Chunks of rows of lines; the innermost of the axes stays a loop, so that no line asks for its place by a division."""
    line = kernel.loops[axes[-1]]
    whole = UOp.const(dt.index, CHUNK_ELEMENTS)
    lines, few = grain(f"g_{name}_lines", whole, each)
    rows, many = grain(f"g_{name}", whole, each * line.extent)
    kernel, row = fuse_all(kernel, axes[:-1], f"{name}_row")
    kernel = split(kernel, row, rows, f"{name}_r", f"{name}_r_in")
    kernel = split(kernel, line.name, lines, f"{name}_l", f"{name}_l_in")
    grid, inner = (f"{name}_r", f"{name}_l"), (f"{name}_r_in", f"{name}_l_in")
    unit = [kernel.loops[a].name for a in kernel.nest(name).loops][-1]
    kernel = reorder(kernel, name, *grid, *inner, unit)
    pair = tuple(kernel.loop(n).axis for n in grid)
    kernel, chunk = fuse_all(kernel, pair, f"{name}_chunk")
    return bind(kernel, chunk, LoopKind.CHUNK), {lines: few, rows: many}


def widest(nest: Nest) -> dt.DType:
    """The largest type that a nest reads or writes: it decides the vector length."""
    types = [u.dtype for u in loads_of(nest)] + list(nest.types)
    return max(types, key=lambda t: t.itemsize)


def _transposed(
    kernel: Kernel, nest: Nest, unit: int, across: list[UOp], target: Target
) -> tuple[Kernel, dict[UOp, UOp]]:
    """Square tiles: loads along the source's unit axis fill a tile in registers, stores read it along their own."""
    name, j = nest.name, kernel.loops[unit].name
    i = kernel.loops[unit_axis(kernel, nest, across[0].src[1]) or 0].name
    wide = lanes(target, widest(nest))
    rest = tuple(a for a in nest.loops if kernel.loops[a].name not in (i, j))
    block = 4 * wide
    kernel = split(
        split(kernel, i, block, f"{i}_b", f"{i}_in"), j, block, f"{j}_b", f"{j}_in"
    )
    kernel = split(
        split(kernel, f"{i}_in", wide, f"{i}_o", f"{i}_t"),
        f"{j}_in",
        wide,
        f"{j}_o",
        f"{j}_t",
    )
    names = [kernel.loops[a].name for a in rest]
    kernel = reorder(
        kernel,
        name,
        *names,
        f"{i}_b",
        f"{j}_b",
        f"{i}_o",
        f"{j}_o",
        f"{i}_t",
        f"{j}_t",
    )
    for number, load in enumerate(
        _same_direction(kernel, kernel.nest(name), f"{i}_t", f"{j}_t")
    ):
        tile = f"{name}_tile{number}"
        kernel = stage(
            kernel, name, load, f"{j}_o", tile, Scope.REGISTER, (f"{j}_t", f"{i}_t")
        )
        kernel = vector(unroll(kernel, f"{tile}.{j}_t"), f"{tile}.{i}_t")
    kernel = vector(unroll(kernel, f"{i}_t"), f"{j}_t")
    axes = (
        *(kernel.loop(n).axis for n in names),
        kernel.loop(f"{i}_b").axis,
        kernel.loop(f"{j}_b").axis,
    )
    kernel, row = fuse_all(kernel, axes, f"{name}_block")
    return bind(kernel, row, LoopKind.CHUNK), {}


def _same_direction(
    kernel: Kernel, nest: Nest, inner: str, across: str
) -> list[UOp]:
    """The loads whose unit axis is loop `inner`, and that move along `across`: others are one number for a row of a tile."""
    axis, other = (kernel.loop(n).axis for n in (inner, across))
    return [
        u
        for u in loads_of(nest)
        if unit_axis(kernel, nest, u.src[1]) == axis and other in axes_in(u.src[1])
    ]
