"""C's words: types, literals, operators. In: dtypes and opcodes. Out: pieces of text.

A vector is a GCC vector type such as f32x16. A vector of booleans is a vector of signed integers, 0 or -1 in every
lane, as wide as what was compared; a scalar boolean is `bool`.
"""

from __future__ import annotations

import math
from functools import cache

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Kind
from ingot.ir.opcode import Ops
from ingot.render.value import Raw

SCALARS = {
    dt.int8: "int8_t",
    dt.int16: "int16_t",
    dt.int32: "int32_t",
    dt.int64: "int64_t",
    dt.index: "int64_t",
    dt.uint8: "uint8_t",
    dt.uint16: "uint16_t",
    dt.uint32: "uint32_t",
    dt.uint64: "uint64_t",
    dt.float32: "float",
    dt.float64: "double",
    dt.float16: "uint16_t",
    dt.bfloat16: "uint16_t",
}
LETTERS = {Kind.INT: "i", Kind.UINT: "u", Kind.FLOAT: "f"}


def short(dtype: DType) -> str:
    """f32, i64, u8; 16-bit floats are u16, which is how they are held."""
    if dtype.is_float and dtype.bits == 16:
        return "u16"
    return f"{LETTERS[dtype.kind]}{dtype.bits}"


@cache
def scalar_type(dtype: DType) -> str:
    return "bool" if dtype is dt.boolean else SCALARS[dtype]


@cache
def vector_type(dtype: DType, lanes: int) -> str:
    return f"{short(dtype)}x{lanes}"


def mask_type(bits: int, lanes: int) -> str:
    return f"i{bits}x{lanes}"


@cache
def unsigned(dtype: DType) -> DType:
    """The unsigned type that integer arithmetic wraps in; C would promote narrower ones to int."""
    return {8: dt.uint8, 16: dt.uint16, 32: dt.uint32, 64: dt.uint64}[dtype.bits]


@cache
def literal(dtype: DType, bits: int) -> str:
    if dtype is dt.boolean:
        return "true" if bits else "false"
    value = dt.from_bits(dtype, bits)
    if dtype in (dt.float32, dt.float64):
        return _float_literal(dtype, float(value), bits)
    if dtype.is_float:
        return str(bits)
    return _int_literal(dtype, int(value))


def _float_literal(dtype: DType, value: float, bits: int) -> str:
    if not math.isfinite(value):
        return f"f{dtype.bits}_bits(UINT{dtype.bits}_C({bits:#x}))"
    text = value.hex() + ("f" if dtype is dt.float32 else "")
    return f"({text})" if text.startswith("-") else text


def _int_literal(dtype: DType, value: int) -> str:
    if dtype.kind is Kind.UINT:
        return f"UINT{dtype.bits}_C({value})"
    if value == dt.least(dtype):
        return f"(-INT{dtype.bits}_C({-(value + 1)}) - 1)"
    text = str(value) if abs(value) < 2**31 else f"INT64_C({value})"
    return f"({text})" if value < 0 else text


OPERATORS: dict[Ops | Raw, str] = {
    Ops.ADD: "+",
    Ops.SUB: "-",
    Ops.MUL: "*",
    Ops.FDIV: "/",
    Ops.AND: "&",
    Ops.OR: "|",
    Ops.XOR: "^",
    Ops.SHL: "<<",
    Ops.SHR: ">>",
    Ops.CMPLT: "<",
    Ops.CMPEQ: "==",
    Ops.CMPNE: "!=",
    Raw.QUOTIENT: "/",
    Raw.REMAINDER: "%",
    Raw.PLAIN_QUOTIENT: "/",
    Raw.PLAIN_REMAINDER: "%",
}
BOOLEAN_OPERATORS: dict[Ops | Raw, str] = {
    Ops.AND: "&",
    Ops.OR: "|",
    Ops.XOR: "^",
    Ops.ADD: "|",
    Ops.MUL: "&",
    Ops.MAX: "|",
    Ops.MIN: "&",
    Ops.CMPNE: "^",
}
WRAPPING = frozenset(
    {Ops.ADD, Ops.SUB, Ops.MUL, Ops.SHL, Raw.PLAIN_QUOTIENT, Raw.PLAIN_REMAINDER}
)
FUNCTIONS: dict[Ops | Raw, str] = {
    Ops.MULACC: "fma",
    Ops.SQRT: "sqrt",
    Ops.FLOOR: "floor",
    Ops.TRUNC: "trunc",
    Ops.ROUND: "round_even",
}
