"""Methods: rectifiers. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Handle, Value, build, node

if TYPE_CHECKING:
    from typing import Never, Self


class RectifiersMethods(Handle):
    """Ops of ops/rectifiers.py as methods."""

    __slots__ = ()

    def celu(self, alpha: float = 1.0, **unknown: Never) -> Self:
        """x where it is above 0, else alpha * (exp(x / alpha) - 1)."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["celu"](self.uop, alpha=alpha))

    def selu(self, **unknown: Never) -> Self:
        """elu, scaled so that mean 0 and variance 1 stay what they are."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["selu"](self.uop))

    def threshold(self, threshold: float = 0.0, value: float = 0.0, **unknown: Never) -> Self:
        """x where it is above the threshold, else the value."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["threshold"](self.uop, threshold=threshold, value=value))

    def hardshrink(self, bound: float = 0.5, **unknown: Never) -> Self:
        """x where it is further from 0 than the bound, else 0."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["hardshrink"](self.uop, bound=bound))

    def softshrink(self, bound: float = 0.5, **unknown: Never) -> Self:
        """x moved towards 0 by the bound, and 0 where it would pass it."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["softshrink"](self.uop, bound=bound))

    def tanhshrink(self, **unknown: Never) -> Self:
        """x - tanh(x)."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["tanhshrink"](self.uop))

    def prelu(self, weight: Value, **unknown: Never) -> Self:
        """x where it is above 0, else weight * x; one weight, or one for each channel (axis 1)."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["prelu"](self.uop, node(weight)))

    def glu(self, axis: int = unset(-1), *, dim: int = unset(-1), **unknown: Never) -> Self:
        """The first half along an axis times the sigmoid of the second."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("glu", "axis", axis, "dim", dim)
        return self.of(build["glu"](self.uop, axis=axis))

    def softmin(self, axis: int = unset(-1), *, dim: int = unset(-1), **unknown: Never) -> Self:
        """softmax(-x)."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("softmin", "axis", axis, "dim", dim)
        return self.of(build["softmin"](self.uop, axis=axis))

