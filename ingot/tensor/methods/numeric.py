"""Methods: numeric. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Handle, Value, build, operand, optional_operand

if TYPE_CHECKING:
    from typing import Never, Self


class NumericMethods(Handle):
    """Ops of ops/numeric.py as methods."""

    __slots__ = ()

    def abs(self, **unknown: Never) -> Self:
        """The distance from 0."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["abs"](self.uop))

    def sign(self, **unknown: Never) -> Self:
        """-1, 0 or 1; a NaN stays."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["sign"](self.uop))

    def isnan(self, **unknown: Never) -> Self:
        """Whether x is not a number."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["isnan"](self.uop))

    def isinf(self, **unknown: Never) -> Self:
        """Whether x is infinite."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["isinf"](self.uop))

    def isfinite(self, **unknown: Never) -> Self:
        """Whether x is neither infinite nor NaN."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["isfinite"](self.uop))

    def ceil(self, **unknown: Never) -> Self:
        """The smallest whole number that is not below x."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["ceil"](self.uop))

    def square(self, **unknown: Never) -> Self:
        """x * x."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["square"](self.uop))

    def rsqrt(self, **unknown: Never) -> Self:
        """1 / sqrt(x)."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["rsqrt"](self.uop))

    def clip(self, min: Value | None = None, max: Value | None = None, **unknown: Never) -> Self:
        """x, but not below `min` nor above `max`."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["clip"](self.uop, optional_operand(min), optional_operand(max)))

    def pow(self, b: Value, **unknown: Never) -> Self:
        """a to the power b."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["pow"](self.uop, operand(b)))

    def floor_divide(self, b: Value, **unknown: Never) -> Self:
        """The largest whole number that is not above a / b; of integers, 0 where b is 0."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["floor_divide"](self.uop, operand(b)))

    def remainder(self, b: Value, **unknown: Never) -> Self:
        """What is left of a after floor_divide, with the sign of b; of integers, 0 where b is 0."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["remainder"](self.uop, operand(b)))

    def log1p(self, **unknown: Never) -> Self:
        """log(1 + x), exact for small x too."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["log1p"](self.uop))

    def expm1(self, **unknown: Never) -> Self:
        """exp(x) - 1, exact for small x too."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["expm1"](self.uop))

    clamp = clip
    mod = remainder
