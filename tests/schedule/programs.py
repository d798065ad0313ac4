"""Programs of a few named operations, with the shapes of their inputs: what fusion is measured on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.region import param
from ingot.ops.op import apply
from tests.schedule.run import Array

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """`build` makes the root of inputs with these shapes; integer inputs count up to `below`."""

    build: Callable[..., UOp]
    shapes: tuple[Shape, ...]
    types: dict[int, DType] = field(default_factory=dict)
    below: int = 2

    def inputs(self, shapes: tuple[Shape, ...] = ()) -> list[UOp]:
        given = shapes or self.shapes
        return [
            param(slot, self.types.get(slot, dt.float32), shape)
            for slot, shape in enumerate(given)
        ]

    def root(self, shapes: tuple[Shape, ...] = ()) -> UOp:
        return self.build(*self.inputs(shapes))

    def arrays(self, seed: int = 0) -> dict[UOp, Array]:
        rng = np.random.default_rng(seed)
        return {node: self._array(node, rng) for node in self.inputs()}

    def _array(self, node: UOp, rng: np.random.Generator) -> Array:
        shape = tuple(int(n) for n in node.shape if isinstance(n, int))
        if node.dtype.is_int:
            return rng.integers(0, self.below, shape).astype(
                dt.to_numpy(node.dtype)
            )
        return rng.normal(0, 1, shape).astype(np.float32)


def linear(x: UOp, w: UOp, b: UOp) -> UOp:
    return apply("relu", apply("add", apply("matmul", x, w), b))


def hand_softmax(x: UOp) -> UOp:
    """What a person writes: e / e.sum()"""
    e = apply("exp", apply("subtract", x, apply("max", x, axis=-1, keepdims=True)))
    return apply("divide", e, apply("sum", e, axis=-1, keepdims=True))


ROWS, COLUMNS = 5, 53
MATRIX, ROW = (ROWS, COLUMNS), (COLUMNS,)
# So many rows that the weight is worth packing.
PRODUCT: tuple[Shape, ...] = ((137, 7), (7, 50), (50,))
IN_ROWS: dict[str, Program] = {
    "softmax": Program(lambda x: apply("softmax", x, axis=-1), (MATRIX,)),
    "log_softmax": Program(lambda x: apply("log_softmax", x, axis=-1), (MATRIX,)),
    "layer_norm": Program(
        lambda x, w, b: apply("layer_norm", x, w, b), (MATRIX, ROW, ROW)
    ),
    "rms_norm": Program(lambda x, w: apply("rms_norm", x, w), (MATRIX, ROW)),
    "cross_entropy": Program(
        lambda x, t: apply("cross_entropy", x, t),
        (MATRIX, (ROWS,)),
        {1: dt.int64},
        below=COLUMNS,
    ),
}
CONTRACTIONS: dict[str, Program] = {
    "linear": Program(linear, PRODUCT),
    "linear_sum": Program(lambda x, w, b: apply("sum", linear(x, w, b)), PRODUCT),
}
PROGRAMS = IN_ROWS | CONTRACTIONS


def attention(*shape: int, causal: bool = False) -> UOp:
    q, k, v = (param(slot, dt.float32, shape) for slot in range(3))
    return apply("scaled_dot_product_attention", q, k, v, causal=causal)
