"""Running values along an axis: cumsum, cumprod, cummax, cummin, logcumsumexp. In: a value. Out: one of its shape.

All of them are the opcode PREFIX: like a reduction, but every state on the way is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Scalar
from ingot.ir.node import UOp
from ingot.ir.opcode import Attr, Ops, PrefixArg
from ingot.ir.shape import Type
from ingot.ops import elementwise as ew
from ingot.ops.axis import normal_axis
from ingot.ops.creation import counter
from ingot.ops.gradient import Cotangents, Gradients, attrs, only
from ingot.ops.movement import pad, reshape, shrink
from ingot.ops.op import Accepted, op, primitive, result
from ingot.ops.places import scattered_back
from ingot.ops.promotion import accumulator, floating, resolve, summed
from ingot.ops.reduce import Combine
from ingot.ops.sample import SPECIAL, Sample, bools, floats, ints, sample

# --- the one running value ------------------------------------------------------------------------------------------


def prefix_states(
    parts: Sequence[UOp],
    starts: Sequence[Scalar],
    combine: Combine,
    axis: int,
    reverse: bool = False,
) -> UOp:
    """PREFIX over several states at once; `combine` joins a left and a right tuple of states."""
    n = len(parts)
    left = [UOp.state(v.dtype, j) for j, v in enumerate(parts)]
    right = [UOp.state(v.dtype, n + j) for j, v in enumerate(parts)]
    inits = (UOp.const(v.dtype, s) for v, s in zip(parts, starts, strict=True))
    dtype = parts[0].dtype if n == 1 else dt.void
    src = (*parts, *inits, *combine(left, right))
    return UOp(Ops.PREFIX, dtype, src, PrefixArg(axis, n, reverse))


def running(
    x: UOp, opcode: Ops, start: Scalar, axis: int, reverse: bool = False
) -> UOp:
    """PREFIX by one opcode, in the type of x."""

    def combine(left: Sequence[UOp], right: Sequence[UOp]) -> list[UOp]:
        return [left[0].alu(opcode, right[0])]

    return prefix_states([x], [start], combine, axis, reverse)


# --- sums and products ----------------------------------------------------------------------------------------------


def _accept_axis(name: str) -> Any:
    def accept(x: UOp, *, axis: int, **rest: Attr) -> Accepted:
        column = x if x.shape else reshape(x, (1,))
        return (column,), {
            "axis": normal_axis(name, axis, len(column.shape)),
            **rest,
        }

    return accept


def _summed_type(x: UOp, *, axis: int) -> Type:
    return summed(x.dtype), x.shape


def _in_accumulator(
    x: UOp, opcode: Ops, start: Scalar, axis: int, reverse: bool
) -> UOp:
    wide = x.cast(accumulator(summed(x.dtype)))
    return running(wide, opcode, start, axis, reverse).cast(summed(x.dtype))


def _cumsum(x: UOp, *, axis: int) -> UOp:
    """The sum of all elements up to each, along an axis."""
    return _in_accumulator(x, Ops.ADD, 0, axis, reverse=False)


def _cumprod(x: UOp, *, axis: int) -> UOp:
    """The product of all elements up to each, along an axis."""
    return _in_accumulator(x, Ops.MUL, 1, axis, reverse=False)


def _axis(node: UOp) -> int:
    return cast(int, attrs(node)["axis"])


def _cumsum_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    return (
        _in_accumulator(only(cotangents), Ops.ADD, 0, _axis(node), reverse=True),
    )


def _cumprod_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """dx[j] = y[j-1] * q[j] with q[j] = g[j] + x[j+1] * q[j+1]: nothing is divided, so zeros are no trouble."""
    (x,), axis = node.src, _axis(node)
    before = _shifted(node, axis, by=1, fill=1.0)
    after = _shifted(x, axis, by=-1, fill=0.0)

    def combine(left: Sequence[UOp], right: Sequence[UOp]) -> list[UOp]:
        return [left[0] * right[0], right[1] + right[0] * left[1]]

    both = prefix_states(
        [after, only(cotangents)], [1, 0], combine, axis, reverse=True
    )
    return (ew.multiply(before, result(both, 1)),)


def _shifted(x: UOp, axis: int, by: int, fill: float) -> UOp:
    """Every element one further, or one back; what comes in is `fill`."""
    n, rank = x.shape[axis], len(x.shape)
    kept = (0, n - 1) if by > 0 else (1, n)
    width = (1, 0) if by > 0 else (0, 1)
    cut = shrink(x, [kept if a == axis else None for a in range(rank)])
    return pad(cut, [width if a == axis else (0, 0) for a in range(rank)], fill)


# --- extremes -------------------------------------------------------------------------------------------------------


def _later(opcode: Ops) -> Combine:
    """The better of two, and its place; of equals the later one, as torch has it; NaN is better than anything."""

    def combine(left: Sequence[UOp], right: Sequence[UOp]) -> list[UOp]:
        (a, i), (b, j) = left, right
        better = a.alu(Ops.CMPLT, b) if opcode is Ops.MAX else b.alu(Ops.CMPLT, a)
        wins = better | a.eq(b)
        if a.dtype.is_float:
            wins = (wins & a.eq(a)) | b.ne(b)
        return [wins.where(b, a), wins.where(j, i)]

    return combine


def _extreme_types(x: UOp, *, axis: int) -> tuple[Type, ...]:
    return (x.dtype, x.shape), (dt.int64, x.shape)


def _best_so_far(x: UOp, axis: int, opcode: Ops) -> tuple[UOp, UOp]:
    at = counter(x.shape, axis)
    start = dt.least(x.dtype) if opcode is Ops.MAX else dt.greatest(x.dtype)
    both = prefix_states([x, at], [start, 0], _later(opcode), axis)
    return result(both, 0), result(both, 1)


def _cummax(x: UOp, *, axis: int) -> tuple[UOp, UOp]:
    """The largest element up to each, and its place; NaN once there is one."""
    return _best_so_far(x, axis, Ops.MAX)


def _cummin(x: UOp, *, axis: int) -> tuple[UOp, UOp]:
    """The smallest element up to each, and its place; NaN once there is one."""
    return _best_so_far(x, axis, Ops.MIN)


def _extreme_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """To the element that each value came from."""
    g, (x,), axis = cotangents[0], node.src, _axis(node)
    if g is None:
        return (None,)
    at = result(node, 1)
    places = [
        at if a == axis else counter(at.shape, a) for a in range(len(at.shape))
    ]
    return (scattered_back(g, x.shape, places, tuple(range(len(x.shape)))),)


# --- log of a running sum of exponentials -----------------------------------------------------------------------------


def _log_joined(left: Sequence[UOp], right: Sequence[UOp]) -> list[UOp]:
    """log(exp(a) + exp(b)): the larger one stands before a logarithm that cannot overflow."""
    a, b = left[0], right[0]
    same = a.eq(b) & (
        (a + a).eq(a) & a.ne(0.0)
    )  # infinities of one sign: their difference is no number
    zero = UOp.const(
        a.dtype, 0.0
    )  # in their place, so that the gradient of what is not taken is a number, too
    first, second = same.where(zero, a), same.where(zero, b)
    top = first.maximum(second)
    gap = first.minimum(second) - top
    grown = top + (gap.alu(Ops.EXP) + 1.0).alu(Ops.LOG)
    return [same.where(a, grown)]


def _logcumsumexp(x: UOp, *, axis: int) -> UOp:
    """log of the sum of exp of all elements up to each, along an axis."""
    return log_running(x, axis)


def log_running(x: UOp, axis: int, reverse: bool = False) -> UOp:
    wide = x.cast(accumulator(x.dtype))
    made = prefix_states([wide], [float("-inf")], _log_joined, axis, reverse)
    return made.cast(x.dtype)


def _logcumsumexp_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """dx[j] = sum over i >= j of g[i] exp(x[j] - y[i]), in logarithms: positive and negative cotangents apart."""
    (x,), g, axis = node.src, only(cotangents), _axis(node)
    shares = []
    for sign in (g, ew.negative(g)):
        inside = ew.where(ew.greater(sign, 0.0), sign, 0.0)
        logs = ew.subtract(ew.log(inside), node)
        shares.append(ew.exp(ew.add(x, log_running(logs, axis, reverse=True))))
    return (ew.subtract(shares[0], shares[1]),)


# --- the array API's words --------------------------------------------------------------------------------------------


def _cumulative(
    name: str, x: UOp, axis: int | None, dtype: DType | str | None, initial: bool
) -> UOp:
    if axis is None:
        if len(x.shape) > 1:
            raise ArgumentError(
                f"{name}: x has {len(x.shape)} axes, and no axis is given",
                fix="pass axis=...",
            )
        axis = 0
    target = summed(x.dtype) if dtype is None else resolve(dtype)
    is_sum = name == "cumulative_sum"
    opcode, start = (Ops.ADD, 0) if is_sum else (Ops.MUL, 1)
    at = normal_axis(name, axis, len(x.shape))
    made = running(
        x.cast(target).cast(accumulator(target)), opcode, start, at
    ).cast(target)
    if is_sum and dtype is None:
        made = cumsum(x, axis=at)
    if not initial:
        return made
    widths = [(int(a == at), 0) for a in range(len(x.shape))]
    return pad(made, widths, start)


def cumulative_sum(
    x: UOp,
    axis: int | None = None,
    dtype: DType | str | None = None,
    include_initial: bool = False,
) -> UOp:
    """The sum of all elements up to each, along an axis; with `include_initial`, 0 comes first."""
    return _cumulative("cumulative_sum", x, axis, dtype, include_initial)


def cumulative_prod(
    x: UOp,
    axis: int | None = None,
    dtype: DType | str | None = None,
    include_initial: bool = False,
) -> UOp:
    """The product of all elements up to each, along an axis; with `include_initial`, 1 comes first."""
    return _cumulative("cumulative_prod", x, axis, dtype, include_initial)


# --- declarations -----------------------------------------------------------------------------------------------------

_SHAPES = (
    sample(floats(4, 5), axis=0),
    sample(floats(4, 5), axis=-1),
    sample(floats(2, 3, 4), axis=1),
    sample(floats(40), axis=0),
    sample(floats(3, 0), axis=0),
    sample(floats(1, 3), axis=0),
    sample(SPECIAL, axis=0),
)
_WHOLE = (sample(ints(3, 4), axis=1), sample(bools(6), axis=0))


def _outside(name: str) -> tuple[Sample, str]:
    return sample(floats(3), axis=1), f"{name}: axis 1 is outside -1..0"


def _np_extreme(compare: Any) -> Any:
    def reference(x: Any, axis: int) -> Any:
        rows = np.moveaxis(x, axis, 0)
        best, at = np.array(rows), np.zeros(rows.shape, np.int64)
        for k in range(1, len(rows)):
            old, new = best[k - 1], rows[k]
            wins = ((compare(new, old) | (new == old)) & (old == old)) | (
                new != new
            )
            best[k] = np.where(wins, new, old)
            at[k] = np.where(wins, k, at[k - 1])
        return np.moveaxis(best, 0, axis), np.moveaxis(at, 0, axis)

    return reference


cumsum = op(
    "cumsum",
    types=_summed_type,
    lower=_cumsum,
    accept=_accept_axis("cumsum"),
    ref=lambda x, axis: np.cumsum(x, axis),
    grad=_cumsum_grad,
    samples=(*_SHAPES, *_WHOLE),
    bad_samples=(_outside("cumsum"),),
    ulp=8,
    normwise=True,
)
cumprod = op(
    "cumprod",
    types=_summed_type,
    lower=_cumprod,
    accept=_accept_axis("cumprod"),
    ref=lambda x, axis: np.cumprod(x, axis),
    grad=_cumprod_grad,
    samples=(*_SHAPES, *_WHOLE),
    bad_samples=(_outside("cumprod"),),
    ulp=32,
    normwise=True,
)
cummax = op(
    "cummax",
    types=_extreme_types,
    lower=_cummax,
    accept=_accept_axis("cummax"),
    ref=_np_extreme(np.greater),
    grad=_extreme_grad,
    samples=_SHAPES,
    bad_samples=(_outside("cummax"),),
)
cummin = op(
    "cummin",
    types=_extreme_types,
    lower=_cummin,
    accept=_accept_axis("cummin"),
    ref=_np_extreme(np.less),
    grad=_extreme_grad,
    samples=_SHAPES,
    bad_samples=(_outside("cummin"),),
)
logcumsumexp = op(
    "logcumsumexp",
    types=lambda x, axis: (x.dtype, x.shape),
    lower=_logcumsumexp,
    accept=lambda x, axis: (
        (x.cast(floating(x.dtype)),),
        {"axis": normal_axis("logcumsumexp", axis, len(x.shape))},
    ),
    ref=lambda x, axis: np.logaddexp.accumulate(x, axis),
    grad=_logcumsumexp_grad,
    samples=_SHAPES,
    bad_samples=(_outside("logcumsumexp"),),
    ulp=16,
    normwise=True,
)


def _np_cumulative(name: str) -> Any:
    def reference(
        x: Any, axis: int = 0, dtype: Any = None, include_initial: bool = False
    ) -> Any:
        made = getattr(np, name)(x, axis or 0)
        if not include_initial:
            return made
        first = np.full_like(np.take(made, [0], axis or 0), int(name == "cumprod"))
        return np.concatenate([first, made], axis or 0)

    return reference


for _function, _name in ((cumulative_sum, "cumsum"), (cumulative_prod, "cumprod")):
    primitive(
        _function.__name__,
        _function,
        ref=_np_cumulative(_name),
        samples=(
            sample(floats(6)),
            sample(floats(4, 5), axis=1, include_initial=True),
            sample(ints(4, 5), axis=0),
        ),
        bad_samples=(
            (
                sample(floats(3, 4)),
                f"{_function.__name__}: x has 2 axes, and no axis",
            ),
        ),
        ulp=32,
        normwise=True,
    )
