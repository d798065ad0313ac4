"""Attention with a score function of one's own. In: queries, keys, values, and what to make of the scores. Out: values.

    def alibi(scores, query, key):                      # tensors that broadcast: (..., i, j), (i, 1), (1, j)
        return scores - 0.1 * (query - key)

    ig.attention(q, k, v, score=alibi)

The function is traced into the same program, so it is part of the same kernel: no matrix of scores is stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ingot.errors import ShapeError
from ingot.ops.movement import show
from ingot.tensor.creation import arange
from ingot.tensor.functions.activation import softmax
from ingot.tensor.functions.elementwise import where
from ingot.tensor.handle import Value, node
from ingot.tensor.tensor import Tensor

__all__ = ["attention"]

Score = Callable[[Tensor, Tensor, Tensor], Tensor]


def attention(
    query: Value,
    key: Value,
    value: Value,
    *,
    score: Score | None = None,
    mask: Score | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(score(query @ key.T * scale)) @ value; `mask(scores, i, j)` says which keys a query sees."""
    q, k, v = (Tensor.of(node(x)) for x in (query, key, value))
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise ShapeError(
            f"attention: query is {show(q.shape)}, key is {show(k.shape)}; wanted (..., length, features)"
        )
    (rows, features), columns = q.shape[-2:], k.shape[-2]
    if not (isinstance(rows, int) and isinstance(columns, int)):
        raise ShapeError("attention: a score function needs known lengths")
    factor = scale or 1 / math.sqrt(int(features))  # type: ignore[arg-type]
    scores = (q @ k.mT) * factor
    i = arange(rows).reshape(-1, 1)
    j = arange(columns).reshape(1, -1)
    if score is not None:
        scores = score(scores, i, j)
    if mask is not None:
        scores = where(mask(scores, i, j), scores, -math.inf)
    if causal:
        scores = where(j <= i, scores, -math.inf)
    return softmax(scores, axis=-1) @ v
