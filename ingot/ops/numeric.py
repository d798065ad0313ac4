"""Element by element, several opcodes each: abs, clip, pow, log1p, ... In: nodes and Python numbers. Out: nodes.

What a code generator would want to write as one word is a named op; what is one line of Python anywhere is not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.dtype import Kind, Scalar
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.shape import Type
from ingot.ops import elementwise as ew
from ingot.ops.elementwise import constant, operands
from ingot.ops.gradient import (
    Cotangents,
    Gradients,
    Rule,
    flat,
    only,
    pointwise,
)
from ingot.ops.op import Op, op, primitive
from ingot.ops.promotion import Operand
from ingot.ops.rules import floats_in, same_type
from ingot.ops.sample import INF, NAN, SPECIAL, floats, ints, sample, values

_WORD = {16: dt.uint16, 32: dt.uint32, 64: dt.uint64}

# --- sign and size ------------------------------------------------------------------------------------------------


def _abs(x: UOp) -> UOp:
    """The distance from 0."""
    if x.dtype.is_float:
        word = _WORD[x.dtype.bits]
        mask = constant((1 << (word.bits - 1)) - 1, word, x.shape)
        return (x.bitcast(word) & mask).bitcast(x.dtype)
    return x.maximum(-x) if x.dtype.kind is Kind.INT else x


def _sign(x: UOp) -> UOp:
    """-1, 0 or 1; a NaN stays."""
    zero = constant(0, x.dtype, x.shape)
    one = constant(1, x.dtype, x.shape)
    rest = x.ne(x).where(x, zero) if x.dtype.is_float else zero
    up = (zero < x).where(one, rest)
    return (
        (x < zero).where(-one, up) if x.dtype.kind in (Kind.INT, Kind.FLOAT) else up
    )


abs_ = op(
    "abs",
    types=same_type,
    lower=_abs,
    ref=np.abs,
    grad=pointwise(lambda node: sign(node.src[0])),
    samples=(
        sample(floats(3, 4)),
        sample(SPECIAL),
        sample(ints(4)),
        sample(ints(4, dtype="int8")),
    ),
    ulp=0,
)
sign: Op = op(
    "sign",
    types=same_type,
    lower=_sign,
    ref=np.sign,
    grad=flat,
    samples=(
        sample(floats(3, 4)),
        sample(SPECIAL),
        sample(ints(6, low=-2, high=3)),
    ),
    ulp=0,
)


def isnan(x: UOp) -> UOp:
    """Whether x is not a number."""
    return x.ne(x) if x.dtype.is_float else constant(False, dt.boolean, x.shape)


def isinf(x: UOp) -> UOp:
    """Whether x is infinite."""
    if not x.dtype.is_float:
        return constant(False, dt.boolean, x.shape)
    return abs_(x).eq(constant(INF, x.dtype, x.shape))


def isfinite(x: UOp) -> UOp:
    """Whether x is neither infinite nor NaN."""
    if not x.dtype.is_float:
        return constant(True, dt.boolean, x.shape)
    return abs_(x) < constant(INF, x.dtype, x.shape)


_TESTED = (sample(SPECIAL), sample(ints(4)))
primitive("isnan", isnan, ref=np.isnan, samples=_TESTED)
primitive("isinf", isinf, ref=np.isinf, samples=_TESTED)
primitive("isfinite", isfinite, ref=np.isfinite, samples=_TESTED)


def ceil(x: UOp) -> UOp:
    """The smallest whole number that is not below x."""
    return -ew.floor(-x) if x.dtype.is_float else x


def square(x: UOp) -> UOp:
    """x * x."""
    return ew.multiply(x, x)


def rsqrt(x: UOp) -> UOp:
    """1 / sqrt(x)."""
    return ew.reciprocal(ew.sqrt(x))


def _at_least(x: UOp, bound: UOp) -> UOp:
    """x, but not below the bound. Unlike that of maximum, its gradient passes whole where both are equal."""
    return ew.maximum(x, bound)


def _at_most(x: UOp, bound: UOp) -> UOp:
    """x, but not above the bound. Unlike that of minimum, its gradient passes whole where both are equal."""
    return ew.minimum(x, bound)


def _bounded_type(x: UOp, bound: UOp) -> Type:
    return x.dtype, x.shape


def _bounded_grad(is_outside: Callable[[UOp, UOp], UOp]) -> Rule:
    def rule(node: UOp, cotangents: Cotangents) -> Gradients:
        g, outside = only(cotangents), is_outside(*node.src)
        return ew.where(outside, 0.0, g), ew.where(outside, g, 0.0)

    return rule


at_least = op(
    "at_least",
    types=_bounded_type,
    lower=_at_least,
    ref=np.maximum,
    samples=(sample(floats(3, 4), floats(3, 4)), sample(ints(5), ints(5))),
    grad=_bounded_grad(ew.less),
    ulp=0,
    public=False,
)
at_most = op(
    "at_most",
    types=_bounded_type,
    lower=_at_most,
    ref=np.minimum,
    samples=(sample(floats(3, 4), floats(3, 4)), sample(ints(5), ints(5))),
    grad=_bounded_grad(ew.greater),
    ulp=0,
    public=False,
)


def clip(x: UOp, min: Operand | None = None, max: Operand | None = None) -> UOp:
    """x, but not below `min` nor above `max`."""
    raised = x if min is None else at_least(*operands("clip", x, min))
    return raised if max is None else at_most(*operands("clip", raised, max))


primitive(
    "ceil",
    ceil,
    ref=np.ceil,
    samples=(sample(floats(3, 4)), sample(SPECIAL), sample(ints(4))),
    ulp=0,
)
primitive(
    "square", square, ref=np.square, samples=(sample(floats(3, 4)), sample(ints(4)))
)
primitive(
    "rsqrt",
    rsqrt,
    ref=lambda x: 1 / np.sqrt(x),
    samples=(sample(floats(3, 4, low=0.01, high=50)), sample(SPECIAL)),
    ulp=1.5,
)
primitive(
    "clip",
    clip,
    ref=lambda x, min=None, max=None: np.clip(x, min, max),
    samples=(
        sample(floats(3, 4), -1.0, 1.0),
        sample(ints(5), 0),
        sample(SPECIAL, None, 0.5),
        sample(floats(3), floats(3), 2.0),
    ),
    bad_samples=(
        (
            sample(floats(2, 3), floats(2, 4)),
            "clip: shapes (2, 3) and (2, 4) do not broadcast",
        ),
    ),
    aliases=("clamp",),
    ulp=0,
)

# --- powers and quotients -----------------------------------------------------------------------------------------


def pow_(a: Operand, b: Operand) -> UOp:
    """a to the power b."""
    if (
        isinstance(a, UOp)
        and isinstance(b, int | float)
        and not isinstance(b, bool)
    ):
        simple = _simple_power(a, b)
        if simple is not None:
            return simple
    left, right = operands("pow", a, b)
    return left.alu(Ops.POW, right)


def _simple_power(x: UOp, n: Scalar) -> UOp | None:
    """The powers that NumPy, too, computes without a logarithm."""
    if n == 2:
        return ew.multiply(x, x) if x.dtype.is_float or isinstance(n, int) else None
    if not x.dtype.is_float:
        return None
    if n == 1:
        return x
    if n == 0.5:
        return x.alu(Ops.SQRT)
    return x.alu(Ops.RECIP) if n == -1 else None


def floor_divide(a: Operand, b: Operand) -> UOp:
    """The largest whole number that is not above a / b; of integers, 0 where b is 0."""
    left, right = operands("floor_divide", a, b)
    return _whole_and_rest(left, right)[0] if left.dtype.is_float else left // right


def remainder(a: Operand, b: Operand) -> UOp:
    """What is left of a after floor_divide, with the sign of b; of integers, 0 where b is 0."""
    left, right = operands("remainder", a, b)
    return rest_of(left, right) if left.dtype.is_float else left % right


def _rest_of(a: UOp, b: UOp) -> UOp:
    """What is left of a float after floor_divide."""
    return _whole_and_rest(a, b)[1]


def _rest_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """a - b floor(a / b), with the floor constant: also where a is a multiple of b, and the rest jumps."""
    g, (a, b) = only(cotangents), node.src
    return g, ew.negative(ew.multiply(g, _whole_and_rest(a, b)[0]))


def _whole_and_rest(a: UOp, b: UOp) -> tuple[UOp, UOp]:
    """Floor and remainder of floats. Where a / b rounded up to a whole number, the rest shows it and mends both."""
    guess = (a / b).alu(Ops.FLOOR)
    rest = (-guess).alu(Ops.MULACC, b, a)
    zero = constant(0.0, a.dtype, a.shape)
    over = ((rest < zero).ne(b < zero)) & rest.ne(zero)
    one = constant(1.0, a.dtype, a.shape)
    whole = over.where(guess - one, guess)
    left = over.where(rest + b, rest)
    signed = left.eq(zero).where(
        b * zero, left
    )  # nothing left still has the sign of b
    return _beside_infinity(a, b, whole, signed)


def _beside_infinity(a: UOp, b: UOp, whole: UOp, rest: UOp) -> tuple[UOp, UOp]:
    """A finite number over an infinite one leaves itself, or the infinite one where the signs differ."""
    zero, minus = (constant(v, a.dtype, a.shape) for v in (0.0, -0.0))
    below = b < zero
    apart = (a < zero).ne(below) & a.ne(zero)
    beside = isinf(b) & isfinite(a)
    itself = a.eq(zero).where(below.where(minus, zero), a)
    left = beside.where(apart.where(b, itself), rest)
    floor = apart.where(constant(-1.0, a.dtype, a.shape), a / b)
    endless = isinf(a) & b.ne(zero)
    found = endless.where(constant(NAN, a.dtype, a.shape), whole)
    return beside.where(floor, found), left


rest_of = op(
    "rest_of",
    types=_bounded_type,
    lower=_rest_of,
    ref=np.remainder,
    samples=(sample(floats(3, 4), floats(3, 4, low=0.3, high=2)),),
    grad=_rest_grad,
    ulp=2,
    public=False,
)
_DIVISORS = (
    sample(floats(3, 4), floats(4, low=0.3, high=2)),
    sample(floats(3, 4), floats(4, low=-2, high=-0.3)),
    sample(ints(3, 8), ints(8)),
    sample(ints(5), 3),
    sample(values(5.0, -5.0, 0.0, 6.0), values(3.0, 3.0, 3.0, -3.0)),
    sample(
        values(1.0, -1.0, 0.3, 7.0), values(0.1, 0.1, 0.1, -0.7)
    ),  # quotients that round to a whole number
)
primitive(
    "pow",
    pow_,
    ref=np.power,
    samples=(
        sample(floats(3, 4, low=0.1, high=4), floats(3, 4)),
        sample(floats(3), 2),
        sample(floats(3, low=0.1), 0.5),
        sample(floats(3), -1),
        sample(2.0, floats(3)),
        sample(ints(4), 2),
    ),
    bad_samples=(
        (
            sample(floats(2, 3), floats(2, 4)),
            "pow: shapes (2, 3) and (2, 4) do not broadcast",
        ),
    ),
    ulp=4,
)
primitive(
    "floor_divide",
    floor_divide,
    ref=np.floor_divide,
    samples=_DIVISORS,
    bad_samples=(
        (
            sample(floats(2, 3), floats(2, 4)),
            "floor_divide: shapes (2, 3) and (2, 4) do not broadcast",
        ),
    ),
)
primitive(
    "remainder",
    remainder,
    ref=np.remainder,
    samples=(
        *_DIVISORS,
        sample(values(5.0, -5.0, 0.0), INF),
        sample(values(5.0, -5.0), -INF),
    ),
    bad_samples=(
        (
            sample(floats(2, 3), floats(2, 4)),
            "remainder: shapes (2, 3) and (2, 4) do not broadcast",
        ),
    ),
    aliases=("mod",),
    ulp=2,
)

# --- near 1 and near 0 --------------------------------------------------------------------------------------------


def _log1p(x: UOp) -> UOp:
    """log(1 + x), exact for small x too."""
    one = constant(1.0, x.dtype, x.shape)
    sum_ = one + x
    lost = x - (
        sum_ - one
    )  # what the rounding of 1 + x took; the slope of log brings it back
    corrected = ew.log(sum_) + lost / sum_
    unchanged = sum_.eq(one) | sum_.eq(constant(INF, x.dtype, x.shape))
    nothing = sum_.eq(constant(0.0, x.dtype, x.shape))
    return unchanged.where(x, nothing.where(ew.log(sum_), corrected))


def _expm1(x: UOp) -> UOp:
    """exp(x) - 1, exact for small x too."""
    if x.dtype is dt.float32:
        # One rounding: the formula below is two and a half units off where it is worst.
        return _expm1(x.cast(dt.float64)).cast(dt.float32)
    one = constant(1.0, x.dtype, x.shape)
    power = ew.exp(x)
    less_one = power - one
    corrected = less_one * (x / ew.log(power))
    plain = less_one.eq(-one) | power.eq(constant(INF, x.dtype, x.shape))
    return power.eq(one).where(x, plain.where(less_one, corrected))


log1p = op(
    "log1p",
    types=same_type,
    accept=floats_in,
    lower=_log1p,
    ref=np.log1p,
    grad=pointwise(lambda node: ew.reciprocal(ew.add(node.src[0], 1.0))),
    samples=(
        sample(floats(3, 4, low=-0.9)),
        sample(floats(4, low=-1e-9, high=1e-9)),
        sample(SPECIAL),
    ),
    ulp=4,
)
expm1 = op(
    "expm1",
    types=same_type,
    accept=floats_in,
    lower=_expm1,
    ref=np.expm1,
    grad=pointwise(lambda node: ew.add(node, 1.0)),
    samples=(
        sample(floats(3, 4)),
        sample(floats(4, low=-1e-9, high=1e-9)),
        sample(values(0.0, 800.0, -800.0, INF, -INF, NAN)),
    ),
    ulp=6,
)
