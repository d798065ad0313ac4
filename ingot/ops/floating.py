"""What a float is made of, and quotients cut otherwise: copysign, nextafter, fmod, lerp, gcd, ... In: numbers. Out: numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.errors import DTypeError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Kind
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.shape import Type
from ingot.ops import elementwise as ew
from ingot.ops.elementwise import as_float, constant, operands
from ingot.ops.gradient import Cotangents, Gradients, only
from ingot.ops.movement import broadcast_shape, broadcast_to
from ingot.ops.numeric import abs_, isinf, isnan
from ingot.ops.op import Bad, op, primitive
from ingot.ops.promotion import Operand
from ingot.ops.rules import same_type, two_floats
from ingot.ops.sample import (
    INF,
    NAN,
    SPECIAL,
    bools,
    floats,
    ints,
    sample,
    values,
)
from ingot.ops.trigonometric import with_sign_of


def _clash(name: str) -> tuple[Bad, ...]:
    return (
        (
            sample(floats(2, 3), floats(2, 4)),
            f"{name}: shapes (2, 3) and (2, 4) do not broadcast",
        ),
    )


# --- signs --------------------------------------------------------------------------------------------------------


def _copysign(a: Operand, b: Operand) -> UOp:
    """|a| with the sign of b, that of -0.0 too."""
    left, right = operands("copysign", a, b)
    return with_sign_of(left, right)


def _copysign_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    g, (a, b) = only(cotangents), node.src
    agree = ew.equal(signbit(a), signbit(b))
    return ew.where(ew.equal(a, 0.0), 0.0, ew.where(agree, g, -g)), None


_SIGNED = values(0.0, -0.0, 1.0, -1.0, INF, -INF, NAN)
copysign = op(
    "copysign",
    types=same_type,
    accept=two_floats("copysign"),
    lower=_copysign,
    ref=np.copysign,
    samples=(
        sample(floats(3, 4), floats(4)),
        sample(_SIGNED, values(-0.0, -0.0, -2.0, 2.0, -1.0, 1.0, 1.0)),
        sample(floats(3), -1.0),
    ),
    bad_samples=_clash("copysign"),
    grad=_copysign_grad,
    ulp=0,
)


def signbit(x: UOp) -> UOp:
    """Whether the sign is set: of -0.0 too."""
    if x.dtype.is_float:
        word = ew.bitcast(x, f"int{x.dtype.bits}")
        return ew.less(word, 0)
    return ew.less(x, 0) if x.dtype.kind is Kind.INT else _all(x, False)


def _all(x: UOp, answer: bool) -> UOp:
    return constant(answer, dt.boolean, x.shape)


primitive(
    "signbit",
    signbit,
    ref=np.signbit,
    samples=(sample(_SIGNED), sample(floats(3, 4)), sample(ints(4))),
    no_grad_reason="the result is bool",
)


def positive(x: UOp) -> UOp:
    """x itself."""
    if x.dtype is dt.boolean:
        raise DTypeError(
            "positive: x is bool; wanted numbers",
            fix="convert with .astype('int64')",
        )
    return x


primitive(
    "positive",
    positive,
    ref=np.positive,
    samples=(sample(floats(3, 4)), sample(ints(4))),
    bad_samples=((sample(bools(3)), "positive: x is bool; wanted numbers"),),
    ulp=0,
)


def isposinf(x: UOp) -> UOp:
    """Whether x is infinite and above 0."""
    return ew.equal(x, INF) if x.dtype.is_float else _all(x, False)


def isneginf(x: UOp) -> UOp:
    """Whether x is infinite and below 0."""
    return ew.equal(x, -INF) if x.dtype.is_float else _all(x, False)


def heaviside(x: Operand, at_zero: Operand) -> UOp:
    """0 below 0, 1 above, `at_zero` at 0."""
    left, right = operands("heaviside", x, at_zero)
    step = ew.where(ew.less(left, 0), 0, ew.where(ew.greater(left, 0), 1, right))
    return isnan(left).where(left, step.cast(left.dtype))


_TESTED = (sample(SPECIAL), sample(ints(4)))
primitive(
    "isposinf",
    isposinf,
    ref=np.isposinf,
    samples=_TESTED,
    no_grad_reason="the result is bool",
)
primitive(
    "isneginf",
    isneginf,
    ref=np.isneginf,
    samples=_TESTED,
    no_grad_reason="the result is bool",
)
primitive(
    "heaviside",
    heaviside,
    ref=np.heaviside,
    samples=(sample(SPECIAL, 0.5), sample(floats(3, 4), floats(4))),
    bad_samples=_clash("heaviside"),
    ulp=0,
)


# --- neighbours ---------------------------------------------------------------------------------------------------


def _nextafter(a: Operand, b: Operand) -> UOp:
    """The float next to a on the way to b."""
    x, target = operands("nextafter", a, b)
    word = dt.named(f"int{x.dtype.bits}")
    bits = ew.bitcast(x, word)
    away = ew.equal(ew.less(x, target), ew.greater(x, 0.0))
    moved = ew.where(away, ew.add(bits, 1), ew.subtract(bits, 1))
    least = with_sign_of(ew.bitcast(constant(1, word, x.shape), x.dtype), target)
    found = ew.where(ew.equal(x, 0.0), least, ew.bitcast(moved, x.dtype))
    found = ew.where(ew.equal(x, target), target, found)
    return ew.where(isnan(x) | isnan(target), NAN, found)


nextafter = op(
    "nextafter",
    types=same_type,
    accept=two_floats("nextafter"),
    lower=_nextafter,
    ref=np.nextafter,
    samples=(
        sample(values(1.0, 1.0, -1.0, 2.0), values(1.0, 1.0, -1.0, 2.0)),
        sample(values(0.0, -0.0, NAN, 1.0), values(0.0, 0.0, 1.0, NAN)),
    ),
    bad_samples=_clash("nextafter"),
    no_grad_reason="a step to the next float has no slope",
    ulp=0,
)


def _most(dtype: DType) -> float:
    """The largest finite number: one bit below infinity."""
    return float(dt.from_bits(dtype, dt.to_bits(dtype, INF) - 1))


def nan_to_num(
    x: UOp,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> UOp:
    """NaN and infinities replaced: by 0, and the largest and smallest finite numbers."""
    if not x.dtype.is_float:
        return x
    most = _most(x.dtype)
    high = most if posinf is None else posinf
    low = -most if neginf is None else neginf
    known = ew.where(isposinf(x), high, ew.where(isneginf(x), low, x))
    return ew.where(isnan(x), nan, known)


def _nan_to_num(
    x: Any, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


primitive(
    "nan_to_num",
    nan_to_num,
    ref=_nan_to_num,
    samples=(
        sample(values(1.0, NAN, INF, -INF), nan=2.0, posinf=5.0, neginf=-5.0),
        sample(values(1.0, NAN, -2.0)),
        sample(ints(3)),
    ),
    ulp=0,
)


# --- larger and smaller, NaN left out -----------------------------------------------------------------------------


def fmax(a: Operand, b: Operand) -> UOp:
    """The larger of a and b; a NaN only if both are."""
    left, right = operands("fmax", a, b)
    return isnan(left).where(
        right, isnan(right).where(left, ew.maximum(left, right))
    )


def fmin(a: Operand, b: Operand) -> UOp:
    """The smaller of a and b; a NaN only if both are."""
    left, right = operands("fmin", a, b)
    return isnan(left).where(
        right, isnan(right).where(left, ew.minimum(left, right))
    )


_SOME_NAN = sample(values(1.0, NAN, NAN, -INF), values(NAN, 2.0, NAN, 1.0))
primitive(
    "fmax",
    fmax,
    ref=np.fmax,
    samples=(sample(floats(3, 4), floats(4)), _SOME_NAN, sample(ints(4), 2)),
    bad_samples=_clash("fmax"),
    ulp=0,
)
primitive(
    "fmin",
    fmin,
    ref=np.fmin,
    samples=(sample(floats(3, 4), floats(4)), _SOME_NAN, sample(ints(4), 2)),
    bad_samples=_clash("fmin"),
    ulp=0,
)


# --- remainders towards zero --------------------------------------------------------------------------------------


def fmod(a: Operand, b: Operand) -> UOp:
    """What is left of a after dividing by b towards 0: it has the sign of a; of integers, 0 where b is 0."""
    left, right = operands("fmod", a, b)
    if left.dtype.kind in (Kind.UINT, Kind.BOOL):
        return ew.where(ew.equal(right, 0), 0, left % right).cast(left.dtype)
    if left.dtype.is_float:
        return rest_towards_zero(left, right)
    rest = abs_(left) % abs_(right)
    return ew.where(ew.less(left, 0), -rest, rest)


def _rest_towards_zero(a: UOp, b: UOp) -> UOp:
    """What is left of a float after dividing by another towards 0."""
    return with_sign_of(abs_(a).alu(Ops.MOD, abs_(b)), a)


def _rest_type(a: UOp, b: UOp) -> Type:
    return a.dtype, a.shape


def _rest_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """a - b trunc(a / b), with the whole part constant."""
    g, (a, b) = only(cotangents), node.src
    return g, ew.negative(ew.multiply(g, ew.trunc(ew.divide(a, b))))


rest_towards_zero = op(
    "rest_towards_zero",
    types=_rest_type,
    lower=_rest_towards_zero,
    ref=np.fmod,
    samples=(sample(floats(3, 4), floats(3, 4, low=0.3, high=2)),),
    grad=_rest_grad,
    ulp=2,
    public=False,
)


primitive(
    "fmod",
    fmod,
    ref=np.fmod,
    samples=(
        sample(floats(3, 4), floats(4, low=0.3, high=2)),
        sample(values(5.0, -5.0, 0.0, -0.0, 6.0), values(-3.0, 3.0, 3.0, 3.0, INF)),
        sample(ints(3, 8), ints(8, low=1)),
        sample(ints(5), -3),
    ),
    bad_samples=_clash("fmod"),
    ulp=2,
)


def frac(x: UOp) -> UOp:
    """x without its whole part: it keeps the sign."""
    return ew.subtract(x, ew.trunc(x))


primitive(
    "frac",
    frac,
    ref=lambda x: x - np.trunc(x),
    samples=(sample(floats(3, 4)), sample(ints(3))),
    ulp=0,
)


# --- between, and close -------------------------------------------------------------------------------------------


def lerp(start: Operand, end: Operand, weight: Operand) -> UOp:
    """start + weight * (end - start), exact at both ends."""
    first, last = map(as_float, operands("lerp", start, end))
    share = as_float(ew.node_of("lerp", weight)).cast(first.dtype)
    shape = broadcast_shape("lerp", first.shape, share.shape)
    first, last, share = (broadcast_to(x, shape) for x in (first, last, share))
    way = last - first
    back = ew.multiply(way, ew.subtract(1.0, share))
    return ew.where(ew.less(abs_(share), 0.5), first + share * way, last - back)


primitive(
    "lerp",
    lerp,
    ref=lambda start, end, weight: start + weight * (end - start),
    samples=(
        sample(floats(3, 4), floats(3, 4), floats(3, 4, low=0, high=1)),
        sample(floats(3, 4), floats(4), 0.25),
    ),
    bad_samples=(
        (
            sample(floats(2, 3), floats(2, 4), 0.5),
            "lerp: shapes (2, 3) and (2, 4) do not broadcast",
        ),
    ),
    ulp=8,
    normwise=True,
)


def isclose(
    a: Operand,
    b: Operand,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> UOp:
    """Whether |a - b| <= atol + rtol * |b|."""
    left, right = operands("isclose", a, b)
    x, y = as_float(left), as_float(right)
    near = ew.less_equal(abs_(x - y), ew.add(ew.multiply(abs_(y), rtol), atol))
    finite = ew.logical_not(isinf(x) | isinf(y))
    found = (near & finite) | x.eq(y)
    return found | (isnan(x) & isnan(y)) if equal_nan else found


primitive(
    "isclose",
    isclose,
    ref=np.isclose,
    samples=(
        sample(values(1.0, 1.0, NAN, INF, INF), values(1.0, 1.1, NAN, INF, -INF)),
        sample(values(1.0, NAN), values(1.05, NAN), rtol=0.1, equal_nan=True),
        sample(floats(3, 4), floats(4)),
    ),
    bad_samples=_clash("isclose"),
    no_grad_reason="the result is bool",
)


# --- complex parts of real numbers --------------------------------------------------------------------------------


def real(x: UOp) -> UOp:
    """The real part: x itself."""
    return x


def imag(x: UOp) -> UOp:
    """The imaginary part: 0 everywhere."""
    return constant(0, x.dtype, x.shape)


def conj(x: UOp) -> UOp:
    """The complex conjugate: of a real number itself."""
    return x


_REAL = (sample(floats(3, 4)),)
primitive("real", real, ref=np.real, samples=_REAL, ulp=0)
primitive("imag", imag, ref=np.imag, samples=_REAL, ulp=0)
primitive("conj", conj, ref=np.conj, samples=_REAL, ulp=0)
