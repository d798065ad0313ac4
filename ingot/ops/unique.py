"""Different values, and how often: unique, bincount, histogram. In: values. Out: rows whose length may be a computed size.

Equal values stand side by side once they are sorted; where one differs from the one before it, a new value begins. Every NaN
is a value of its own, as the array API has it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.region import size_of
from ingot.ir.shape import product
from ingot.ops import elementwise as ew
from ingot.ops.axis import whole_number
from ingot.ops.check import checked
from ingot.ops.creation import counter
from ingot.ops.gather import taken_along
from ingot.ops.movement import Dim, pad, reshape, shrink
from ingot.ops.op import primitive
from ingot.ops.order import keys, order_rows
from ingot.ops.places import compact, extent, picked, places, scatter_rows
from ingot.ops.reduce import max_, min_
from ingot.ops.sample import NAN, bools, floats, ints, sample, values
from ingot.ops.scan import cumsum
from ingot.ops.sort import searchsorted, sort


class Runs(NamedTuple):
    """Sorted values in runs of equals: where each begins; how many there are."""

    sorted: UOp
    begins: UOp  # bool: the first of its run
    starts: UOp  # the places of those, and then what is left over
    number: UOp

    @property
    def length(self) -> UOp:
        return size_of(self.number, self.starts.shape[0])

    def cut(self, row: UOp) -> UOp:
        """As many elements as there are runs."""
        return shrink(row, [(0, self.length)])


def _runs(sorted_: UOp) -> Runs:
    begins = _begins(sorted_)
    starts, number = compact.results(begins)
    return Runs(sorted_, begins, starts, number)


def _begins(sorted_: UOp) -> UOp:
    """The first, and whatever differs from what comes before it."""
    n = sorted_.shape[0]
    here = counter((n,), 0)
    if isinstance(n, int):
        before = pad(shrink(sorted_, [(0, n - 1)]), [(1, 0)])
    else:
        before = taken_along(sorted_, ew.maximum(ew.subtract(here, 1), 0), 0)
    return ew.logical_or(ew.equal(here, 0), ew.not_equal(sorted_, before))


def _values(runs: Runs) -> UOp:
    return taken_along(runs.sorted, runs.cut(runs.starts), 0)


def _counts(runs: Runs) -> UOp:
    """From where a run begins to where the next one does; the last one ends with the row."""
    n = runs.starts.shape[0]
    here = counter((n,), 0)
    next_ = ew.minimum(ew.add(here, 1), ew.subtract(extent(n), 1))
    after = taken_along(runs.starts, next_, 0)
    last = ew.equal(here, ew.subtract(runs.number, 1))
    ends = ew.where(last, extent(n), after)
    return runs.cut(ew.subtract(ends, runs.starts))


def _inverse(runs: Runs, order: UOp) -> UOp:
    """The number of its run, for every element where it was."""
    n = runs.starts.shape[0]
    rank = ew.subtract(cumsum(runs.begins, axis=0), 1)
    nothing = ew.constant(0, dt.int64, (n, 1))
    return reshape(
        scatter_rows(nothing, order, reshape(rank, (n, 1)), mode="set"), (n,)
    )


def _ordered(x: UOp) -> tuple[UOp, UOp]:
    """(the elements in order, where each was)"""
    flat = reshape(x, (product(x.shape),))
    order = order_rows(keys(flat)).cast(dt.int64)
    return taken_along(flat, order, 0), order


def _nothing(dtype: dt.DType) -> UOp:
    return ew.constant(0, dtype, (0,))


def unique_values(x: UOp) -> UOp:
    """The different values, in order."""
    if product(x.shape) == 0:
        return _nothing(x.dtype)
    sorted_ = sort(reshape(x, (product(x.shape),)), axis=0)
    return picked(_begins(sorted_), sorted_)


def unique_counts(x: UOp) -> tuple[UOp, UOp]:
    """The different values, in order, and how often each occurs."""
    if product(x.shape) == 0:
        return _nothing(x.dtype), _nothing(dt.int64)
    runs = _runs(sort(reshape(x, (product(x.shape),)), axis=0))
    return _values(runs), _counts(runs)


def unique_inverse(x: UOp) -> tuple[UOp, UOp]:
    """The different values, in order, and for every element which of them it is."""
    found, _, inverse, _ = unique_all(x)
    return found, inverse


def unique_all(x: UOp) -> tuple[UOp, UOp, UOp, UOp]:
    """The different values, in order; where each occurs first; for every element which it is; how often each occurs."""
    if product(x.shape) == 0:
        nothing = _nothing(dt.int64)
        return _nothing(x.dtype), nothing, reshape(nothing, x.shape), nothing
    sorted_, order = _ordered(x)
    runs = _runs(sorted_)
    firsts = taken_along(order, runs.cut(runs.starts), 0)
    inverse = reshape(_inverse(runs, order), x.shape)
    return _values(runs), firsts, inverse, _counts(runs)


# --- counting ---------------------------------------------------------------------------------------------------------


def bincount(x: UOp, weights: UOp | None = None, minlength: int = 0) -> UOp:
    """How often each of 0, 1, .. minlength - 1 occurs, or the sum of its weights."""
    count = whole_number("bincount", "minlength", minlength)
    if count < 1:
        raise ArgumentError(
            f"bincount: minlength is {count}; wanted at least 1",
            fix="the length of the result is a size: say it, as in minlength=int(x.max()) + 1",
        )
    flat = reshape(x, (product(x.shape),))
    if flat.dtype is not dt.boolean and flat.dtype.kind is not dt.Kind.UINT:
        low = min_(flat) if flat.shape[0] != 0 else None
        if low is not None:
            flat = not_negative(flat, low)
    at = places("bincount", flat, count)
    given = (
        ew.constant(1, dt.int64, at.shape)
        if weights is None
        else reshape(weights, at.shape)
    )
    return _tally(at, given, count)


def not_negative(x: UOp, low: UOp) -> UOp:
    text = "bincount: the smallest number is {0}; wanted 0 or more"
    return checked(x, ew.greater_equal(low, 0), "ArgumentError", text, low)


def _tally(at: UOp, amounts: UOp, count: Dim) -> UOp:
    n = product(at.shape)
    zeros = ew.constant(0, amounts.dtype, (count, 1))
    made = scatter_rows(zeros, at, reshape(amounts, (n, 1)), mode="add")
    return reshape(made, (count,))


def histogram(
    x: UOp,
    bins: int = 10,
    low: float | None = None,
    high: float | None = None,
) -> tuple[UOp, UOp]:
    """How many elements fall into each of `bins` equal steps from low to high, and the ends of the steps."""
    count = whole_number("histogram", "bins", bins)
    if count < 1:
        raise ArgumentError(f"histogram: bins is {count}; wanted at least 1")
    flat = reshape(x, (product(x.shape),))
    wide = ew.as_float(flat)
    edges = _edges(wide, count, low, high)
    after = searchsorted(edges, wide, side="right")
    last = ew.equal(
        wide, taken_along(edges, ew.constant(count, dt.int64, wide.shape), 0)
    )
    at = ew.subtract(after, ew.add(1, ew.astype(last, dt.int64)))
    inside = ew.logical_and(ew.greater_equal(at, 0), ew.less(at, count))
    amounts = ew.astype(inside, dt.int64)
    return _tally(ew.where(inside, at, 0), amounts, count), edges


def _edges(x: UOp, count: int, low: float | None, high: float | None) -> UOp:
    if x.shape[0] == 0 and (low is None or high is None):
        low, high = 0.0, 1.0
    first = ew.constant(low, x.dtype, ()) if low is not None else min_(x)
    last = ew.constant(high, x.dtype, ()) if high is not None else max_(x)
    alone = ew.equal(first, last)  # NumPy: half a step to both sides
    begin = ew.where(alone, ew.subtract(first, 0.5), first)
    end = ew.where(alone, ew.add(last, 0.5), last)
    steps = counter((count + 1,), 0, x.dtype)
    step = ew.divide(ew.subtract(end, begin), float(count))
    made = ew.add(ew.multiply(steps, step), begin)
    return ew.where(ew.equal(steps, float(count)), end, made)


# --- declarations -----------------------------------------------------------------------------------------------------


def _np_unique(x: Any) -> Any:
    return np.unique(
        x,
        return_index=True,
        return_inverse=True,
        return_counts=True,
        equal_nan=False,
    )


def _np_all(x: Any) -> Any:
    found, first, inverse, counts = _np_unique(x)
    return found, first, inverse.reshape(x.shape), counts


_CASES = (
    sample(ints(4, 5, low=-3, high=4)),
    sample(ints(40, low=0, high=9, dtype="uint8")),
    sample(values(1.0, NAN, 0.0, -0.0, NAN, 1.0, -2.0)),
    sample(bools(9)),
    sample(floats(0)),
    sample(floats(2, 0)),
    sample(floats(1)),
)
primitive(
    "unique_values", unique_values, ref=lambda x: _np_unique(x)[0], samples=_CASES
)
primitive(
    "unique_counts",
    unique_counts,
    ref=lambda x: (_np_unique(x)[0], _np_unique(x)[3]),
    samples=_CASES,
)
primitive(
    "unique_inverse",
    unique_inverse,
    ref=lambda x: (_np_all(x)[0], _np_all(x)[2]),
    samples=_CASES,
)
primitive("unique_all", unique_all, ref=_np_all, samples=_CASES)
primitive(
    "bincount",
    bincount,
    ref=lambda x, weights=None, minlength=0: np.bincount(x, weights, minlength),
    samples=(
        sample(ints(20, low=0, high=7), minlength=7),
        sample(ints(20, low=0, high=7), floats(20), minlength=9),
        sample(ints(0, low=0, high=7), minlength=3),
    ),
    bad_samples=(
        (sample(ints(3, low=0)), "bincount: minlength is 0; wanted at least 1"),
    ),
    ulp=4,
    normwise=True,
)
primitive(
    "histogram",
    histogram,
    ref=lambda x, bins=10, low=None, high=None: np.histogram(
        x, bins, None if low is None else (low, high)
    ),
    samples=(
        sample(floats(50), bins=7),
        sample(floats(5, 6), bins=4, low=-1.0, high=2.0),
        sample(values(2.0, 2.0), bins=3),
        sample(values(0.0, 0.25, 0.5, 1.0), bins=4),
    ),
    bad_samples=(
        (sample(floats(3), bins=0), "histogram: bins is 0; wanted at least 1"),
    ),
    ulp=4,
    normwise=True,
)
