"""More of what many elements come to: norms, counts, sums without NaN, mean and spread at once. In: a tensor. Out: less."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ops import elementwise as ew
from ingot.ops.axis import Axes, normal_axes
from ingot.ops.elementwise import as_float
from ingot.ops.numeric import abs_, isnan, pow_, square
from ingot.ops.op import Bad, primitive
from ingot.ops.promotion import accumulator
from ingot.ops.reduce import all_, max_, mean, min_, std, sum_, var
from ingot.ops.sample import INF, NAN, SPECIAL, bools, floats, ints, sample, values

_SHAPES = (
    sample(floats(3, 4)),
    sample(floats(3, 4), axis=0),
    sample(floats(2, 3, 4), axis=(0, -1), keepdims=True),
)


def _outside(name: str) -> tuple[Bad, ...]:
    return ((sample(floats(3, 4), axis=2), f"{name}: axis 2 is outside -2..1"),)


# --- counting -----------------------------------------------------------------------------------------------------


def count_nonzero(x: UOp, axis: Axes = None, keepdims: bool = False) -> UOp:
    """How many elements differ from 0."""
    normal_axes("count_nonzero", axis, len(x.shape))
    return sum_(ew.astype(x, dt.boolean).cast(dt.int64), axis, keepdims)


def _count_ref(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.asarray(np.count_nonzero(x, axis=axis, keepdims=keepdims)).astype(
        np.int64
    )


primitive(
    "count_nonzero",
    count_nonzero,
    ref=_count_ref,
    samples=(
        sample(ints(3, 4, low=-1, high=2)),
        sample(ints(3, 4, low=-1, high=2), axis=0),
        sample(bools(2, 3, 4), axis=(0, 2), keepdims=True),
        sample(SPECIAL),
    ),
    bad_samples=_outside("count_nonzero"),
    no_grad_reason="a count has no slope",
)


def allclose(
    a: UOp,
    b: UOp,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> UOp:
    """Whether all elements are close: |a - b| <= atol + rtol * |b|."""
    x, y = map(as_float, ew.operands("allclose", a, b))
    limit = ew.add(ew.multiply(abs_(y), rtol), atol)
    near = ew.less_equal(abs_(x - y), limit) & ew.less(abs_(y), INF)
    found = near | x.eq(y)
    return all_(found | (isnan(x) & isnan(y)) if equal_nan else found)


primitive(
    "allclose",
    allclose,
    ref=np.allclose,
    samples=(
        sample(floats(3), floats(3)),
        sample(values(1.0, NAN), values(1.0, NAN), equal_nan=True),
        sample(values(1.0, INF), values(1.0, INF)),
    ),
    no_grad_reason="the result is bool",
)


# --- without NaN --------------------------------------------------------------------------------------------------


def nansum(x: UOp, axis: Axes = None, keepdims: bool = False) -> UOp:
    """The sum of what is not NaN."""
    normal_axes("nansum", axis, len(x.shape))
    return sum_(ew.where(isnan(x), 0, x).cast(x.dtype), axis, keepdims)


def nanmean(x: UOp, axis: Axes = None, keepdims: bool = False) -> UOp:
    """The mean of what is not NaN."""
    given = as_float(x)
    normal_axes("nanmean", axis, len(x.shape))
    wide = accumulator(given.dtype)
    total = nansum(given.cast(wide), axis, keepdims)
    number = sum_(ew.logical_not(isnan(given)).cast(wide), axis, keepdims)
    return ew.divide(total, number).cast(given.dtype)


def nanmax(x: UOp, axis: Axes = None, keepdims: bool = False) -> UOp:
    """The largest element that is not NaN; NaN if there is none."""
    return _without("nanmax", x, axis, keepdims, max_, -INF)


def nanmin(x: UOp, axis: Axes = None, keepdims: bool = False) -> UOp:
    """The smallest element that is not NaN; NaN if there is none."""
    return _without("nanmin", x, axis, keepdims, min_, INF)


def _without(
    name: str, x: UOp, axis: Axes, keepdims: bool, fold: Any, start: float
) -> UOp:
    normal_axes(name, axis, len(x.shape))
    if not x.dtype.is_float:
        found: UOp = fold(x, axis, keepdims)
        return found
    nothing = all_(isnan(x), axis, keepdims)
    return ew.where(
        nothing, NAN, fold(ew.where(isnan(x), start, x), axis, keepdims)
    )


_HOLES = (
    *_SHAPES,
    sample(values(1.0, NAN, 3.0, -INF)),
    sample(values(NAN, 2.0)),
    sample(ints(3, 4), axis=1),
)
primitive(
    "nansum",
    nansum,
    ref=np.nansum,
    samples=_HOLES,
    bad_samples=_outside("nansum"),
    ulp=8,
    normwise=True,
)
primitive(
    "nanmean",
    nanmean,
    ref=np.nanmean,
    samples=_HOLES,
    bad_samples=_outside("nanmean"),
    ulp=8,
    normwise=True,
)
primitive(
    "nanmax",
    nanmax,
    ref=np.nanmax,
    samples=_HOLES,
    bad_samples=_outside("nanmax"),
    ulp=0,
)
primitive(
    "nanmin",
    nanmin,
    ref=np.nanmin,
    samples=_HOLES,
    bad_samples=_outside("nanmin"),
    ulp=0,
)


# --- two at once --------------------------------------------------------------------------------------------------


def var_mean(
    x: UOp, axis: Axes = None, correction: float = 0, keepdims: bool = False
) -> tuple[UOp, UOp]:
    """The variance and the mean."""
    given = as_float(x)
    normal_axes("var_mean", axis, len(x.shape))
    spread = var(given, axis=axis, correction=correction, keepdims=keepdims)
    return spread, mean(given, axis=axis, keepdims=keepdims)


def std_mean(
    x: UOp, axis: Axes = None, correction: float = 0, keepdims: bool = False
) -> tuple[UOp, UOp]:
    """The standard deviation and the mean."""
    given = as_float(x)
    normal_axes("std_mean", axis, len(x.shape))
    spread = std(given, axis=axis, correction=correction, keepdims=keepdims)
    return spread, mean(given, axis=axis, keepdims=keepdims)


def _spread_ref(root: Any) -> Any:
    def ref(
        x: Any, axis: Any = None, correction: float = 0, keepdims: bool = False
    ) -> Any:
        spread = np.var(x, axis=axis, ddof=correction, keepdims=keepdims)
        return root(spread), np.mean(x, axis=axis, keepdims=keepdims)

    return ref


_SPREADS = (*_SHAPES, sample(floats(3, 4), axis=1, correction=1))
primitive(
    "var_mean",
    var_mean,
    ref=_spread_ref(lambda v: v),
    samples=_SPREADS,
    bad_samples=_outside("var_mean"),
    method_defaults={"correction": 1},
    ulp=16,
    normwise=True,
)
primitive(
    "std_mean",
    std_mean,
    ref=_spread_ref(np.sqrt),
    samples=_SPREADS,
    bad_samples=_outside("std_mean"),
    method_defaults={"correction": 1},
    ulp=16,
    normwise=True,
)


# --- sizes of vectors ---------------------------------------------------------------------------------------------


def norm(x: UOp, p: float = 2, axis: Axes = None, keepdims: bool = False) -> UOp:
    """The p-norm of the elements along axes: sum(|x|**p)**(1/p); inf and -inf are the largest and smallest |x|."""
    given = as_float(x)
    normal_axes("norm", axis, len(x.shape))
    size = abs_(given).cast(accumulator(given.dtype))
    return _norm(size, p, axis, keepdims).cast(given.dtype)


def _norm(size: UOp, p: float, axis: Axes, keepdims: bool) -> UOp:
    if p == INF:
        return max_(size, axis, keepdims)
    if p == -INF:
        return min_(size, axis, keepdims)
    if p == 0:
        return count_nonzero(size, axis, keepdims).cast(size.dtype)
    if p == 1:
        return sum_(size, axis, keepdims)
    if p == 2:
        return ew.sqrt(sum_(square(size), axis, keepdims))
    return pow_(sum_(pow_(size, p), axis, keepdims), 1 / p)


def _norm_ref(
    x: Any, p: float = 2, axis: Any = None, keepdims: bool = False
) -> Any:
    size = np.abs(x)
    if np.isinf(p):
        fold = np.max if p > 0 else np.min
        return fold(size, axis=axis, keepdims=keepdims)
    if p == 0:
        return np.sum(size != 0, axis=axis, keepdims=keepdims).astype(float)
    return np.sum(size**p, axis=axis, keepdims=keepdims) ** (1 / p)


primitive(
    "norm",
    norm,
    ref=_norm_ref,
    samples=(
        *_SHAPES,
        *(sample(floats(3, 4), p=p, axis=1) for p in (0, 1, 3, INF, -INF, 0.5)),
    ),
    bad_samples=_outside("norm"),
    ulp=16,
    normwise=True,
)


def normalize(x: UOp, p: float = 2, axis: int = 1, eps: float = 1e-12) -> UOp:
    """x over its p-norm along an axis, which is taken as `eps` where it is less."""
    given = as_float(x)
    return ew.divide(given, ew.maximum(norm(given, p, axis, keepdims=True), eps))


def _normalize_ref(x: Any, p: float = 2, axis: int = 1, eps: float = 1e-12) -> Any:
    return x / np.maximum(_norm_ref(x, p, axis, True), eps)


primitive(
    "normalize",
    normalize,
    ref=_normalize_ref,
    samples=(sample(floats(3, 4)), sample(floats(3, 4), p=1, axis=0)),
    bad_samples=((sample(floats(3)), "norm: axis 1 is outside -1..0"),),
    ulp=16,
    normwise=True,
)


def ptp(x: UOp, axis: Axes = None, keepdims: bool = False) -> UOp:
    """The distance from the smallest to the largest element."""
    return ew.subtract(max_(x, axis, keepdims), min_(x, axis, keepdims))


primitive(
    "ptp",
    ptp,
    ref=np.ptp,
    samples=_SHAPES,
    bad_samples=((sample(floats(3, 4), axis=2), "max: axis 2 is outside -2..1"),),
    ulp=1,
)
