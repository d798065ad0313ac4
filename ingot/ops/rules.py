"""Type rules that many ops share. In: inputs and attributes. Out: (dtype, shape) of the result."""

from __future__ import annotations

from typing import Any

from ingot.ir.node import UOp
from ingot.ir.opcode import Attr
from ingot.ir.shape import Type
from ingot.ops.op import Accepted
from ingot.ops.promotion import floating


def same_type(x: UOp, **attrs: Attr) -> Type:
    """The type of the input."""
    return x.dtype, x.shape


def floats_in(*inputs: UOp | None, **attrs: Any) -> Accepted:
    """Integers and booleans become floats on the way in."""
    return tuple(
        x if x is None else x.cast(floating(x.dtype)) for x in inputs
    ), attrs
