"""Elementary functions of float32, within 2 ulp. In: a float32 value. Out: the same function of basic operations.

Polynomials are minimax fits with coefficients rounded to float32 one by one. Nothing branches; nan, infinities, signed
zeros and denormals come out as in NumPy.
"""

from __future__ import annotations

import math

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.kernel import numeric as nu
from ingot.kernel.numeric import fma, horner, like

F32 = dt.float32
F64 = dt.float64
MAGIC = nu.MAGIC[F32]
LN2_HIGH, LN2_LOW = nu.LN2[F32]

# exp(r) on |r| <= ln(2)/2, error 2**-28; 2**f on |f| <= 1/2, error 2**-28
EXP = (
    1.0,
    1.0,
    0.4999999403953552,
    0.1666652113199234,
    0.04166827350854874,
    0.00836868304759264,
    0.0013820051681250334,
)
EXP2 = (
    *(1.0, 0.6931471824645996, 0.24022647738456726, 0.05550359562039375),
    *(0.009618503041565418, 0.0013391007669270039, 0.0001532803726149723),
)
# (exp(r) - 1 - r) / r**2, error 2**-26 of exp(r) - 1
EXPM1 = (
    0.4999999701976776,
    0.1666654646396637,
    0.04166743531823158,
    0.00836627185344696,
    0.001387069234624505,
)
# (log(1 + f) - f + f**2 / 2) / f**3 on sqrt(1/2) - 1 <= f <= sqrt(2) - 1, error 2**-27
LOG = (
    *(
        0.3333333134651184,
        -0.2500081956386566,
        0.2000124156475067,
        -0.1662341058254242,
    ),
    *(
        0.14201585948467255,
        -0.13159599900245667,
        0.12762144207954407,
        -0.07636356353759766,
    ),
)
# (log2(1 + f) - f * log2(e)) / f**2 there
LOG2 = (
    *(
        -0.7213473320007324,
        0.4808982014656067,
        -0.3606986701488495,
        0.28857141733169556,
        -0.2395673543214798,
    ),
    *(
        0.20448660850524902,
        -0.19139091670513153,
        0.18708786368370056,
        -0.11025495082139969,
    ),
)
LOG2E_HIGH, LOG2E_LOW = 1.4426950216293335, 1.925963033500011e-08
# erf(x) / x - 1 in x**2 for |x| < 1; -log(erfc(x)) for 1 <= x <= 4
ERF_SMALL = (
    *(
        0.12837916612625122,
        -0.3761262595653534,
        0.11283578723669052,
        -0.026853347197175026,
    ),
    *(0.005187162198126316, -0.0007997853099368513, 7.806903886375949e-05),
)
ERF_LARGE = (
    *(
        0.0003414639795664698,
        1.1270893812179565,
        0.6381446123123169,
        0.10310684889554977,
    ),
    *(-0.021838057786226273, 0.0029476433992385864, -0.00018637637549545616),
)
# sin(pi * f) / f in f**2 on |f| <= 1/2, and 1 / pi in binary
SIN_PI = (
    3.1415926373456418,
    -5.167709735934659,
    2.550070718454045,
    -0.5982484087052338,
    0.07757288080173448,
)
INVERSE_PI = 0x517CC1B727220A94FE13ABE8FA9A6EE06DB14ACC9E21C820FF28B1D5EF5DE2B0  # times 2**-256


def _reduced(x: UOp, multiplier: float, bias: int) -> tuple[UOp, UOp]:
    """(r, shifted): x == n * ln2 / multiplier + r, and the low bits of `shifted` hold n + bias."""
    shifted = fma(x, nu.LOG2E * multiplier, MAGIC + bias)
    n = shifted - (MAGIC + bias)
    whole = x if multiplier == 1 else x * multiplier
    return fma(n, -LN2_LOW, fma(n, -LN2_HIGH, whole)), shifted


def exp(x: UOp) -> UOp:
    """exp(r) * 2**n"""
    inside = like(x, 88.8).minimum(like(x, -104.0).maximum(x))
    r, shifted = _reduced(inside, 1, 2 * 127)
    return nu.scale(horner(r, EXP), shifted)


def exp2(x: UOp) -> UOp:
    inside = like(x, 129.0).minimum(like(x, -151.0).maximum(x))
    shifted = inside + (MAGIC + 2 * 127)
    f = inside - (shifted - (MAGIC + 2 * 127))
    return nu.scale(horner(f, EXP2), shifted)


def tanh(x: UOp) -> UOp:
    """e / (e + 2) with e = exp(2 |x|) - 1 = 2**n * (exp(r) - 1) + (2**n - 1)"""
    inside = like(x, 9.1).minimum(nu.absolute(x))
    r, shifted = _reduced(inside, 2, 127)
    small = fma(r * r, horner(r, EXPM1), r)
    power = nu.power_of_two(shifted)
    return nu.with_sign_of(
        nu.over_itself_plus_two(fma(power, small, power - 1.0)), x
    )


def _log_parts(x: UOp) -> tuple[UOp, UOp]:
    """(f, e): x == (1 + f) * 2**e; a denormal x is scaled first."""
    is_small = x < 2.0**-126
    m, e = nu.split_exponent(nu.choose(is_small, x * 2.0**23, x))
    return m - 1.0, nu.choose(is_small, e - 23.0, e)


def _log_special(x: UOp, result: UOp) -> UOp:
    """log's values outside 0 < x < inf."""
    upper = nu.choose(x < math.inf, result, x)
    lower = nu.choose(x.eq(0.0), like(x, -math.inf), math.nan)
    return nu.choose(like(x, 0.0) < x, upper, lower)


def log(x: UOp) -> UOp:
    f, e = _log_parts(x)
    square = f * f
    tail = fma(square * f, horner(f, LOG), e * LN2_LOW)
    near = f + fma(square, -0.5, tail)
    return _log_special(x, fma(e, LN2_HIGH, near))


def log2(x: UOp) -> UOp:
    f, e = _log_parts(x)
    tail = fma(f * f, horner(f, LOG2), f * LOG2E_LOW)
    return _log_special(x, fma(f, LOG2E_HIGH, tail) + e)


def erf(x: UOp) -> UOp:
    """A polynomial below 1, 1 - exp(polynomial) above."""
    a = nu.absolute(x)
    small = fma(a, horner(a * a, ERF_SMALL), a)
    exponent = -horner(like(x, 4.0).minimum(a), ERF_LARGE)
    r, shifted = _reduced(exponent, 1, 127)
    large = fma(-horner(r, EXP), nu.power_of_two(shifted), 1.0)
    return nu.with_sign_of(nu.choose(a < 1.0, small, large), x)


# --- sin: the angle in half turns, exact to the last bit that matters ---


def _inverse_pi(first: int, last: int) -> float:
    """Bits first..last of 1/pi, where bit k weighs 2**-k."""
    whole = INVERSE_PI >> (256 - last)
    return math.ldexp(whole & ((1 << (last - first + 1)) - 1), -last)


# |x| below 2**e: bits of 1/pi before `start` give whole turns only.
_BANDS = tuple((e, (_inverse_pi(s, s + 28), _inverse_pi(s + 29, s + 57), _inverse_pi(s + 58, s + 110)))
               for e, s in ((55, 2), (85, 32), (115, 62), (128, 92)))  # fmt: skip


def sin(x: UOp) -> UOp:
    return nu.choose(nu.absolute(x) < 2.0**-13, x, _sin_turned(x, 0.0))


def cos(x: UOp) -> UOp:
    """sin half a half turn later"""
    return _sin_turned(x, 0.5)


def _sin_turned(x: UOp, turn: float) -> UOp:
    """sin(x + turn * pi): x / pi as three products, the first two exact; whole half turns go, their parity is the sign."""
    wide = x.cast(F64)
    first, second, third = (wide * part for part in _band(nu.absolute(wide)))
    first = fma(nu.rounded(first * 0.5), -2.0, first)
    first = first + turn if turn else first
    shifted = ((first + second) + third) + nu.MAGIC[F64]
    f = ((first - (shifted - nu.MAGIC[F64])) + second) + third
    value = f * horner(f * f, SIN_PI)
    odd = nu.shifted_left(nu.bits(shifted), 63)
    return nu.xor(nu.bits(value), odd).bitcast(F64).cast(F32)


def _band(magnitude: UOp) -> list[UOp]:
    parts = [like(magnitude, value) for value in _BANDS[-1][1]]
    for exponent, values in reversed(_BANDS[:-1]):
        is_below = magnitude < 2.0**exponent
        parts = [
            nu.choose(is_below, like(magnitude, v), p)
            for v, p in zip(values, parts, strict=True)
        ]
    return parts


# --- pow: through float64 ---

# log2(1 + f) / f on sqrt(1/2) - 1 <= f <= sqrt(2) - 1, error 2**-36; 2**f on |f| <= 1/2, error 2**-34
POW_LOG2 = (
    *(
        1.442695040869021,
        -0.7213475208864257,
        0.48089836121677904,
        -0.3606736712506034,
        0.2885373081201536,
    ),
    *(
        -0.2404533748631389,
        0.2061750096313413,
        -0.1802954440588391,
        0.15877105431995103,
        -0.14321349127054125,
    ),
    *(0.14478858021302343, -0.14260572067053578, 0.07705334046813729),
)
POW_EXP2 = (
    *(1.0, 0.6931471807119562, 0.24022651071368883, 0.05550410345917879),
    *(
        0.009618037474645286,
        0.0013333948662001428,
        0.00015466959787078938,
        1.5193502581642373e-05,
    ),
)


def power(x: UOp, y: UOp) -> UOp:
    """2**(y * log2 |x|), with the sign and the special cases of C's pow."""
    a = nu.absolute(x)
    m, e = nu.split_exponent(a.cast(F64))
    f = m - 1.0
    logarithm = fma(f, horner(f, POW_LOG2), e)
    logarithm = nu.choose(
        a.eq(0.0),
        like(logarithm, -math.inf),
        nu.choose(a < math.inf, logarithm, a.cast(F64)),
    )
    z = y.cast(F64) * logarithm
    inside = like(z, 1000.0).minimum(like(z, -1000.0).maximum(z))
    shifted = inside + (nu.MAGIC[F64] + 1023)
    fraction = inside - (shifted - (nu.MAGIC[F64] + 1023))
    magnitude = (horner(fraction, POW_EXP2) * nu.power_of_two(shifted)).cast(F32)
    return power_special(x, y, magnitude)


def power_special(x: UOp, y: UOp, magnitude: UOp) -> UOp:
    """|x|**y made x**y: the sign of odd powers, nan for fractional powers of negative numbers, and what is always 1."""
    is_whole = y.alu(Ops.TRUNC).eq(y)
    half = y * 0.5
    is_odd = nu.both(is_whole, half.alu(Ops.TRUNC).ne(half))
    negative = nu.both(
        nu.both(x < 0.0, like(x, -math.inf) < x), is_whole.alu(Ops.NOT)
    )
    sign = nu.choose(is_odd, nu.bits(x) & nu.sign_mask(x.dtype), 0)
    signed = (nu.bits(magnitude) | sign).bitcast(x.dtype)
    result = nu.choose(negative, like(x, math.nan), signed)
    infinite = nu.both(nu.absolute(y).eq(math.inf), x.eq(-1.0))
    always = nu.either(nu.either(y.eq(0.0), x.eq(1.0)), infinite)
    return nu.choose(always, like(x, 1.0), result)
