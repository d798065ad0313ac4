"""Element by element, several opcodes each: abs, clip, pow, log1p, ... In: nodes and Python numbers. Out: nodes.

What a code generator would want to write as one word is a named op; what is one line of Python anywhere is not.
"""

from __future__ import annotations

import numpy as np

from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.dtype import Kind, Scalar
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ops import elementwise as ew
from ingot.ops.elementwise import constant, operands
from ingot.ops.op import op, primitive
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
    samples=(
        sample(floats(3, 4)),
        sample(SPECIAL),
        sample(ints(4)),
        sample(ints(4, dtype="int8")),
    ),
    ulp=0,
)
sign = op(
    "sign",
    types=same_type,
    lower=_sign,
    ref=np.sign,
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


def clip(x: UOp, low: Operand | None = None, high: Operand | None = None) -> UOp:
    """x, but not below `low` nor above `high`."""
    if low is None and high is None:
        raise ArgumentError(
            "clip: neither low nor high is given", fix="give one of them, or both"
        )
    raised = x if low is None else ew.maximum(x, low)
    return raised if high is None else ew.minimum(raised, high)


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
    ref=lambda x, low=None, high=None: np.clip(x, low, high),
    samples=(
        sample(floats(3, 4), -1.0, 1.0),
        sample(ints(5), 0),
        sample(SPECIAL, None, 0.5),
        sample(floats(3), floats(3), 2.0),
    ),
    bad_samples=((sample(floats(3)), "clip: neither low nor high is given"),),
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
    return _whole_and_rest(left, right)[1] if left.dtype.is_float else left % right


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
    return whole, _beside_infinity(a, b, signed)


def _beside_infinity(a: UOp, b: UOp, rest: UOp) -> UOp:
    """A finite number over an infinite one leaves itself, or the infinite one where the signs differ."""
    zero = constant(0.0, a.dtype, a.shape)
    apart = (a < zero).ne(b < zero) & a.ne(zero)
    return (isinf(b) & isfinite(a)).where(apart.where(b, a), rest)


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
    corrected = ew.log(sum_) * (
        x / (sum_ - one)
    )  # the rounding of 1 + x is in both factors and cancels
    unchanged = sum_.eq(one) | sum_.eq(constant(INF, x.dtype, x.shape))
    return unchanged.where(x, corrected)


def _expm1(x: UOp) -> UOp:
    """exp(x) - 1, exact for small x too."""
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
    samples=(
        sample(floats(3, 4)),
        sample(floats(4, low=-1e-9, high=1e-9)),
        sample(values(0.0, 800.0, -800.0, INF, -INF, NAN)),
    ),
    ulp=6,
)
