"""Tensors out of nothing. In: shapes, numbers, arrays. Out: tensors; none but those of arrays need memory yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.errors import DTypeError
from ingot.ir.dtype import DType, Scalar
from ingot.ir.node import UOp
from ingot.ops import creation
from ingot.ops.movement import Sizes
from ingot.ops.promotion import DEFAULT_FLOAT, resolve
from ingot.tensor.handle import Array, array_node
from ingot.tensor.tensor import Tensor

Type = DType | str | None


def tensor(data: Any, dtype: Type = None) -> Tensor:
    """A tensor with a copy of the data: numbers, lists of numbers, a NumPy array, a tensor."""
    return Tensor(data, dtype)


def from_numpy(array: Array) -> Tensor:
    """A tensor over the array's own memory: writing to the array changes the tensor. A slice with gaps is copied."""
    if not isinstance(array, np.ndarray):
        raise DTypeError(
            f"from_numpy: {type(array).__name__} is no NumPy array",
            fix="make a copy of other data with ig.tensor(...)",
        )
    return Tensor.of(array_node(array, borrow=True))


def full(shape: Sizes, value: Scalar, dtype: Type = None) -> Tensor:
    """`value` everywhere."""
    return Tensor.of(creation.full(shape, value, _type(dtype)))


def zeros(shape: Sizes, dtype: Type = None) -> Tensor:
    """0 everywhere."""
    return full(shape, 0, dtype or DEFAULT_FLOAT)


def ones(shape: Sizes, dtype: Type = None) -> Tensor:
    """1 everywhere."""
    return full(shape, 1, dtype or DEFAULT_FLOAT)


def full_like(x: Tensor, value: Scalar, dtype: Type = None) -> Tensor:
    """`value` everywhere, in the shape and type of x."""
    return full(x.shape, value, dtype or x.dtype)


def zeros_like(x: Tensor, dtype: Type = None) -> Tensor:
    """0 everywhere, in the shape and type of x."""
    return full_like(x, 0, dtype)


def ones_like(x: Tensor, dtype: Type = None) -> Tensor:
    """1 everywhere, in the shape and type of x."""
    return full_like(x, 1, dtype)


def arange(
    start: Scalar, stop: Scalar | None = None, step: Scalar = 1, dtype: Type = None
) -> Tensor:
    """start, start + step, ... before stop; one number alone is the stop."""
    first, last = (0, start) if stop is None else (start, stop)
    return Tensor.of(creation.arange(first, last, step, _type(dtype)))


def eye(
    rows: int, columns: int | None = None, diagonal: int = 0, dtype: Type = None
) -> Tensor:
    """1 on a diagonal, 0 elsewhere."""
    width = rows if columns is None else columns
    return Tensor.of(
        creation.eye(rows, width, diagonal, _type(dtype) or DEFAULT_FLOAT)
    )


def Variable(name: str, low: int, high: int) -> UOp:
    """A size that is not fixed, low <= size <= high: `x.shrink(((0, n.bind(5)), None))`. All values share compiled code."""
    return UOp.variable(name, low, high)


def _type(dtype: Type) -> DType | None:
    return None if dtype is None else resolve(dtype)
