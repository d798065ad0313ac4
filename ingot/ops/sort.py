"""Order: sort, argsort, topk, kthvalue, median, quantile, searchsorted, isin. In: values. Out: values, places.

NaN sorts last, as in NumPy. All sorts are stable, also descending ones.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ingot.errors import ArgumentError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Attr
from ingot.ir.shape import Type, product
from ingot.ops import elementwise as ew
from ingot.ops.axis import Axes, normal_axes, normal_axis, whole_number
from ingot.ops.creation import counter
from ingot.ops.gather import along_axis, taken_along
from ingot.ops.gradient import Cotangents, Gradients, attrs, only
from ingot.ops.movement import (
    Dim,
    permute,
    reshape,
    show,
    shrink,
)
from ingot.ops.numeric import isnan
from ingot.ops.op import Accepted, op, primitive
from ingot.ops.order import (
    keys,
    order_rows,
    search_rows,
    select_rows,
    sort_rows,
    values_of,
)
from ingot.ops.places import extent, scattered_back
from ingot.ops.promotion import floating, promote
from ingot.ops.sample import (
    NAN,
    SPECIAL,
    Sample,
    bools,
    floats,
    ints,
    sample,
    values,
)

# --- rows -------------------------------------------------------------------------------------------------------------


def axis_last(x: UOp, axis: int) -> UOp:
    return permute(x, [*(a for a in range(len(x.shape)) if a != axis), axis])


def axis_back(x: UOp, axis: int) -> UOp:
    """The last axis where it was."""
    rest = list(range(len(x.shape) - 1))
    return permute(x, [*rest[:axis], len(rest), *rest[axis:]])


def order(x: UOp, axis: int, descending: bool) -> UOp:
    """The places of the elements along an axis, in order."""
    rows = keys(axis_last(x, axis), descending)
    return axis_back(order_rows(rows).cast(dt.int64), axis)


def _row(x: UOp) -> UOp:
    """A number is a row of one."""
    return x if x.shape else reshape(x, (1,))


# --- sort -------------------------------------------------------------------------------------------------------------


def _accept(name: str) -> Any:
    def accept(x: UOp, *, axis: int, descending: bool, stable: bool) -> Accepted:
        at = normal_axis(name, axis, len(_row(x).shape))
        return (x,), {"axis": at, "descending": bool(descending), "stable": True}

    return accept


def _sort(
    x: UOp, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> UOp:
    """The elements along an axis, smallest first; NaN last."""
    rows = axis_last(_row(x), axis)
    made = sort_rows(keys(rows, descending, exact=True))
    return reshape(axis_back(values_of(made, x.dtype, descending), axis), x.shape)


def _argsort(
    x: UOp, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> UOp:
    """The places of the elements along an axis, smallest first; equal ones as they come, NaN last."""
    return reshape(order(_row(x), axis, descending), x.shape)


def _sort_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """What an element became, where it came from."""
    (x,), given = node.src, attrs(node)
    if not x.shape:
        return (only(cotangents),)
    axis = cast(int, given["axis"])
    at = order(x, axis, bool(given["descending"]))
    places = [
        at if a == axis else counter(at.shape, a) for a in range(len(at.shape))
    ]
    every = tuple(range(len(x.shape)))
    return (scattered_back(only(cotangents), x.shape, places, every),)


def topk(
    x: UOp, k: int, axis: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[UOp, UOp]:
    """The k largest elements along an axis in order, and their places; of equals the first; NaN counts as largest."""
    at = normal_axis("topk", axis, len(x.shape))
    count = _few("topk", k, x.shape[at], x)
    rows = keys(axis_last(x, at), largest)
    places = axis_back(select_rows(rows, k=count).cast(dt.int64), at)
    return along_axis(x, places, at), places


def _few(name: str, k: int, n: Dim, x: UOp) -> int:
    count = whole_number(name, "k", k)
    if count < 0 or (isinstance(n, int) and count > n):
        raise ArgumentError(
            f"{name}: k is {count}, and the axis of {show(x.shape)} has {n} elements",
            fix=f"choose k from 0 to {n}, or another axis",
        )
    return count


def kthvalue(
    x: UOp, k: int, axis: int = -1, keepdims: bool = False
) -> tuple[UOp, UOp]:
    """The k-th smallest element along an axis, counted from 1, and its place."""
    at = normal_axis("kthvalue", axis, len(x.shape))
    count = _few("kthvalue", k, x.shape[at], x)
    if count < 1:
        raise ArgumentError("kthvalue: k is 0; the smallest is number 1")
    found, places = topk(x, count, at, largest=False)
    last = [(count - 1, count) if a == at else None for a in range(len(x.shape))]
    shape = tuple(1 if a == at else n for a, n in enumerate(x.shape))
    kept = shape if keepdims else tuple(n for a, n in enumerate(shape) if a != at)
    return reshape(shrink(found, last), kept), reshape(shrink(places, last), kept)


# --- the middle, and any other rank -----------------------------------------------------------------------------------


def _sorted_along(x: UOp, axes: tuple[int, ...]) -> UOp:
    """The elements of the axes, as one, last, in order."""
    kept = [a for a in range(len(x.shape)) if a not in axes]
    moved = permute(x, [*kept, *axes])
    shape = (*(x.shape[a] for a in kept), product(tuple(x.shape[a] for a in axes)))
    return sort(reshape(moved, shape), axis=-1)


def quantile(x: UOp, q: float, axis: Axes = None, keepdims: bool = False) -> UOp:
    """The value below which a part `q` of the elements lies; between two elements, a straight line. NaN if there is one."""
    if not 0 <= q <= 1:
        raise ArgumentError(f"quantile: q is {q}; wanted 0 to 1")
    return _quantile("quantile", x, float(q), axis, keepdims)


def median(x: UOp, axis: Axes = None, keepdims: bool = False) -> UOp:
    """The middle element along axes, or the mean of both middle ones. NaN if there is one."""
    return _quantile("median", x, 0.5, axis, keepdims)


def _quantile(name: str, x: UOp, q: float, axis: Axes, keepdims: bool) -> UOp:
    axes = normal_axes(name, axis, len(x.shape))
    wide = x.cast(floating(x.dtype))
    rows = _sorted_along(wide, axes) if axes else reshape(wide, (*x.shape, 1))
    n = rows.shape[-1]
    if not isinstance(n, int):
        raise ShapeError(
            f"{name}: {show(x.shape)} has a symbolic size along the axes",
            fix="give it a number",
        )
    if n == 0:
        raise ShapeError(f"{name}: {show(x.shape)} has no elements along {axes}")
    low = int(q * (n - 1))
    made = _between(rows, low, min(low + 1, n - 1), q * (n - 1) - low)
    last = _at(rows, n - 1)  # NaN, if there is one
    found = ew.where(isnan(last), last, made)
    shape = tuple(1 if a in axes else size for a, size in enumerate(x.shape))
    return reshape(found, shape) if keepdims else found


def _at(rows: UOp, place: int) -> UOp:
    cut = [None] * (len(rows.shape) - 1) + [(place, place + 1)]
    return reshape(shrink(rows, cut), rows.shape[:-1])


def _between(rows: UOp, low: int, high: int, part: float) -> UOp:
    below, above = _at(rows, low), _at(rows, high)
    if part == 0:
        return below
    gap = ew.subtract(above, below)
    # Equal infinities have no gap between them.
    return ew.where(
        ew.equal(below, above), below, ew.add(below, ew.multiply(gap, part))
    )


# --- searching --------------------------------------------------------------------------------------------------------


def searchsorted(
    x: UOp, values: UOp, side: str = "left", sorter: UOp | None = None
) -> UOp:
    """Where values would go into a sorted row, before equal elements or, with side="right", after them."""
    if side not in ("left", "right"):
        raise ArgumentError(
            f"searchsorted: side is {side!r}", wanted="'left' or 'right'"
        )
    kind = promote(x.dtype, values.dtype)
    rows = (
        x
        if sorter is None
        else along_axis(x, sorter.cast(dt.int64), len(x.shape) - 1)
    )
    shape = values.shape
    if len(x.shape) == 1:
        flat = reshape(values, (product(shape),))
        found = search_rows(rows.cast(kind), flat.cast(kind), right=side == "right")
        return reshape(found, shape)
    if x.shape[:-1] != shape[:-1]:
        raise ShapeError(
            f"searchsorted: rows are {show(x.shape)} and values {show(shape)}; wanted the same axes but the last"
        )
    return search_rows(rows.cast(kind), values.cast(kind), right=side == "right")


def isin(x: UOp, test: UOp, invert: bool = False) -> UOp:
    """Whether each element is among those of `test`."""
    kind = promote(x.dtype, test.dtype)
    n = product(test.shape)
    if n == 0:
        return ew.constant(bool(invert), dt.boolean, x.shape)
    sorted_ = sort(reshape(test.cast(kind), (n,)), axis=0)
    given = x.cast(kind)
    at = ew.minimum(searchsorted(sorted_, given), ew.subtract(extent(n), 1))
    found = ew.equal(taken_along(sorted_, at, 0), given)
    return ew.logical_not(found) if invert else found


# --- declarations -----------------------------------------------------------------------------------------------------

_CASES: tuple[Sample, ...] = (
    sample(floats(7)),
    sample(floats(4, 5), axis=0),
    sample(floats(2, 3, 4), axis=1, descending=True),
    sample(ints(40, low=-3, high=4)),
    sample(ints(3, 5, dtype="int16"), axis=0, descending=True),
    sample(ints(9, low=0, high=200, dtype="uint8")),
    sample(bools(9)),
    sample(SPECIAL),
    sample(SPECIAL, descending=True),
    sample(floats(0)),
    sample(floats(3, 1)),
)
_OUTSIDE = sample(floats(3), axis=1)


def _np_order(
    x: Any, axis: int = -1, descending: bool = False, stable: bool = True
) -> Any:
    if not descending:
        return np.argsort(x, axis, kind="stable")
    turned = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - turned, axis)


def _np_sort(
    x: Any, axis: int = -1, descending: bool = False, stable: bool = True
) -> Any:
    return np.take_along_axis(x, _np_order(x, axis, descending), axis)


def _np_topk(
    x: Any, k: int, axis: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    at = np.take(_np_order(x, axis, largest), range(k), axis)
    return np.take_along_axis(x, at, axis), at


def _np_kth(x: Any, k: int, axis: int = -1, keepdims: bool = False) -> Any:
    at = np.take(_np_order(x, axis), [k - 1], axis)
    both = np.take_along_axis(x, at, axis), at
    return both if keepdims else tuple(np.squeeze(part, axis) for part in both)


def _sorted_type(x: UOp, **rest: Attr) -> Type:
    return x.dtype, x.shape


def _order_type(x: UOp, **rest: Attr) -> Type:
    return dt.int64, x.shape


sort = op(
    "sort",
    types=_sorted_type,
    lower=_sort,
    accept=_accept("sort"),
    ref=_np_sort,
    grad=_sort_grad,
    samples=_CASES,
    bad_samples=((_OUTSIDE, "sort: axis 1 is outside -1..0"),),
)
argsort = op(
    "argsort",
    types=_order_type,
    lower=_argsort,
    accept=_accept("argsort"),
    ref=_np_order,
    samples=_CASES,
    bad_samples=((_OUTSIDE, "argsort: axis 1 is outside -1..0"),),
)
primitive(
    "topk",
    topk,
    ref=_np_topk,
    samples=(
        sample(floats(9), k=3),
        sample(floats(4, 7), k=2, axis=0, largest=False),
        sample(ints(30, low=0, high=3), k=7),
        sample(SPECIAL, k=4),
        sample(SPECIAL, k=11, largest=False),
        sample(floats(5), k=0),
    ),
    bad_samples=(
        (
            sample(floats(4), k=5),
            "topk: k is 5, and the axis of (4,) has 4 elements",
        ),
    ),
)
primitive(
    "kthvalue",
    kthvalue,
    ref=_np_kth,
    samples=(
        sample(floats(9), k=3),
        sample(floats(4, 7), k=1, axis=0, keepdims=True),
    ),
    bad_samples=(
        (sample(floats(4), k=0), "kthvalue: k is 0; the smallest is number 1"),
    ),
)
_MIDDLES: tuple[Sample, ...] = (
    sample(floats(9)),
    sample(floats(4, 6), axis=1),
    sample(floats(4, 6), axis=(0, 1), keepdims=True),
    sample(ints(4, 3), axis=0),
    sample(values(1.0, NAN, 2.0)),
    sample(floats()),
)
primitive(
    "median",
    median,
    ref=lambda x, axis=None, keepdims=False: np.median(x, axis, keepdims=keepdims),
    samples=_MIDDLES,
    bad_samples=((sample(floats(0)), "median: (0,) has no elements along (0,)"),),
    ulp=2,
)
primitive(
    "quantile",
    quantile,
    ref=lambda x, q, axis=None, keepdims=False: np.quantile(
        x, q, axis, keepdims=keepdims
    ),
    samples=tuple(
        Sample(s.inputs, {"q": q, **s.attrs})
        for s in _MIDDLES
        for q in (0.0, 0.3, 1.0)
    ),
    bad_samples=((sample(floats(3), q=2.0), "quantile: q is 2.0; wanted 0 to 1"),),
    ulp=4,
    normwise=True,
)
_SORTED = values(-2.0, -1.0, -1.0, 0.0, 0.5, 3.0, 3.0, NAN)
primitive(
    "searchsorted",
    searchsorted,
    ref=lambda x, values, side="left": np.searchsorted(x, values, side),
    samples=(
        sample(_SORTED, values(-3.0, -1.0, 0.2, 3.0, 4.0, NAN)),
        sample(_SORTED, values(-3.0, -1.0, 0.2, 3.0, 4.0, NAN), side="right"),
        sample(values(1.0), floats(2, 3)),
        sample(values(1.0, 2.0), floats()),
    ),
    bad_samples=(
        (
            sample(floats(3), floats(2), side="middle"),
            "searchsorted: side is 'middle'",
        ),
        (
            sample(floats(2, 3), floats(4)),
            "searchsorted: rows are (2, 3) and values (4,)",
        ),
    ),
)
primitive(
    "isin",
    isin,
    ref=lambda x, test, invert=False: np.isin(x, test, invert=invert),
    samples=(
        sample(ints(4, 5), ints(6)),
        sample(ints(7), ints(2, 3), invert=True),
        sample(values(1.0, NAN, -0.0), values(0.0, NAN)),
        sample(ints(3), ints(0)),
    ),
    bad_samples=(
        (
            sample(ints(3), ints(3, low=0, dtype="uint64")),
            "no integer type holds both",
        ),
    ),
)
