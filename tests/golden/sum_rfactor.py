"""The sum of everything: each chunk sums its part in 2 x 16 lanes, and a second launch sums the parts.

The tree of additions depends on the size alone, so the result has the same bits with one thread or many.
"""

from __future__ import annotations

import numpy as np

from ingot.ir.opcode import LoopKind
from ingot.kernel.moves import bind, detach, split
from ingot.kernel.nest import Kernel
from ingot.kernel.reduction import rfactor
from tests.golden.case import Array, Sizes
from tests.golden.steps import lanes
from tests.kernel.sketch import Sketch

SIZES: tuple[Sizes, ...] = ({"n": 0}, {"n": 1}, {"n": 37}, {"n": 500})
CHUNK = 128


def naive() -> Kernel:
    s = Sketch("sum")
    (n,) = s.sizes("n")
    x, out = s.input(), s.output()
    (i,) = s.loops(i=n)
    total = s.sum("total", (), (i,), x[i])
    s.store("out", (), out[0], total())
    return s.kernel()


def program() -> Kernel:
    k = naive()
    k = split(k, "i", CHUNK, "chunk", "in")
    k = rfactor(k, "total", "chunk", name="part")
    k = lanes(k, "part", "in", 2)
    k = detach(k, "total", "chunk", "parts")
    return bind(k, "chunk", LoopKind.CHUNK)


def arguments(sizes: Sizes, rng: np.random.Generator) -> list[Array]:
    x = rng.normal(1, 1, int(sizes["n"])).astype(np.float32)
    return [x, np.full(1, 7, np.float32)]


def wanted(buffers: list[Array], sizes: Sizes) -> dict[int, Array]:
    return {1: np.array([buffers[0].sum(dtype=np.float64)])}
