"""Functions: trigonometric. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Value, build, node, operand
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never


def cos(x: Value, **unknown: Never) -> Tensor:
    """The cosine of x in radians."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["cos"](node(x)))


def tan(x: Value, **unknown: Never) -> Tensor:
    """The tangent of x in radians."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["tan"](node(x)))


def atan(x: Value, **unknown: Never) -> Tensor:
    """The angle whose tangent is x, between -pi/2 and pi/2."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["atan"](node(x)))


def atan2(y: Value, x: Value, **unknown: Never) -> Tensor:
    """The angle of the point (x, y), between -pi and pi."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["atan2"](operand(y), operand(x)))


def asin(x: Value, **unknown: Never) -> Tensor:
    """The angle whose sine is x, between -pi/2 and pi/2."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["asin"](node(x)))


def acos(x: Value, **unknown: Never) -> Tensor:
    """The angle whose cosine is x, between 0 and pi."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["acos"](node(x)))


def sinh(x: Value, **unknown: Never) -> Tensor:
    """The hyperbolic sine."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["sinh"](node(x)))


def cosh(x: Value, **unknown: Never) -> Tensor:
    """The hyperbolic cosine."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["cosh"](node(x)))


def asinh(x: Value, **unknown: Never) -> Tensor:
    """The number whose hyperbolic sine is x."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["asinh"](node(x)))


def acosh(x: Value, **unknown: Never) -> Tensor:
    """The number, not below 0, whose hyperbolic cosine is x."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["acosh"](node(x)))


def atanh(x: Value, **unknown: Never) -> Tensor:
    """The number whose hyperbolic tangent is x."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["atanh"](node(x)))


def deg2rad(x: Value, **unknown: Never) -> Tensor:
    """Degrees as radians."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["deg2rad"](node(x)))


def rad2deg(x: Value, **unknown: Never) -> Tensor:
    """Radians as degrees."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["rad2deg"](node(x)))


def sinc(x: Value, **unknown: Never) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["sinc"](node(x)))


def hypot(a: Value, b: Value, **unknown: Never) -> Tensor:
    """sqrt(a**2 + b**2) without overflow."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["hypot"](operand(a), operand(b)))


arctan = atan
arctan2 = atan2
arcsin = asin
arccos = acos
arcsinh = asinh
arccosh = acosh
arctanh = atanh
