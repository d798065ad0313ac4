"""Nodes out of nothing: numbers repeated, counting, the identity. In: sizes and types. Out: nodes without memory.

Nothing here allocates: a kernel computes the values where it needs them.
"""

from __future__ import annotations

import math
from weakref import WeakValueDictionary

import numpy as np

from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Scalar
from ingot.ir.node import UOp
from ingot.ir.region import function, param, scan
from ingot.ir.shape import Shape, Type, dim, product
from ingot.ops.elementwise import astype, constant
from ingot.ops.movement import Dim, Sizes, broadcast_to, reshape, show, size, sizes
from ingot.ops.op import REGISTRY, op
from ingot.ops.promotion import DEFAULT_FLOAT, floating, of_number

# A loop that draws again and again finds its four nodes here.
_positions: WeakValueDictionary[Shape, UOp] = WeakValueDictionary()


def _iota_type(length: UOp) -> Type:
    return dt.index, (dim(length),)


def _iota(length: UOp) -> UOp:
    """0, 1, 2, ..., length - 1."""
    count, step = param(0, dt.index), param(1, dt.index)
    body = function("count", (count, step), (count + step, count))
    ones = broadcast_to(UOp.const(dt.index, 1), (dim(length),))
    return scan(body, (UOp.const(dt.index, 0),), (ones,))[1]


# Basic: a kernel has this value at hand, in the counter of its loop.
_iota_op = op(
    "iota", types=_iota_type, lower=_iota, ref=np.arange, basic=True, public=False
)


def iota(length: Dim) -> UOp:
    """0, 1, 2, ..., length - 1, as `index`."""
    return _iota_op(size(length))


def counter(shape: Shape, axis: int, dtype: DType = dt.int64) -> UOp:
    """The position along `axis`, for every element of a shape."""
    aligned = tuple(n if i == axis else 1 for i, n in enumerate(shape))
    return broadcast_to(reshape(iota(shape[axis]).cast(dtype), aligned), shape)


def positions(shape: Shape) -> UOp:
    """0, 1, 2, ... in the order of the elements: what random numbers are counted by."""
    made = _positions.get(shape)
    if made is None:
        counted = iota(product(shape)).cast(dt.uint64)
        made = _positions[shape] = reshape(counted, shape)
    return made


def full(shape: Sizes, value: Scalar, dtype: DType | None = None) -> UOp:
    """`value` everywhere."""
    return constant(value, dtype or of_number(value), _checked("full", shape))


def arange(
    start: Scalar, stop: Scalar, step: Scalar, dtype: DType | None = None
) -> UOp:
    """start, start + step, ... before stop: each is start + i * step, so that no error adds up."""
    for number in (start, stop, step):
        if not isinstance(number, int | float | np.number):
            raise ArgumentError(
                f"arange: {number!r} is no number",
                fix="give numbers: ig.arange(stop) or ig.arange(start, stop, step)",
            )
    if step == 0:
        raise ArgumentError(
            "arange: step is 0, which never arrives",
            fix="give a step above or below 0",
        )
    count = max(0, math.ceil((stop - start) / step))
    own = _type_of_range(start, stop, step)
    target = dtype or own
    counted = iota(count).cast(target if target.is_float else own)
    return (counted * _like(counted, step) + _like(counted, start)).cast(target)


def _type_of_range(*numbers: Scalar) -> DType:
    return DEFAULT_FLOAT if any(isinstance(n, float) for n in numbers) else dt.int64


def linspace(
    start: Scalar,
    stop: Scalar,
    num: int,
    endpoint: bool = True,
    dtype: DType | None = None,
) -> UOp:
    """`num` numbers at equal distances, counted from the nearer end, so that both ends are exact."""
    (count,) = _checked("linspace", (num,))
    target = dtype or DEFAULT_FLOAT
    gaps = max(1, num - 1 if endpoint else num)
    step = (stop - start) / gaps
    # In float64, rounded once: then counting from either end gives the same number.
    i = iota(count).cast(dt.float64)
    rising = i * _like(i, step) + _like(i, float(start))
    back = _like(i, float(gaps)) - i
    falling = _like(i, float(stop)) - back * _like(i, step)
    return (i < _like(i, gaps / 2 + 0.25)).where(rising, falling).cast(target)


def logspace(
    start: Scalar,
    stop: Scalar,
    num: int,
    base: float = 10.0,
    endpoint: bool = True,
    dtype: DType | None = None,
) -> UOp:
    """Powers of `base` at equal distances of their exponents."""
    target = dtype or DEFAULT_FLOAT
    exponents = linspace(start, stop, num, endpoint, floating(target))
    raised: UOp = REGISTRY["pow"](base, exponents)
    return raised.cast(target)


def _like(x: UOp, number: Scalar) -> UOp:
    return constant(number, x.dtype, x.shape)


def eye(
    rows: int, columns: int, diagonal: int = 0, dtype: DType = DEFAULT_FLOAT
) -> UOp:
    """1 on a diagonal, 0 elsewhere."""
    shape = _checked("eye", (rows, columns))
    row, column = counter(shape, 0), counter(shape, 1)
    return astype(column.eq(row + _like(row, diagonal)), dtype)


def _checked(name: str, given: Sizes) -> Shape:
    shape = sizes(name, given)
    for n in shape:
        if isinstance(n, int) and n < 0:
            raise ArgumentError(
                f"{name}: {n} in shape {show(shape)} is no size",
                fix="sizes are 0 or more",
            )
    return shape
