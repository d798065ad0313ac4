"""Layer norm of x + residual, which is an output too: the sum is staged row by row, and everything else reads it there.

h = x + residual;   y = (h - mean(h)) / sqrt(var(h) + eps) * weight + bias
"""

from __future__ import annotations

import numpy as np

from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Scope
from ingot.kernel.moves import bind
from ingot.kernel.nest import Kernel, Reduce
from ingot.kernel.staging import compute_at, share, stage
from tests.golden.case import Array, Sizes
from tests.golden.steps import lanes, vectors
from tests.kernel.sketch import Sketch, sqrt

EPS = 1e-5
SIZES: tuple[Sizes, ...] = (
    {"rows": 3, "columns": 5, "count": 5.0, "eps": EPS},
    {"rows": 1, "columns": 16, "count": 16.0, "eps": EPS},
    {"rows": 4, "columns": 131, "count": 131.0, "eps": EPS},
)


def naive() -> Kernel:
    s = Sketch("layer_norm")
    rows, columns = s.sizes("rows", "columns")
    count, eps = s.scalars("count", "eps")
    x, residual, weight, bias = (s.input() for _ in range(4))
    h, y = s.output(), s.output()

    def summed(i: UOp, j: UOp) -> UOp:
        return x[i * columns + j] + residual[i * columns + j]

    i, j = s.loops(mean_i=rows, mean_j=columns)
    total = s.sum("mean", (i,), (j,), summed(i, j))

    i, j = s.loops(var_i=rows, var_j=columns)
    away = summed(i, j) - total(i) / count
    squares = s.sum("var", (i,), (j,), away * away)

    i, j, c = s.loops(i=rows, j=columns, c=columns)
    s.store("h", (i, j), h[i * columns + j], summed(i, j))
    away = summed(i, c) - total(i) / count
    scaled = away / sqrt(squares(i) / count + eps)
    s.store("y", (i, c), y[i * columns + c], scaled * weight[c] + bias[c])
    return s.kernel()


def program() -> Kernel:
    k = naive()
    k = compute_at(k, "var", "y", "i")
    k = compute_at(k, "mean", "y", "i")

    body = k.nest("mean").body
    assert isinstance(body, Reduce)
    k = stage(k, "mean", body.values[0], "i", "row", Scope.PACKED)
    for nest, loop in (("var", "var_j"), ("h", "j"), ("y", "c")):
        k = share(k, "row", nest, loop, "row.mean_j")

    for loop in ("row.mean_j", "j", "c"):
        k = vectors(k, loop)
    k = lanes(k, "mean", "mean_j", 2)
    k = lanes(k, "var", "var_j", 2)
    return bind(k, "i", LoopKind.CHUNK)


def arguments(sizes: Sizes, rng: np.random.Generator) -> list[Array]:
    rows, columns = int(sizes["rows"]), int(sizes["columns"])
    given = [
        rng.normal(1, 2, shape)
        for shape in ((rows, columns), (rows, columns), (columns,), (columns,))
    ]
    made = [np.zeros((rows, columns)) for _ in range(2)]
    return [a.astype(np.float32) for a in (*given, *made)]


def wanted(buffers: list[Array], sizes: Sizes) -> dict[int, Array]:
    x, residual, weight, bias = (b.astype(np.float64) for b in buffers[:4])
    h = x + residual
    normal = (h - h.mean(1, keepdims=True)) / np.sqrt(
        h.var(1, keepdims=True) + sizes["eps"]
    )
    return {4: h, 5: normal * weight + bias}
