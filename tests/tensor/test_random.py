"""Random tensors: streams, shapes, distributions. The numbers are those of fixed seeds, so no test fails by chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.errors import ArgumentError, DTypeError, IngotError, ShapeError
from ingot.settings import settings
from ingot.tensor.generator import default_generator

COUNT = 100_000


@pytest.fixture(autouse=True)
def compiled(interpreter: None) -> Iterator[None]:
    """Large samples are drawn by compiled code; one test compares it with the interpreter."""
    with settings.override(device="CPU"):
        ig.manual_seed(1234)
        yield


# --- streams --------------------------------------------------------------------------------------------------------


def test_a_seed_repeats_a_stream() -> None:
    first = [
        ig.rand(3).tolist(),
        ig.randn(2).tolist(),
        ig.randint(9, (4,)).tolist(),
    ]
    assert ig.manual_seed(1234) is default_generator
    again = [
        ig.rand(3).tolist(),
        ig.randn(2).tolist(),
        ig.randint(9, (4,)).tolist(),
    ]
    assert first == again
    ig.manual_seed(1235)
    assert ig.rand(3).tolist() != first[0]


def test_two_draws_differ_and_each_keeps_its_numbers() -> None:
    a, b = ig.rand(4), ig.rand(4)
    late = a * 1
    assert a.tolist() != b.tolist()
    assert a.tolist() == a.tolist() == late.tolist()


def test_the_order_of_evaluation_does_not_matter() -> None:
    a, b = ig.rand(4), ig.rand(4)
    second, first = b.tolist(), a.tolist()
    ig.manual_seed(1234)
    assert [ig.rand(4).tolist(), ig.rand(4).tolist()] == [first, second]


def test_a_longer_draw_is_the_shorter_ones_together() -> None:
    together = ig.rand(10).tolist()
    ig.manual_seed(1234)
    assert [*ig.rand(4).tolist(), *ig.rand(2, 3).flatten().tolist()] == together


def test_generators_are_streams_of_their_own() -> None:
    a, b = ig.Generator(5), ig.Generator(5)
    first = ig.rand(3, generator=a)
    ig.rand(100)
    assert ig.rand(3, generator=b).tolist() == first.tolist()
    assert a.initial_seed() == 5
    assert a.manual_seed(6) is a
    assert ig.rand(3, generator=a).tolist() != first.tolist()
    assert ig.Generator().initial_seed() != ig.Generator().initial_seed()
    assert ig.seed() == ig.initial_seed()


def test_an_unknown_seed_is_refused() -> None:
    with pytest.raises(ArgumentError, match="manual_seed: 'a' is no seed"):
        ig.manual_seed("a")  # type: ignore[arg-type]
    ig.manual_seed(-1)
    assert ig.initial_seed() == 2**64 - 1


@pytest.mark.parametrize(
    "draw",
    [
        lambda: ig.rand(1000),
        lambda: ig.rand(1000, dtype=ig.float64),
        lambda: ig.rand(1000, dtype=ig.float16),
        lambda: ig.randint(-5, 1000, (1000,)),
        lambda: ig.bernoulli(ig.full((1000,), 0.3)),
        lambda: ig.randperm(500),
    ],
)
def test_the_interpreter_draws_the_same_bits(draw: Callable[[], ig.Tensor]) -> None:
    compiled = draw().numpy()
    ig.manual_seed(1234)
    with settings.override(device="PYTHON"):
        assert np.array_equal(draw().numpy(), compiled)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_numbers_agree_with_the_interpreter(dtype: str) -> None:
    compiled = ig.randn(1000, dtype=dtype).numpy()
    ig.manual_seed(1234)
    with settings.override(device="PYTHON"):
        meant = ig.randn(1000, dtype=dtype).numpy()
    np.testing.assert_allclose(
        compiled, meant, atol=8 * float(np.finfo(dtype).eps), rtol=1e-5
    )


def test_threads_do_not_change_the_numbers() -> None:
    one = ig.rand(300_000).numpy()
    ig.manual_seed(1234)
    assert np.array_equal(ig.rand(300_000).numpy(), one)
    ig.manual_seed(1234)
    assert np.array_equal(ig.rand(300, 1000).numpy().ravel(), one)


# --- inside programs ------------------------------------------------------------------------------------------------


def test_a_replay_draws_fresh_numbers() -> None:
    noisy = ig.jit(lambda x: x + ig.rand(3))
    zero = ig.zeros(3).realize()
    drawn = [tuple(noisy(zero).tolist()) for _ in range(4)]
    assert len(set(drawn)) == 4
    after = tuple(ig.rand(3).tolist())
    assert after not in drawn


def test_a_seed_repeats_replays() -> None:
    noisy = ig.jit(lambda x: x + ig.rand(3))
    zero = ig.zeros(3).realize()
    noisy(zero)
    ig.manual_seed(7)
    first = [noisy(zero).tolist() for _ in range(3)]
    ig.manual_seed(7)
    assert [noisy(zero).tolist() for _ in range(3)] == first
    ig.manual_seed(7)
    assert [ig.rand(3).tolist() for _ in range(3)] == first


def test_a_consumer_needs_no_memory_for_what_it_consumes() -> None:
    total = (ig.rand(1000, 1000) < 0.25).sum()
    steps = total.schedule()
    assert len(steps) <= 2
    assert abs(total.item() / 1e6 - 0.25) < 0.002


# --- arguments ------------------------------------------------------------------------------------------------------


def test_shapes_in_every_form() -> None:
    for made in (
        ig.rand(2, 3),
        ig.rand((2, 3)),
        ig.rand([2, 3]),
        ig.Tensor.rand(2, 3),
    ):
        assert made.shape == (2, 3)
    assert ig.rand().shape == ig.randn(()).shape == ()
    assert ig.randn(0, 3).numpy().shape == (0, 3)
    assert ig.Tensor.randn([4], dtype=ig.float64).dtype is ig.float64
    assert ig.rand(3).dtype is ig.float32
    like = ig.zeros((2, 2), dtype=ig.float16)
    assert (ig.rand_like(like).dtype, ig.randn_like(like).shape) == (
        ig.float16,
        (2, 2),
    )
    assert ig.randint_like(like, 5).dtype is ig.float16
    assert ig.rand(3, requires_grad=True).requires_grad


@pytest.mark.parametrize(
    ("arguments", "named", "shape", "low", "high"),
    [
        ((10, (300,)), {}, (300,), 0, 10),
        ((5, 10, (300,)), {}, (300,), 5, 10),
        ((5, 10, 300), {}, (300,), 5, 10),
        ((300,), {"low": -2, "high": 2}, (300,), -2, 2),
        ((30, 10), {"low": 0, "high": 4}, (30, 10), 0, 4),
        ((), {"low": 1, "high": 3, "size": (300,)}, (300,), 1, 3),
        ((4,), {"size": (300,)}, (300,), 0, 4),
        ((), {"high": 4, "size": 300}, (300,), 0, 4),
        ((300,), {}, (300,), 0, 10),
    ],
)
def test_whole_numbers(
    arguments: Any, named: Any, shape: tuple[int, ...], low: int, high: int
) -> None:
    made = ig.randint(*arguments, **named)
    assert (made.shape, made.dtype) == (shape, ig.int64)
    assert sorted(set(made.flatten().tolist())) == list(range(low, high))


def test_normal_in_both_forms() -> None:
    assert ig.normal(2, 3, mean=5.0, std=0.1).shape == (2, 3)
    assert ig.normal(0.0, 1.0, (2, 3)).shape == (2, 3)
    assert ig.normal(ig.zeros(3), ig.ones(3)).shape == (3,)
    assert ig.normal(ig.full((3,), 7.0), 0.0).tolist() == [7, 7, 7]
    assert ig.normal(mean=1.0, std=2.0, size=4).shape == (4,)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: ig.rand(2, dtype=ig.int32),
            DTypeError,
            "random fractions of int32",
        ),
        (lambda: ig.randint(5, 5, (2,)), ArgumentError, "5 <= n < 5"),
        (lambda: ig.rand(-1), ArgumentError, "-1 in shape"),
        (lambda: ig.kaiming_uniform(3), ShapeError, "is no shape of weights"),
        (lambda: ig.normal(0.0, -1.0, (2,)), ArgumentError, "std is -1.0"),
        (
            lambda: ig.rand(2, "float64"),  # type: ignore[arg-type]
            ArgumentError,
            "write dtype=float64",
        ),
    ],
)
def test_what_makes_no_sense_is_named(
    call: Callable[[], object], error: type[IngotError], text: str
) -> None:
    with pytest.raises(error, match=text):
        call()


# --- distributions --------------------------------------------------------------------------------------------------


def _kolmogorov(sample: Any, distribution: Callable[[Any], Any]) -> float:
    """The largest distance between the sample's distribution and the one meant, times sqrt(n)."""
    ordered = np.sort(np.asarray(sample, np.float64).ravel())
    n = ordered.size
    meant = distribution(ordered)
    above = np.arange(1, n + 1) / n - meant
    below = meant - np.arange(n) / n
    return float(max(above.max(), below.max()) * math.sqrt(n))


def _chi_square(counts: Any, expected: float) -> float:
    return float(((np.asarray(counts) - expected) ** 2 / expected).sum())


def _phi(x: Any) -> Any:
    return np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x])


LIMIT = 1.95  # exceeded by one sample of a thousand


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform(dtype: str) -> None:
    made = ig.rand(COUNT, dtype=dtype).numpy().astype(np.float64)
    assert 0 <= made.min() < 1e-4
    assert 1 - 1e-4 < made.max() < 1
    assert abs(made.mean() - 0.5) < 0.004
    assert abs(made.var() - 1 / 12) < 0.001
    assert _kolmogorov(made, lambda x: x) < LIMIT
    counts = np.bincount((made * 256).astype(int), minlength=256)
    assert 175 < _chi_square(counts, COUNT / 256) < 345


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_normal(dtype: str) -> None:
    made = ig.randn(COUNT, dtype=dtype).numpy().astype(np.float64)
    assert abs(made.mean()) < 0.013
    assert abs(made.var() - 1) < 0.018
    assert abs((made**3).mean()) < 0.04
    assert abs((made**4).mean() - 3) < 0.15
    assert 3.8 < made.max() < 6
    if dtype.startswith("float") and dtype != "float16":
        assert _kolmogorov(made, _phi) < LIMIT


def test_every_bit_is_as_often_set_as_not() -> None:
    words = ig.randint(0, 2**32, (COUNT,)).numpy().astype(np.uint32)
    bits = np.unpackbits(words.view(np.uint8)).reshape(COUNT, 32)
    assert (np.abs(bits.mean(0) - 0.5) < 4 * 0.5 / math.sqrt(COUNT)).all()
    together = np.corrcoef(bits.T) - np.eye(32)
    assert np.abs(together).max() < 5 / math.sqrt(COUNT)


def test_neighbours_and_draws_do_not_go_together() -> None:
    draws = np.stack([ig.rand(COUNT).numpy() for _ in range(4)])
    together = np.corrcoef(draws) - np.eye(4)
    assert np.abs(together).max() < 4 / math.sqrt(COUNT)
    for lag in (1, 2, 7, 64, 1024):
        both = np.corrcoef(draws[0][:-lag], draws[0][lag:])[0, 1]
        assert abs(both) < 4 / math.sqrt(COUNT)


def test_neighbouring_seeds_do_not_go_together() -> None:
    draws = np.stack(
        [ig.rand(20_000, generator=ig.Generator(s)).numpy() for s in range(6)]
    )
    together = np.corrcoef(draws) - np.eye(6)
    assert np.abs(together).max() < 4 / math.sqrt(20_000)


def test_whole_numbers_are_equally_likely() -> None:
    counts = np.bincount(ig.randint(0, 37, (COUNT,)).numpy(), minlength=37)
    assert 12 < _chi_square(counts, COUNT / 37) < 75


def test_other_distributions() -> None:
    even = ig.uniform(COUNT, low=-3.0, high=5.0).numpy()
    assert _kolmogorov(even, lambda x: (x + 3) / 8) < LIMIT
    shifted = ig.normal(COUNT, mean=2.0, std=3.0).numpy()
    assert _kolmogorov((shifted - 2) / 3, _phi) < LIMIT
    waiting = ig.exponential(COUNT, rate=2.0).numpy()
    assert _kolmogorov(waiting, lambda x: 1 - np.exp(-2 * x)) < LIMIT
    chances = ig.full((COUNT,), 0.3)
    assert abs(float(ig.bernoulli(chances).mean()) - 0.3) < 0.006
    assert set(ig.bernoulli(chances).numpy().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_truncated_normal_distribution(dtype: str) -> None:
    made = ig.truncated_normal(COUNT, dtype=dtype).numpy().astype(np.float64)
    assert -2 <= made.min() < -1.99
    assert 1.99 < made.max() <= 2
    low, high = _phi([-2.0, 2.0])
    assert _kolmogorov(made, lambda x: (_phi(x) - low) / (high - low)) < LIMIT
    other = ig.truncated_normal(1000, mean=1.0, std=2.0, low=0.0, high=3.0).numpy()
    assert 0 <= other.min() < other.max() <= 3


@pytest.mark.parametrize(
    ("draw", "bound", "std"),
    [
        (lambda: ig.kaiming_uniform(256, 128, a=0.0), math.sqrt(6 / 128), None),
        (lambda: ig.glorot_uniform(256, 128), math.sqrt(6 / 384), None),
        (lambda: ig.scaled_uniform(256, 128), 1 / math.sqrt(256 * 128), None),
        (lambda: ig.kaiming_normal(256, 128, a=0.0), None, math.sqrt(2 / 128)),
        (lambda: ig.xavier_normal(256, 128), None, math.sqrt(2 / 384)),
        (lambda: ig.kaiming_normal(64, 8, 3, 3, a=0.0), None, math.sqrt(2 / 72)),
    ],
)
def test_initial_values(
    draw: Callable[[], ig.Tensor], bound: float | None, std: float | None
) -> None:
    made = draw().numpy()
    if bound is not None:
        assert 0.99 * bound < np.abs(made).max() <= bound
    if std is not None:
        assert abs(made.std() / std - 1) < 0.04
    assert abs(made.mean()) < 0.02


def test_in_place() -> None:
    x = ig.zeros(1000)
    assert x.uniform_(2.0, 3.0) is x
    assert 2 <= x.numpy().min() < x.numpy().max() < 3
    first = x.normal_(10.0, 0.1).tolist()
    assert abs(np.mean(first) - 10) < 0.02
    assert x.normal_().tolist() != first


def test_permutations() -> None:
    made = ig.randperm(1000)
    assert made.dtype is ig.int64
    assert sorted(made.tolist()) == list(range(1000))
    assert ig.randperm(1000).tolist() != made.tolist()
    assert ig.randperm(5, dtype=ig.int32).dtype is ig.int32
    first = np.bincount([int(ig.randperm(4)[0]) for _ in range(400)], minlength=4)
    assert _chi_square(first, 100) < 16
    assert ig.randperm(0).tolist() == []


def test_places_by_weight() -> None:
    weights = ig.tensor([1.0, 0.0, 3.0, 6.0])
    drawn = ig.multinomial(weights, 20_000, replacement=True).numpy()
    counts = np.bincount(drawn, minlength=4)
    assert counts[1] == 0
    np.testing.assert_allclose(counts / 20_000, [0.1, 0, 0.3, 0.6], atol=0.015)
    rows = ig.tensor([[1.0, 0.0], [0.0, 1.0]]).multinomial(5, replacement=True)
    assert rows.tolist() == [[0] * 5, [1] * 5]
    assert weights.multinomial().shape == (1,)


def test_places_by_weight_without_replacement() -> None:
    weights = ig.tensor([[1.0, 1.0, 2.0, 4.0]]).expand(5000, 4)
    drawn = ig.multinomial(weights, 3).numpy()
    assert drawn.shape == (5000, 3)
    assert all(len(set(row)) == 3 for row in drawn.tolist())
    first = np.bincount(drawn[:, 0], minlength=4) / 5000
    np.testing.assert_allclose(first, [0.125, 0.125, 0.25, 0.5], atol=0.03)
    after = drawn[drawn[:, 0] == 3][:, 1]
    second = np.bincount(after, minlength=3) / len(after)
    np.testing.assert_allclose(second, [0.25, 0.25, 0.5], atol=0.04)
