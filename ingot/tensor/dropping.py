"""dropout as a function. In: anything that stands for a tensor. Out: a tensor (see training.py)."""

from __future__ import annotations

from typing import Any

from ingot.tensor.handle import Value, node
from ingot.tensor.tensor import Tensor

__all__ = ["dropout"]


def dropout(
    x: Value, p: float = 0.5, training: bool = True, *, generator: Any = None
) -> Tensor:
    """Each element is 0 with probability p; the others are divided by 1 - p, so that the mean stays."""
    given = x if isinstance(x, Tensor) else Tensor.of(node(x))
    return given.dropout(p, training, generator=generator)
