"""Orders: keys that compare as their values do, and the algorithms over them. In: values. Out: places, sorted values.

A key is an unsigned number. Floats are mapped so that keys grow with them and NaN comes last, as in NumPy; a descending
order has the keys the other way round, and equal values keep their order in both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Kind
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.shape import Type
from ingot.ops import elementwise as ew
from ingot.ops.algorithm import algorithm, not_lowered
from ingot.ops.movement import Dim

_UNSIGNED = {1: dt.uint8, 2: dt.uint16, 4: dt.uint32, 8: dt.uint64}
MANY = 1 << 31


def keys(x: UOp, descending: bool = False, exact: bool = False) -> UOp:
    """Keys of x. Exact ones tell -0.0 from 0.0, and can be turned back."""
    made = _ascending(x, exact)
    return made.alu(Ops.NOT) if descending else made


def _ascending(x: UOp, exact: bool) -> UOp:
    kind = _UNSIGNED[x.dtype.itemsize]
    if x.dtype is dt.boolean:
        return x.cast(kind)
    if x.dtype.kind is Kind.UINT:
        return x
    sign = _all(1 << (8 * kind.itemsize - 1), kind, x)
    if x.dtype.kind is Kind.INT:
        return x.bitcast(kind).alu(Ops.XOR, sign)
    zero = ew.constant(0, x.dtype, x.shape)
    value = x if exact else x.eq(zero).where(zero, x)
    bits = value.bitcast(kind)
    nothing = _all(0, kind, x)
    negative = (bits & sign).ne(nothing)
    key = negative.where(bits.alu(Ops.NOT), bits | sign)
    return x.ne(x).where(nothing.alu(Ops.NOT), key)


def _all(value: int, kind: DType, x: UOp) -> UOp:
    return ew.constant(value, kind, x.shape)


def values_of(made: UOp, dtype: DType, descending: bool = False) -> UOp:
    """The values that exact keys stand for."""
    key = made.alu(Ops.NOT) if descending else made
    if dtype is dt.boolean:
        return key.ne(_all(0, key.dtype, key))
    if dtype.kind is Kind.UINT:
        return key
    sign = _all(1 << (8 * key.dtype.itemsize - 1), key.dtype, key)
    if dtype.kind is Kind.INT:
        return key.alu(Ops.XOR, sign).bitcast(dtype)
    positive = (key & sign).ne(_all(0, key.dtype, key))
    return positive.where(key.alu(Ops.XOR, sign), key.alu(Ops.NOT)).bitcast(dtype)


def _place_type(n: Dim) -> DType:
    most = n if isinstance(n, int) else n.vmax
    return dt.int32 if most < MANY else dt.int64


# --- algorithms along the last axis -----------------------------------------------------------------------------------


def _sort(keys: UOp) -> UOp:
    """Every row in order."""
    return not_lowered(keys)


def _order(keys: UOp) -> UOp:
    """The places of the keys of every row, smallest first; equal ones as they come."""
    return not_lowered(keys)


def _select(keys: UOp, *, k: int) -> UOp:
    """The first k places of `order_rows`."""
    return not_lowered(keys)


def _search(rows: UOp, values: UOp, *, right: bool) -> UOp:
    """How many elements of a sorted row come before each value; with `right`, equal ones do too."""
    return not_lowered(rows, values)


def _order_type(keys: UOp) -> Type:
    return _place_type(keys.shape[-1]), keys.shape


def _select_type(keys: UOp, *, k: int) -> Type:
    return _place_type(keys.shape[-1]), (*keys.shape[:-1], k)


def _searched(rows: Any, values: Any, *, right: bool) -> Any:
    side: Any = "right" if right else "left"
    flat = rows.reshape(-1, rows.shape[-1]), values.reshape(-1, values.shape[-1])
    found = [np.searchsorted(r, v, side) for r, v in zip(*flat, strict=True)]
    return np.reshape(found, values.shape)


sort_rows = algorithm(
    "sort_rows",
    _sort,
    types=lambda keys: (keys.dtype, keys.shape),
    meaning=lambda keys: np.sort(keys, -1),
)
order_rows = algorithm(
    "order_rows",
    _order,
    types=_order_type,
    meaning=lambda keys: np.argsort(keys, -1, kind="stable"),
)
select_rows = algorithm(
    "select_rows",
    _select,
    types=_select_type,
    meaning=lambda keys, k: np.argsort(keys, -1, kind="stable")[..., :k],
)
search_rows = algorithm(
    "search_rows",
    _search,
    types=lambda rows, values, right: (dt.int64, values.shape),
    meaning=_searched,
)
