"""Functions: activation. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Value, build, node
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never


def relu(x: Value, **unknown: Never) -> Tensor:
    """x where it is above 0, else 0."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["relu"](node(x)))


def relu6(x: Value, **unknown: Never) -> Tensor:
    """x between 0 and 6."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["relu6"](node(x)))


def leaky_relu(x: Value, slope: float = 0.01, **unknown: Never) -> Tensor:
    """x where it is above 0, else slope * x."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["leaky_relu"](node(x), slope=slope))


def elu(x: Value, alpha: float = 1.0, **unknown: Never) -> Tensor:
    """x where it is above 0, else alpha * (exp(x) - 1)."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["elu"](node(x), alpha=alpha))


def sigmoid(x: Value, **unknown: Never) -> Tensor:
    """1 / (1 + exp(-x)); exp never sees a number above 0, so nothing overflows and small results stay exact."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["sigmoid"](node(x)))


def logsigmoid(x: Value, **unknown: Never) -> Tensor:
    """log(sigmoid(x))."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["logsigmoid"](node(x)))


def silu(x: Value, **unknown: Never) -> Tensor:
    """x * sigmoid(x)."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["silu"](node(x)))


def softplus(x: Value, **unknown: Never) -> Tensor:
    """log(1 + exp(x))."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["softplus"](node(x)))


def mish(x: Value, **unknown: Never) -> Tensor:
    """x * tanh(softplus(x))."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["mish"](node(x)))


def softsign(x: Value, **unknown: Never) -> Tensor:
    """x / (1 + |x|)."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["softsign"](node(x)))


def hardtanh(x: Value, low: float = -1.0, high: float = 1.0, **unknown: Never) -> Tensor:
    """x between low and high."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["hardtanh"](node(x), low=low, high=high))


def hardsigmoid(x: Value, **unknown: Never) -> Tensor:
    """(x + 3) / 6 between 0 and 1."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["hardsigmoid"](node(x)))


def hardswish(x: Value, **unknown: Never) -> Tensor:
    """x * hardsigmoid(x)."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["hardswish"](node(x)))


def gelu(x: Value, approximate: str = "none", **unknown: Never) -> Tensor:
    """x times the normal distribution below x; approximate="tanh" uses tanh in place of erf."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["gelu"](node(x), approximate=approximate))


def quick_gelu(x: Value, **unknown: Never) -> Tensor:
    """x * sigmoid(1.702 * x)."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["quick_gelu"](node(x)))


def softmax(x: Value, axis: int = unset(-1), *, dim: int = unset(-1), **unknown: Never) -> Tensor:
    """exp(x) over its sum: numbers above 0 that add up to 1."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("softmax", "axis", axis, "dim", dim)
    return Tensor.of(build["softmax"](node(x), axis=axis))


def log_softmax(x: Value, axis: int = unset(-1), *, dim: int = unset(-1), **unknown: Never) -> Tensor:
    """log(softmax(x)) without overflow."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("log_softmax", "axis", axis, "dim", dim)
    return Tensor.of(build["log_softmax"](node(x), axis=axis))


swish = silu
