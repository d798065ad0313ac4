"""From rounds to a verdict: medians, quartiles, and whether a difference is one.

In:  seconds per round, of two libraries in the same rounds.  Out: a `Comparison` with an interval and a word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import comb
from statistics import median, quantiles

__all__ = ["Comparison", "Verdict", "compare", "interval", "quartiles"]

SAME = 1.03  # ratios nearer to 1 than this are of no interest to anybody
CONFIDENCE = 0.95


class Verdict(Enum):
    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many times as fast: the median over rounds, and the interval that holds the true median."""

    ratio: float
    low: float
    high: float
    verdict: Verdict


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return low, middle, high


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The order statistics that hold the median with `CONFIDENCE`, whatever the distribution of the noise is.

    The k-th smallest and k-th largest of n miss the median with the chance of fewer than k heads in n throws, twice.
    Too few rounds for that give an interval that says so: everything.
    """
    ordered = sorted(values)
    n = len(ordered)
    cut = 0
    while 2 * _fewer_heads(cut + 1, n) <= 1 - CONFIDENCE:
        cut += 1
    if cut == 0:
        return 0.0, float("inf")
    return ordered[cut - 1], ordered[n - cut]


def _fewer_heads(k: int, n: int) -> float:
    ways = sum(comb(n, i) for i in range(k))
    return ways * 0.5**n


def compare(mine: Sequence[float], other: Sequence[float]) -> Comparison:
    """Round by round: what slows the machine for a while slows both."""
    ratios = [b / a for a, b in zip(mine, other, strict=True)]
    low, high = interval(ratios)
    return Comparison(median(ratios), low, high, _verdict(low, high))


def _verdict(low: float, high: float) -> Verdict:
    if low >= SAME:
        return Verdict.FASTER
    if high <= 1 / SAME:
        return Verdict.SLOWER
    if low > 1 / SAME and high < SAME:
        return Verdict.SAME
    return Verdict.UNDECIDED
