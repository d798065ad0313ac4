"""Methods: trigonometric. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Handle, Value, build, operand

if TYPE_CHECKING:
    from typing import Never, Self


class TrigonometricMethods(Handle):
    """Ops of ops/trigonometric.py as methods."""

    __slots__ = ()

    def cos(self, **unknown: Never) -> Self:
        """The cosine of x in radians."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["cos"](self.uop))

    def tan(self, **unknown: Never) -> Self:
        """The tangent of x in radians."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["tan"](self.uop))

    def atan(self, **unknown: Never) -> Self:
        """The angle whose tangent is x, between -pi/2 and pi/2."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["atan"](self.uop))

    def atan2(self, x: Value, **unknown: Never) -> Self:
        """The angle of the point (x, y), between -pi and pi."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["atan2"](self.uop, operand(x)))

    def asin(self, **unknown: Never) -> Self:
        """The angle whose sine is x, between -pi/2 and pi/2."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["asin"](self.uop))

    def acos(self, **unknown: Never) -> Self:
        """The angle whose cosine is x, between 0 and pi."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["acos"](self.uop))

    def sinh(self, **unknown: Never) -> Self:
        """The hyperbolic sine."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["sinh"](self.uop))

    def cosh(self, **unknown: Never) -> Self:
        """The hyperbolic cosine."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["cosh"](self.uop))

    def asinh(self, **unknown: Never) -> Self:
        """The number whose hyperbolic sine is x."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["asinh"](self.uop))

    def acosh(self, **unknown: Never) -> Self:
        """The number, not below 0, whose hyperbolic cosine is x."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["acosh"](self.uop))

    def atanh(self, **unknown: Never) -> Self:
        """The number whose hyperbolic tangent is x."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["atanh"](self.uop))

    def deg2rad(self, **unknown: Never) -> Self:
        """Degrees as radians."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["deg2rad"](self.uop))

    def rad2deg(self, **unknown: Never) -> Self:
        """Radians as degrees."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["rad2deg"](self.uop))

    def sinc(self, **unknown: Never) -> Self:
        """sin(pi x) / (pi x), and 1 at 0."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["sinc"](self.uop))

    def hypot(self, b: Value, **unknown: Never) -> Self:
        """sqrt(a**2 + b**2) without overflow."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["hypot"](self.uop, operand(b)))

    arctan = atan
    arctan2 = atan2
    arcsin = asin
    arccos = acos
    arcsinh = asinh
    arccosh = acosh
    arctanh = atanh
