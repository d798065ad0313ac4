"""Attention. In: queries, keys, values (..., length, features). Out: scaled_dot_product_attention."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from ingot.errors import DTypeError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Attr
from ingot.ir.shape import Type, same
from ingot.ops import elementwise as ew
from ingot.ops.activation import softmax
from ingot.ops.creation import counter
from ingot.ops.gradient import Cotangents, Gradients, attrs, only
from ingot.ops.matmul import matmul, promoted
from ingot.ops.movement import broadcast_shape, show, transpose
from ingot.ops.op import Accepted, op
from ingot.ops.reduce import sum_, sum_to
from ingot.ops.sample import INF, bools, floats, sample


def _accept(
    query: UOp, key: UOp, value: UOp, mask: UOp | None = None, **attrs: Any
) -> Accepted:
    inputs, _ = promoted(query, key, value)
    scale = attrs["scale"]
    named: dict[str, Attr] = {
        "causal": bool(attrs["causal"]),
        "scale": None if scale is None else float(scale),
    }
    return (*inputs, mask), named


def _type(
    query: UOp, key: UOp, value: UOp, mask: UOp | None = None, **attrs: Attr
) -> Type:
    given = f"query is {show(query.shape)}, key is {show(key.shape)}, value is {show(value.shape)}"
    name = "scaled_dot_product_attention"
    if not query.dtype.is_float:
        raise DTypeError(
            f"{name}: query is {query.dtype}; wanted floats",
            fix="convert with .astype('float32')",
        )
    if min(len(x.shape) for x in (query, key, value)) < 2:
        raise ShapeError(f"{name}: {given}; wanted (..., length, features)")
    if not same(query.shape[-1:], key.shape[-1:]) or not same(
        key.shape[-2:-1], value.shape[-2:-1]
    ):
        raise ShapeError(
            f"{name}: {given}; query and key share their features, key and value their length",
            fix="the last sizes of query and key, and the last but one of key and value, have to be equal",
        )
    batch = broadcast_shape(
        name, query.shape[:-2], key.shape[:-2], value.shape[:-2]
    )
    if mask is not None:
        _check_mask(mask, (*batch, query.shape[-2], key.shape[-2]))
    return query.dtype, (*batch, query.shape[-2], value.shape[-1])


def _check_mask(mask: UOp, scores: tuple[Any, ...]) -> None:
    if not mask.dtype.is_float and mask.dtype is not dt.boolean:
        raise DTypeError(
            f"scaled_dot_product_attention: mask is {mask.dtype}; wanted bool, or floats to add to the scores"
        )
    if not same(
        broadcast_shape("scaled_dot_product_attention", mask.shape, scores), scores
    ):
        raise ShapeError(
            f"scaled_dot_product_attention: mask is {show(mask.shape)}, which does not broadcast to {show(scores)}",
            fix="wanted (..., query length, key length)",
        )


def _attention(
    query: UOp,
    key: UOp,
    value: UOp,
    mask: UOp | None = None,
    *,
    causal: bool = False,
    scale: float | None = None,
) -> UOp:
    """softmax(query @ key.T * scale) @ value. A mask says which keys a query sees; causal: those not after it."""
    scores = _scores(query, key, mask, causal=causal, scale=scale)
    return matmul(softmax(scores, axis=-1), value)


def _scores(
    query: UOp, key: UOp, mask: UOp | None, *, causal: bool, scale: float | None
) -> UOp:
    factor = _natural_scale(query) if scale is None else scale
    scores = ew.multiply(matmul(query, transpose(key)), factor)
    if causal:
        rank = len(scores.shape)
        row, column = (
            counter(scores.shape, rank - 2),
            counter(scores.shape, rank - 1),
        )
        scores = ew.where(ew.less(row, column), -INF, scores)
    if mask is not None:
        seen = mask.dtype is dt.boolean
        scores = (
            ew.where(mask, scores, -INF)
            if seen
            else ew.add(scores, mask.cast(scores.dtype))
        )
    return scores


def _natural_scale(query: UOp) -> float | UOp:
    features = query.shape[-1]
    if isinstance(features, UOp):
        return ew.reciprocal(ew.sqrt(features.cast(query.dtype)))
    return 1 / math.sqrt(features) if features else 1.0


def _attention_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """Through the weights w = softmax(scores), which are computed again: w (dw - sum(w dw))."""
    (query, key, value, *masks), g, named = node.src, only(cotangents), attrs(node)
    causal, scale = bool(named["causal"]), cast("float | None", named["scale"])
    mask = masks[0] if masks else None
    weights = softmax(
        _scores(query, key, mask, causal=causal, scale=scale), axis=-1
    )
    change = matmul(g, transpose(value))
    spent = sum_(ew.multiply(weights, change), -1, keepdims=True)
    to_scores = ew.multiply(weights, ew.subtract(change, spent))
    scaled = ew.multiply(
        to_scores, _natural_scale(query) if scale is None else scale
    )
    found = (matmul(scaled, key), matmul(transpose(scaled), query))
    to_value = matmul(transpose(weights), g)
    shares = (*found, to_value, *(to_scores for _ in masks))
    return tuple(
        sum_to(share, x.shape) if x.dtype.is_float else None
        for share, x in zip(shares, node.src, strict=True)
    )


def _reference(
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    causal: bool = False,
    scale: float | None = None,
) -> Any:
    scores = query @ np.swapaxes(key, -1, -2) * (scale or query.shape[-1] ** -0.5)
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    if mask is not None:
        scores = (
            np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
        )
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ value


_QUERY, _KEY, _VALUE = floats(2, 3, 4, 8), floats(2, 3, 5, 8), floats(2, 3, 5, 6)
scaled_dot_product_attention = op(
    "scaled_dot_product_attention",
    types=_type,
    accept=_accept,
    lower=_attention,
    ref=_reference,
    grad=_attention_grad,
    samples=(
        sample(_QUERY, _KEY, _VALUE),
        sample(_QUERY, _KEY, _VALUE, causal=True),
        sample(_QUERY, _KEY, _VALUE, floats(4, 5), scale=0.5),
        sample(floats(3, 8), floats(5, 8), floats(5, 8), bools(1, 5)),
        sample(floats(4, 8), floats(4, 8), floats(2, 4, 8), causal=True),
    ),
    bad_samples=(
        (
            sample(_QUERY, floats(2, 3, 5, 7), _VALUE),
            "query and key share their features",
        ),
        (sample(_QUERY, _KEY, _VALUE, floats(4, 4)), "do not broadcast"),
        (sample(floats(8), _KEY, _VALUE), "wanted (..., length, features)"),
    ),
    ulp=64,
    normwise=True,
)
