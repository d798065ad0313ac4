"""Special functions: log10, logaddexp, erfc, lgamma, ... In: floats. Out: floats (see precise.py)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ops import elementwise as ew
from ingot.ops.elementwise import as_float, operands
from ingot.ops.gradient import Cotangents, Gradients, only
from ingot.ops.numeric import abs_, isfinite, log1p, square
from ingot.ops.op import apply, op, primitive
from ingot.ops.precise import declare, fma, number, polynomial, ratio, widely
from ingot.ops.promotion import Operand
from ingot.ops.rules import same_type, two_floats
from ingot.ops.sample import INF, NAN, SPECIAL, Sample, floats, sample, values
from ingot.ops.trigonometric import with_sign_of

_CLASH = sample(floats(2, 3), floats(2, 4))


def _clash(name: str) -> tuple[tuple[Sample, str], ...]:
    return ((_CLASH, f"{name}: shapes (2, 3) and (2, 4) do not broadcast"),)


# --- logarithms ---------------------------------------------------------------------------------------------------

_LOG10_2_HIGH, _LOG10_2_LOW = 3.01029995663611771306e-01, 3.69423907715893078616e-13


def _log10(x: UOp) -> UOp:
    """e * log10(2) + log10(m) for x = m * 2**e: the first product is exact, so that powers of ten are too."""
    wide = x.cast(dt.float64)
    is_small = ew.less(wide, 2.0**-1022)
    scaled = ew.where(is_small, ew.multiply(wide, 2.0**54), wide)
    bits = ew.bitcast(scaled, dt.int64)
    exponent = ew.subtract(ew.bitwise_right_shift(bits, 52), 1023)
    is_below = ew.less(exponent, 0).cast(dt.int64)
    fraction = bits & number(bits, (1 << 52) - 1)
    top = ew.bitwise_left_shift(ew.subtract(1023, is_below), 52)
    m = ew.bitcast(fraction | top, dt.float64)
    e = ew.add(exponent, is_below).cast(dt.float64)
    e = ew.where(is_small, ew.subtract(e, 54.0), e)
    rest = fma(e, _LOG10_2_LOW, m.alu(Ops.LOG) * number(m, 1 / math.log(10)))
    found = e * number(e, _LOG10_2_HIGH) + rest
    plain = ew.logical_and(ew.greater(wide, 0.0), isfinite(wide))
    return ew.where(plain, found, wide.alu(Ops.LOG)).cast(x.dtype)


log10 = declare(
    "log10",
    _log10,
    np.log10,
    "The logarithm to base 10.",
    sample(SPECIAL),
    sample(values(1e-5, 0.001, 0.1, 1.0, 10.0, 100.0, 1000.0, 1e15, 1e-40)),
    slope=lambda x: ew.reciprocal(ew.multiply(x, math.log(10))),
    ulp=2,
)


def _logaddexp(a: Operand, b: Operand) -> UOp:
    """log(exp(a) + exp(b)) without overflow."""
    return widely(_log_of_sum)(a, b)


def _log_of_sum(a: UOp, b: UOp) -> UOp:
    top = a.maximum(b)
    apart = ew.where(a.eq(b), 0.0, -abs_(a - b))  # inf - inf is no distance
    return top + log1p(apart.alu(Ops.EXP))


def _logaddexp_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """Each operand has its share of the sum."""
    g, (a, b) = only(cotangents), node.src
    return tuple(g * (x - node).alu(Ops.EXP) for x in (a, b))


logaddexp = op(
    "logaddexp",
    types=same_type,
    accept=two_floats("logaddexp"),
    lower=_logaddexp,
    ref=np.logaddexp,
    samples=(
        sample(floats(3, 4), floats(4)),
        sample(
            values(700.0, -700.0, INF, -INF, NAN), values(1.0, 2.0, INF, -INF, 0.0)
        ),
        sample(floats(3), 2.0),
    ),
    bad_samples=_clash("logaddexp"),
    grad=_logaddexp_grad,
    ulp=4,
)


def xlogy(a: Operand, b: Operand) -> UOp:
    """a * log(b), and 0 where a is 0."""
    left, right = map(as_float, operands("xlogy", a, b))
    extreme = ew.logical_or(ew.less_equal(right, 0.0), ew.equal(right, INF))
    nothing = ew.logical_and(ew.equal(left, 0.0), extreme)
    # In place of the logarithm of 0, so that the gradient of what is not taken is a number, too.
    return ew.where(nothing, 0.0, left * ew.log(ew.where(nothing, 1.0, right)))


def _xlogy(a: Any, b: Any) -> Any:
    return np.where((a == 0) & ~np.isnan(b), 0.0, a * np.log(b))


primitive(
    "xlogy",
    xlogy,
    ref=_xlogy,
    samples=(
        sample(floats(3, 4), floats(4, low=0.1)),
        sample(values(0.0, 0.0, 0.0, 1.0), values(0.0, 2.0, NAN, 0.0)),
    ),
    bad_samples=_clash("xlogy"),
    ulp=3,
)


def logit(x: UOp, eps: float | None = None) -> UOp:
    """log(x / (1 - x)); with eps, x is first kept between eps and 1 - eps."""
    given = as_float(x)
    if eps is not None:
        given = ew.minimum(ew.maximum(given, eps), 1 - eps)
    return widely(_logit)(given)


def _logit(x: UOp) -> UOp:
    return x.alu(Ops.LOG) - log1p(-x)


def _logit_ref(x: Any, eps: float | None = None) -> Any:
    inside = x if eps is None else np.clip(x, eps, 1 - eps)
    return np.log(inside / (1 - inside))


primitive(
    "logit",
    logit,
    ref=_logit_ref,
    samples=(
        sample(floats(3, 4, low=0.05, high=0.95)),
        sample(values(0.0, 1.0, 0.25, NAN)),
        sample(floats(4, low=-0.5, high=1.5), eps=0.01),
    ),
    ulp=16,
    normwise=True,
)


# --- the other side of erf ----------------------------------------------------------------------------------------

_ERFC_ABOVE = (
    2.46196981473530512524e-10,
    5.64189564831068821977e-1,
    7.46321056442269912687e0,
    4.86371970985681366614e1,
    1.96520832956077098242e2,
    5.26445194995477358631e2,
    9.34528527171957607540e2,
    1.02755188689515710272e3,
    5.57535335369399327526e2,
)
_ERFC_BELOW = (
    1.0,
    1.32281951154744992508e1,
    8.67072140885989742329e1,
    3.54937778887819891062e2,
    9.75708501743205489753e2,
    1.82390916687909736289e3,
    2.24633760818710981792e3,
    1.65666309194161350182e3,
    5.57535340817727675546e2,
)
_ERFC_FAR_ABOVE = (
    5.64189583547755073984e-1,
    1.27536670759978104416e0,
    5.01905042251180477414e0,
    6.16021097993053585195e0,
    7.40974269950448939160e0,
    2.97886665372100240670e0,
)
_ERFC_FAR_BELOW = (
    1.0,
    2.26052863220117276590e0,
    9.39603524938001434673e0,
    1.20489539808096656605e1,
    1.70814450747565897222e1,
    9.60896809063285878198e0,
    3.36907645100081516050e0,
)


def _erfc(x: UOp) -> UOp:
    """exp(-x**2) times a rational fit where erf is near 1, whose difference from 1 would have no digits left."""
    a = ew.minimum(abs_(x), 30.0)
    near = ratio(a, _ERFC_ABOVE, _ERFC_BELOW)
    far = ratio(a, _ERFC_FAR_ABOVE, _ERFC_FAR_BELOW)
    tail = _exp_of_minus_square(a) * ew.where(ew.less(a, 8.0), near, far)
    side = ew.where(ew.less(x, 0.0), ew.subtract(2.0, tail), tail)
    middle = ew.subtract(1.0, x.alu(Ops.ERF))
    found = ew.where(ew.less(abs_(x), 1.0), middle, side)
    return x.ne(x).where(x, found)


def _exp_of_minus_square(a: UOp) -> UOp:
    """exp(-a**2): the rounding of the square is worth many units of the result, so it is made good."""
    high = a * a
    low = fma(a, a, -high)
    power = (-high).alu(Ops.EXP)
    return power - power * low


erfc = declare(
    "erfc",
    _erfc,
    np.vectorize(math.erfc, otypes=[np.float64]),
    "1 - erf(x), exact where erf(x) is near 1.",
    sample(floats(8, low=-5, high=5)),
    sample(values(0.0, -0.0, 5.0, -5.0, 9.0, INF, -INF, NAN)),
    slope=lambda x: ew.multiply(
        ew.exp(ew.negative(square(x))), -2 / math.sqrt(math.pi)
    ),
    ulp=12,
)

_ERFINV_MIDDLE = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_ERFINV_TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


def _erfinv(x: UOp) -> UOp:
    """A fit good to seven digits, then two steps of Newton's method on the side of erf where digits are."""
    a = abs_(x)
    depth = -((number(a, 1.0) - a) * (number(a, 1.0) + a)).alu(Ops.LOG)
    is_near = ew.less(depth, 5.0)
    middle = polynomial(depth - number(depth, 2.5), _ERFINV_MIDDLE)
    tail = polynomial(depth.alu(Ops.SQRT) - number(depth, 3.0), _ERFINV_TAIL)
    y = ew.where(is_near, middle, tail) * a
    left = number(a, 1.0) - a
    for _ in range(2):
        off = ew.where(ew.less(a, 0.5), y.alu(Ops.ERF) - a, left - _erfc(y))
        y = y - off * _inverse_slope(y)
    edge = ew.where(ew.equal(a, 1.0), INF, y)
    return with_sign_of(ew.where(ew.less_equal(a, 1.0), edge, NAN), x)


def _inverse_slope(y: UOp) -> UOp:
    """1 / erf'(y)."""
    return (y * y).alu(Ops.EXP) * number(y, math.sqrt(math.pi) / 2)


def _erfinv_ref(x: Any) -> Any:
    """By bisection on erf and erfc."""
    return np.vectorize(_bisected, otypes=[np.float64])(x)


def _bisected(x: float) -> float:
    a = abs(x)
    if not a < 1:
        return math.copysign(INF, x) if a == 1 else NAN
    low, high = 0.0, 7.0
    for _ in range(200):
        middle = (low + high) / 2
        above = math.erf(middle) > a if a < 0.5 else math.erfc(middle) < 1 - a
        low, high = (low, middle) if above else (middle, high)
    return math.copysign(low, x)


erfinv = declare(
    "erfinv",
    _erfinv,
    _erfinv_ref,
    "The number whose error function is x.",
    sample(values(0.0, -0.0, 0.5, -0.99, 0.999999, 1.0, -1.0, 1.5, NAN)),
    slope=lambda x: ew.multiply(
        ew.exp(square(apply("erfinv", x))), math.sqrt(math.pi) / 2
    ),
    ulp=32,
)


# --- gamma --------------------------------------------------------------------------------------------------------

_LANCZOS = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)


def _lgamma(x: UOp) -> UOp:
    """Lanczos' sum above one half; below, the reflection log(pi / |sin(pi x)|) - lgamma(1 - x)."""
    is_left = ew.less(x, 0.5)
    z = ew.where(is_left, -x, x - number(x, 1.0))
    series = number(z, _LANCZOS[0])
    for i, coefficient in enumerate(_LANCZOS[1:], 1):
        series = series + number(z, coefficient) / (z + number(z, i))
    t = z + number(z, 7.5)
    power = fma(z + number(z, 0.5), t.alu(Ops.LOG), -t)
    right = (power + number(z, math.log(2 * math.pi) / 2)) + series.alu(Ops.LOG)
    fraction = x - x.alu(Ops.FLOOR)
    turned = abs_((fraction * number(x, math.pi)).alu(Ops.SIN))
    left = number(x, math.log(math.pi)) - turned.alu(Ops.LOG) - right
    found = ew.where(is_left, left, right)
    pole = ew.logical_and(ew.less_equal(x, 0.0), fraction.eq(number(x, 0.0)))
    found = ew.where(pole, INF, found)
    return ew.where(isfinite(x), found, ew.where(x.ne(x), NAN, INF))


def _lgamma_ref(x: Any) -> Any:
    return np.vectorize(_lgamma_of, otypes=[np.float64])(x)


def _lgamma_of(x: float) -> float:
    if math.isnan(x) or math.isinf(x):
        return abs(x)
    return INF if x <= 0 and x == math.floor(x) else math.lgamma(x)


lgamma = declare(
    "lgamma",
    _lgamma,
    _lgamma_ref,
    "log(|gamma(x)|).",
    sample(floats(8, low=-5, high=50)),
    sample(values(1.5, 2.5, 0.5, 100.0, 1e10, 0.0, -1.0, INF, -INF, NAN)),
    slope=lambda x: apply("digamma", x),
    ulp=64,
    normwise=True,  # near its zeros at 1 and 2 the error is that of its terms
)

_DIGAMMA = (
    -1 / 12,
    691 / 32760,
    -1 / 132,
    1 / 240,
    -1 / 252,
    1 / 120,
    -1 / 12,
)


def _digamma(x: UOp) -> UOp:
    """The asymptotic series above 8, reached by the recurrence; below 0, the reflection."""
    is_left = ew.less_equal(x, 0.0)
    z = ew.where(is_left, number(x, 1.0) - x, x)
    before = number(z, 0.0)
    for _ in range(8):
        is_low = ew.less(z, 8.0)
        before = ew.where(is_low, before - ew.reciprocal(z), before)
        z = ew.where(is_low, z + number(z, 1.0), z)
    inverse = ew.reciprocal(z * z)
    series = polynomial(inverse, _DIGAMMA) * inverse
    far = z.alu(Ops.LOG) - ew.reciprocal(z + z)
    right = before + (far + series)
    pole = ew.logical_and(is_left, x.eq(x.alu(Ops.FLOOR)))
    turns = ew.logical_and(is_left, x.ne(x.alu(Ops.FLOOR)))
    distance = ew.where(turns, x - x.alu(Ops.ROUND), 0.5)  # elsewhere a safe one
    angle = distance * number(x, math.pi)
    turned = number(x, math.pi) * angle.alu(Ops.COS) / angle.alu(Ops.SIN)
    found = ew.where(is_left, right - turned, right)
    return ew.where(pole, NAN, found)


def _digamma_ref(x: Any) -> Any:
    """From differences of lgamma: the recurrence takes x far out, where one term of the series is left."""
    return np.vectorize(_digamma_of, otypes=[np.float64])(x)


def _digamma_of(x: float) -> float:
    if x <= 0 and x == math.floor(x):
        return NAN
    total = 0.0
    if x < 0:
        total, x = -math.pi / math.tan(math.pi * x), 1 - x
    steps = [1 / (x + i) for i in range(200)]
    z = x + 200
    tail = math.log(z) - 1 / (2 * z) - 1 / (12 * z**2) + 1 / (120 * z**4)
    return total + tail - math.fsum(steps)


digamma = declare(
    "digamma",
    _digamma,
    _digamma_ref,
    "The derivative of lgamma.",
    sample(floats(8, low=0.5, high=50)),
    sample(values(1.0, 2.5, 0.25, 100.0, -1.5, -0.25, 0.0, -1.0)),
    ulp=64,
    normwise=True,
)
