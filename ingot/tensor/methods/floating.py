"""Methods: floating. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Handle, Value, build, operand

if TYPE_CHECKING:
    from typing import Never, Self


class FloatingMethods(Handle):
    """Ops of ops/floating.py as methods."""

    __slots__ = ()

    def copysign(self, b: Value, **unknown: Never) -> Self:
        """|a| with the sign of b, that of -0.0 too."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["copysign"](self.uop, operand(b)))

    def signbit(self, **unknown: Never) -> Self:
        """Whether the sign is set: of -0.0 too."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["signbit"](self.uop))

    def positive(self, **unknown: Never) -> Self:
        """x itself."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["positive"](self.uop))

    def isposinf(self, **unknown: Never) -> Self:
        """Whether x is infinite and above 0."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["isposinf"](self.uop))

    def isneginf(self, **unknown: Never) -> Self:
        """Whether x is infinite and below 0."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["isneginf"](self.uop))

    def heaviside(self, at_zero: Value, **unknown: Never) -> Self:
        """0 below 0, 1 above, `at_zero` at 0."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["heaviside"](self.uop, operand(at_zero)))

    def nextafter(self, b: Value, **unknown: Never) -> Self:
        """The float next to a on the way to b."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["nextafter"](self.uop, operand(b)))

    def nan_to_num(
        self,
        nan: float = 0.0,
        posinf: float | None = None,
        neginf: float | None = None,
        **unknown: Never,
    ) -> Self:
        """NaN and infinities replaced: by 0, and the largest and smallest finite numbers."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["nan_to_num"](self.uop, nan=nan, posinf=posinf, neginf=neginf))

    def fmax(self, b: Value, **unknown: Never) -> Self:
        """The larger of a and b; a NaN only if both are."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["fmax"](self.uop, operand(b)))

    def fmin(self, b: Value, **unknown: Never) -> Self:
        """The smaller of a and b; a NaN only if both are."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["fmin"](self.uop, operand(b)))

    def fmod(self, b: Value, **unknown: Never) -> Self:
        """What is left of a after dividing by b towards 0: it has the sign of a; of integers, 0 where b is 0."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["fmod"](self.uop, operand(b)))

    def frac(self, **unknown: Never) -> Self:
        """x without its whole part: it keeps the sign."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["frac"](self.uop))

    def lerp(self, end: Value, weight: Value, **unknown: Never) -> Self:
        """start + weight * (end - start), exact at both ends."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["lerp"](self.uop, operand(end), operand(weight)))

    def isclose(
        self,
        b: Value,
        rtol: float = 1e-05,
        atol: float = 1e-08,
        equal_nan: bool = False,
        **unknown: Never,
    ) -> Self:
        """Whether |a - b| <= atol + rtol * |b|."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["isclose"](self.uop, operand(b), rtol=rtol, atol=atol, equal_nan=equal_nan))

    def real(self, **unknown: Never) -> Self:
        """The real part: x itself."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["real"](self.uop))

    def imag(self, **unknown: Never) -> Self:
        """The imaginary part: 0 everywhere."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["imag"](self.uop))

    def conj(self, **unknown: Never) -> Self:
        """The complex conjugate: of a real number itself."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["conj"](self.uop))

