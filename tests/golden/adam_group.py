"""A step of Adam for three parameters of different sizes in one launch; all nine buffers are updated in place.

    m = m + (g - m)*(1 - beta1);   v = v + (g*g - v)*(1 - beta2);   p = p - rate * m/(sqrt(v) + eps)

`rate` holds the corrections for the first steps. The chunks of the three parameters are the chunks of one launch.
"""

from __future__ import annotations

import numpy as np

from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind
from ingot.kernel.moves import bind, group, split, vector
from ingot.kernel.nest import Kernel
from tests.golden.case import Array, Sizes
from tests.kernel.sketch import Sketch, sqrt

SCALARS: Sizes = {
    "one_less_beta1": 0.1,
    "one_less_beta2": 0.001,
    "rate": 0.01,
    "eps": 1e-8,
}
SIZES: tuple[Sizes, ...] = (
    {"n0": 5, "n1": 70, "n2": 1, **SCALARS},
    {"n0": 64, "n1": 0, "n2": 33, **SCALARS},
)
CHUNK = 32


def naive() -> Kernel:
    s = Sketch("adam")
    first, second, rate, eps = s.scalars(*SCALARS)
    for number, size in enumerate(s.sizes("n0", "n1", "n2")):
        one_parameter(s, number, size, (first, second, rate, eps))
    return s.kernel()


def one_parameter(
    s: Sketch, number: int, size: UOp, scalars: tuple[UOp, ...]
) -> None:
    first, second, rate, eps = scalars
    g, m, v, p = s.input(), s.output(), s.output(), s.output()
    (i,) = s.loops(**{f"i{number}": size})
    new_m = s.map(f"new_m{number}", (i,), m[i] + (g[i] - m[i]) * first)
    new_v = s.map(f"new_v{number}", (i,), v[i] + (g[i] * g[i] - v[i]) * second)
    s.store(f"m{number}", (i,), m[i], new_m(i))
    s.store(f"v{number}", (i,), v[i], new_v(i))
    s.store(
        f"p{number}", (i,), p[i], p[i] - rate * (new_m(i) / (sqrt(new_v(i)) + eps))
    )


def program() -> Kernel:
    k = naive()
    for i in ("i0", "i1", "i2"):
        k = split(k, i, CHUNK, f"{i}_chunk", f"{i}_in")
        k = split(k, f"{i}_in", 16, f"{i}_o", f"{i}_v")
        k = bind(vector(k, f"{i}_v"), f"{i}_chunk", LoopKind.CHUNK)
    return group(k)


def arguments(sizes: Sizes, rng: np.random.Generator) -> list[Array]:
    made: list[Array] = []
    for name in ("n0", "n1", "n2"):
        g, m, v, p = rng.normal(0, 1, (4, int(sizes[name]))).astype(np.float32)
        made += [g, m, v * v, p]
    return made


def wanted(buffers: list[Array], sizes: Sizes) -> dict[int, Array]:
    found: dict[int, Array] = {}
    for slot in (0, 4, 8):
        g, m, v, p = (b.astype(np.float64) for b in buffers[slot : slot + 4])
        m = m + (g - m) * sizes["one_less_beta1"]
        v = v + (g * g - v) * sizes["one_less_beta2"]
        p = p - sizes["rate"] * (m / (np.sqrt(v) + sizes["eps"]))
        found |= {slot + 1: m, slot + 2: v, slot + 3: p}
    return found
