"""Methods: special. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Handle, Value, build, operand

if TYPE_CHECKING:
    from typing import Never, Self


class SpecialMethods(Handle):
    """Ops of ops/special.py as methods."""

    __slots__ = ()

    def log10(self, **unknown: Never) -> Self:
        """The logarithm to base 10."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["log10"](self.uop))

    def logaddexp(self, b: Value, **unknown: Never) -> Self:
        """log(exp(a) + exp(b)) without overflow."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["logaddexp"](self.uop, operand(b)))

    def xlogy(self, b: Value, **unknown: Never) -> Self:
        """a * log(b), and 0 where a is 0."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["xlogy"](self.uop, operand(b)))

    def logit(self, eps: float | None = None, **unknown: Never) -> Self:
        """log(x / (1 - x)); with eps, x is first kept between eps and 1 - eps."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["logit"](self.uop, eps=eps))

    def erfc(self, **unknown: Never) -> Self:
        """1 - erf(x), exact where erf(x) is near 1."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["erfc"](self.uop))

    def erfinv(self, **unknown: Never) -> Self:
        """The number whose error function is x."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["erfinv"](self.uop))

    def lgamma(self, **unknown: Never) -> Self:
        """log(|gamma(x)|)."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["lgamma"](self.uop))

    def digamma(self, **unknown: Never) -> Self:
        """The derivative of lgamma."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["digamma"](self.uop))

