"""LLVM's words: types, literals, and one template per opcode and type. In: opcodes and dtypes. Out: pieces of text."""

from __future__ import annotations

import struct
from functools import cache

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Kind
from ingot.ir.opcode import Ops
from ingot.render.value import Raw

_FLOATS = {dt.float32: "float", dt.float64: "double"}


@cache
def type_text(dtype: DType, lanes: int) -> str:
    """The type of a value."""
    word = "i1" if dtype is dt.boolean else _FLOATS.get(dtype, f"i{dtype.bits}")
    return element(word, lanes)


@cache
def element(word: str, lanes: int) -> str:
    return word if lanes == 1 else f"<{lanes} x {word}>"


@cache
def literal(dtype: DType, bits: int) -> str:
    """A scalar constant. LLVM writes a float as the bits of the double that equals it."""
    if dtype is dt.boolean:
        return "true" if bits else "false"
    if dtype is dt.float64:
        return f"0x{bits:016X}"
    if dtype is dt.float32:
        return f"0x{_as_double(bits):016X}"
    if dtype.is_float:
        return str(bits)
    return str(dt.from_bits(dtype, bits))


def _as_double(bits: int) -> int:
    """float32 bits as float64 bits, a nan's payload kept."""
    if bits & 0x7F800000 == 0x7F800000:
        return (bits >> 31) << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    (wide,) = struct.unpack("<Q", struct.pack("<d", value))
    return int(wide)


Instruction = Ops | Raw
_FLOAT: dict[Instruction, str] = {
    Ops.NEG: "fneg {t} {{0}}",
    Ops.RECIP: "fdiv {t} {one}, {{0}}",
    Ops.ADD: "fadd {t} {{0}}, {{1}}",
    Ops.SUB: "fsub {t} {{0}}, {{1}}",
    Ops.MUL: "fmul {t} {{0}}, {{1}}",
    Ops.FDIV: "fdiv {t} {{0}}, {{1}}",
    Ops.CMPLT: "fcmp olt {t} {{0}}, {{1}}",
    Ops.CMPEQ: "fcmp oeq {t} {{0}}, {{1}}",
    Ops.CMPNE: "fcmp une {t} {{0}}, {{1}}",
}
_FLOAT_CALLS: dict[Instruction, tuple[str, int]] = {
    Ops.SQRT: ("sqrt", 1),
    Ops.FLOOR: ("floor", 1),
    Ops.TRUNC: ("trunc", 1),
    Ops.ROUND: ("roundeven", 1),
    Ops.MULACC: ("fma", 3),
}
_INT: dict[Instruction, str] = {
    Ops.NEG: "sub {t} {zero}, {{0}}",
    Ops.NOT: "xor {t} {{0}}, {ones}",
    Ops.ADD: "add{nsw} {t} {{0}}, {{1}}",
    Ops.SUB: "sub{nsw} {t} {{0}}, {{1}}",
    Ops.MUL: "mul{nsw} {t} {{0}}, {{1}}",
    Ops.AND: "and {t} {{0}}, {{1}}",
    Ops.OR: "or {t} {{0}}, {{1}}",
    Ops.XOR: "xor {t} {{0}}, {{1}}",
    Ops.SHL: "shl {t} {{0}}, {{1}}",
    Ops.SHR: "{ashr} {t} {{0}}, {{1}}",
    Ops.CMPLT: "icmp {slt} {t} {{0}}, {{1}}",
    Ops.CMPEQ: "icmp eq {t} {{0}}, {{1}}",
    Ops.CMPNE: "icmp ne {t} {{0}}, {{1}}",
    Raw.QUOTIENT: "{sdiv} {t} {{0}}, {{1}}",
    Raw.REMAINDER: "{srem} {t} {{0}}, {{1}}",
    Raw.PLAIN_QUOTIENT: "udiv {t} {{0}}, {{1}}",
    Raw.PLAIN_REMAINDER: "urem {t} {{0}}, {{1}}",
}
_BOOL: dict[Instruction, str] = {
    Ops.NOT: "xor {t} {{0}}, {ones}",
    Ops.AND: "and {t} {{0}}, {{1}}",
    Ops.OR: "or {t} {{0}}, {{1}}",
    Ops.XOR: "xor {t} {{0}}, {{1}}",
    Ops.ADD: "or {t} {{0}}, {{1}}",
    Ops.MUL: "and {t} {{0}}, {{1}}",
    Ops.MAX: "or {t} {{0}}, {{1}}",
    Ops.MIN: "and {t} {{0}}, {{1}}",
    Ops.CMPLT: "icmp ult {t} {{0}}, {{1}}",
    Ops.CMPEQ: "icmp eq {t} {{0}}, {{1}}",
    Ops.CMPNE: "icmp ne {t} {{0}}, {{1}}",
}
_SIGNED_WORDS = {"ashr": "ashr", "slt": "slt", "sdiv": "sdiv", "srem": "srem"}
_UNSIGNED_WORDS = {"ashr": "lshr", "slt": "ult", "sdiv": "udiv", "srem": "urem"}


@cache
def operation(op: Instruction, source: DType, lanes: int) -> tuple[str, str] | None:
    """(template, declaration or "") of an instruction on operands of type `source`; None: it takes several."""
    kind = type_text(source, lanes)
    if op is Ops.WHERE:
        return (
            f"select {element('i1', lanes)} {{0}}, {kind} {{1}}, {kind} {{2}}",
            "",
        )
    if source in _FLOATS:
        return _float_operation(op, source, lanes)
    if source.is_float:
        return (
            None  # 16-bit floats can only be moved; everything else is decomposed
        )
    if source is dt.boolean:
        template = _BOOL.get(op)
        return (
            (template.format(t=kind, ones=_all("true", "i1", lanes)), "")
            if template
            else None
        )
    return _int_operation(op, source, lanes)


def _all(text: str, kind: str, lanes: int) -> str:
    return text if lanes == 1 else f"splat ({kind} {text})"


def _float_operation(
    op: Instruction, source: DType, lanes: int
) -> tuple[str, str] | None:
    kind, scalar = type_text(source, lanes), type_text(source, 1)
    template = _FLOAT.get(op)
    if template:
        return template.format(t=kind, one=_all("1.0", scalar, lanes)), ""
    if op in _FLOAT_CALLS:
        name, count = _FLOAT_CALLS[op]
        return _call(name, count, kind, _intrinsic(f"f{source.bits}", lanes))
    return None


def _int_operation(
    op: Instruction, source: DType, lanes: int
) -> tuple[str, str] | None:
    kind, scalar = type_text(source, lanes), type_text(source, 1)
    signed = source.kind is Kind.INT
    template = _INT.get(op)
    if template:
        words = dict(_SIGNED_WORDS if signed else _UNSIGNED_WORDS)
        words["nsw"] = " nsw" if source is dt.index else ""
        return template.format(
            t=kind,
            zero=_all("0", scalar, lanes),
            ones=_all("-1", scalar, lanes),
            **words,
        ), ""
    if op is Ops.MAX or op is Ops.MIN:
        name = ("s" if signed else "u") + op.name.lower()
        return _call(name, 2, kind, _intrinsic(scalar, lanes))
    return None


def _intrinsic(word: str, lanes: int) -> str:
    return word if lanes == 1 else f"v{lanes}{word}"


def _call(name: str, count: int, kind: str, suffix: str) -> tuple[str, str]:
    operands = ", ".join(f"{kind} {{{i}}}" for i in range(count))
    types = ", ".join([kind] * count)
    full = f"@llvm.{name}.{suffix}"
    return f"call {kind} {full}({operands})", f"declare {kind} {full}({types})"


CASTS = {
    ("bool", "int"): "zext",
    ("bool", "float"): "uitofp",
    ("int", "bool"): "icmp ne",
    ("float", "bool"): "fcmp une",
    ("int", "same"): "same",
    ("int", "narrow"): "trunc",
    ("signed", "wide"): "sext",
    ("unsigned", "wide"): "zext",
    ("signed", "float"): "sitofp",
    ("unsigned", "float"): "uitofp",
    ("float", "signed"): "fptosi",
    ("float", "unsigned"): "fptoui",
    ("float", "wide"): "fpext",
    ("float", "narrow"): "fptrunc",
}


def cast_kind(source: DType, target: DType) -> tuple[str, str] | None:
    """The row of CASTS for two types; None where there is none."""
    if any(d.is_float and d not in _FLOATS for d in (source, target)):
        return None
    if target is dt.boolean:
        return ("float" if source.is_float else "int"), "bool"
    if source is dt.boolean:
        return "bool", ("float" if target.is_float else "int")
    if source.is_float:
        return "float", _size(source, target) if target.is_float else _sign(target)
    if target.is_float:
        return _sign(source), "float"
    size = _size(source, target)
    return (_sign(source) if size == "wide" else "int"), size


def _sign(dtype: DType) -> str:
    return "signed" if dtype.kind is Kind.INT else "unsigned"


def _size(source: DType, target: DType) -> str:
    if source.bits == target.bits:
        return "same"
    return "wide" if target.bits > source.bits else "narrow"
