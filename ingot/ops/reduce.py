"""Many elements to one: sum, max, mean, argmax, ... In: a node and axes. Out: the one REDUCE over a tuple of states.

Sums are kept in the type that `accumulator` names; the conversions before and after are nodes like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ingot.errors import ShapeError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Scalar
from ingot.ir.node import UOp
from ingot.ir.opcode import Attr, Ops, ReduceArg
from ingot.ir.shape import Shape, Type, product, same_dim
from ingot.ops import elementwise as ew
from ingot.ops.axis import Axes, normal_axes, normal_axis
from ingot.ops.creation import counter
from ingot.ops.elementwise import as_float
from ingot.ops.gradient import Cotangents, Gradients, attrs, only
from ingot.ops.movement import Dim, reshape, show
from ingot.ops.numeric import isfinite, square
from ingot.ops.op import Accepted, Bad, Op, op, primitive, result
from ingot.ops.promotion import accumulator, summed
from ingot.ops.sample import (
    INF,
    NAN,
    SPECIAL,
    Sample,
    bools,
    floats,
    ints,
    sample,
    values,
)

# --- the one reduction --------------------------------------------------------------------------------------------

Combine = Callable[[Sequence[UOp], Sequence[UOp]], Sequence[UOp]]


def reduce_states(
    parts: Sequence[UOp],
    starts: Sequence[Scalar],
    combine: Combine,
    axes: tuple[int, ...],
) -> UOp:
    """REDUCE over several states at once; `combine` joins a left and a right tuple of states."""
    n = len(parts)
    left = [UOp.state(v.dtype, j) for j, v in enumerate(parts)]
    right = [UOp.state(v.dtype, n + j) for j, v in enumerate(parts)]
    inits = (
        UOp.const(v.dtype, start) for v, start in zip(parts, starts, strict=True)
    )
    dtype = parts[0].dtype if n == 1 else dt.void
    return UOp(
        Ops.REDUCE,
        dtype,
        (*parts, *inits, *combine(left, right)),
        ReduceArg(axes, n),
    )


def fold(x: UOp, op: Ops, start: Scalar, axes: tuple[int, ...]) -> UOp:
    """REDUCE by one opcode, in the type of x."""
    if not axes:
        return x
    return reduce_states(
        [x], [start], lambda left, right: [left[0].alu(op, right[0])], axes
    )


def _kept(x: UOp, reduced: UOp, axes: tuple[int, ...], keepdims: bool) -> UOp:
    return reshape(reduced, kept_shape(x.shape, axes)) if keepdims else reduced


def kept_shape(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """The shape with the reduced axes as 1."""
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def reduced_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """The shape of the result."""
    return (
        kept_shape(shape, axes)
        if keepdims
        else tuple(n for i, n in enumerate(shape) if i not in axes)
    )


def sum_to(g: UOp, shape: Shape) -> UOp:
    """What flows back to a value of `shape` that was broadcast to the shape of g: the sum over what repeated it."""
    extra = len(g.shape) - len(shape)
    repeated = [
        extra + i
        for i, n in enumerate(shape)
        if not same_dim(n, g.shape[extra + i])
    ]
    axes = (*range(extra), *repeated)
    return reshape(sum_(g, axes), shape) if axes else g


def _not_empty(name: str, x: UOp, axes: tuple[int, ...]) -> None:
    for axis in axes:
        if isinstance(x.shape[axis], int) and x.shape[axis] == 0:
            raise ShapeError(
                f"{name}: axis {axis} of {show(x.shape)} is empty, and nothing has no {name}",
                fix="reduce other axes, or make sure that there is at least one element",
            )


# --- one state ----------------------------------------------------------------------------------------------------


def sum_(
    x: UOp,
    axis: Axes = None,
    keepdims: bool = False,
    dtype: DType | str | None = None,
) -> UOp:
    """The sum; integers are summed in 64 bits, or in `dtype`."""
    return _total("sum", _as(x, dtype), Ops.ADD, 0, axis, keepdims, dtype)


def prod(
    x: UOp,
    axis: Axes = None,
    keepdims: bool = False,
    dtype: DType | str | None = None,
) -> UOp:
    """The product; integers are multiplied in 64 bits, or in `dtype`."""
    return _total("prod", _as(x, dtype), Ops.MUL, 1, axis, keepdims, dtype)


def _as(x: UOp, dtype: DType | str | None) -> UOp:
    return x if dtype is None else ew.astype(x, dtype)


def _total(
    name: str,
    x: UOp,
    op: Ops,
    start: Scalar,
    axis: Axes,
    keepdims: bool,
    dtype: DType | str | None,
) -> UOp:
    axes = normal_axes(name, axis, len(x.shape))
    target = summed(x.dtype) if dtype is None else x.dtype
    reduced = fold(x.cast(accumulator(target)), op, start, axes)
    return _kept(x, reduced, axes, keepdims).cast(target)


def max_(x: UOp, axis: Axes = None, keepdims: bool = False) -> UOp:
    """The largest element; NaN if there is one."""
    return _extreme("max", x, Ops.MAX, dt.least(x.dtype), axis, keepdims)


def min_(x: UOp, axis: Axes = None, keepdims: bool = False) -> UOp:
    """The smallest element; NaN if there is one."""
    return _extreme("min", x, Ops.MIN, dt.greatest(x.dtype), axis, keepdims)


def _extreme(
    name: str, x: UOp, op: Ops, start: Scalar, axis: Axes, keepdims: bool
) -> UOp:
    axes = normal_axes(name, axis, len(x.shape))
    _not_empty(name, x, axes)
    if x.dtype is dt.boolean:
        op = Ops.OR if op is Ops.MAX else Ops.AND
    return _kept(x, fold(x, op, start, axes), axes, keepdims)


def any_(x: UOp, axis: Axes = None, keepdims: bool = False) -> UOp:
    """Whether an element differs from 0."""
    axes = normal_axes("any", axis, len(x.shape))
    return _kept(
        x, fold(ew.astype(x, dt.boolean), Ops.OR, False, axes), axes, keepdims
    )


def all_(x: UOp, axis: Axes = None, keepdims: bool = False) -> UOp:
    """Whether every element differs from 0."""
    axes = normal_axes("all", axis, len(x.shape))
    return _kept(
        x, fold(ew.astype(x, dt.boolean), Ops.AND, True, axes), axes, keepdims
    )


_SHAPES = (
    *(
        sample(floats(3, 4)),
        sample(floats(3, 4), axis=0),
        sample(floats(2, 3, 4), axis=(0, -1), keepdims=True),
    ),
    *(sample(floats()), sample(floats(5, 1), axis=1), sample(ints(3, 4), axis=1)),
)
_WITH_NAN = (
    sample(values(1.0, NAN, 3.0)),
    sample(values(-INF, -INF)),
    sample(values(INF, -INF, 2.0)),
)


def _outside(name: str) -> Bad:
    return sample(
        floats(3, 4), axis=2
    ), f"{name}: axis 2 is outside -2..1, the axes of a tensor with 2"


def _nothing(name: str) -> Bad:
    return sample(floats(0, 3), axis=0), f"{name}: axis 0 of (0, 3) is empty"


def _declare_fold(
    name: str,
    build: Callable[..., UOp],
    ref: Any,
    *extra: Sample,
    ulp: float = 0,
    empty: bool = True,
) -> None:
    """A reduction by one opcode; `empty`: it has a value where there are no elements."""
    bad = [_outside(name)] if empty else [_outside(name), _nothing(name)]
    tried = (
        *_SHAPES,
        sample(bools(3, 4), axis=0),
        *extra,
        sample(floats(0, 3), axis=1),
    )
    primitive(
        name, build, ref=ref, samples=tried, bad_samples=bad, ulp=ulp, normwise=True
    )


_EMPTY = sample(floats(0, 3), axis=0)
_declare_fold(
    "sum", sum_, np.sum, _EMPTY, sample(ints(4, low=0, dtype="uint8")), ulp=8
)
_declare_fold(
    "prod", prod, np.prod, _EMPTY, sample(ints(4, low=0, dtype="uint8")), ulp=8
)
_declare_fold("max", max_, np.max, *_WITH_NAN, empty=False)
_declare_fold("min", min_, np.min, *_WITH_NAN, empty=False)
_declare_fold("any", any_, np.any, _EMPTY, sample(SPECIAL))
_declare_fold("all", all_, np.all, _EMPTY, sample(SPECIAL))


# --- named reductions ---------------------------------------------------------------------------------------------


def _accept(name: str) -> Callable[..., Accepted]:
    """Floats, with axes in normal form."""

    def accept(x: UOp, *, axis: Axes, **attrs: Attr) -> Accepted:
        return (as_float(x),), {
            "axis": normal_axes(name, axis, len(x.shape)),
            **attrs,
        }

    return accept


def _reduced_type(x: UOp, *, axis: Any, keepdims: bool, **attrs: Attr) -> Type:
    return x.dtype, reduced_shape(x.shape, axis, keepdims)


def count(x: UOp, axes: tuple[int, ...]) -> Dim:
    """How many elements are reduced to one."""
    return product(tuple(x.shape[a] for a in axes))


def divide_by(x: UOp, number: Dim | float) -> UOp:
    """x / number, which may be a symbolic size."""
    return ew.divide(
        x, number.cast(x.dtype) if isinstance(number, UOp) else float(number)
    )


def _mean(x: UOp, *, axis: Axes = None, keepdims: bool = False) -> UOp:
    """The arithmetic mean."""
    axes = normal_axes("mean", axis, len(x.shape))
    total = sum_(x.cast(accumulator(x.dtype)), axes, keepdims)
    return divide_by(total, count(x, axes)).cast(x.dtype)


def _var(
    x: UOp, *, axis: Axes = None, correction: float = 0, keepdims: bool = False
) -> UOp:
    """The variance: the mean square distance from the mean, over n - correction."""
    axes = normal_axes("var", axis, len(x.shape))
    wide = x.cast(accumulator(x.dtype))
    distance = ew.subtract(wide, mean(wide, axis=axes, keepdims=True))
    total = sum_(square(distance), axes, keepdims)
    return divide_by(total, _freedom(count(x, axes), correction)).cast(x.dtype)


def _freedom(number: Dim, correction: float) -> Dim | float:
    if isinstance(number, UOp):
        return (number.cast(dt.float32) - float(correction)).maximum(0.0)
    return max(number - correction, 0.0)


def _std(
    x: UOp, *, axis: Axes = None, correction: float = 0, keepdims: bool = False
) -> UOp:
    """The standard deviation, over n - correction."""
    return ew.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def _logsumexp(x: UOp, *, axis: Axes = None, keepdims: bool = False) -> UOp:
    """log(sum(exp(x))) without overflow."""
    axes = normal_axes("logsumexp", axis, len(x.shape))
    _not_empty("logsumexp", x, axes)
    top = max_(x, axes, keepdims=True)
    total = sum_(ew.exp(ew.subtract(x, top)), axes, keepdims=True)
    found = ew.where(
        isfinite(top), ew.add(top, ew.log(total)), top
    )  # an infinite maximum is the result
    return reshape(found, reduced_shape(x.shape, axes, keepdims))


def spread_back(reduced: UOp, node: UOp) -> UOp:
    """A value of the shape of a reduction, with its axes of size 1 again: it broadcasts to what was reduced."""
    axes = cast(tuple[int, ...], attrs(node)["axis"])
    return reshape(reduced, kept_shape(node.src[0].shape, axes))


def _var_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    return (_from_var(node, only(cotangents)),)


def _from_var(node: UOp, g: UOp) -> UOp:
    """2 (x - mean) / (n - correction); the mean's own share cancels."""
    (x,), given = node.src, attrs(node)
    axes = cast(tuple[int, ...], given["axis"])
    wide = x.cast(accumulator(x.dtype))
    distance = ew.subtract(wide, mean(wide, axis=axes, keepdims=True))
    freedom = _freedom(count(x, axes), cast(float, given["correction"]))
    slope = divide_by(ew.multiply(distance, 2.0), freedom)
    return ew.multiply(slope, spread_back(g, node)).cast(x.dtype)


def _std_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """As of sqrt(var), but 0 where the deviation is 0."""
    half = ew.divide(ew.multiply(only(cotangents), 0.5), node)
    return (_from_var(node, ew.where(ew.equal(node, 0.0), 0.0, half)),)


def _logsumexp_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """The softmax; of nothing but -infinity it is 0."""
    safe = ew.where(isfinite(node), node, 0.0)
    weights = ew.exp(ew.subtract(node.src[0], spread_back(safe, node)))
    return (ew.multiply(spread_back(only(cotangents), node), weights),)


_REDUCTIONS = (*_SHAPES[:-1], sample(ints(3, 4), axis=1))


def _variance(
    x: Any, axis: Any = None, correction: float = 0, keepdims: bool = False
) -> Any:
    return np.var(x, axis=axis, ddof=correction, keepdims=keepdims)


def _deviation(
    x: Any, axis: Any = None, correction: float = 0, keepdims: bool = False
) -> Any:
    return np.std(x, axis=axis, ddof=correction, keepdims=keepdims)


def _log_of_sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    reduce: Any = np.logaddexp.reduce
    return reduce(x, axis=axis, keepdims=keepdims)


mean: Op = op(
    "mean",
    types=_reduced_type,
    accept=_accept("mean"),
    lower=_mean,
    ref=np.mean,
    samples=_REDUCTIONS,
    bad_samples=[_outside("mean")],
    ulp=8,
    normwise=True,
)
var: Op = op(
    "var",
    types=_reduced_type,
    accept=_accept("var"),
    lower=_var,
    ref=_variance,
    grad=_var_grad,
    samples=(*_REDUCTIONS, sample(floats(3, 4), axis=1, correction=1)),
    bad_samples=[_outside("var")],
    ulp=16,
    normwise=True,
    method_defaults={"correction": 1},
)
std: Op = op(
    "std",
    types=_reduced_type,
    accept=_accept("std"),
    lower=_std,
    ref=_deviation,
    grad=_std_grad,
    samples=(*_REDUCTIONS, sample(floats(3, 4), axis=1, correction=1)),
    bad_samples=[_outside("std")],
    ulp=16,
    normwise=True,
    method_defaults={"correction": 1},
)
logsumexp: Op = op(
    "logsumexp",
    types=_reduced_type,
    accept=_accept("logsumexp"),
    lower=_logsumexp,
    ref=_log_of_sum,
    grad=_logsumexp_grad,
    samples=(
        *(
            sample(floats(3, 4)),
            sample(floats(3, 4), axis=0),
            sample(floats(2, 3, 4), axis=1, keepdims=True),
        ),
        *(sample(floats(3, 4, low=900, high=1000), axis=1), *_WITH_NAN[:2]),
    ),
    bad_samples=[_outside("logsumexp")],
    ulp=8,
    normwise=True,
)


# --- the place of the largest -------------------------------------------------------------------------------------


def better(op: Ops) -> Combine:
    """Keep the better value, the first of equals; a NaN is better than any number, as in NumPy."""

    def combine(left: Sequence[UOp], right: Sequence[UOp]) -> Sequence[UOp]:
        (value, place), (other, there) = left, right
        ahead = value < other if op is Ops.MAX else other < value
        tie = value.eq(other)
        if value.dtype.is_float:
            strange, also = value.ne(value), other.ne(other)
            ahead = ahead | (also & strange.alu(Ops.NOT))
            tie = tie | (also & strange)
        take = ahead | (tie & (there < place))
        return take.where(other, value), take.where(there, place)

    return combine


def _place(
    name: str, op: Ops, start: Callable[[DType], Scalar]
) -> Callable[..., UOp]:
    def lower(x: UOp, *, axis: int | None = None, keepdims: bool = False) -> UOp:
        flat = x if axis is not None else reshape(x, (product(x.shape),))
        at = 0 if axis is None else normal_axis(name, axis, len(x.shape))
        parts = (flat, counter(flat.shape, at))
        starts = (start(x.dtype), dt.greatest(dt.int64))
        found = result(reduce_states(parts, starts, better(op), (at,)), 1)
        return reshape(found, _place_shape(x, axis=axis, keepdims=keepdims))

    return lower


def _place_shape(x: UOp, *, axis: int | None, keepdims: bool) -> Shape:
    axes = tuple(range(len(x.shape))) if axis is None else (axis,)
    return reduced_shape(x.shape, axes, keepdims)


def _place_type(x: UOp, *, axis: int | None, keepdims: bool) -> Type:
    return dt.int64, _place_shape(x, axis=axis, keepdims=keepdims)


def _accept_place(name: str) -> Callable[..., Accepted]:
    def accept(x: UOp, *, axis: int | None, keepdims: bool) -> Accepted:
        at = None if axis is None else normal_axis(name, axis, len(x.shape))
        _not_empty(name, x, tuple(range(len(x.shape))) if at is None else (at,))
        number = x.cast(dt.uint8) if x.dtype is dt.boolean else x
        return (number,), {"axis": at, "keepdims": keepdims}

    return accept


def _declare_place(
    name: str, reduction: Ops, start: Callable[[DType], Scalar], ref: Any, doc: str
) -> Op:
    lower = _place(name, reduction, start)
    lower.__doc__ = doc
    return op(
        name,
        types=_place_type,
        accept=_accept_place(name),
        lower=lower,
        ref=ref,
        samples=(
            *(
                sample(floats(3, 4)),
                sample(floats(3, 4), axis=0),
                sample(floats(2, 3, 4), axis=-1, keepdims=True),
            ),
            *(
                sample(ints(9, low=0, high=3)),
                sample(floats()),
                sample(bools(6)),
                sample(values(1.0, NAN, 3.0, NAN)),
            ),
            *(
                sample(values(-INF, -INF)),
                sample(values(INF, INF)),
                sample(values(0.0, -0.0)),
            ),
        ),
        bad_samples=[_outside(name), _nothing(name)],
        ulp=0,
    )


argmax = _declare_place(
    "argmax",
    Ops.MAX,
    dt.least,
    np.argmax,
    "The place of the largest element, the first of equals.",
)
argmin = _declare_place(
    "argmin",
    Ops.MIN,
    dt.greatest,
    np.argmin,
    "The place of the smallest element, the first of equals.",
)
