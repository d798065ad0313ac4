"""Methods: activation. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Handle, build

if TYPE_CHECKING:
    from typing import Never, Self


class ActivationMethods(Handle):
    """Ops of ops/activation.py as methods."""

    __slots__ = ()

    def relu(self, **unknown: Never) -> Self:
        """x where it is above 0, else 0."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["relu"](self.uop))

    def relu6(self, **unknown: Never) -> Self:
        """x between 0 and 6."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["relu6"](self.uop))

    def leaky_relu(self, slope: float = 0.01, **unknown: Never) -> Self:
        """x where it is above 0, else slope * x."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["leaky_relu"](self.uop, slope=slope))

    def elu(self, alpha: float = 1.0, **unknown: Never) -> Self:
        """x where it is above 0, else alpha * (exp(x) - 1)."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["elu"](self.uop, alpha=alpha))

    def sigmoid(self, **unknown: Never) -> Self:
        """1 / (1 + exp(-x)); exp never sees a number above 0, so nothing overflows and small results stay exact."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["sigmoid"](self.uop))

    def logsigmoid(self, **unknown: Never) -> Self:
        """log(sigmoid(x))."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["logsigmoid"](self.uop))

    def silu(self, **unknown: Never) -> Self:
        """x * sigmoid(x)."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["silu"](self.uop))

    def softplus(self, **unknown: Never) -> Self:
        """log(1 + exp(x))."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["softplus"](self.uop))

    def mish(self, **unknown: Never) -> Self:
        """x * tanh(softplus(x))."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["mish"](self.uop))

    def softsign(self, **unknown: Never) -> Self:
        """x / (1 + |x|)."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["softsign"](self.uop))

    def hardtanh(self, low: float = -1.0, high: float = 1.0, **unknown: Never) -> Self:
        """x between low and high."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["hardtanh"](self.uop, low=low, high=high))

    def hardsigmoid(self, **unknown: Never) -> Self:
        """(x + 3) / 6 between 0 and 1."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["hardsigmoid"](self.uop))

    def hardswish(self, **unknown: Never) -> Self:
        """x * hardsigmoid(x)."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["hardswish"](self.uop))

    def gelu(self, approximate: str = "none", **unknown: Never) -> Self:
        """x times the normal distribution below x; approximate="tanh" uses tanh in place of erf."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["gelu"](self.uop, approximate=approximate))

    def quick_gelu(self, **unknown: Never) -> Self:
        """x * sigmoid(1.702 * x)."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["quick_gelu"](self.uop))

    def softmax(self, axis: int = unset(-1), *, dim: int = unset(-1), **unknown: Never) -> Self:
        """exp(x) over its sum: numbers above 0 that add up to 1."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("softmax", "axis", axis, "dim", dim)
        return self.of(build["softmax"](self.uop, axis=axis))

    def log_softmax(self, axis: int = unset(-1), *, dim: int = unset(-1), **unknown: Never) -> Self:
        """log(softmax(x)) without overflow."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("log_softmax", "axis", axis, "dim", dim)
        return self.of(build["log_softmax"](self.uop, axis=axis))

    swish = silu
