"""Methods: elementwise. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Handle, Value, build, operand

if TYPE_CHECKING:
    from typing import Never, Self
    from ingot.ir.dtype import DType


class ElementwiseMethods(Handle):
    """Ops of ops/elementwise.py as methods."""

    __slots__ = ()

    def astype(self, dtype: DType | str, copy: bool = True, device: str | None = None, **unknown: Never) -> Self:
        """The same values in another type; as bool, whether they differ from 0."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["astype"](self.uop, dtype=dtype, copy=copy, device=device))

    def bitcast(self, dtype: DType | str, **unknown: Never) -> Self:
        """The same bits read as another type of the same width."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["bitcast"](self.uop, dtype=dtype))

    def negative(self, **unknown: Never) -> Self:
        """-x."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["negative"](self.uop))

    def logical_not(self, **unknown: Never) -> Self:
        """Whether x is 0 or False."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["logical_not"](self.uop))

    def bitwise_invert(self, **unknown: Never) -> Self:
        """Every bit flipped."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["bitwise_invert"](self.uop))

    def reciprocal(self, **unknown: Never) -> Self:
        """1 / x."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["reciprocal"](self.uop))

    def sqrt(self, **unknown: Never) -> Self:
        """The square root."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["sqrt"](self.uop))

    def exp(self, **unknown: Never) -> Self:
        """e to the power x."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["exp"](self.uop))

    def exp2(self, **unknown: Never) -> Self:
        """2 to the power x."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["exp2"](self.uop))

    def log(self, **unknown: Never) -> Self:
        """The natural logarithm."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["log"](self.uop))

    def log2(self, **unknown: Never) -> Self:
        """The logarithm to base 2."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["log2"](self.uop))

    def sin(self, **unknown: Never) -> Self:
        """The sine of x in radians."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["sin"](self.uop))

    def tanh(self, **unknown: Never) -> Self:
        """The hyperbolic tangent."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["tanh"](self.uop))

    def erf(self, **unknown: Never) -> Self:
        """The error function."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["erf"](self.uop))

    def floor(self, **unknown: Never) -> Self:
        """The largest whole number that is not above x."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["floor"](self.uop))

    def trunc(self, **unknown: Never) -> Self:
        """x without its fraction."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["trunc"](self.uop))

    def round(self, **unknown: Never) -> Self:
        """The nearest whole number; halves go to the even one."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["round"](self.uop))

    def add(self, b: Value, **unknown: Never) -> Self:
        """a + b."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["add"](self.uop, operand(b)))

    def subtract(self, b: Value, **unknown: Never) -> Self:
        """a - b."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["subtract"](self.uop, operand(b)))

    def multiply(self, b: Value, **unknown: Never) -> Self:
        """a * b."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["multiply"](self.uop, operand(b)))

    def maximum(self, b: Value, **unknown: Never) -> Self:
        """The larger of a and b; NaN if either is."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["maximum"](self.uop, operand(b)))

    def minimum(self, b: Value, **unknown: Never) -> Self:
        """The smaller of a and b; NaN if either is."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["minimum"](self.uop, operand(b)))

    def divide(self, b: Value, **unknown: Never) -> Self:
        """a / b; integers become floats."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["divide"](self.uop, operand(b)))

    def equal(self, b: Value, **unknown: Never) -> Self:
        """a == b."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["equal"](self.uop, operand(b)))

    def not_equal(self, b: Value, **unknown: Never) -> Self:
        """a != b."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["not_equal"](self.uop, operand(b)))

    def less(self, b: Value, **unknown: Never) -> Self:
        """a < b."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["less"](self.uop, operand(b)))

    def greater(self, b: Value, **unknown: Never) -> Self:
        """a > b."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["greater"](self.uop, operand(b)))

    def less_equal(self, b: Value, **unknown: Never) -> Self:
        """a <= b."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["less_equal"](self.uop, operand(b)))

    def greater_equal(self, b: Value, **unknown: Never) -> Self:
        """a >= b."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["greater_equal"](self.uop, operand(b)))

    def logical_and(self, b: Value, **unknown: Never) -> Self:
        """Whether both differ from 0."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["logical_and"](self.uop, operand(b)))

    def logical_or(self, b: Value, **unknown: Never) -> Self:
        """Whether one differs from 0."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["logical_or"](self.uop, operand(b)))

    def logical_xor(self, b: Value, **unknown: Never) -> Self:
        """Whether exactly one differs from 0."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["logical_xor"](self.uop, operand(b)))

    def bitwise_and(self, b: Value, **unknown: Never) -> Self:
        """The bits that both have."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["bitwise_and"](self.uop, operand(b)))

    def bitwise_or(self, b: Value, **unknown: Never) -> Self:
        """The bits that one has."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["bitwise_or"](self.uop, operand(b)))

    def bitwise_xor(self, b: Value, **unknown: Never) -> Self:
        """The bits that exactly one has."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["bitwise_xor"](self.uop, operand(b)))

    def bitwise_left_shift(self, b: Value, **unknown: Never) -> Self:
        """a moved b bits up."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["bitwise_left_shift"](self.uop, operand(b)))

    def bitwise_right_shift(self, b: Value, **unknown: Never) -> Self:
        """a moved b bits down."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["bitwise_right_shift"](self.uop, operand(b)))

    def where(self, yes: Value, no: Value, **unknown: Never) -> Self:
        """`yes` where the condition holds, else `no`."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["where"](self.uop, operand(yes), operand(no)))

    cast = astype
    neg = negative
    sub = subtract
    mul = multiply
    div = divide
    eq = equal
    ne = not_equal
    lt = less
    gt = greater
    le = less_equal
    ge = greater_equal
