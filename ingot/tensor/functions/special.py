"""Functions: special. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Value, build, node, operand
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never


def log10(x: Value, **unknown: Never) -> Tensor:
    """The logarithm to base 10."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["log10"](node(x)))


def logaddexp(a: Value, b: Value, **unknown: Never) -> Tensor:
    """log(exp(a) + exp(b)) without overflow."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["logaddexp"](operand(a), operand(b)))


def xlogy(a: Value, b: Value, **unknown: Never) -> Tensor:
    """a * log(b), and 0 where a is 0."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["xlogy"](operand(a), operand(b)))


def logit(x: Value, eps: float | None = None, **unknown: Never) -> Tensor:
    """log(x / (1 - x)); with eps, x is first kept between eps and 1 - eps."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["logit"](node(x), eps=eps))


def erfc(x: Value, **unknown: Never) -> Tensor:
    """1 - erf(x), exact where erf(x) is near 1."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["erfc"](node(x)))


def erfinv(x: Value, **unknown: Never) -> Tensor:
    """The number whose error function is x."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["erfinv"](node(x)))


def lgamma(x: Value, **unknown: Never) -> Tensor:
    """log(|gamma(x)|)."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["lgamma"](node(x)))


def digamma(x: Value, **unknown: Never) -> Tensor:
    """The derivative of lgamma."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["digamma"](node(x)))


