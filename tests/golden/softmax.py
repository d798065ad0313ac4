"""Softmax of rows: the nests that softmax_resident.py and softmax_online.py begin with."""

from __future__ import annotations

import numpy as np

from ingot.kernel.nest import Kernel
from tests.golden.case import Array, Sizes
from tests.kernel.sketch import Sketch, exp

SIZES: tuple[Sizes, ...] = (
    {"rows": 3, "columns": 5},
    {"rows": 1, "columns": 1},
    {"rows": 5, "columns": 77},
    {"rows": 2, "columns": 130},
)


def naive() -> Kernel:
    """Each of the three nests runs over all rows by itself."""
    s = Sketch("softmax")
    rows, columns = s.sizes("rows", "columns")
    x, out = s.input(), s.output()

    i, j = s.loops(top_i=rows, top_j=columns)
    top = s.max("top", (i,), (j,), x[i * columns + j])

    i, j = s.loops(total_i=rows, total_j=columns)
    total = s.sum("total", (i,), (j,), exp(x[i * columns + j] - top(i)))

    i, j = s.loops(i=rows, j=columns)
    s.store(
        "out",
        (i, j),
        out[i * columns + j],
        exp(x[i * columns + j] - top(i)) / total(i),
    )
    return s.kernel()


def arguments(sizes: Sizes, rng: np.random.Generator) -> list[Array]:
    shape = (int(sizes["rows"]), int(sizes["columns"]))
    x = rng.normal(0, 4, shape).astype(np.float32)
    x.reshape(-1)[0] = 90.0
    return [x, np.zeros(shape, np.float32)]


def wanted(buffers: list[Array], sizes: Sizes) -> dict[int, Array]:
    x = buffers[0].astype(np.float64)
    e = np.exp(x - x.max(1, keepdims=True))
    return {1: e / e.sum(1, keepdims=True)}
