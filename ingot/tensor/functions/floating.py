"""Functions: floating. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Value, build, node, operand
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never


def copysign(a: Value, b: Value, **unknown: Never) -> Tensor:
    """|a| with the sign of b, that of -0.0 too."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["copysign"](operand(a), operand(b)))


def signbit(x: Value, **unknown: Never) -> Tensor:
    """Whether the sign is set: of -0.0 too."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["signbit"](node(x)))


def positive(x: Value, **unknown: Never) -> Tensor:
    """x itself."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["positive"](node(x)))


def isposinf(x: Value, **unknown: Never) -> Tensor:
    """Whether x is infinite and above 0."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["isposinf"](node(x)))


def isneginf(x: Value, **unknown: Never) -> Tensor:
    """Whether x is infinite and below 0."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["isneginf"](node(x)))


def heaviside(x: Value, at_zero: Value, **unknown: Never) -> Tensor:
    """0 below 0, 1 above, `at_zero` at 0."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["heaviside"](operand(x), operand(at_zero)))


def nextafter(a: Value, b: Value, **unknown: Never) -> Tensor:
    """The float next to a on the way to b."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["nextafter"](operand(a), operand(b)))


def nan_to_num(
    x: Value,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
    **unknown: Never,
) -> Tensor:
    """NaN and infinities replaced: by 0, and the largest and smallest finite numbers."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["nan_to_num"](node(x), nan=nan, posinf=posinf, neginf=neginf))


def fmax(a: Value, b: Value, **unknown: Never) -> Tensor:
    """The larger of a and b; a NaN only if both are."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["fmax"](operand(a), operand(b)))


def fmin(a: Value, b: Value, **unknown: Never) -> Tensor:
    """The smaller of a and b; a NaN only if both are."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["fmin"](operand(a), operand(b)))


def fmod(a: Value, b: Value, **unknown: Never) -> Tensor:
    """What is left of a after dividing by b towards 0: it has the sign of a; of integers, 0 where b is 0."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["fmod"](operand(a), operand(b)))


def frac(x: Value, **unknown: Never) -> Tensor:
    """x without its whole part: it keeps the sign."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["frac"](node(x)))


def lerp(start: Value, end: Value, weight: Value, **unknown: Never) -> Tensor:
    """start + weight * (end - start), exact at both ends."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["lerp"](operand(start), operand(end), operand(weight)))


def isclose(
    a: Value,
    b: Value,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
    **unknown: Never,
) -> Tensor:
    """Whether |a - b| <= atol + rtol * |b|."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["isclose"](operand(a), operand(b), rtol=rtol, atol=atol, equal_nan=equal_nan))


def real(x: Value, **unknown: Never) -> Tensor:
    """The real part: x itself."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["real"](node(x)))


def imag(x: Value, **unknown: Never) -> Tensor:
    """The imaginary part: 0 everywhere."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["imag"](node(x)))


def conj(x: Value, **unknown: Never) -> Tensor:
    """The complex conjugate: of a real number itself."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["conj"](node(x)))


