"""Medians, intervals, verdicts."""

import random

import pytest

from ingot.bench.summary import Verdict, compare, interval, quartiles


def test_quartiles() -> None:
    assert quartiles([4.0]) == (4.0, 4.0, 4.0)
    assert quartiles([1.0, 2.0, 3.0, 4.0, 5.0]) == (2.0, 3.0, 4.0)


def test_the_interval_needs_six_rounds() -> None:
    assert interval([1.0] * 5) == (0.0, float("inf"))
    assert interval([3.0, 1.0, 2.0, 5.0, 4.0, 6.0]) == (1.0, 6.0)
    assert interval([float(i) for i in range(9)]) == (1.0, 7.0)


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    rng = random.Random(1)
    trials = 2000
    held = 0
    for _ in range(trials):
        low, high = interval([rng.expovariate(1.0) for _ in range(9)])
        held += low <= 0.6931 <= high
    assert held / trials >= 0.94


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        ([2.0] * 9, Verdict.FASTER),
        ([0.5] * 9, Verdict.SLOWER),
        ([1.01] * 9, Verdict.SAME),
        ([0.8, 1.3, 0.9, 1.2, 0.7, 1.4, 1.0, 1.1, 1.0], Verdict.UNDECIDED),
    ],
)
def test_verdicts(other: list[float], verdict: Verdict) -> None:
    assert compare([1.0] * 9, other).verdict is verdict


def test_rounds_are_compared_pairwise() -> None:
    """A machine that slows down tenfold for a while changes both times and not the ratio."""
    mine = [1.0, 10.0, 1.0, 10.0, 1.0, 10.0, 1.0]
    found = compare(mine, [2 * seconds for seconds in mine])
    assert (found.ratio, found.verdict) == (2.0, Verdict.FASTER)


def test_few_rounds_decide_nothing() -> None:
    assert compare([1.0] * 3, [5.0] * 3).verdict is Verdict.UNDECIDED
