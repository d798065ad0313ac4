"""Opcodes that take several instructions, and lane masks. In: operands as values. Out: the result, in any language.

IDIV and MOD floor; MAX and MIN keep nan; a comparison with the lane number of a vector loop is made in 32 bits.
"""

from __future__ import annotations

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Kind
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.render.code import Code
from ingot.render.value import Raw, Value


def zero(code: Code, dtype: DType) -> Value:
    return code.constant(dtype, 0)


def one(code: Code, dtype: DType) -> Value:
    return code.constant(dtype, dt.to_bits(dtype, 1))


# --- division ---------------------------------------------------------------------------------------------------------


def quotient(code: Code, node: UOp, a: Value, b: Value) -> Value:
    """Floor division."""
    if _is_plain(node):
        return _plain_quotient(code, node.dtype, a, b)
    shift = _power_of_two(node.src[1])
    if shift is not None:
        return code.apply(Ops.SHR, node.dtype, a, code.constant(node.dtype, shift))
    truncated = code.apply(Raw.QUOTIENT, node.dtype, a, b)
    wrong = _rounded_up(code, node, a, b)
    return code.select(
        wrong,
        code.apply(Ops.SUB, node.dtype, truncated, one(code, node.dtype)),
        truncated,
    )


def remainder(code: Code, node: UOp, a: Value, b: Value) -> Value:
    """The remainder of floor division: it has the sign of the divisor."""
    shift = _power_of_two(node.src[1])
    if shift is not None:
        mask = code.constant(node.dtype, (1 << shift) - 1)
        return code.apply(Ops.AND, node.dtype, a, mask)
    if _is_plain(node):
        return code.apply(Raw.PLAIN_REMAINDER, node.dtype, a, b)
    rest = code.apply(Raw.REMAINDER, node.dtype, a, b)
    wrong = _rounded_up(code, node, a, b)
    return code.select(wrong, code.apply(Ops.ADD, node.dtype, rest, b), rest)


def _is_plain(node: UOp) -> bool:
    """No operand can be negative."""
    return node.dtype.kind is Kind.UINT or (
        node.src[0].vmin >= 0 and node.src[1].vmin >= 0
    )


def _plain_quotient(code: Code, dtype: DType, a: Value, b: Value) -> Value:
    return a if b.bits == 1 else code.apply(Raw.PLAIN_QUOTIENT, dtype, a, b)


def _power_of_two(divisor: UOp) -> int | None:
    if divisor.op is not Ops.CONST:
        return None
    value = int(divisor.value)
    return (
        value.bit_length() - 1 if value > 0 and value & (value - 1) == 0 else None
    )


def _rounded_up(code: Code, node: UOp, a: Value, b: Value) -> Value:
    """The truncated quotient is one more than the floor: a remainder is left, and the signs differ."""
    dtype = node.dtype
    rest = code.apply(Raw.REMAINDER, dtype, a, b)
    left = code.compare(Ops.CMPNE, rest, zero(code, dtype))
    signs = code.apply(Ops.XOR, dtype, a, b)
    differ = code.compare(Ops.CMPLT, signs, zero(code, dtype))
    return code.apply(Ops.AND, dt.boolean, left, differ)


# --- extremes ---------------------------------------------------------------------------------------------------------


def extreme(
    code: Code, node: UOp, a: Value, b: Value, first_changes: bool
) -> Value:
    """MAX or MIN. `first_changes`: a is a running value, so that the test for nan should rather be made on b."""
    if not node.dtype.is_float:
        return code.apply(node.op, node.dtype, a, b)
    op = Raw.GREATER if node.op is Ops.MAX else Raw.LESSER
    if _is_number(b):
        a, b = b, a
    if _is_number(a):
        return code.apply(op, node.dtype, a, b)
    if first_changes:
        a, b = b, a
    is_nan = code.compare(Ops.CMPNE, a, a)
    return code.select(is_nan, a, code.apply(op, node.dtype, a, b))


def _is_number(value: Value) -> bool:
    """A constant that is not nan."""
    if value.bits is None:
        return False
    number = dt.from_bits(value.dtype, value.bits)
    return number == number


# --- lane masks -------------------------------------------------------------------------------------------------------


def lanes_below(code: Code, limit: Value, lanes: int) -> Value:
    """lane < limit, for a limit of any size."""
    bounded = _clamp(code, limit, 0, lanes)
    return code.compare(Ops.CMPLT, code.lane_numbers(dt.int32, lanes), bounded)


def lanes_above(code: Code, limit: Value, lanes: int) -> Value:
    """lane > limit"""
    bounded = _clamp(code, limit, -1, lanes)
    return code.compare(Ops.CMPLT, bounded, code.lane_numbers(dt.int32, lanes))


def _clamp(code: Code, value: Value, low: int, high: int) -> Value:
    above = code.apply(Ops.MAX, dt.index, value, code.number(low))
    return code.convert(
        Ops.CAST, dt.int32, code.apply(Ops.MIN, dt.index, above, code.number(high))
    )
