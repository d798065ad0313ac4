"""Functions: elementwise. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Value, build, node, operand
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never
    from ingot.ir.dtype import DType


def astype(x: Value, dtype: DType | str, copy: bool = True, device: str | None = None, **unknown: Never) -> Tensor:
    """The same values in another type; as bool, whether they differ from 0."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["astype"](node(x), dtype=dtype, copy=copy, device=device))


def bitcast(x: Value, dtype: DType | str, **unknown: Never) -> Tensor:
    """The same bits read as another type of the same width."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["bitcast"](node(x), dtype=dtype))


def negative(x: Value, **unknown: Never) -> Tensor:
    """-x."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["negative"](node(x)))


def logical_not(x: Value, **unknown: Never) -> Tensor:
    """Whether x is 0 or False."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["logical_not"](node(x)))


def bitwise_invert(x: Value, **unknown: Never) -> Tensor:
    """Every bit flipped."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["bitwise_invert"](node(x)))


def reciprocal(x: Value, **unknown: Never) -> Tensor:
    """1 / x."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["reciprocal"](node(x)))


def sqrt(x: Value, **unknown: Never) -> Tensor:
    """The square root."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["sqrt"](node(x)))


def exp(x: Value, **unknown: Never) -> Tensor:
    """e to the power x."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["exp"](node(x)))


def exp2(x: Value, **unknown: Never) -> Tensor:
    """2 to the power x."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["exp2"](node(x)))


def log(x: Value, **unknown: Never) -> Tensor:
    """The natural logarithm."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["log"](node(x)))


def log2(x: Value, **unknown: Never) -> Tensor:
    """The logarithm to base 2."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["log2"](node(x)))


def sin(x: Value, **unknown: Never) -> Tensor:
    """The sine of x in radians."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["sin"](node(x)))


def tanh(x: Value, **unknown: Never) -> Tensor:
    """The hyperbolic tangent."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["tanh"](node(x)))


def erf(x: Value, **unknown: Never) -> Tensor:
    """The error function."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["erf"](node(x)))


def floor(x: Value, **unknown: Never) -> Tensor:
    """The largest whole number that is not above x."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["floor"](node(x)))


def trunc(x: Value, **unknown: Never) -> Tensor:
    """x without its fraction."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["trunc"](node(x)))


def round(x: Value, **unknown: Never) -> Tensor:
    """The nearest whole number; halves go to the even one."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["round"](node(x)))


def add(a: Value, b: Value, **unknown: Never) -> Tensor:
    """a + b."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["add"](operand(a), operand(b)))


def subtract(a: Value, b: Value, **unknown: Never) -> Tensor:
    """a - b."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["subtract"](operand(a), operand(b)))


def multiply(a: Value, b: Value, **unknown: Never) -> Tensor:
    """a * b."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["multiply"](operand(a), operand(b)))


def maximum(a: Value, b: Value, **unknown: Never) -> Tensor:
    """The larger of a and b; NaN if either is."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["maximum"](operand(a), operand(b)))


def minimum(a: Value, b: Value, **unknown: Never) -> Tensor:
    """The smaller of a and b; NaN if either is."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["minimum"](operand(a), operand(b)))


def divide(a: Value, b: Value, **unknown: Never) -> Tensor:
    """a / b; integers become floats."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["divide"](operand(a), operand(b)))


def equal(a: Value, b: Value, **unknown: Never) -> Tensor:
    """a == b."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["equal"](operand(a), operand(b)))


def not_equal(a: Value, b: Value, **unknown: Never) -> Tensor:
    """a != b."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["not_equal"](operand(a), operand(b)))


def less(a: Value, b: Value, **unknown: Never) -> Tensor:
    """a < b."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["less"](operand(a), operand(b)))


def greater(a: Value, b: Value, **unknown: Never) -> Tensor:
    """a > b."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["greater"](operand(a), operand(b)))


def less_equal(a: Value, b: Value, **unknown: Never) -> Tensor:
    """a <= b."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["less_equal"](operand(a), operand(b)))


def greater_equal(a: Value, b: Value, **unknown: Never) -> Tensor:
    """a >= b."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["greater_equal"](operand(a), operand(b)))


def logical_and(a: Value, b: Value, **unknown: Never) -> Tensor:
    """Whether both differ from 0."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["logical_and"](operand(a), operand(b)))


def logical_or(a: Value, b: Value, **unknown: Never) -> Tensor:
    """Whether one differs from 0."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["logical_or"](operand(a), operand(b)))


def logical_xor(a: Value, b: Value, **unknown: Never) -> Tensor:
    """Whether exactly one differs from 0."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["logical_xor"](operand(a), operand(b)))


def bitwise_and(a: Value, b: Value, **unknown: Never) -> Tensor:
    """The bits that both have."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["bitwise_and"](operand(a), operand(b)))


def bitwise_or(a: Value, b: Value, **unknown: Never) -> Tensor:
    """The bits that one has."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["bitwise_or"](operand(a), operand(b)))


def bitwise_xor(a: Value, b: Value, **unknown: Never) -> Tensor:
    """The bits that exactly one has."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["bitwise_xor"](operand(a), operand(b)))


def bitwise_left_shift(a: Value, b: Value, **unknown: Never) -> Tensor:
    """a moved b bits up."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["bitwise_left_shift"](operand(a), operand(b)))


def bitwise_right_shift(a: Value, b: Value, **unknown: Never) -> Tensor:
    """a moved b bits down."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["bitwise_right_shift"](operand(a), operand(b)))


def where(condition: Value, yes: Value, no: Value, **unknown: Never) -> Tensor:
    """`yes` where the condition holds, else `no`."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["where"](node(condition), operand(yes), operand(no)))


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
