"""Angles and hyperbolas: cos, tan, atan2, sinh, acosh, ... In: floats. Out: floats, within 2 ulp in float32.

sin and cos are opcodes; the others are formulas over them, exp, log and two rational fits (see precise.py).
"""

from __future__ import annotations

import math

import numpy as np

from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ops import elementwise as ew
from ingot.ops.elementwise import as_float, operands
from ingot.ops.gradient import Cotangents, Gradients, only
from ingot.ops.numeric import abs_, expm1, isinf, log1p, rsqrt, square
from ingot.ops.op import apply, op, primitive
from ingot.ops.precise import declare, fma, number, ratio, widely
from ingot.ops.promotion import Operand
from ingot.ops.rules import same_type, two_floats
from ingot.ops.sample import INF, NAN, SPECIAL, floats, ints, sample, values

PI_HIGH, PI_LOW = math.pi, 1.2246467991473532e-16  # their sum is pi to 107 bits
_FAR = values(0.0, -0.0, 1e-30, 20.0, -20.0, 80.0, -80.0, 1e30, INF, -INF, NAN)
_UNIT = values(0.0, -0.0, 1.0, -1.0, 0.999, -0.999, 1e-30, 0.5, -0.5, 2.0, NAN)


def with_sign_of(magnitude: UOp, x: UOp) -> UOp:
    """The magnitude with the sign of x, that of -0.0 too."""
    word = ew.bitcast(x, f"uint{x.dtype.bits}")
    top = number(word, 1 << (x.dtype.bits - 1))
    without = ew.bitcast(abs_(magnitude), word.dtype)
    return ew.bitcast(without | (word & top), x.dtype)


# --- turning ------------------------------------------------------------------------------------------------------


def cos(x: UOp) -> UOp:
    """The cosine of x in radians."""
    return as_float(x).alu(Ops.COS)


primitive(
    "cos",
    cos,
    ref=np.cos,
    samples=(
        sample(floats(3, 4)),
        sample(ints(4)),
        sample(values(0.0, -0.0, 1e5, 1e22, INF, NAN)),
    ),
    ulp=2,
)


def _tan(x: UOp) -> UOp:
    return x.alu(Ops.SIN) / x.alu(Ops.COS)


tan = declare(
    "tan",
    _tan,
    np.tan,
    "The tangent of x in radians.",
    sample(values(0.0, -0.0, 1.5, 1e5, 1e22, INF, NAN)),
    slope=lambda x: ew.reciprocal(square(cos(x))),
    ulp=6,
)


# --- back from a ratio to an angle --------------------------------------------------------------------------------

_ATAN_ABOVE = (
    -8.750608600031904122785e-1,
    -1.615753718733365076637e1,
    -7.500855792314704667340e1,
    -1.228866684490136173410e2,
    -6.485021904942025371773e1,
)
_ATAN_BELOW = (
    1.0,
    2.485846490142306297962e1,
    1.650270098316988542046e2,
    4.328810604912902668951e2,
    4.853903996359136964868e2,
    1.945506571482613964425e2,
)


def _atan_ratio(above: UOp, below: UOp) -> UOp:
    """atan(above / below) for 0 <= above <= below: an eighth of a turn or none is taken off first."""
    steep = number(below, 0.66) * below < above
    top = steep.where(above - below, above)
    base = steep.where(above + below, below)
    x = top / base
    # 0 / 0 is the corner, where the angle is 0.
    t = base.eq(number(base, 0.0)).where(number(x, 0.0), x)
    z = t * t
    tail = fma(t * z, ratio(z, _ATAN_ABOVE, _ATAN_BELOW), t)
    turn = steep.where(number(t, PI_HIGH / 4), number(t, 0.0))
    rest = steep.where(number(t, PI_LOW / 4), number(t, 0.0))
    return turn + (tail + rest)


def _atan(x: UOp) -> UOp:
    a = abs_(x)
    one = number(x, 1.0)
    is_large = one < a
    angle = _atan_ratio(
        is_large.where(one, a),
        is_large.where(a, one),
    )
    quarter = (number(x, PI_HIGH / 2) - angle) + number(x, PI_LOW / 2)
    found = with_sign_of(is_large.where(quarter, angle), x)
    return x.ne(x).where(x, found)


atan = declare(
    "atan",
    _atan,
    np.arctan,
    "The angle whose tangent is x, between -pi/2 and pi/2.",
    sample(SPECIAL),
    sample(floats(5, low=-20, high=20)),
    slope=lambda x: ew.reciprocal(ew.add(square(x), 1.0)),
    aliases=("arctan",),
)


def _atan2(y: UOp, x: UOp) -> UOp:
    """The angle of the point (x, y), between -pi and pi."""
    across, up = abs_(x), abs_(y)
    both = isinf(across) & isinf(up)
    one = number(x, 1.0)
    across, up = both.where(one, across), both.where(one, up)
    is_steep = across < up
    angle = _atan_ratio(is_steep.where(across, up), is_steep.where(up, across))
    angle = is_steep.where(
        (number(x, PI_HIGH / 2) - angle) + number(x, PI_LOW / 2), angle
    )
    is_left = ew.less(with_sign_of(one, x), 0.0)
    angle = is_left.where((number(x, PI_HIGH) - angle) + number(x, PI_LOW), angle)
    found = with_sign_of(angle, y)
    return (x.ne(x) | y.ne(y)).where(number(x, NAN), found)


def _atan2_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """The point (0, 0) has no angle, and no slope."""
    g, (y, x) = only(cotangents), node.src
    square_ = x * x + y * y
    nowhere = ew.equal(square_, 0.0)
    scaled = ew.where(nowhere, 0.0, g / ew.where(nowhere, 1.0, square_))
    return x * scaled, -(y * scaled)


def _atan2_lower(y: Operand, x: Operand) -> UOp:
    """The angle of the point (x, y), between -pi and pi."""
    return widely(_atan2)(y, x)


_SIGNS = values(0.0, -0.0, 1.0, -1.0, INF, -INF, NAN)
atan2 = op(
    "atan2",
    types=same_type,
    accept=two_floats("atan2"),
    lower=_atan2_lower,
    ref=np.arctan2,
    samples=(
        sample(floats(3, 4), floats(3, 4)),
        sample(floats(3, 1), floats(4)),
        sample(_SIGNS, floats(1)),
        sample(floats(3), 2),
        *(sample(_SIGNS, values(*[v] * 7)) for v in (0.0, -0.0, INF, -INF, -2.0)),
        sample(values(1e38, 1e-38), values(-1e-38, 1e38)),
    ),
    bad_samples=(
        (
            sample(floats(2, 3), floats(2, 4)),
            "atan2: shapes (2, 3) and (2, 4) do not broadcast",
        ),
    ),
    grad=_atan2_grad,
    aliases=("arctan2",),
)

_ASIN_ABOVE = (
    4.253011369004428248960e-3,
    -6.019598008014123785661e-1,
    5.444622390564711410273e0,
    -1.626247967210700244449e1,
    1.956261983317594739197e1,
    -8.198089802484824371615e0,
)
_ASIN_BELOW = (
    1.0,
    -1.474091372988853791896e1,
    7.049610280856842141659e1,
    -1.471791292232726029859e2,
    1.395105614657485689735e2,
    -4.918853881490881290097e1,
)


def _asin_near(x: UOp) -> UOp:
    """asin for |x| <= 0.5 and a little more."""
    z = x * x
    return fma(x * z, ratio(z, _ASIN_ABOVE, _ASIN_BELOW), x)


def _asin(x: UOp) -> UOp:
    """Above a half the angle is a quarter turn less twice the asin of sqrt((1 - x) / 2)."""
    a = abs_(x)
    is_large = number(a, 0.5) < a
    root = ((number(a, 1.0) - a) * number(a, 0.5)).alu(Ops.SQRT)
    near = _asin_near(is_large.where(root, a))
    far = number(a, PI_HIGH / 2) - (near + near - number(a, PI_LOW / 2))
    found = with_sign_of(is_large.where(far, near), x)
    return _inside(a, found)


def _inside(a: UOp, found: UOp) -> UOp:
    """NaN where a > 1 or is NaN."""
    return ew.where(ew.less_equal(a, 1.0), found, NAN)


def _acos(x: UOp) -> UOp:
    """Near 1 the angle is twice the asin of sqrt((1 - x) / 2), which is exact where the angle is small."""
    a = abs_(x)
    is_large = number(a, 0.5) < a
    root = ((number(a, 1.0) - a) * number(a, 0.5)).alu(Ops.SQRT)
    near = _asin_near(is_large.where(root, x))
    twice = near + near
    is_left = x < number(x, 0.0)
    turned = number(x, PI_HIGH) - (twice - number(x, PI_LOW))
    side = is_left.where(turned, twice)
    middle = number(x, PI_HIGH / 2) - (near - number(x, PI_LOW / 2))
    return _inside(a, is_large.where(side, middle))


def _side(x: UOp) -> UOp:
    """1 / sqrt(1 - x**2)."""
    return rsqrt(ew.multiply(ew.subtract(1.0, x), ew.add(x, 1.0)))


asin = declare(
    "asin",
    _asin,
    np.arcsin,
    "The angle whose sine is x, between -pi/2 and pi/2.",
    sample(_UNIT),
    slope=_side,
    aliases=("arcsin",),
)
acos = declare(
    "acos",
    _acos,
    np.arccos,
    "The angle whose cosine is x, between 0 and pi.",
    sample(_UNIT),
    slope=lambda x: ew.negative(_side(x)),
    aliases=("arccos",),
)


# --- hyperbolas ---------------------------------------------------------------------------------------------------


def _sinh(x: UOp) -> UOp:
    """(t + t / (t + 1)) / 2 with t = exp(|x|) - 1; far out, half of exp in two factors that do not overflow."""
    a = abs_(x)
    t = expm1(a)
    near = (t + t / (t + number(t, 1.0))) * number(t, 0.5)
    return with_sign_of(ew.where(ew.less(a, 22.0), near, _half_exp(a)), x)


def _cosh(x: UOp) -> UOp:
    """(exp(|x|) + exp(-|x|)) / 2."""
    a = abs_(x)
    power = a.alu(Ops.EXP)
    near = (power + ew.reciprocal(power)) * number(a, 0.5)
    return ew.where(ew.less(a, 22.0), near, _half_exp(a))


def _half_exp(a: UOp) -> UOp:
    """exp(a) / 2, which may be finite where exp(a) is not."""
    root = (a * number(a, 0.5)).alu(Ops.EXP)
    return root * number(a, 0.5) * root


def _asinh(x: UOp) -> UOp:
    """log1p(|x| + x**2 / (1 + sqrt(x**2 + 1))); far out, log(2 |x|)."""
    a = abs_(x)
    z = a * a
    one = number(a, 1.0)
    near = log1p(a + z / (one + (z + one).alu(Ops.SQRT)))
    far = a.alu(Ops.LOG) + number(a, math.log(2))
    return with_sign_of(ew.where(ew.less(a, 2.0**28), near, far), x)


def _acosh(x: UOp) -> UOp:
    """log1p(t + sqrt(2 t + t**2)) with t = x - 1; far out, log(2 x)."""
    t = x - number(x, 1.0)
    near = log1p(t + (t + t + t * t).alu(Ops.SQRT))
    far = x.alu(Ops.LOG) + number(x, math.log(2))
    found = ew.where(ew.less(x, 2.0**28), near, far)
    return ew.where(ew.less(x, 1.0), NAN, found)


def _atanh(x: UOp) -> UOp:
    """log1p(2 a / (1 - a)) / 2 with a = |x|."""
    a = abs_(x)
    found = log1p((a + a) / (number(a, 1.0) - a)) * number(a, 0.5)
    return with_sign_of(ew.where(ew.less(1.0, a), NAN, found), x)


sinh = declare(
    "sinh",
    _sinh,
    np.sinh,
    "The hyperbolic sine.",
    sample(_FAR),
    sample(floats(5)),
    slope=lambda x: apply("cosh", x),
    ulp=8,
)
cosh = declare(
    "cosh",
    _cosh,
    np.cosh,
    "The hyperbolic cosine.",
    sample(_FAR),
    sample(floats(5)),
    slope=lambda x: apply("sinh", x),
)
asinh = declare(
    "asinh",
    _asinh,
    np.arcsinh,
    "The number whose hyperbolic sine is x.",
    sample(_FAR),
    slope=lambda x: rsqrt(ew.add(square(x), 1.0)),
    ulp=8,
    aliases=("arcsinh",),
)
acosh = declare(
    "acosh",
    _acosh,
    np.arccosh,
    "The number, not below 0, whose hyperbolic cosine is x.",
    sample(values(1.0, 1.0000001, 1.5, 3.0, 20.0, 1e30, INF, NAN, 0.5, -1.0)),
    slope=lambda x: rsqrt(ew.multiply(ew.subtract(x, 1.0), ew.add(x, 1.0))),
    ulp=8,
    aliases=("arccosh",),
)
atanh = declare(
    "atanh",
    _atanh,
    np.arctanh,
    "The number whose hyperbolic tangent is x.",
    sample(_UNIT),
    slope=lambda x: ew.reciprocal(ew.subtract(1.0, square(x))),
    ulp=8,
    aliases=("arctanh",),
)


# --- degrees ------------------------------------------------------------------------------------------------------


def deg2rad(x: UOp) -> UOp:
    """Degrees as radians."""
    return ew.multiply(as_float(x), math.pi / 180)


def rad2deg(x: UOp) -> UOp:
    """Radians as degrees."""
    return ew.multiply(as_float(x), 180 / math.pi)


def sinc(x: UOp) -> UOp:
    """sin(pi x) / (pi x), and 1 at 0."""
    angle = ew.multiply(as_float(x), math.pi)
    nothing = ew.equal(angle, 0.0)
    safe = ew.where(nothing, 1.0, angle)
    return ew.where(nothing, 1.0, ew.divide(ew.sin(safe), safe))


primitive(
    "deg2rad", deg2rad, ref=np.deg2rad, samples=(sample(floats(3, 4)),), ulp=2
)
primitive(
    "rad2deg", rad2deg, ref=np.rad2deg, samples=(sample(floats(3, 4)),), ulp=2
)
primitive(
    "sinc",
    sinc,
    ref=np.sinc,
    samples=(sample(floats(3, 4)), sample(values(0.0, -0.0, 0.5, 1.5))),
    ulp=16,
    normwise=True,
)


def hypot(a: Operand, b: Operand) -> UOp:
    """sqrt(a**2 + b**2) without overflow."""
    left, right = operands("hypot", a, b)
    x, y = abs_(as_float(left)), abs_(as_float(right))
    return widely(_hypot)(x, y)


def _hypot(x: UOp, y: UOp) -> UOp:
    """The larger times sqrt(1 + ratio**2); an infinite one wins over a NaN."""
    large, small = ew.maximum(x, y), ew.minimum(x, y)
    shrink = ew.where(ew.equal(large, 0.0), 0.0, small / large)
    root = ew.sqrt(fma(shrink, shrink, 1.0))
    return ew.where(isinf(x) | isinf(y), INF, large * root)


primitive(
    "hypot",
    hypot,
    ref=np.hypot,
    samples=(
        sample(floats(3, 4), floats(4)),
        sample(_SIGNS, values(*[NAN] * 7)),
        sample(values(1e30, 1e-30, 0.0, INF), values(1e30, 1e-30, -0.0, 1.0)),
        sample(floats(3), 2),
    ),
    bad_samples=(
        (
            sample(floats(2, 3), floats(2, 4)),
            "hypot: shapes (2, 3) and (2, 4) do not broadcast",
        ),
    ),
    ulp=4,
)
