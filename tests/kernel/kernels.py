"""Small kernels of naive nests, with sizes to try them on: what the tests of moves rewrite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.kernel.nest import Kernel
from tests.kernel.sketch import Sketch, exp

Array = np.ndarray[Any, Any]
Shapes = Mapping[str, int]


@dataclass(frozen=True)
class Small:
    """A kernel, its buffers (inputs first; the last ones, `outputs`, are written), and sizes to run it with."""

    kernel: Callable[[], Kernel]
    buffers: Callable[[Shapes], list[tuple[int, ...]]]
    sizes: tuple[Shapes, ...]
    outputs: tuple[str, ...] = ("float32",)

    def arguments(self, sizes: Shapes, seed: int = 0) -> list[Array]:
        rng = np.random.default_rng(seed)
        shapes = self.buffers(sizes)
        given = [
            rng.integers(-8, 8, s).astype(np.float32) / 4
            for s in shapes[: len(shapes) - len(self.outputs)]
        ]
        made = [
            np.full(s, 99, kind)
            for s, kind in zip(shapes[len(given) :], self.outputs, strict=True)
        ]
        return given + made


def copy() -> Kernel:
    s = Sketch("copy")
    (n,) = s.sizes("n")
    x, out = s.input(), s.output()
    (i,) = s.loops(i=n)
    s.store("out", (i,), out[i], x[i])
    return s.kernel()


def transpose() -> Kernel:
    s = Sketch("transpose")
    m, n = s.sizes("m", "n")
    x, out = s.input(), s.output()
    i, j = s.loops(i=m, j=n)
    s.store("out", (i, j), out[i * n + j], x[j * m + i])
    return s.kernel()


def softmax() -> Kernel:
    s = Sketch("softmax")
    m, n = s.sizes("m", "n")
    x, out = s.input(), s.output()
    i, j = s.loops(ti=m, tj=n)
    top = s.max("top", (i,), (j,), x[i * n + j])
    i, j = s.loops(si=m, sj=n)
    total = s.sum("total", (i,), (j,), exp(x[i * n + j] - top(i)))
    i, j = s.loops(i=m, j=n)
    s.store("out", (i, j), out[i * n + j], exp(x[i * n + j] - top(i)) / total(i))
    return s.kernel()


def matmul_bias() -> Kernel:
    s = Sketch("matmul")
    m, n, d = s.sizes("m", "n", "d")
    a, b, bias, out = s.input(), s.input(), s.input(), s.output()
    i, j, k = s.loops(di=m, dj=n, k=d)
    dot = s.sum("dot", (i, j), (k,), a[i * d + k] * b[k * n + j])
    i, j = s.loops(i=m, j=n)
    s.store("out", (i, j), out[i * n + j], dot(i, j) + bias[j])
    return s.kernel()


def column_sum() -> Kernel:
    s = Sketch("column_sum")
    m, n = s.sizes("m", "n")
    x, out = s.input(), s.output()
    j, i = s.loops(sj=n, si=m)
    total = s.sum("total", (j,), (i,), x[i * n + j])
    (j,) = s.loops(j=n)
    s.store("out", (j,), out[j], total(j))
    return s.kernel()


def full_sum() -> Kernel:
    s = Sketch("full_sum")
    m, n = s.sizes("m", "n")
    x, out = s.input(), s.output()
    i, j = s.loops(i=m, j=n)
    total = s.sum("total", (), (i, j), x[i * n + j])
    s.store("out", (), out[0], total())
    return s.kernel()


def argmax() -> Kernel:
    """The place of the first largest element of each row: a reduction of two values at once."""
    s = Sketch("argmax")
    m, n = s.sizes("m", "n")
    x, out = s.input(), s.output(dt.int64)
    i, j = s.loops(ri=m, rj=n)
    values = (x[i * n + j], j.cast(dt.int64))
    least = (float("-inf"), (1 << 63) - 1)
    best = s.reduce("best", (i,), (j,), least, values, better())
    (i,) = s.loops(i=m)
    s.store("out", (i,), out[i], best(i, slot=1))
    return s.kernel()


def better() -> tuple[UOp, UOp]:
    """The right state if it is larger, or as large and further to the left."""
    left, right = UOp.state(dt.float32, 0), UOp.state(dt.float32, 2)
    at, other = UOp.state(dt.int64, 1), UOp.state(dt.int64, 3)
    closer = left.eq(right) & (other < at)
    wins = (left < right).alu(Ops.OR, closer)
    return wins.where(right, left), wins.where(other, at)


def _matrix(sizes: Shapes) -> tuple[int, int]:
    return sizes["m"], sizes["n"]


_ODD = ({"m": 3, "n": 5}, {"m": 1, "n": 1}, {"m": 7, "n": 19}, {"m": 2, "n": 33})
SMALL: dict[str, Small] = {
    "copy": Small(
        copy,
        lambda z: [(z["n"],), (z["n"],)],
        ({"n": 0}, {"n": 1}, {"n": 13}, {"n": 40}),
    ),
    "transpose": Small(
        transpose,
        lambda z: [_matrix(z)[::-1], _matrix(z)],
        (*_ODD, {"m": 0, "n": 3}),
    ),
    "softmax": Small(softmax, lambda z: [_matrix(z), _matrix(z)], _ODD),
    "matmul_bias": Small(
        matmul_bias,
        lambda z: [(z["m"], z["d"]), (z["d"], z["n"]), (z["n"],), _matrix(z)],
        (
            {"m": 3, "n": 5, "d": 7},
            {"m": 1, "n": 1, "d": 1},
            {"m": 5, "n": 18, "d": 9},
            {"m": 2, "n": 3, "d": 0},
        ),
    ),
    "column_sum": Small(
        column_sum, lambda z: [_matrix(z), (z["n"],)], (*_ODD, {"m": 0, "n": 4})
    ),
    "full_sum": Small(
        full_sum, lambda z: [_matrix(z), (1,)], (*_ODD, {"m": 0, "n": 4})
    ),
    "argmax": Small(argmax, lambda z: [_matrix(z), (z["m"],)], _ODD, ("int64",)),
}


def _softmax(x: Array) -> Array:
    e: Array = np.exp(x - x.max(1, keepdims=True))
    return np.asarray(e / e.sum(1, keepdims=True))


# The same by NumPy, from the inputs in float64.
NUMPY: dict[str, Callable[..., Array]] = {
    "copy": lambda x: x,
    "transpose": lambda x: x.T,
    "softmax": _softmax,
    "matmul_bias": lambda a, b, bias: a @ b + bias,
    "column_sum": lambda x: x.sum(0),
    "full_sum": lambda x: x.sum(keepdims=True)[0],
    "argmax": lambda x: x.argmax(1),
}


def by_numpy(name: str, buffers: list[Array]) -> Array:
    """What the last of the buffers should hold."""
    inputs = buffers[: len(buffers) - len(SMALL[name].outputs)]
    return NUMPY[name](*(x.astype(np.float64) for x in inputs))
