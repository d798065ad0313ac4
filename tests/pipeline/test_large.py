"""Outputs that are written past the caches: the same values, wherever their rows begin."""

import numpy as np
import pytest

import ingot as ig
from ingot.kernel.maps import UNCACHED_BYTES

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("columns", [1024, 1013])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_a_map(columns: int, dtype: str) -> None:
    rows = UNCACHED_BYTES // (columns * np.dtype(dtype).itemsize) + 1
    x = RNG.integers(-9, 9, (rows, columns)).astype(dtype)
    y = RNG.integers(-9, 9, columns).astype(dtype)
    np.testing.assert_array_equal((ig.tensor(x) * ig.tensor(y)).numpy(), x * y)


@pytest.mark.parametrize("columns", [1024, 1013])
def test_rows(columns: int) -> None:
    rows = UNCACHED_BYTES // (4 * columns) + 1
    x = RNG.standard_normal((rows, columns), dtype=np.float32)
    e = np.exp(x - x.max(-1, keepdims=True), dtype=np.float64)
    got = ig.softmax(ig.tensor(x), axis=-1).numpy()
    np.testing.assert_allclose(got, e / e.sum(-1, keepdims=True), rtol=2e-6)


def test_a_part_that_is_narrow() -> None:
    """A comparison stores one byte an element."""
    x = RNG.standard_normal(UNCACHED_BYTES + 77, dtype=np.float32)
    np.testing.assert_array_equal((ig.tensor(x) < 0.5).numpy(), x < 0.5)
