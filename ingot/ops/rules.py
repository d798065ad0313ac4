"""Type rules that many ops share. In: inputs and attributes. Out: (dtype, shape) of the result."""

from __future__ import annotations

from typing import Any

from ingot.ir.node import UOp
from ingot.ir.opcode import Attr
from ingot.ir.shape import Type
from ingot.ops.elementwise import as_float, operands
from ingot.ops.op import Accept, Accepted
from ingot.ops.promotion import Operand, floating


def same_type(x: UOp, *others: UOp, **attrs: Attr) -> Type:
    """The type of the first input."""
    return x.dtype, x.shape


def floats_in(*inputs: UOp | None, **attrs: Any) -> Accepted:
    """Integers and booleans become floats on the way in."""
    return tuple(
        x if x is None else x.cast(floating(x.dtype)) for x in inputs
    ), attrs


def two_floats(name: str) -> Accept:
    """Two operands that meet in one shape and one float type; either may be a Python number."""

    def accept(a: Operand, b: Operand, **attrs: Any) -> Accepted:
        left, right = operands(name, a, b)
        return (as_float(left), as_float(right)), attrs

    return accept
