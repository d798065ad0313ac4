"""Code in the making: open frames, and every value written so far. In: operations on values. Out: values.

An operation goes to the outermost frame in which all its operands are known, so that what does not change in a loop is
written before it; and it is written once: an operation on the same operands gives the value that is there already.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.opcode import COMPARE, Ops
from ingot.render.value import Frame, FrameKind, Key, Raw, Value, Writer


class Code:
    """The function being written."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.frames = [writer.new_frame(FrameKind.ENTRY)]
        self.known: dict[Key, Value] = {}
        self._constants: dict[tuple[DType, int], Value] = {}
        self._numbers: dict[int, Value] = {}
        self._lane_numbers: dict[tuple[DType, int, int], Value] = {}

    # --- frames ---

    @property
    def top(self) -> int:
        return len(self.frames) - 1

    def open(self, frame: Frame) -> None:
        self.frames.append(frame)

    def close(self) -> Frame:
        """End the innermost frame: what it knew is forgotten."""
        frame = self.frames.pop()
        for key in frame.forget:
            self.known.pop(key, None)
        return frame

    def write_at(self, level: int) -> Writer:
        """The writer, at the end of an open frame."""
        self.writer.lines = self.frames[level].lines
        return self.writer

    def learn(self, key: Key, value: Value, level: int) -> Value:
        """Remember a value as long as the frame `level` is open."""
        self.known[key] = value
        self.frames[level].forget.append(key)
        return value

    def forget_nodes(self) -> None:
        """Forget what is known by its node: the node means something else from here on."""
        for key in [
            k for k in self.known if isinstance(k, tuple) and isinstance(k[0], UOp)
        ]:
            del self.known[key]

    def _new(
        self, key: Key, text: str, dtype: DType, lanes: int, level: int
    ) -> Value:
        value = self.known[key] = Value(text, dtype, lanes, level)
        self.frames[level].forget.append(key)
        return value

    # --- values ---

    def constant(self, dtype: DType, bits: int) -> Value:
        found = self._constants.get((dtype, bits))
        if found is None:
            found = Value(self.writer.constant(dtype, bits, 1), dtype, 1, 0, bits)
            self._constants[dtype, bits] = found
        return found

    def number(self, value: int) -> Value:
        """An index constant."""
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = self.constant(
                dt.index, dt.to_bits(dt.index, value)
            )
        return found

    def undefined(self, dtype: DType, lanes: int) -> Value:
        return Value(self.writer.undefined(dtype, lanes), dtype, lanes, 0)

    def lane_numbers(self, dtype: DType, lanes: int, step: int = 1) -> Value:
        """0, step, 2 * step ..."""
        if lanes == 1:
            return self.constant(dtype, 0)
        found = self._lane_numbers.get((dtype, lanes, step))
        if found is None:
            found = Value(
                self.writer.lane_numbers(dtype, lanes, step), dtype, lanes, 0
            )
            self._lane_numbers[dtype, lanes, step] = found
        return found

    def widen(self, value: Value, lanes: int) -> Value:
        """The value in every lane."""
        if value.lanes == lanes:
            return value
        if value.bits is not None:
            return Value(
                self.writer.constant(value.dtype, value.bits, lanes),
                value.dtype,
                lanes,
                0,
            )
        key = ("splat", value.text, lanes)
        found = self.known.get(key)
        if found is not None:
            return found
        text = self.write_at(value.level).splat(value, lanes)
        return self._new(key, text, value.dtype, lanes, value.level)

    def alike(self, values: Sequence[Value]) -> Sequence[Value]:
        """Values with the same number of lanes."""
        lanes = max([v.lanes for v in values])
        return [v if v.lanes == lanes else self.widen(v, lanes) for v in values]

    def apply(self, op: Ops | Raw, dtype: DType, *operands: Value) -> Value:
        """One instruction."""
        args: Sequence[Value] = operands
        lanes = args[0].lanes
        for arg in operands:
            if arg.lanes != lanes:
                args = self.alike(operands)
                lanes = args[0].lanes
                break
        key = (op, dtype, *[a.text for a in args])
        found = self.known.get(key)
        if found is not None:
            return found
        level = max([a.level for a in args])
        text = self.write_at(level).alu(op, dtype, args)
        return self._new(key, text, dtype, lanes, level)

    def compare(self, op: Ops, a: Value, b: Value) -> Value:
        assert op in COMPARE
        return self.apply(op, dt.boolean, a, b)

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        return self.apply(Ops.WHERE, yes.dtype, condition, yes, no)

    def convert(self, op: Ops, dtype: DType, value: Value) -> Value:
        """CAST or BITCAST."""
        if dtype is value.dtype:
            return value
        key = (op, dtype, value.text, value.dtype)
        found = self.known.get(key)
        if found is not None:
            return found
        writer = self.write_at(value.level)
        text = (
            writer.cast(dtype, value)
            if op is Ops.CAST
            else writer.bitcast(dtype, value)
        )
        return self._new(key, text, dtype, value.lanes, value.level)

    def shuffle(self, a: Value, b: Value, picks: Sequence[int]) -> Value:
        """Lanes of a, then of b, by number."""
        key = ("shuffle", a.text, b.text, tuple(picks))
        found = self.known.get(key)
        if found is not None:
            return found
        level = max(a.level, b.level)
        text = self.write_at(level).shuffle(a, b, picks)
        return self._new(key, text, a.dtype, len(picks), level)

    def extract(self, value: Value, lane: int) -> Value:
        key = ("extract", value.text, lane)
        found = self.known.get(key)
        if found is not None:
            return found
        text = self.write_at(value.level).extract(value, lane)
        return self._new(key, text, value.dtype, 1, value.level)

    def insert(self, value: Value, scalar: Value, lane: int) -> Value:
        level = max(value.level, scalar.level)
        text = self.write_at(level).insert(value, scalar, lane)
        return Value(text, value.dtype, value.lanes, level)

    # --- index arithmetic, folded ---

    def add(self, a: Value, b: Value) -> Value:
        if a.bits == 0:
            return b
        return a if b.bits == 0 else self.apply(Ops.ADD, dt.index, a, b)

    def multiply(self, a: Value, b: Value) -> Value:
        if a.bits == 1:
            return b
        if b.bits == 1:
            return a
        if a.bits is not None and b.bits is not None:
            return self.constant(dt.index, (a.bits * b.bits) & (2**64 - 1))
        return self.apply(Ops.MUL, dt.index, a, b)

    def scaled(self, factor: int, value: Value) -> Value:
        return self.multiply(value, self.number(factor))

    def sealed(self, pointer: Value) -> Value:
        """The pointer as a value of its own: how it came about is of no use to loops inside."""
        key = ("sealed", pointer.text)
        found = self.known.get(key)
        if found is not None:
            return found
        text = self.write_at(pointer.level).sealed(pointer)
        return self._new(key, text, pointer.dtype, 1, pointer.level)

    def advance(
        self, pointer: Value, amount: Value, level: int | None = None
    ) -> Value:
        """A pointer `amount` elements further; `level`: where to write it, if not as far out as can be."""
        if amount.bits == 0:
            return pointer
        if level is None:
            level = max(pointer.level, amount.level)
        key = ("advance", pointer.text, amount.text, level)
        found = self.known.get(key)
        if found is not None:
            return found
        text = self.write_at(level).advance(pointer, amount)
        return self._new(key, text, pointer.dtype, 1, level)
