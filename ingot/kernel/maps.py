"""Maps: kernels without reductions. In: one or more stores. Out: vector loops, chunks for the threads, tiles for transposes."""

from __future__ import annotations

from collections.abc import Mapping

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Scope
from ingot.kernel.align import fuse_all
from ingot.kernel.moves import bind, edge, reorder, split, unroll, vector
from ingot.kernel.nest import Edge, Kernel, Nest, Store, axes_in
from ingot.kernel.plan import Plan, grain
from ingot.kernel.staging import stage
from ingot.kernel.structure import loads_of, unit_axis
from ingot.target import Target

CHUNK_ELEMENTS = 1 << 15
TILE = 16


def lanes(target: Target, dtype: dt.DType) -> int:
    """Elements in one vector register."""
    return max(1, target.vector_bytes // dtype.itemsize)


def plan(kernel: Kernel, hints: Mapping[UOp, int], target: Target) -> Plan:
    """Every store on its own: neighbouring elements in a vector, the rest in chunks."""
    extra: dict[UOp, UOp] = {}
    for nest in kernel.nests:
        kernel, more = _store(kernel, nest, target)
        extra.update(more)
    return Plan(kernel, (), extra)


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
        return _rows(kernel, nest.name, nest.loops[0], {})
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
        kernel, row = fuse_all(kernel, outer, f"{name}_row")
        kernel, extra = _rows(
            kernel, name, kernel.loop(row).axis, {}, kernel.loops[unit].extent
        )
    kernel = split(kernel, j, wide, f"{j}_o", f"{j}_v")
    return edge(vector(kernel, f"{j}_v"), f"{j}_o", Edge.PEEL), extra


def _rows(
    kernel: Kernel,
    name: str,
    axis: int,
    extra: dict[UOp, UOp],
    each: UOp | None = None,
) -> tuple[Kernel, dict[UOp, UOp]]:
    """Chunks of whole rows, about CHUNK_ELEMENTS each."""
    row = kernel.loops[axis].name
    size, value = grain(
        f"g_{name}",
        UOp.const(dt.index, CHUNK_ELEMENTS),
        each or UOp.const(dt.index, 1),
    )
    kernel = split(kernel, row, size, f"{row}_chunk", f"{row}_in")
    return bind(kernel, f"{row}_chunk", LoopKind.CHUNK), {**extra, size: value}


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
        _same_direction(kernel, kernel.nest(name), f"{i}_t")
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


def _same_direction(kernel: Kernel, nest: Nest, inner: str) -> list[UOp]:
    """The loads whose unit axis is loop `inner`."""
    axis = kernel.loop(inner).axis
    return [u for u in loads_of(nest) if unit_axis(kernel, nest, u.src[1]) == axis]
