"""Functions: numeric. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Value, build, node, operand, optional_operand
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never


def abs(x: Value, **unknown: Never) -> Tensor:
    """The distance from 0."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["abs"](node(x)))


def sign(x: Value, **unknown: Never) -> Tensor:
    """-1, 0 or 1; a NaN stays."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["sign"](node(x)))


def isnan(x: Value, **unknown: Never) -> Tensor:
    """Whether x is not a number."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["isnan"](node(x)))


def isinf(x: Value, **unknown: Never) -> Tensor:
    """Whether x is infinite."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["isinf"](node(x)))


def isfinite(x: Value, **unknown: Never) -> Tensor:
    """Whether x is neither infinite nor NaN."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["isfinite"](node(x)))


def ceil(x: Value, **unknown: Never) -> Tensor:
    """The smallest whole number that is not below x."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["ceil"](node(x)))


def square(x: Value, **unknown: Never) -> Tensor:
    """x * x."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["square"](node(x)))


def rsqrt(x: Value, **unknown: Never) -> Tensor:
    """1 / sqrt(x)."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["rsqrt"](node(x)))


def clip(x: Value, min: Value | None = None, max: Value | None = None, **unknown: Never) -> Tensor:
    """x, but not below `min` nor above `max`."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["clip"](node(x), optional_operand(min), optional_operand(max)))


def pow(a: Value, b: Value, **unknown: Never) -> Tensor:
    """a to the power b."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["pow"](operand(a), operand(b)))


def floor_divide(a: Value, b: Value, **unknown: Never) -> Tensor:
    """The largest whole number that is not above a / b; of integers, 0 where b is 0."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["floor_divide"](operand(a), operand(b)))


def remainder(a: Value, b: Value, **unknown: Never) -> Tensor:
    """What is left of a after floor_divide, with the sign of b; of integers, 0 where b is 0."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["remainder"](operand(a), operand(b)))


def log1p(x: Value, **unknown: Never) -> Tensor:
    """log(1 + x), exact for small x too."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["log1p"](node(x)))


def expm1(x: Value, **unknown: Never) -> Tensor:
    """exp(x) - 1, exact for small x too."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["expm1"](node(x)))


clamp = clip
mod = remainder
