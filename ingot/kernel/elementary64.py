"""Elementary functions of float64, within 2 ulp. In: a float64 value. Out: the same function of basic operations.

The scheme of elementary32.py with longer polynomials, and with pairs (high, low) where one float64 is not enough.
"""

from __future__ import annotations

import math

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.kernel import numeric as nu
from ingot.kernel.elementary32 import power_special
from ingot.kernel.numeric import fma, horner, like

F64 = dt.float64
MAGIC = nu.MAGIC[F64]
LN2_HIGH, LN2_LOW = nu.LN2[F64]
LOG2E, LOG2E_LOW = 1.4426950408889634, 2.0355273740931033e-17

# exp(r) on |r| <= ln(2)/2, error 2**-63; 2**f on |f| <= 1/2, error 2**-59
EXP = (
    *(
        1.0,
        1.0,
        0.5,
        0.16666666666666682,
        0.04166666666666647,
        0.008333333333317611,
        0.0013888888889000551,
    ),
    *(
        0.0001984126989526369,
        2.4801587089333852e-05,
        2.7557235768157517e-06,
        2.7557473509522725e-07,
    ),
    *(2.5111775504252783e-08, 2.085416858738933e-09),
)
EXP2 = (
    *(
        1.0,
        0.6931471805599453,
        0.2402265069591007,
        0.05550410866482337,
        0.009618129107629774,
        0.0013333558146028034,
    ),
    *(
        0.0001540353039063485,
        1.5252734179728796e-05,
        1.3215489222069522e-06,
        1.0177924097886476e-07,
    ),
    *(7.05395557666299e-09, 4.474906700348497e-10, 2.707402479249034e-11),
)
# (exp(r) - 1 - r) / r**2, error 2**-61 of exp(r) - 1
EXPM1 = (
    *(
        0.5,
        0.16666666666666677,
        0.04166666666666661,
        0.008333333333321443,
        0.0013888888888924243,
    ),
    *(
        0.00019841269886570418,
        2.4801587235959595e-05,
        2.755724377640025e-06,
        2.755735468123257e-07,
    ),
    *(2.5109185930887816e-08, 2.0888845690636417e-09),
)
# (log((1 + s) / (1 - s)) / s - 2) / s**2 in s**2 on |s| <= 0.1716, error 2**-66; and what follows its 2/3
LOG = (
    *(
        0.6666666666666666,
        0.4000000000000491,
        0.28571428569416724,
        0.22222222606136852,
    ),
    *(
        0.18181778417008404,
        0.1538698641241343,
        0.13252197439162097,
        0.13234375553098385,
    ),
)
LOG_TAIL = (
    *(
        0.3999999999999998,
        0.28571428571443813,
        0.22222222217799378,
        0.18181818842663883,
    ),
    *(
        0.15384558522352976,
        0.13336260902095498,
        0.11675852070617124,
        0.11981178936582643,
    ),
)
# (sin(r) - r) / r**3 in r**2 on |r| <= pi/2, error 2**-61
SIN = (
    *(
        -0.16666666666666666,
        0.008333333333333207,
        -0.00019841269841212509,
        2.755731921158337e-06,
    ),
    *(
        -2.505210690660695e-08,
        1.6058941157349995e-10,
        -7.643024504304306e-13,
        2.7214841205070548e-15,
    ),
)
# erf(x) / x - 1 in x**2 for |x| < 1; -log(erfc(x)) for 1 <= x <= 6
ERF_SMALL = (
    *(
        0.1283791670955126,
        -0.3761263890318401,
        0.11283791670964498,
        -0.02686617064657234,
        0.005223977637387269,
    ),
    *(
        -0.0008548327622639351,
        0.00012055352310685438,
        -1.492606300642417e-05,
        1.6467961510979273e-06,
    ),
    *(
        -1.64193275702311e-07,
        1.509667086241925e-08,
        -1.2970493695295636e-09,
        8.524908459452177e-11,
    ),
)
ERF_LARGE = (
    *(
        1.8023708004504482e-07,
        1.12837732321678,
        0.6366285165131514,
        0.10274717426502102,
        -0.01907800279534112,
    ),
    *(
        -0.0002807084934946444,
        0.0017692413783482912,
        -0.0006413778017922699,
        4.4960314077402645e-05,
    ),
    *(
        7.029300741935667e-05,
        -4.500606158070927e-05,
        1.6503368011917274e-05,
        -4.324233887594324e-06,
    ),
    *(
        8.499956726961357e-07,
        -1.256145811214869e-07,
        1.3616380041203557e-08,
        -1.0248888804672718e-09,
    ),
    *(4.792116154979164e-11, -1.0487469040115446e-12),
)

Pair = tuple[UOp, UOp]  # high, low: their exact sum is meant


def _reduced(x: UOp, bias: int) -> tuple[UOp, UOp]:
    """(r, shifted): x == n * ln2 + r, and the low bits of `shifted` hold n + bias."""
    shifted = fma(x, LOG2E, MAGIC + bias)
    n = shifted - (MAGIC + bias)
    return fma(n, -LN2_LOW, fma(n, -LN2_HIGH, x)), shifted


def exp(x: UOp) -> UOp:
    inside = like(x, 709.9).minimum(like(x, -745.2).maximum(x))
    r, shifted = _reduced(inside, 2 * 1023)
    return nu.scale(horner(r, EXP), shifted)


def exp2(x: UOp) -> UOp:
    inside = like(x, 1025.0).minimum(like(x, -1076.0).maximum(x))
    shifted = inside + (MAGIC + 2 * 1023)
    f = inside - (shifted - (MAGIC + 2 * 1023))
    return nu.scale(horner(f, EXP2), shifted)


def tanh(x: UOp) -> UOp:
    """e / (e + 2) with e = exp(2 |x|) - 1"""
    inside = like(x, 19.1).minimum(nu.absolute(x))
    r, shifted = _reduced(inside + inside, 1023)
    two_n = nu.power_of_two(shifted)
    e = fma(two_n, r * r * horner(r, EXPM1), fma(two_n, r, two_n - 1.0))
    return nu.with_sign_of(nu.over_itself_plus_two(e), x)


# --- logarithms ---


def _log_parts(x: UOp) -> Pair:
    """(f, e): x == (1 + f) * 2**e; a denormal x is scaled first."""
    is_small = x < 2.0**-1022
    m, e = nu.split_exponent(nu.choose(is_small, x * 2.0**52, x))
    return m - 1.0, nu.choose(is_small, e - 52.0, e)


def _log_special(x: UOp, result: UOp) -> UOp:
    upper = nu.choose(x < math.inf, result, x)
    lower = nu.choose(x.eq(0.0), like(x, -math.inf), math.nan)
    return nu.choose(like(x, 0.0) < x, upper, lower)


def _log_tail(f: UOp) -> Pair:
    """(h, t): log(1 + f) == f - h + t, with h = f**2 / 2."""
    s = f / (f + 2.0)
    z = s * s
    h = f * f * 0.5
    return h, s * fma(z, horner(z, LOG), h)


def log(x: UOp) -> UOp:
    f, e = _log_parts(x)
    h, tail = _log_tail(f)
    near = f - (h - fma(e, LN2_LOW, tail))
    return _log_special(x, fma(e, LN2_HIGH, near))


def log2(x: UOp) -> UOp:
    f, e = _log_parts(x)
    h, tail = _log_tail(f)
    high = f - h
    low = ((f - high) - h) + tail
    product, error = nu.two_product(high, like(high, LOG2E))
    rest = fma(high, LOG2E_LOW, fma(low, LOG2E, error))
    total, left = nu.two_sum(e, product)
    return _log_special(x, total + (left + rest))


# --- erf ---


def erf(x: UOp) -> UOp:
    a = nu.absolute(x)
    small = fma(a, horner(a * a, ERF_SMALL), a)
    exponent = -horner(like(x, 6.0).minimum(a), ERF_LARGE)
    r, shifted = _reduced(exponent, 1023)
    large = fma(-horner(r, EXP), nu.power_of_two(shifted), 1.0)
    return nu.with_sign_of(nu.choose(a < 1.0, small, large), x)


# --- sin and cos ---

# The digits of 1/pi in binary, as many as the largest angle needs, cut into parts of 41 bits. An angle below 2**95 starts
# at the first part; each further factor of 2**41 drops a part, which would give whole turns only, and needs another.
INVERSE_PI = int(
    "517CC1B727220A94FE13ABE8FA9A6EE06DB14ACC9E21C820FF28B1D5EF5DE2B0"
    "DB92371D2126E9700324977504E8C90E7F0EF58E5894D39F74411AFA975DA242"
    "74CE38135A2FBF209CC8EB1CC1A99CFA4E422FC5DEFC941D8FFC4BFFEF02CC07"
    "F79788C5AD05368FB69B3F6793E584DBA7A31FB34F2FF516BA93DD63F5F2F8BD"
    "9E839CFBC529497535FDAFD88FC6AE842B0198237E3DB5D5F867DE104D7A1B0E",
    16,
)  # times 2**-1280
_PART, _USED, _BANDS = 41, 6, 24
_SCALE = 300  # parts times 2**300, angles times 2**-300: neither end of the exponents is near
PI_HIGH, PI_LOW = math.pi, 1.2246467991473532e-16


def _inverse_pi(index: int) -> float:
    last = 1 + _PART * (
        index + 1
    )  # bit k weighs 2**-k; the first that is not 0 is bit 2
    digits = (INVERSE_PI >> (1280 - last)) & ((1 << _PART) - 1)
    return math.ldexp(digits, _SCALE - last)


_PARTS = tuple(_inverse_pi(index) for index in range(_BANDS + _USED))


def sin(x: UOp) -> UOp:
    return nu.choose(nu.absolute(x) < 2.0**-27, x, _sin_turned(x, 0.0))


def cos(x: UOp) -> UOp:
    """sin half a half turn later"""
    return _sin_turned(x, 0.5)


def _sin_turned(x: UOp, turn: float) -> UOp:
    """sin(x + turn * pi): whole half turns go, their parity is the sign."""
    r, low, shifted = _half_turns(x, turn)
    square = r * r
    correction = fma(square * -0.5, low, low)
    value = r + fma(r * square, horner(square, SIN), correction)
    odd = nu.shifted_left(nu.bits(shifted), 63)
    return nu.xor(nu.bits(value), odd).bitcast(F64)


def _half_turns(x: UOp, turn: float) -> tuple[UOp, UOp, UOp]:
    """(r, low, shifted): x + turn * pi == n * pi + r + low, with n in the low bits of `shifted`."""
    scaled = x * 2.0**-_SCALE
    products = [nu.two_product(scaled, part) for part in _parts_for(x)]
    large = [_modulo_two(product) for product in (*products[0], products[1][0])]
    total, errors = like(x, turn), []
    for term in (*large, products[1][1], _modulo_two(products[2][0])):
        total, error = nu.two_sum(total, term)
        errors.append(error)
    shifted = total + MAGIC
    f, low = total - (shifted - MAGIC), like(x, 0.0)
    small = (products[2][1], *(part for pair in products[3:] for part in pair))
    for term in (*errors, *small):
        f, error = nu.two_sum(f, term)
        low = low + error
    high, low = nu.fast_two_sum(f, low)
    r, left = nu.two_product(high, like(x, PI_HIGH))
    return r, fma(low, PI_HIGH, fma(high, PI_LOW, left)), shifted


def _parts_for(x: UOp) -> list[UOp]:
    """The parts of 1/pi that matter for x: the table moved by its band, one binary digit of the band at a time."""
    exponent = nu.shifted_right(nu.bits(nu.absolute(x)), 52).cast(dt.int32)
    beyond = (exponent - (1023 + 95 - _PART)).maximum(exponent.ufix(0))
    band = nu.shifted_right(
        beyond * 1599, 16
    )  # // 41, exact as far as exponents go
    parts = [like(x, value) for value in _PARTS]
    for step in (16, 8, 4, 2, 1):
        moves = (band & step).ne(0)
        kept = parts[: _USED + step - 1]
        moved = parts[step : step + len(kept)]
        parts = [
            moves.where(b, a) for a, b in zip(kept, moved, strict=False)
        ] + kept[len(moved) :]
    return parts[:_USED]


def _modulo_two(x: UOp) -> UOp:
    return fma(nu.rounded(x * 0.5), -2.0, x)


# --- pow ---


def power(x: UOp, y: UOp) -> UOp:
    """2**(y * log2 |x|) with the logarithm as a pair."""
    a = nu.absolute(x)
    high, low = _log2_pair(a)
    is_plain = nu.both(like(a, 0.0) < a, a < math.inf)
    edge = nu.choose(a.eq(0.0), like(a, -math.inf), a)
    high, low = nu.choose(is_plain, high, edge), nu.choose(is_plain, low, 0.0)
    z = y * high
    inside = like(z, 1100.0).minimum(like(z, -1100.0).maximum(z))
    left = fma(y, low, fma(y, high, -z))
    left = nu.choose(nu.absolute(z) < 1100.0, left, 0.0)
    shifted = inside + (MAGIC + 2 * 1023)
    f = (inside - (shifted - (MAGIC + 2 * 1023))) + left
    return power_special(x, y, nu.scale(horner(f, EXP2), shifted))


def _log2_pair(x: UOp) -> Pair:
    """log2 of a positive number to about 2**-68."""
    f, e = _log_parts(x)
    high, low = _log_pair(f)
    product, error = nu.two_product(high, like(high, LOG2E))
    rest = fma(high, LOG2E_LOW, fma(low, LOG2E, error))
    total, left = nu.two_sum(e, product)
    return nu.fast_two_sum(total, left + rest)


def _log_pair(f: UOp) -> Pair:
    """log(1 + f) = 2 s + 2/3 s**3 + s**5 * polynomial, s = f / (2 + f)"""
    divisor, divisor_low = nu.fast_two_sum(like(f, 2.0), f)
    s = f / divisor
    s_low = fma(-s, divisor_low, fma(-s, divisor, f)) / divisor
    square, square_low = nu.two_product(s, s)
    square_low = fma(s + s, s_low, square_low)
    cube, cube_low = nu.two_product(square, s)
    cube_low = fma(square, s_low, fma(square_low, s, cube_low))
    third, third_low = nu.two_product(cube, like(f, 2.0 / 3.0))
    third_low = fma(
        cube, 3.700743415417188e-17, fma(cube_low, 2.0 / 3.0, third_low)
    )
    tail = cube * square * horner(square, LOG_TAIL)
    high, low = nu.fast_two_sum(s + s, third)
    return nu.fast_two_sum(high, low + ((s_low + s_low) + (third_low + tail)))
