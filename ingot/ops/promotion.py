"""Which type two operands meet in. In: dtypes and Python numbers. Out: the dtype of the result.

Tensors follow the array API: the smallest type that holds both. Where the standard says nothing, an integer that meets
a float takes the float's type. Python numbers are weak: they take the tensor's type, and only change its kind.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ingot.errors import ArgumentError, DTypeError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Kind, Scalar
from ingot.ir.node import UOp

Operand = UOp | Scalar

DEFAULT_FLOAT = dt.float32
DEFAULT_INT = dt.int64

_SIGNED = {8: dt.int8, 16: dt.int16, 32: dt.int32, 64: dt.int64}
_RANK = {Kind.BOOL: 0, Kind.UINT: 1, Kind.INT: 1, Kind.FLOAT: 2}


@cache
def promote(a: DType, b: DType) -> DType:
    """The type that holds both."""
    if a is b:
        return a
    if _RANK[a.kind] != _RANK[b.kind]:
        return max(a, b, key=lambda d: _RANK[d.kind])
    if dt.index in (
        a,
        b,
    ):  # the same bits as int64; only sizes and loops use the name
        return promote(_plain(a), _plain(b))
    if a.is_float:
        return (
            _wider(a, b) if a.bits != b.bits else dt.float32
        )  # float16 and bfloat16 hold different numbers
    return _wider(a, b) if a.kind is b.kind else _mixed_signs(a, b)


def _plain(dtype: DType) -> DType:
    return dt.int64 if dtype is dt.index else dtype


def _wider(a: DType, b: DType) -> DType:
    return a if a.bits > b.bits else b


def _mixed_signs(a: DType, b: DType) -> DType:
    unsigned, signed = (a, b) if a.kind is Kind.UINT else (b, a)
    if signed.bits > unsigned.bits:
        return signed
    found = _SIGNED.get(2 * unsigned.bits)
    if found is None:
        raise DTypeError(
            f"no integer type holds both {a} and {b}",
            fix="convert one of them with .astype(...)",
        )
    return found


def meet(dtype: DType, number: Scalar) -> DType:
    """The type in which a tensor of `dtype` meets a Python number."""
    if isinstance(number, bool):
        return dtype
    if isinstance(number, int):
        return DEFAULT_INT if dtype is dt.boolean else _holding(dtype, number)
    return dtype if dtype.is_float else DEFAULT_FLOAT


def _holding(dtype: DType, number: int) -> DType:
    """Integers out of range would wrap silently."""
    if not dtype.is_float and not dt.least(dtype) <= number <= dt.greatest(dtype):
        low, high = dt.least(dtype), dt.greatest(dtype)
        raise ArgumentError(
            f"{number} does not fit {dtype}, which holds {low}..{high}",
            fix="convert the tensor first, for example with .astype('int64')",
        )
    return dtype


def of_number(number: Scalar) -> DType:
    """The type of a Python number that meets no tensor."""
    if isinstance(number, bool):
        return dt.boolean
    return DEFAULT_INT if isinstance(number, int) else DEFAULT_FLOAT


def floating(dtype: DType) -> DType:
    """The float type in which mathematical functions of `dtype` are computed."""
    return dtype if dtype.is_float else DEFAULT_FLOAT


def accumulator(dtype: DType) -> DType:
    """The float type in which sums of `dtype` are kept: 16-bit floats would lose most of them."""
    return dt.float32 if dtype in (dt.float16, dt.bfloat16) else dtype


def summed(dtype: DType) -> DType:
    """The type of a sum: small integers grow to 64 bits."""
    if dtype.is_float:
        return dtype
    return dt.uint64 if dtype.kind is Kind.UINT else dt.int64


def resolve(dtype: DType | str) -> DType:
    """A type given as itself, by name, or as NumPy has it."""
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, str):
        return dt.named(dtype)
    try:
        return dt.from_numpy(np.dtype(dtype))
    except TypeError:
        kind = dtype.__name__ if isinstance(dtype, type) else repr(dtype)
        raise DTypeError(
            f"{kind} is no type of elements here",
            wanted="for example ig.float32, 'float32' or np.float32",
        ) from None
