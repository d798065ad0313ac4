"""Nodes out of nothing: numbers repeated, counting, the identity. In: sizes and types. Out: nodes without memory.

Nothing here allocates: a kernel computes the values where it needs them.
"""

from __future__ import annotations

import math

import numpy as np

from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Scalar
from ingot.ir.node import UOp
from ingot.ir.region import function, param, scan
from ingot.ir.shape import Shape, Type, dim
from ingot.ops.elementwise import astype, constant
from ingot.ops.movement import Dim, Sizes, broadcast_to, reshape, show, size, sizes
from ingot.ops.op import op
from ingot.ops.promotion import DEFAULT_FLOAT, of_number


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


def full(shape: Sizes, value: Scalar, dtype: DType | None = None) -> UOp:
    """`value` everywhere."""
    return constant(value, dtype or of_number(value), _checked("full", shape))


def arange(
    start: Scalar, stop: Scalar, step: Scalar, dtype: DType | None = None
) -> UOp:
    """start, start + step, ... before stop: each is start + i * step, so that no error adds up."""
    if step == 0:
        raise ArgumentError(
            "arange: step is 0, which never arrives",
            fix="give a step above or below 0",
        )
    count = max(0, math.ceil((stop - start) / step))
    target = dtype or _type_of_range(start, stop, step)
    counted = iota(count).cast(target if target.is_float else dt.int64)
    return (counted * _like(counted, step) + _like(counted, start)).cast(target)


def _type_of_range(*numbers: Scalar) -> DType:
    return DEFAULT_FLOAT if any(isinstance(n, float) for n in numbers) else dt.int64


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
