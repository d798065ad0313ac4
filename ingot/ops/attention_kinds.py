"""Attention with shared heads and limited sight. In: queries, keys, values (..., heads, length, features). Out: as queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.errors import ShapeError
from ingot.ir.node import UOp
from ingot.ir.opcode import Attr
from ingot.ir.shape import Type
from ingot.ops import elementwise as ew
from ingot.ops.attention import scaled_dot_product_attention
from ingot.ops.creation import counter
from ingot.ops.matmul import promoted
from ingot.ops.movement import Dim, reshape, show
from ingot.ops.op import Accepted, op
from ingot.ops.sample import bools, floats, sample


def _heads(name: str, query: UOp, key: UOp, value: UOp) -> tuple[int, int]:
    """The heads of the keys, and how many queries share each."""
    given = f"query is {show(query.shape)}, key is {show(key.shape)}, value is {show(value.shape)}"
    if min(len(x.shape) for x in (query, key, value)) < 3:
        raise ShapeError(f"{name}: {given}; wanted (..., heads, length, features)")
    many, few, other = (x.shape[-3] for x in (query, key, value))
    if isinstance(many, int) and isinstance(few, int):
        if other == few and many % few == 0:
            return few, many // few
    raise ShapeError(
        f"{name}: {given}: {many} heads of queries do not share {few} heads of keys",
        fix="the heads of queries have to be a multiple of those of keys and values",
    )


def _accept(
    query: UOp, key: UOp, value: UOp, mask: UOp | None = None, **attrs: Any
) -> Accepted:
    inputs, _ = promoted(query, key, value)
    _heads("grouped_query_attention", query, key, value)
    return (*inputs, mask), dict(attrs)


def _type(query: UOp, key: UOp, value: UOp, *mask: UOp, **attrs: Attr) -> Type:
    made = _attention(query, key, value, *mask, **attrs)  # type: ignore[arg-type]
    return made.dtype, made.shape


def _attention(
    query: UOp,
    key: UOp,
    value: UOp,
    mask: UOp | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
    window: int | None = None,
) -> UOp:
    """Attention whose heads of queries share heads of keys; with a window, a query sees keys less than that far back."""
    few, share = _heads("grouped_query_attention", query, key, value)
    *front, _, length, features = query.shape
    grouped = reshape(query, (*front, few, share, length, features))
    keys, values = (
        reshape(x, (*x.shape[:-2], 1, *x.shape[-2:])) for x in (key, value)
    )
    seen = mask
    if mask is not None and len(mask.shape) > 2:
        seen = _mask_by_group(mask, few, share)
    if window is not None:
        near = _near(length, key.shape[-2], window)
        seen = near if seen is None else _both(seen, near)
    made = scaled_dot_product_attention(
        grouped, keys, values, seen, causal=causal, scale=scale
    )
    return reshape(made, (*made.shape[:-4], few * share, *made.shape[-2:]))


def _mask_by_group(mask: UOp, few: Dim, share: int) -> UOp:
    """The mask's axis of heads, which may be 1, as groups and heads of a group."""
    *front, heads, length, keys = mask.shape
    single = isinstance(heads, int) and heads == 1
    split = (1, 1) if single else (few, share)
    return reshape(mask, (*front, *split, length, keys))


def _near(length: Dim, keys: Dim, window: int) -> UOp:
    shape = (length, keys)
    row, column = counter(shape, 0), counter(shape, 1)
    return ew.less(ew.subtract(row, column), window)


def _both(mask: UOp, near: UOp) -> UOp:
    if mask.dtype.is_float:
        return ew.where(near, mask, float("-inf"))
    return ew.logical_and(mask, near)


def _reference(
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
    window: int | None = None,
) -> Any:
    share = query.shape[-3] // key.shape[-3]
    keys, values = (np.repeat(x, share, -3) for x in (key, value))
    scores = query @ np.swapaxes(keys, -1, -2) * (scale or query.shape[-1] ** -0.5)
    row, column = np.indices(scores.shape[-2:])
    seen = np.ones(scores.shape[-2:], bool)
    seen &= (column <= row) if causal else True
    seen &= (row - column < window) if window is not None else True
    if mask is not None and mask.dtype == bool:
        seen = seen & mask
    elif mask is not None:
        scores = scores + mask
    scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ values


_QUERY, _KEY, _VALUE = floats(2, 4, 5, 8), floats(2, 2, 5, 8), floats(2, 2, 5, 6)
grouped_query_attention = op(
    "grouped_query_attention",
    types=_type,
    accept=_accept,
    lower=_attention,
    ref=_reference,
    samples=(
        sample(_QUERY, _KEY, _VALUE),
        sample(_QUERY, _KEY, _VALUE, causal=True, window=2),
        sample(_QUERY, _KEY, _VALUE, floats(2, 4, 5, 5), window=3, scale=0.5),
        sample(_QUERY, _KEY, _VALUE, bools(1, 5), causal=False),
        sample(floats(6, 3, 4), floats(2, 3, 4), floats(2, 3, 4), causal=True),
    ),
    bad_samples=(
        (
            sample(_QUERY, floats(2, 3, 5, 8), floats(2, 3, 5, 6)),
            "4 heads of queries do not share 3 heads of keys",
        ),
        (
            sample(floats(5, 8), _KEY, _VALUE),
            "wanted (..., heads, length, features)",
        ),
    ),
    ulp=64,
    normwise=True,
)
