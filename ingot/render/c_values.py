"""Arithmetic in C. In: operations on values. Out: definitions `const type v1 = ...;`, one each."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.errors import CompileError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Kind
from ingot.ir.opcode import COMPARE, Ops
from ingot.render.c_prelude import Prelude
from ingot.render.c_text import (
    BOOLEAN_OPERATORS,
    FUNCTIONS,
    OPERATORS,
    WRAPPING,
    literal,
    scalar_type,
    unsigned,
)
from ingot.render.value import Raw, Value

NARROWEST = 8  # bits in a lane of a mask made from nothing


class CValues:
    """Values of C."""

    def __init__(self, prelude: Prelude) -> None:
        self.lines: list[str] = []
        self.prelude = prelude
        self._count = 0
        self._mask_bits: dict[
            str, int
        ] = {}  # the lane width of every vector of booleans

    # --- names and types ---

    def _fresh(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def type_of(self, dtype: DType, lanes: int, text: str = "") -> str:
        if lanes == 1:
            return scalar_type(dtype)
        if dtype is dt.boolean:
            return self.prelude.mask(self._mask_bits.get(text, NARROWEST), lanes)
        return self.prelude.vector(dtype, lanes)

    def _out(self, kind: str, text: str) -> str:
        name = self._fresh()
        self.lines.append(f"const {kind} {name} = {text};")
        return name

    def _value(self, dtype: DType, lanes: int, text: str) -> str:
        return self._out(self.type_of(dtype, lanes), text)

    def _mask(self, bits: int, lanes: int, text: str) -> str:
        """A vector of booleans."""
        name = self._out(self.prelude.mask(bits, lanes), text)
        self._mask_bits[name] = bits
        return name

    def mask_as(self, value: Value, bits: int) -> str:
        """A vector of booleans at another width."""
        if self._mask_bits[value.text] == bits:
            return value.text
        return f"__builtin_convertvector({value.text}, {self.prelude.mask(bits, value.lanes)})"

    # --- constants ---

    def constant(self, dtype: DType, bits: int, lanes: int) -> str:
        if lanes == 1:
            return self._literal(dtype, bits)
        if dtype is dt.boolean:
            empty = f"({self.prelude.mask(NARROWEST, lanes)}){{0}}"
            return self._known_mask(f"(~{empty})" if bits else f"({empty})")
        return f"{self.prelude.splat(dtype, lanes)}({self._literal(dtype, bits)})"

    def _literal(self, dtype: DType, bits: int) -> str:
        text = literal(dtype, bits)
        if "_bits(" in text:
            self.prelude.from_bits(dtype)
        return text

    def _known_mask(self, text: str) -> str:
        self._mask_bits[text] = NARROWEST
        return text

    def lane_numbers(self, dtype: DType, lanes: int, step: int) -> str:
        numbers = ", ".join(str(lane * step) for lane in range(lanes))
        return f"(({self.prelude.vector(dtype, lanes)}){{{numbers}}})"

    def undefined(self, dtype: DType, lanes: int) -> str:
        if lanes == 1:
            return "0"
        text = f"(({self.type_of(dtype, lanes)}){{0}})"
        return self._known_mask(text) if dtype is dt.boolean else text

    def name(self, dtype: DType, lanes: int) -> str:
        name = self._fresh()
        if dtype is dt.boolean and lanes > 1:
            self._mask_bits[name] = NARROWEST
        return name

    def splat(self, value: Value, lanes: int) -> str:
        if value.dtype is dt.boolean:
            number = f"-(int8_t){value.text}"
            return self._mask(
                NARROWEST, lanes, f"{self.prelude.splat(dt.int8, lanes)}({number})"
            )
        return self._value(
            value.dtype,
            lanes,
            f"{self.prelude.splat(value.dtype, lanes)}({value.text})",
        )

    # --- operations ---

    def alu(self, op: Ops | Raw, dtype: DType, args: Sequence[Value]) -> str:
        source, lanes = args[-1].dtype, args[0].lanes
        if op is Ops.WHERE:
            return self._select(args[0], args[1], args[2])
        if source.is_float and source.bits == 16:
            raise CompileError(
                f"no C operator for {op.name} of {source}: decompose the kernel before it is rendered"
            )
        if source is dt.boolean:
            return self._logic(op, args)
        if op in COMPARE:
            return self._compare(op, args)
        texts = [a.text for a in args]
        if op in FUNCTIONS and source.is_float:
            call = self.prelude.function(FUNCTIONS[op], source, lanes)
            return self._value(dtype, lanes, f"{call}({', '.join(texts)})")
        if op in (Raw.GREATER, Raw.LESSER, Ops.MAX, Ops.MIN):
            return self._extreme(op, args)
        return self._value(dtype, lanes, self._expression(op, source, lanes, texts))

    def _expression(
        self, op: Ops | Raw, source: DType, lanes: int, texts: list[str]
    ) -> str:
        if op is Ops.NEG:
            return (
                f"-{texts[0]}"
                if source.is_float
                else self._wrapping("-", source, lanes, ["0", texts[0]])
            )
        if op is Ops.NOT:
            return f"({self.type_of(source, lanes)})~{texts[0]}"
        if op is Ops.RECIP:
            return f"{self.constant(source, dt.to_bits(source, 1.0), lanes)} / {texts[0]}"
        if op is Ops.MULACC:
            product = self._value(
                source, lanes, self._wrapping("*", source, lanes, texts[:2])
            )
            return self._wrapping("+", source, lanes, [product, texts[2]])
        if op not in OPERATORS:
            raise CompileError(
                f"no C operator for {op.name} of {source}: decompose the kernel before it is rendered"
            )
        sign = OPERATORS[op]
        if op in WRAPPING and source.is_int:
            return self._wrapping(sign, source, lanes, texts)
        if source.is_int and lanes == 1:
            return f"({scalar_type(source)})({texts[0]} {sign} {texts[1]})"
        return f"{texts[0]} {sign} {texts[1]}"

    def _wrapping(
        self, sign: str, source: DType, lanes: int, texts: list[str]
    ) -> str:
        """Unsigned arithmetic, since signed overflow is undefined in C. Indices never overflow."""
        a, b = texts
        if source is dt.index and lanes == 1 and sign in "+-*":
            return f"{a} {sign} {b}"
        kind = self.type_of(source, lanes)
        if lanes > 1:
            wide = self.prelude.vector(unsigned(source), lanes)
            return (
                f"({kind})(({wide}){a} {sign} ({wide}){b})"
                if a != "0"
                else f"({kind})-({wide}){b}"
            )
        wide = "uint64_t" if source.bits == 64 else "uint32_t"
        narrow = (
            f"({wide})({scalar_type(unsigned(source))})"
            if source.bits < 32 and sign in "/%"
            else f"({wide})"
        )
        return f"({kind})({narrow}{a} {sign} {narrow}{b})"

    def _compare(self, op: Ops | Raw, args: Sequence[Value]) -> str:
        a, b = args
        text = f"{a.text} {OPERATORS[op]} {b.text}"
        if a.lanes == 1:
            return self._out("bool", text)
        return self._mask(a.dtype.bits, a.lanes, text)

    def _logic(self, op: Ops | Raw, args: Sequence[Value]) -> str:
        lanes = args[0].lanes
        bits = min([self._mask_bits[a.text] for a in args]) if lanes > 1 else 0
        texts = [a.text if lanes == 1 else self.mask_as(a, bits) for a in args]
        invert = "!" if lanes == 1 else "~"
        if op is Ops.NOT:
            text = f"{invert}{texts[0]}"
        elif op is Ops.CMPLT:
            text = f"({invert}{texts[0]}) & {texts[1]}"
        elif op is Ops.CMPEQ:
            text = f"{invert}({texts[0]} ^ {texts[1]})"
        elif op in BOOLEAN_OPERATORS:
            text = f"{texts[0]} {BOOLEAN_OPERATORS[op]} {texts[1]}"
        else:
            raise CompileError(f"no C operator for {op.name} of booleans")
        return (
            self._out("bool", text) if lanes == 1 else self._mask(bits, lanes, text)
        )

    def _select(self, mask: Value, yes: Value, no: Value) -> str:
        lanes, dtype = yes.lanes, yes.dtype
        if lanes == 1:
            return self._out(
                scalar_type(dtype), f"{mask.text} ? {yes.text} : {no.text}"
            )
        if dtype is dt.boolean:
            bits = min(self._mask_bits[v.text] for v in (mask, yes, no))
            m, y, n = (self.mask_as(v, bits) for v in (mask, yes, no))
            return self._mask(bits, lanes, f"({m} & {y}) | (~{m} & {n})")
        call = self.prelude.select(dtype, lanes)
        return self._value(
            dtype,
            lanes,
            f"{call}({self.mask_as(mask, dtype.bits)}, {yes.text}, {no.text})",
        )

    def _extreme(self, op: Ops | Raw, args: Sequence[Value]) -> str:
        a, b = args
        sign = ">" if op in (Raw.GREATER, Ops.MAX) else "<"
        if a.lanes == 1:
            return self._out(
                scalar_type(a.dtype),
                f"{a.text} {sign} {b.text} ? {a.text} : {b.text}",
            )
        test = Value(
            self._mask(a.dtype.bits, a.lanes, f"{a.text} {sign} {b.text}"),
            dt.boolean,
            a.lanes,
            0,
        )
        return self._select(test, a, b)

    # --- conversions ---

    def cast(self, dtype: DType, value: Value) -> str:
        source, lanes = value.dtype, value.lanes
        if source is dt.float16 or dtype is dt.float16:
            return self._cast_half(dtype, value)
        if dt.bfloat16 in (source, dtype):
            raise CompileError(
                f"no C cast from {source} to {dtype}: decompose the kernel before it is rendered"
            )
        if dtype is dt.boolean:
            zero = Value(self.constant(source, 0, lanes), source, lanes, 0)
            return self._compare(Ops.CMPNE, (value, zero))
        if lanes == 1:
            return self._out(
                scalar_type(dtype), f"({scalar_type(dtype)}){value.text}"
            )
        kind = self.prelude.vector(dtype, lanes)
        text = f"({value.text} & 1)" if source is dt.boolean else value.text
        return self._out(kind, f"__builtin_convertvector({text}, {kind})")

    def _cast_half(self, dtype: DType, value: Value) -> str:
        lanes = value.lanes
        if value.dtype is dt.float16:
            wide = self._value(
                dt.float32, lanes, f"{self.prelude.from_half(lanes)}({value.text})"
            )
            return (
                wide
                if dtype is dt.float32
                else self.cast(dtype, Value(wide, dt.float32, lanes, 0))
            )
        if value.dtype is not dt.float32:
            raise CompileError(
                f"no C cast from {value.dtype} to float16: decompose the kernel before it is rendered"
            )
        return self._value(
            dtype, lanes, f"{self.prelude.to_half(lanes)}({value.text})"
        )

    def bitcast(self, dtype: DType, value: Value) -> str:
        source, lanes = value.dtype, value.lanes
        kind = self.type_of(dtype, lanes)
        if lanes > 1 or (not _is_real(source) and not _is_real(dtype)):
            return self._out(kind, f"({kind}){value.text}")
        if _is_real(source):
            return self._out(
                kind, f"({kind}){self.prelude.to_bits(source)}({value.text})"
            )
        number = scalar_type(unsigned(source))
        return self._out(
            kind, f"{self.prelude.from_bits(dtype)}(({number}){value.text})"
        )

    # --- lanes ---

    def shuffle(self, a: Value, b: Value, picks: Sequence[int]) -> str:
        numbers = ", ".join(map(str, picks))
        if a.dtype is dt.boolean:
            bits = self._mask_bits[a.text]
            text = f"__builtin_shufflevector({a.text}, {self.mask_as(b, bits)}, {numbers})"
            return self._mask(bits, len(picks), text)
        return self._value(
            a.dtype,
            len(picks),
            f"__builtin_shufflevector({a.text}, {b.text}, {numbers})",
        )

    def extract(self, value: Value, lane: int) -> str:
        test = " != 0" if value.dtype is dt.boolean else ""
        return self._out(scalar_type(value.dtype), f"{value.text}[{lane}]{test}")

    def insert(self, value: Value, scalar: Value, lane: int) -> str:
        name = self.name(value.dtype, value.lanes)
        kind = self.type_of(value.dtype, value.lanes)
        if value.dtype is dt.boolean:
            self.lines.append(f"{kind} {name} = {self.mask_as(value, NARROWEST)};")
            self.lines.append(f"{name}[{lane}] = -(int8_t){scalar.text};")
        else:
            self.lines.append(f"{kind} {name} = {value.text};")
            self.lines.append(f"{name}[{lane}] = {scalar.text};")
        return name


def _is_real(dtype: DType) -> bool:
    """A float that C holds as a float."""
    return dtype.kind is Kind.FLOAT and dtype.bits > 16
