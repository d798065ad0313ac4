"""Arithmetic in LLVM IR. In: operations on values. Out: lines `%v1 = ...`, one each."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.errors import CompileError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.ir.opcode import Ops
from ingot.render.llvm_text import (
    CASTS,
    cast_kind,
    element,
    literal,
    operation,
    type_text,
)
from ingot.render.value import Raw, Value


class LLVMValues:
    """Values of LLVM IR."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self._count = 0

    def _fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def _label(self, word: str) -> str:
        self._count += 1
        return f"{word}{self._count}"

    def _out(self, text: str) -> str:
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    # --- values ---

    def constant(self, dtype: DType, bits: int, lanes: int) -> str:
        text = literal(dtype, bits)
        return text if lanes == 1 else f"splat ({type_text(dtype, 1)} {text})"

    def lane_numbers(self, dtype: DType, lanes: int, step: int) -> str:
        kind = type_text(dtype, 1)
        return (
            "<" + ", ".join(f"{kind} {lane * step}" for lane in range(lanes)) + ">"
        )

    def undefined(self, dtype: DType, lanes: int) -> str:
        return "poison"

    def name(self, dtype: DType, lanes: int) -> str:
        return self._fresh()

    def splat(self, value: Value, lanes: int) -> str:
        kind = type_text(value.dtype, lanes)
        first = self._out(
            f"insertelement {kind} poison, {type_text(value.dtype, 1)} {value.text}, i64 0"
        )
        return self._out(
            f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer"
        )

    def alu(self, op: Ops | Raw, dtype: DType, args: Sequence[Value]) -> str:
        source = args[-1].dtype
        lanes = args[0].lanes
        made = operation(op, source, lanes)
        if made is None:
            return self._several(op, dtype, args)
        template, declaration = made
        if declaration:
            self.declarations.add(declaration)
        return self._out(template.format(*[a.text for a in args]))

    def _several(self, op: Ops | Raw, dtype: DType, args: Sequence[Value]) -> str:
        """The few operations of two instructions."""
        kind = type_text(dtype, args[0].lanes)
        texts = [a.text for a in args]
        if op in (Raw.GREATER, Raw.LESSER):
            test = self._out(
                f"fcmp {'ogt' if op is Raw.GREATER else 'olt'} {kind} {texts[0]}, {texts[1]}"
            )
            mask = type_text(dt.boolean, args[0].lanes)
            return self._out(
                f"select {mask} {test}, {kind} {texts[0]}, {kind} {texts[1]}"
            )
        if op is Ops.MULACC and dtype.is_int:
            product = self._out(f"mul {kind} {texts[0]}, {texts[1]}")
            return self._out(f"add {kind} {product}, {texts[2]}")
        name = op.name
        raise CompileError(
            f"no LLVM instruction for {name} of {dtype}: decompose the kernel before it is rendered"
        )

    def cast(self, dtype: DType, value: Value) -> str:
        if value.dtype is dt.float16:
            return self._from_half(dtype, value)
        if dtype is dt.float16 and value.dtype is dt.float32:
            return self._to_half(value)
        source, target = (
            type_text(value.dtype, value.lanes),
            type_text(dtype, value.lanes),
        )
        key = cast_kind(value.dtype, dtype)
        if key is None:
            raise CompileError(
                f"no LLVM cast from {value.dtype} to {dtype}: decompose the kernel before it is rendered"
            )
        word = CASTS[key]
        if word == "same":
            return value.text
        if word.startswith(("icmp", "fcmp")):
            zero = self.constant(value.dtype, 0, value.lanes)
            return self._out(f"{word} {source} {value.text}, {zero}")
        return self._out(f"{word} {source} {value.text} to {target}")

    def _from_half(self, dtype: DType, value: Value) -> str:
        lanes = value.lanes
        half = element("half", lanes)
        bits = self._out(
            f"bitcast {type_text(dt.float16, lanes)} {value.text} to {half}"
        )
        wide = self._out(f"fpext {half} {bits} to {element('float', lanes)}")
        return (
            self.cast(dtype, Value(wide, dt.float32, lanes, 0))
            if dtype is not dt.float32
            else wide
        )

    def _to_half(self, value: Value) -> str:
        half = element("half", value.lanes)
        made = self._out(
            f"fptrunc {type_text(dt.float32, value.lanes)} {value.text} to {half}"
        )
        return self._out(
            f"bitcast {half} {made} to {type_text(dt.float16, value.lanes)}"
        )

    def bitcast(self, dtype: DType, value: Value) -> str:
        source, target = (
            type_text(value.dtype, value.lanes),
            type_text(dtype, value.lanes),
        )
        return (
            value.text
            if source == target
            else self._out(f"bitcast {source} {value.text} to {target}")
        )

    def shuffle(self, a: Value, b: Value, picks: Sequence[int]) -> str:
        kind = type_text(a.dtype, a.lanes)
        numbers = ", ".join(f"i32 {p}" for p in picks)
        return self._out(
            f"shufflevector {kind} {a.text}, {kind} {b.text}, <{len(picks)} x i32> <{numbers}>"
        )

    def extract(self, value: Value, lane: int) -> str:
        return self._out(
            f"extractelement {type_text(value.dtype, value.lanes)} {value.text}, i64 {lane}"
        )

    def insert(self, value: Value, scalar: Value, lane: int) -> str:
        whole, part = (
            type_text(value.dtype, value.lanes),
            type_text(scalar.dtype, 1),
        )
        return self._out(
            f"insertelement {whole} {value.text}, {part} {scalar.text}, i64 {lane}"
        )
