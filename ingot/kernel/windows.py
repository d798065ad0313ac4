"""Contractions whose right operand is read through windows: convolutions, where no index of memory is one index of a matrix.

In: a contraction over several axes, both operands loads. Out: register tiles of rows x vectors of the stored axis in a few
neighbouring lines. The windows of a tile are copied before its rows are computed: once for all rows, without questions
about borders in the loop that counts, and only as many as stay in the caches.

    out[n, o, y, x] = sum over c, v, u of w[o, c, v, u] * in[n, c, y + v, x + u]
    ->  for n, lines of y, vectors of x: copy windows; for tiles of o: for u, v, c: o x lines sums of vectors
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Ops, Scope
from ingot.kernel.align import fuse_all
from ingot.kernel.moves import bind, edge, split, unroll, vector
from ingot.kernel.nest import Edge, Kernel, Nest, Reduce
from ingot.kernel.plan import Plan
from ingot.kernel.specialise import equal_to
from ingot.kernel.staging import stage
from ingot.kernel.structure import strides
from ingot.kernel.thin import ordered

ROWS = 8  # broadcasts of a tile, against
LINES = 3  # vectors: with what they are multiplied by, 28 registers
EVEN = 2  # a step between neighbours that needs no gather


class Axes(NamedTuple):
    """Axes of a contraction: in both operands, in the left, in the right (the stored one last), summed."""

    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    summed: tuple[int, ...]


def operands_of(nest: Nest, left: int) -> tuple[UOp, UOp]:
    """(left, right)"""
    body = nest.body
    assert isinstance(body, Reduce)
    return body.values[0].src[left], body.values[0].src[1 - left]


def plan(
    kernel: Kernel,
    name: str,
    axes: Axes,
    left: int,
    hints: Mapping[UOp, int],
    wide: int,
) -> Plan | None:
    """The plan for windows; None if the operands are not read through them."""
    nest = kernel.nest(name)
    followers = kernel.nests[kernel.nests.index(nest) + 1 :]
    matrix = len(axes.columns) == 1 or len(axes.summed) == 1
    if matrix or len(axes.rows) != 1 or any(n.reduced for n in followers):
        return None
    step = _step(kernel, nest, axes, operands_of(nest, left))
    if step is None:
        return None
    guards: tuple[UOp, ...] = ()
    if step.op is Ops.DEFINE_VAR:
        even = hints.get(step) == EVEN
        guards = (step.eq(EVEN) if even else step.ne(EVEN),)
        kernel = equal_to(kernel, step, EVEN) if even else kernel
    names = [name, *(n.name for n in followers)]
    return Plan(_arranged(kernel, names, axes, left, wide), guards)


def _step(
    kernel: Kernel, nest: Nest, axes: Axes, operands: tuple[UOp, UOp]
) -> UOp | None:
    """How far apart neighbours along the stored axis are in the right operand; None unless both are plain to read."""
    left, right = operands
    if left.op is not Ops.LOAD or right.op is not Ops.LOAD or len(left.src) > 2:
        return None
    return (strides(kernel, nest, right.src[1]) or {}).get(axes.columns[-1])


def _arranged(
    kernel: Kernel, names: list[str], axes: Axes, left: int, wide: int
) -> Kernel:
    def called(given: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(kernel.loops[a].name for a in given)

    *outer, line, column = called(axes.columns)
    inner = called(axes.summed[::-1])
    grid = (*called(axes.batch), *outer)
    (row,) = called(axes.rows)
    kernel = split(kernel, row, ROWS, "ir", "ii")
    kernel = split(kernel, line, LINES, "jl", "ju")
    kernel = split(kernel, column, wide, "jo", "jv")
    order = (*grid, "jl", "jo", "ir", *inner, "ii", "ju", "jv")
    kernel = ordered(kernel, names, order)
    kernel = vector(unroll(unroll(kernel, "ii"), "ju"), "jv")
    kernel = edge(edge(kernel, "ii", Edge.CLAMP), "ju", Edge.CLAMP)
    _, windows = operands_of(kernel.nest(names[0]), left)
    at = (*inner, "ju", "jv")
    kernel = stage(kernel, names[0], windows, "jo", "b", Scope.PACKED, at)
    chunks = tuple(kernel.loop(n).axis for n in (*grid, "jl"))
    kernel, chunk = fuse_all(kernel, chunks, "tile")
    return bind(kernel, chunk, LoopKind.CHUNK)
