"""Functions: rectifiers. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Value, build, node
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never


def celu(x: Value, alpha: float = 1.0, **unknown: Never) -> Tensor:
    """x where it is above 0, else alpha * (exp(x / alpha) - 1)."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["celu"](node(x), alpha=alpha))


def selu(x: Value, **unknown: Never) -> Tensor:
    """elu, scaled so that mean 0 and variance 1 stay what they are."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["selu"](node(x)))


def threshold(x: Value, threshold: float = 0.0, value: float = 0.0, **unknown: Never) -> Tensor:
    """x where it is above the threshold, else the value."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["threshold"](node(x), threshold=threshold, value=value))


def hardshrink(x: Value, bound: float = 0.5, **unknown: Never) -> Tensor:
    """x where it is further from 0 than the bound, else 0."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["hardshrink"](node(x), bound=bound))


def softshrink(x: Value, bound: float = 0.5, **unknown: Never) -> Tensor:
    """x moved towards 0 by the bound, and 0 where it would pass it."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["softshrink"](node(x), bound=bound))


def tanhshrink(x: Value, **unknown: Never) -> Tensor:
    """x - tanh(x)."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["tanhshrink"](node(x)))


def prelu(x: Value, weight: Value, **unknown: Never) -> Tensor:
    """x where it is above 0, else weight * x; one weight, or one for each channel (axis 1)."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["prelu"](node(x), node(weight)))


def glu(x: Value, axis: int = unset(-1), *, dim: int = unset(-1), **unknown: Never) -> Tensor:
    """The first half along an axis times the sigmoid of the second."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("glu", "axis", axis, "dim", dim)
    return Tensor.of(build["glu"](node(x), axis=axis))


def softmin(x: Value, axis: int = unset(-1), *, dim: int = unset(-1), **unknown: Never) -> Tensor:
    """softmax(-x)."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("softmin", "axis", axis, "dim", dim)
    return Tensor.of(build["softmin"](node(x), axis=axis))


