"""Loads and stores. In: LOAD and STORE nodes. Out: contiguous, masked, strided or gathered accesses.

An address is the buffer plus, frame by frame from the outside in, the terms that are known there: what does not change
in a loop is added before it. The constant part stays with the access.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from ingot.errors import CompileError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, ParamArg, Scope, StageArg
from ingot.render.analysis import Analysis, Placed, Scalar, buffer_key, is_register
from ingot.render.code import Code
from ingot.render.tile import Tiles
from ingot.render.value import FrameKind, Key, Value

LOCAL_ALIGN = 64  # bytes, of stack and scratch buffers
NEAR = 2**31  # lane offsets below this fit in 32 bits


@dataclass(slots=True)
class Place:
    """Where lanes are: pointer + constant + stride * lane (+ index, where lanes are anywhere)."""

    pointer: Value
    constant: int
    stride: int
    index: Value | None
    align: int

    @property
    def level(self) -> int:
        return (
            self.pointer.level
            if self.index is None
            else max(self.pointer.level, self.index.level)
        )


@dataclass(slots=True)
class Here:
    """What an access depends on besides its nodes: values of unrolled axes, lanes of the vector loop around it."""

    unrolled: dict[int, int]
    lanes: int


class Memory:
    """The buffers of a kernel."""

    def __init__(
        self,
        code: Code,
        analysis: Analysis,
        tiles: Tiles,
        evaluate: Callable[[UOp], Value],
        scope: Here,
    ) -> None:
        self.code = code
        self.analysis = analysis
        self.tiles = tiles
        self.evaluate = evaluate
        self.scope = scope
        self.versions: dict[Key, int] = {}
        self._changes = 0
        self._bases: dict[Key, Value] = {}
        self._places: dict[Key, tuple[Value, int]] = {}
        self._scratch = code.number(0)

    # --- buffers ---

    def declare(self, stage: UOp) -> None:
        """A STAGE statement."""
        scope = cast(StageArg, stage.arg).scope
        if scope is Scope.REGISTER:
            self.tiles.declare(stage)
        elif scope is Scope.SHARED:
            raise CompileError(
                "shared memory is a thing of GPUs: this renderer writes CPU code"
            )
        elif buffer_key(stage) not in self._bases:
            self._bases[buffer_key(stage)] = (
                self._stack(stage) if scope is Scope.STACK else self._packed(stage)
            )

    def _stack(self, stage: UOp) -> Value:
        if stage.src[0].op is not Ops.CONST:
            raise CompileError(
                f"a stack buffer needs a constant size, not {stage.src[0]!r}"
            )
        text = self.code.write_at(0).stack(stage.dtype, int(stage.src[0].value))
        return Value(text, stage.dtype, 1, 0)

    def _packed(self, stage: UOp) -> Value:
        """The next piece of scratch, on a cache line of its own."""
        code = self.code
        size = self.evaluate(stage.src[0])
        if size.level:
            raise CompileError(
                f"the size of a packed buffer depends on a loop: {stage.src[0]!r}"
            )
        text = code.write_at(0).scratch(stage.dtype, self._scratch)
        nbytes = code.add(
            code.scaled(stage.dtype.itemsize, size), code.number(LOCAL_ALIGN - 1)
        )
        rounded = code.apply(Ops.AND, dt.index, nbytes, code.number(-LOCAL_ALIGN))
        self._scratch = code.add(self._scratch, rounded)
        return Value(text, stage.dtype, 1, 0)

    def base(self, buffer: UOp) -> Value:
        """Where a buffer begins."""
        key = buffer_key(buffer)
        found = self._bases.get(key)
        if found is not None:
            return found
        if buffer.op is not Ops.PARAM:
            raise CompileError(
                f"a buffer is used before its STAGE statement: {buffer!r}"
            )
        text = self.code.write_at(0).parameter(
            cast(ParamArg, buffer.arg).slot, buffer.dtype
        )
        made = self._bases[key] = Value(text, buffer.dtype, 1, 0)
        return made

    def changed(self, key: Key) -> None:
        """What was loaded from this buffer is old now."""
        self._changes += 1
        self.versions[key] = self._changes

    # --- addresses ---

    def place(self, buffer: UOp, offset: UOp) -> Place:
        parts = self.analysis.offset(offset)
        placed = parts.at(self.scope.unrolled)
        inner = [self.scope.unrolled[axis] for axis in parts.inner]
        pointer, more = self._advanced(buffer, tuple(placed.scalars), tuple(inner))
        constant = placed.constant + more
        index = self._index(placed) if placed.vectors else None
        return Place(
            pointer,
            constant,
            placed.stride,
            index,
            self._align(buffer, placed, constant),
        )

    def _advanced(
        self, buffer: UOp, terms: tuple[Scalar, ...], inner: tuple[int, ...]
    ) -> tuple[Value, int]:
        """The buffer's beginning plus scalar terms, and a constant still to be added."""
        if not terms:
            return self.base(buffer), 0
        changing = self.analysis.changing_in(terms)
        key = (buffer, terms, inner, *[self.versions.get(b, 0) for b in changing])
        found = self._places.get(key)
        if found is not None and self.code.known.get(key) is found[0]:
            return found
        made = self._places[key] = self._advance(buffer, terms)
        self.code.learn(key, made[0], self.code.top)
        return made

    def _advance(self, buffer: UOp, terms: tuple[Scalar, ...]) -> tuple[Value, int]:
        levels: dict[int, Value] = {}
        constant = 0
        for factor, atoms in terms:
            value = self.product(factor, atoms)
            if value.bits is not None:
                constant += int(dt.from_bits(dt.index, value.bits))
                continue
            known = levels.get(value.level)
            levels[value.level] = (
                value if known is None else self.code.add(known, value)
            )
        pointer = self.base(buffer)
        for number, level in enumerate(sorted(levels)):
            before = self.code.sealed(pointer) if number else pointer
            pointer = self.code.advance(before, levels[level])
        return pointer, constant

    def product(self, factor: int, atoms: tuple[UOp, ...]) -> Value:
        """factor * atoms, those of the outer loops first."""
        values = sorted(
            (self.evaluate(atom) for atom in atoms), key=lambda v: v.level
        )
        total = self.code.number(factor)
        for value in values:
            total = self.code.multiply(total, value)
        return total

    def _index(self, placed: Placed) -> Value:
        """The part of an offset that differs by lane in no simple way."""
        code = self.code
        lanes = code.lane_numbers(dt.index, self.scope.lanes)
        total = (
            code.apply(Ops.MUL, dt.index, lanes, code.number(placed.stride))
            if placed.stride
            else None
        )
        for factor, atoms, by_lane in placed.vectors:
            term = self.product(factor, atoms)
            if by_lane:
                term = code.apply(Ops.MUL, dt.index, term, lanes)
            total = (
                term
                if total is None
                else code.apply(Ops.ADD, dt.index, total, term)
            )
        assert total is not None
        return code.widen(total, self.scope.lanes)

    def _align(self, buffer: UOp, placed: Placed, constant: int) -> int:
        """Bytes that an address is a multiple of: more than an element only in buffers of our own."""
        size = buffer.dtype.itemsize
        if buffer.op is Ops.PARAM:
            return size
        step = math.gcd(constant, *(factor for factor, _ in placed.scalars)) * size
        return math.gcd(step, LOCAL_ALIGN)

    def pointer(
        self, place: Place, level: int, constant: int | None = None
    ) -> Value:
        """The address of lane 0."""
        amount = place.constant if constant is None else constant
        return self.code.advance(place.pointer, self.code.number(amount), level)

    # --- loads ---

    def load(self, node: UOp) -> Value:
        buffer = node.src[0]
        lanes = self.scope.lanes
        if is_register(buffer):
            return self._masked_register(
                node,
                self.tiles.read(buffer, node.src[1], self.scope.unrolled, lanes),
            )
        axes, changing = self.analysis.load_facts(node)
        unrolled = self.scope.unrolled
        key = (
            node,
            lanes,
            *[unrolled[a] for a in axes],
            *[self.versions.get(b, 0) for b in changing],
        )
        found = self.code.known.get(key)
        if found is None:
            found = self.code.learn(key, self._load(node), self.code.top)
        return found

    def _masked_register(self, node: UOp, value: Value) -> Value:
        if len(node.src) == 2:
            return value
        return self.code.select(
            self.evaluate(node.src[2]), value, self.evaluate(node.src[3])
        )

    def _load(self, node: UOp) -> Value:
        buffer = node.src[0]
        place = self.place(buffer, node.src[1])
        mask = self.evaluate(node.src[2]) if len(node.src) > 2 else None
        other = self.evaluate(node.src[3]) if mask is not None else None
        if mask is not None and mask.bits is not None:
            if not mask.bits:
                return cast(Value, other)
            mask = other = None
        needed = max(
            place.level, *(v.level for v in (mask, other) if v is not None), 0
        )
        level = self._outermost(needed, buffer_key(buffer))
        return self._read(place, mask, other, level)

    def _outermost(self, needed: int, buffer: Key) -> int:
        """The outermost frame where a load may stand: its address is known, nothing stores, and it is sure to run."""
        level = self.code.top
        while level > needed:
            frame = self.code.frames[level]
            if frame.kind is not FrameKind.BODY or buffer in frame.stored:
                break
            level -= 1
        return level

    def _read(
        self, place: Place, mask: Value | None, other: Value | None, level: int
    ) -> Value:
        lanes = self.scope.lanes
        dtype = place.pointer.dtype
        by_lane = (
            place.stride != 0
            or place.index is not None
            or (mask is not None and mask.lanes > 1)
        )
        if not by_lane:
            lanes = 1
        elif place.index is not None or place.stride != 1:
            return self._read_apart(place, mask, other, level)
        pointer = self.pointer(place, level)
        writer = self.code.write_at(level)
        if mask is None or other is None:
            return Value(
                writer.load(pointer, lanes, place.align), dtype, lanes, level
            )
        mask = self.code.widen(mask, lanes)
        other = self.code.widen(other, lanes)
        text = self.code.write_at(level).load_if(pointer, mask, other, place.align)
        return Value(text, dtype, lanes, level)

    def _read_apart(
        self, place: Place, mask: Value | None, other: Value | None, level: int
    ) -> Value:
        """Lanes that are not neighbours."""
        lanes = self.scope.lanes
        dtype = place.pointer.dtype
        if mask is None and place.index is None and place.stride in (-1, 2):
            return self._read_near(place, level)
        if place.index is None and place.stride == 2 and other is not None:
            if mask is not None and mask.lanes > 1 and other.bits is not None:
                return self._read_even(place, mask, other, level)
        pointer = self.pointer(place, level)
        index = self._lane_index(place)
        if mask is not None and other is not None:
            mask, other = (
                self.code.widen(mask, lanes),
                self.code.widen(other, lanes),
            )
        text = self.code.write_at(level).gather(pointer, index, mask, other)
        return Value(text, dtype, lanes, level)

    def _lane_index(self, place: Place) -> Value:
        if place.index is not None:
            return place.index
        lanes = self.scope.lanes
        narrow = abs(place.stride) * lanes < NEAR
        return self.code.lane_numbers(
            dt.int32 if narrow else dt.index, lanes, place.stride
        )

    def _read_near(self, place: Place, level: int) -> Value:
        """Stride -1: a load and a reversal. Stride 2: two loads, the second so that it ends with the last lane."""
        lanes = self.scope.lanes
        if place.stride == -1:
            values = [self._contiguous(place, place.constant - lanes + 1, level)]
            picks = list(range(lanes - 1, -1, -1))
        else:
            firsts = (place.constant, place.constant + lanes - 1)
            values = [self._contiguous(place, first, level) for first in firsts]
            picks = [2 * i if 2 * i < lanes else 2 * i + 1 for i in range(lanes)]
        return self.code.shuffle(values[0], values[-1], picks)

    def _read_even(
        self, place: Place, mask: Value, other: Value, level: int
    ) -> Value:
        """Stride 2, some lanes: two loads as in `_read_near`, each with the lanes that it has, and nothing between."""
        code, lanes = self.code, self.scope.lanes
        never = code.widen(code.constant(dt.boolean, 0), lanes)
        rest = code.widen(other, lanes)
        loaded = []
        for first in (0, lanes - 1):
            halves = [(first + e) // 2 for e in range(lanes)]
            picks = [
                lane if 2 * lane == first + e else lanes
                for e, lane in enumerate(halves)
            ]
            part = code.shuffle(mask, never, picks)
            pointer = self.pointer(place, level, place.constant + first)
            text = code.write_at(level).load_if(
                pointer, part, rest, pointer.dtype.itemsize
            )
            loaded.append(Value(text, pointer.dtype, lanes, level))
        picks = [2 * i if 2 * i < lanes else 2 * i + 1 for i in range(lanes)]
        return code.shuffle(loaded[0], loaded[1], picks)

    def _contiguous(self, place: Place, constant: int, level: int) -> Value:
        pointer = self.pointer(place, level, constant)
        dtype = pointer.dtype
        text = self.code.write_at(level).load(
            pointer, self.scope.lanes, dtype.itemsize
        )
        return Value(text, dtype, self.scope.lanes, level)

    # --- stores ---

    def store(
        self,
        buffer: UOp,
        offset: UOp,
        value: Value,
        mask: Value | None,
        uncached: bool = False,
    ) -> None:
        if is_register(buffer):
            self.tiles.write(
                buffer, offset, self.scope.unrolled, self.scope.lanes, value, mask
            )
        elif mask is None or mask.bits is None:
            self._write(self.place(buffer, offset), value, mask, uncached)
        elif mask.bits:
            self._write(self.place(buffer, offset), value, None, uncached)
        self.changed(buffer_key(buffer))

    def _write(
        self, place: Place, value: Value, mask: Value | None, uncached: bool
    ) -> None:
        level = self.code.top
        if place.stride == 0 and place.index is None:
            if value.lanes > 1 or (mask is not None and mask.lanes > 1):
                raise CompileError(
                    "the lanes of a vector loop store to one element"
                )
            self._write_at(place, value, mask)
            return
        value = self.code.widen(value, self.scope.lanes)
        mask = mask if mask is None else self.code.widen(mask, self.scope.lanes)
        if place.stride == 1 and place.index is None:
            self._write_at(place, value, mask, uncached)
            return
        pointer = self.pointer(place, level)
        index = self._lane_index(place)
        self.code.write_at(level).scatter(pointer, index, value, mask)

    def _write_at(
        self,
        place: Place,
        value: Value,
        mask: Value | None,
        uncached: bool = False,
    ) -> None:
        level = self.code.top
        pointer = self.pointer(place, level)
        writer = self.code.write_at(level)
        if mask is None and uncached:
            writer.store_past(self.code.frames[level], pointer, value, place.align)
        elif mask is None:
            writer.store(pointer, value, place.align)
        else:
            writer.store_if(
                self.code.frames[level], pointer, value, mask, place.align
            )
