"""Gather, scatter, running values and order on the CPU: against NumPy at the edges, for any sizes, with any threads."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.errors import AxisError, ShapeError
from ingot.pipeline.session import Session

RNG = np.random.default_rng(11)
Array = np.ndarray[Any, Any]
NAMES = ["bool", "uint8", "int8", "int16", "uint32", "int64", "float16", "float64"]


def edges(name: str) -> Array:
    """The smallest, the largest, zeros of both signs, infinities and NaN, each more than once."""
    kind = np.dtype(name)
    if kind.kind == "b":
        return np.array([True, False, True, False, True])
    if kind.kind in "iu":
        ends = np.iinfo(kind)
        return np.array([3, ends.max, ends.min, 0, ends.max, 3, ends.min, 1], kind)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, np.nan, np.inf, -0.0]
    return np.array([*special, np.finfo(kind).max, np.finfo(kind).tiny], kind)


@pytest.mark.parametrize("name", NAMES)
def test_order_at_the_edges_of_types(name: str) -> None:
    x = edges(name)
    order = np.argsort(x, kind="stable")
    given = ig.Tensor(x)
    np.testing.assert_array_equal(ig.argsort(given).numpy(), order)
    np.testing.assert_array_equal(ig.sort(given).numpy(), x[order])
    back = ig.argsort(given, descending=True).numpy()
    turned = np.argsort(x[::-1], kind="stable")[::-1]
    np.testing.assert_array_equal(back, len(x) - 1 - turned)


@pytest.mark.parametrize(
    "shape", [(0,), (1,), (5, 0), (3, 1), (20, 1025), (1, 20000)]
)
def test_sorting_short_and_long_rows(shape: tuple[int, ...]) -> None:
    x = RNG.standard_normal(shape, np.float32)
    np.testing.assert_array_equal(ig.sort(ig.Tensor(x)).numpy(), np.sort(x))
    order = ig.argsort(ig.Tensor(x), axis=0).numpy()
    np.testing.assert_array_equal(order, np.argsort(x, 0, kind="stable"))


def test_uneven_keys() -> None:
    """Most keys in one place, and a few far away."""
    x = np.concatenate([RNG.normal(0, 1e-9, 30000), [1e9, -1e9], np.zeros(5000)])
    np.testing.assert_array_equal(ig.sort(ig.Tensor(x)).numpy(), np.sort(x))
    whole = RNG.zipf(1.3, 20000).clip(max=2**60)
    np.testing.assert_array_equal(ig.sort(ig.Tensor(whole)).numpy(), np.sort(whole))


@pytest.mark.parametrize(
    ("n", "k"), [(10, 3), (5000, 1), (5000, 4999), (70000, 100)]
)
def test_topk_takes_the_first_of_equals(n: int, k: int) -> None:
    x = RNG.integers(0, 50, n).astype(np.float32)
    values, places = ig.topk(ig.Tensor(x), k)
    want = np.argsort(-x, kind="stable")[:k]
    np.testing.assert_array_equal(places.numpy(), want)
    np.testing.assert_array_equal(values.numpy(), x[want])


array = np.array
X = RNG.standard_normal((4, 5, 6)).astype(np.float32)
CUBE = RNG.random((4, 5, 6)) < 0.3
INDICES: list[Any] = [
    array([1, 2]),
    array([[0, -1], [3, 2]]),
    (slice(1, 3), array([0, 4, 2])),
    (array([0, 1]), array([2, 3])),
    (array([0, 1]), slice(None), array([2, 3])),
    (slice(None), array([0, 1]), array([2, 3])),
    (0, slice(None), array([1, 2])),
    (array([[0], [1]]), array([1, 2])),
    (array([1, 2]), None, array([0, 1])),
    (..., array([1, 5])),
    (slice(None, None, -1), array([1]), slice(0, 6, 2)),
    array([True, False, True, True]),
    (slice(None), RNG.random((5, 6)) < 0.5),
    CUBE,
    (array([True, False, True, True]), slice(None), 2),
    (slice(1, 2), array([True, False, True, True, False]), array([1, 2, 3])),
    array([], dtype=np.int64),
    ([0, 3], slice(2)),
]


@pytest.mark.parametrize("number", range(len(INDICES)))
def test_indexing_as_in_numpy(number: int) -> None:
    index = INDICES[number]
    got = ig.Tensor(X)[index].numpy()
    np.testing.assert_array_equal(got, X[index])
    changed, want = ig.Tensor(X), X.copy()
    part = RNG.standard_normal(X[index].shape).astype(np.float32)
    changed[index] = part
    want[index] = part
    np.testing.assert_array_equal(changed.numpy(), want)
    changed[index] = 7.0
    want[index] = 7.0
    np.testing.assert_array_equal(changed.numpy(), want)


def test_indices_are_checked_when_they_run() -> None:
    x = ig.Tensor(X)
    with pytest.raises(AxisError, match="index 7 is outside an axis of 4"):
        x[ig.Tensor([1, 7])].numpy()
    with pytest.raises(
        AxisError,
        match="index -9 is outside an axis of 5 elements",
    ):
        ig.take(x, ig.Tensor([-9, 0]), axis=1).numpy()
    x[ig.Tensor([True, False, True, True])] = np.zeros((2, 5, 6), np.float32)
    with pytest.raises(ShapeError, match="a mask names 3 elements, and 2 are"):
        x.numpy()


def test_a_gather_fuses_with_what_is_around_it() -> None:
    """The places, the table's own arithmetic and what follows are one kernel; the check of the places is another."""
    table, at = ig.Tensor(X), ig.Tensor([0, 2, 1])
    made = ig.take(table * 2.0, at + 1, axis=0) + 1.0
    kernels = [item.name for item in made.schedule() if item.nbytes]
    np.testing.assert_allclose(made.numpy(), X[[1, 3, 2]] * 2 + 1, rtol=1e-6)
    assert len([name for name in kernels if "check" not in name]) <= 3


def test_another_length_compiles_nothing(session: Session) -> None:
    counts = []
    for n in (40001, 50001, 70001):
        x = RNG.standard_normal(n, np.float32)
        at = RNG.integers(0, n, n)
        np.testing.assert_array_equal(ig.sort(ig.Tensor(x)).numpy(), np.sort(x))
        np.testing.assert_array_equal(
            ig.flatnonzero(ig.Tensor(x > 0)).numpy(), np.flatnonzero(x > 0)
        )
        got = ig.scatter_add(ig.zeros((n,)), 0, ig.Tensor(at), ig.Tensor(x)).numpy()
        want = np.zeros(n, np.float32)
        np.add.at(want, at, x)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_allclose(
            ig.cumsum(ig.Tensor(x), axis=0).numpy(), np.cumsum(x), atol=1e-2
        )
        counts.append(session.forge().compiled)
    assert counts == counts[:1] * 3


def test_symbolic_sizes(session: Session) -> None:
    n = ig.Variable("n", 1, 4096)
    x = RNG.standard_normal(4096, np.float32)
    for count in (10, 3000):
        part = ig.Tensor(x).shrink(((0, n.bind(count)),))
        np.testing.assert_array_equal(ig.sort(part).numpy(), np.sort(x[:count]))
        got = ig.cumsum(part, axis=0).numpy()
        np.testing.assert_allclose(got, np.cumsum(x[:count]), rtol=1e-3, atol=1e-3)


def test_sizes_that_are_computed() -> None:
    x = RNG.integers(-5, 5, 1000)
    t = ig.Tensor(x)
    positive = t[t > 0]
    np.testing.assert_array_equal((positive * 2).numpy(), x[x > 0] * 2)
    np.testing.assert_array_equal(ig.sort(positive).numpy(), np.sort(x[x > 0]))
    assert int(positive.sum()) == x[x > 0].sum()
    values, counts = ig.unique_counts(t[t != 0])
    want = np.unique(x[x != 0], return_counts=True)
    np.testing.assert_array_equal(values.numpy(), want[0])
    np.testing.assert_array_equal(counts.numpy(), want[1])


PROGRAM = """
import hashlib
import numpy as np
import ingot as ig

rng = np.random.default_rng(7)
n = 300_000
x = ig.Tensor(rng.standard_normal(n, dtype=np.float32))
d = ig.Tensor(rng.standard_normal(n))
at = ig.Tensor(rng.integers(0, 5000, n))
rows = ig.Tensor(rng.standard_normal((300, 700), dtype=np.float32))
results = (
    ig.sort(x), ig.argsort(d), *ig.topk(x, 50), ig.cumsum(x, axis=0), ig.cumsum(rows, axis=0), ig.cumsum(rows, axis=1),
    ig.scatter_add(ig.zeros((5000,)), 0, at, x), ig.index_add(ig.zeros((5000, 40)), 0, at[:9000], ig.ones((9000, 40)) / 3),
    *ig.unique_all(at), x[x > 0], ig.logcumsumexp(x, axis=0), ig.sort(rows), *ig.cummax(x, axis=0),
)
for result in results:
    print(hashlib.sha256(result.numpy().tobytes()).hexdigest())
"""


def digests(threads: int) -> list[str]:
    environment = {**os.environ, "INGOT_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_bits_do_not_depend_on_threads() -> None:
    alone = digests(1)
    assert len(alone) == 18
    assert digests(2) == alone
    assert digests(4) == alone
