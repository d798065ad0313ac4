"""gelu(a @ (q * scale) + bias): int8 weights become floats as their panels are packed.

Bias and gelu run on finished tiles. Two launches: all panels of q are packed by all threads, then tiles of 4
rows by 32 columns are summed in registers.
"""

from __future__ import annotations

import math

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Ops, Scope
from ingot.kernel.moves import bind, reorder, split, unroll, vector
from ingot.kernel.nest import Kernel, Reduce
from ingot.kernel.staging import compute_at, stage
from tests.golden.case import Array, Sizes
from tests.kernel.sketch import Sketch

SIZES: tuple[Sizes, ...] = (
    {"m": 3, "n": 5, "depth": 7},
    {"m": 1, "n": 1, "depth": 1},
    {"m": 9, "n": 45, "depth": 13},
)


def gelu(x: UOp) -> UOp:
    return x * 0.5 * ((x * math.sqrt(0.5)).alu(Ops.ERF) + 1.0)


def naive() -> Kernel:
    s = Sketch("gemm")
    m, n, depth = s.sizes("m", "n", "depth")
    a, q, scale, bias, out = (
        s.input(),
        s.input(dt.int8),
        s.input(),
        s.input(),
        s.output(),
    )

    i, j, k = s.loops(dot_i=m, dot_j=n, k=depth)
    dot = s.sum(
        "dot",
        (i, j),
        (k,),
        a[i * depth + k] * (q[k * n + j].cast(dt.float32) * scale[j]),
    )

    i, j = s.loops(i=m, j=n)
    s.store("out", (i, j), out[i * n + j], gelu(dot(i, j) + bias[j]))
    return s.kernel()


def program() -> Kernel:
    k = naive()
    k = compute_at(k, "dot", "out", "j")
    k = split(k, "i", 4, "io", "ii")
    k = split(k, "j", 32, "jo", "jt")
    k = split(k, "jt", 16, "ju", "jv")
    k = reorder(k, "dot", "io", "jo", "k", "ii", "ju", "jv")
    k = reorder(k, "out", "io", "jo", "ii", "ju", "jv")

    left, right = operands(k)
    k = stage(k, "dot", right, None, "panel", Scope.PACKED, ("jo", "k", "ju", "jv"))
    k = stage(k, "dot", left, "io", "rows", Scope.PACKED, ("k", "ii"))

    for loop in ("ii", "ju", "panel.ju", "rows.ii"):
        k = unroll(k, loop)
    k = vector(vector(k, "jv"), "panel.jv")
    return bind(bind(k, "io", LoopKind.CHUNK), "panel.jo", LoopKind.CHUNK)


def operands(k: Kernel) -> tuple[UOp, ...]:
    body = k.nest("dot").body
    assert isinstance(body, Reduce)
    return body.values[0].src


def arguments(sizes: Sizes, rng: np.random.Generator) -> list[Array]:
    m, n, depth = (int(sizes[name]) for name in ("m", "n", "depth"))
    a = rng.normal(0, 1, (m, depth)).astype(np.float32)
    q = rng.integers(-128, 128, (depth, n), np.int8)
    scale = rng.uniform(0.001, 0.02, n).astype(np.float32)
    bias = rng.normal(0, 1, n).astype(np.float32)
    return [a, q, scale, bias, np.zeros((m, n), np.float32)]


def wanted(buffers: list[Array], sizes: Sizes) -> dict[int, Array]:
    a, q, scale, bias = (b.astype(np.float64) for b in buffers[:4])
    x = a @ (q * scale) + bias
    erf = np.vectorize(math.erf)
    return {4: 0.5 * x * (1 + erf(x * math.sqrt(0.5)))}
