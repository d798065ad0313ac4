"""Whole kernels, compiled from LLVM IR and from C, against NumPy in float64."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.kernel.decompose import decompose
from tests.render import samples
from tests.render.native import LANGUAGES, Array, Native, call, compiled

language = pytest.mark.parametrize("language", LANGUAGES)


@cache
def built(name: str, language: str) -> Native:
    return compiled(decompose(getattr(samples, name)()), language)


def random(*shape: int) -> Array:
    return (
        np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)
    )


@language
@pytest.mark.parametrize("n", [0, 1, 15, 16, 63, 64, 65, 200, 1000])
def test_chain(language: str, n: int) -> None:
    x = random(n + 8)
    y = np.full(n + 8, 7, np.float32)
    call(built("chain", language), [x, y], [n, 0.25])
    wide = x[:n].astype(np.float64)
    wanted = np.tanh(wide * 1.5 + 0.25) / (1 + np.exp(-wide))
    np.testing.assert_allclose(y[:n], wanted, rtol=1e-6, atol=2e-7)
    assert (y[n:] == 7).all(), "stored past the end"


@language
def test_chain_in_place(language: str) -> None:
    x = random(1000)
    apart = np.zeros_like(x)
    call(built("chain", language), [x, apart], [1000, 0.25])
    call(built("chain", language), [x, x], [1000, 0.25])
    assert np.array_equal(x, apart)


@language
@pytest.mark.parametrize(
    ("rows", "cols"),
    [(1, 1), (2, 15), (3, 17), (4, 64), (5, 100), (2, 1000), (0, 8)],
)
def test_softmax(language: str, rows: int, cols: int) -> None:
    x = 4 * random(rows, cols)
    y = np.zeros_like(x)
    call(built("softmax", language), [x, y], [rows, cols])
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(1, keepdims=True, initial=-np.inf))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=5e-6)


@language
def test_softmax_of_nan_is_nan(language: str) -> None:
    x = random(3, 100)
    x[1, 70] = np.nan
    y = np.zeros_like(x)
    call(built("softmax", language), [x, y], [3, 100])
    assert np.isnan(y[1]).all()
    assert np.isfinite(y[[0, 2]]).all()


@language
@pytest.mark.parametrize(
    ("k", "m", "n"),
    [(64, 8, 48), (63, 5, 33), (1, 1, 1), (0, 8, 48), (7, 8, 17), (6, 3, 16)],
)
def test_gemm(language: str, k: int, m: int, n: int) -> None:
    a, b = random(k, 8), random(k, 48)
    c = np.full((8, 50), 7, np.float32)
    call(built("gemm", language), [a, b, c], [k, m, n, 50])
    wanted = np.full((8, 50), 7.0)
    wanted[:m, :n] = (a.T.astype(np.float64) @ b.astype(np.float64))[:m, :n]
    np.testing.assert_allclose(c, wanted, atol=2e-5)


SQUARES = [
    (16, 16, dt.float32),
    (8, 8, dt.float32),
    (4, 4, dt.float32),
    (8, 8, dt.float64),
    (16, 16, dt.uint16),
]
OBLONGS = [
    (8, 16, dt.float32),
    (16, 8, dt.float32),
    (4, 16, dt.int32),
    (16, 4, dt.float64),
    (32, 16, dt.int8),
]


@language
@pytest.mark.parametrize(("rows", "columns", "dtype"), SQUARES + OBLONGS)
def test_transpose(language: str, rows: int, columns: int, dtype: dt.DType) -> None:
    m, n = 3 * rows, 2 * columns
    x = np.arange(m * n).astype(dt.to_numpy(dtype)).reshape(m, n)
    y = np.zeros((n, m), x.dtype)
    call(
        compiled(samples.transpose(rows, columns, dtype), language), [x, y], [m, n]
    )
    assert np.array_equal(y, x.T)


@pytest.mark.skipif("c" not in LANGUAGES, reason="needs gcc")
@pytest.mark.parametrize("name", ["chain", "softmax"])
def test_c_and_llvm_give_the_same_bits(name: str) -> None:
    x = 10 * random(7, 333)
    results = []
    for each in LANGUAGES:
        y = np.zeros_like(x)
        scalars = [7, 333] if name == "softmax" else [x.size, 0.25]
        call(built(name, each), [x, y], scalars)
        results.append(y.view(np.uint32))
    assert np.array_equal(results[0], results[1])
