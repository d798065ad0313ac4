"""The way back of moves: zeros around, zeros between, overlapping sums. In: what flows back. Out: the shape it came from.

Sizes may be symbolic. Everything is a move or a sum, so that it fuses with what surrounds it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import AxesArg, Ops, WindowArg
from ingot.ir.shape import Shape, same
from ingot.ops.movement import Dim, reshape, shrink, size, stride
from ingot.ops.reduce import sum_


def padded_to(
    x: UOp, lows: Sequence[Dim], highs: Sequence[Dim], shape: Shape
) -> UOp:
    """Zeros around x, which then has this shape; sizes may be symbolic."""
    widths = [n for pair in zip(lows, highs, strict=True) for n in pair]
    if all(isinstance(n, int) and n == 0 for n in widths):
        return x
    made = UOp(Ops.PAD, x.dtype, (x, *map(size, widths)))
    return of_shape(made, shape)


def of_shape(x: UOp, shape: Shape) -> UOp:
    """x under a shape that is the same, written another way: n - a + a is n."""
    if same(x.shape, shape):
        return x
    return UOp(Ops.RESHAPE, x.dtype, (x, *map(size, shape)))


def spaced(g: UOp, steps: Sequence[int], shape: Shape) -> UOp:
    """The elements of g `steps` apart, zeros between and after them, in `shape`."""
    for axis, step in enumerate(steps):
        if step > 1:
            g = _spaced_along(g, axis, step, shape[axis])
    return g


def _spaced_along(g: UOp, axis: int, step: int, length: Dim) -> UOp:
    """a b c -> a 0 b 0 c (0): each element with its zeros is a row; the rows are joined, and the end is cut."""
    before, count, after = g.shape[:axis], g.shape[axis], g.shape[axis + 1 :]
    column = reshape(g, (*before, count, 1, *after))
    rows = (*before, count, step, *after)
    highs = [step - 1 if i == axis + 1 else 0 for i in range(len(rows))]
    filled = padded_to(column, [0] * len(rows), highs, rows)
    joined = reshape(filled, (*before, count * step, *after))
    ranges = [(0, length) if i == axis else None for i in range(len(g.shape))]
    return of_shape(shrink(joined, ranges), (*before, length, *after))


def overlapped(g: UOp, axis: int, length: int) -> UOp:
    """Sum over w of g[.., i - w, .., w]: windows of the padded g, and of the square (w, place in window) its diagonal."""
    margin = length - 1
    reach = [margin if i == axis else 0 for i in range(len(g.shape))]
    grown = tuple(n + 2 * m for n, m in zip(g.shape, reach, strict=True))
    turned = UOp(Ops.FLIP, g.dtype, (g,), AxesArg((len(g.shape) - 1,)))
    wide = padded_to(turned, reach, reach, grown)
    runs = UOp(
        Ops.WINDOW, g.dtype, (wide, UOp.const(dt.index, length)), WindowArg(axis)
    )
    flat = reshape(runs, (*runs.shape[:-2], length * length))
    steps = [1] * (len(flat.shape) - 1)
    diagonal = stride(flat, [*steps, length + 1])
    return sum_(diagonal, len(diagonal.shape) - 1)
