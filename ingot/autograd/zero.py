"""What the rules of regions share. In: a node. Out: zeros of its type; the type of the function that differentiates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ingot.ir.node import UOp
from ingot.ops.elementwise import constant

Differentiate = Callable[
    [Sequence[UOp], Sequence[UOp], Sequence[UOp]], tuple[UOp | None, ...]
]


def zeros_like(node: UOp) -> UOp:
    """Zeros of the same type and shape."""
    return constant(0.0, node.dtype, node.shape)
