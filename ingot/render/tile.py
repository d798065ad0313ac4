"""Register tiles: REGISTER stages as values. In: loads and stores with constant offsets. Out: values, shuffled.

A tile is cut into slots, each one value. The widest store decides how: 16 lanes with stride 1 make slots of 16
neighbours, 16 lanes with stride 48 make slots of 16 rows. A read along the slots is free; a read across them is a
transpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import cast

from ingot.errors import CompileError
from ingot.ir.node import UOp
from ingot.ir.opcode import StageArg
from ingot.render.analysis import Analysis, RegisterStore, Unrolled
from ingot.render.code import Code
from ingot.render.transpose import transpose
from ingot.render.value import Slot, Value

Part = tuple[Slot, int]  # (slot, lane)


class Layout:
    """How the elements of one tile are dealt out to slots."""

    __slots__ = ("block", "lanes", "stage", "stride")

    def __init__(self, stage: int, lanes: int, stride: int) -> None:
        self.stage = stage
        self.lanes = lanes
        self.stride = stride
        self.block = lanes * stride

    def find(self, element: int) -> Part:
        lane = element % self.block // self.stride
        return (self.stage, element - lane * self.stride), lane

    def is_slot(self, element: int, lanes: int, stride: int) -> bool:
        """These lanes are exactly one slot."""
        fits = lanes == self.lanes and (stride == self.stride or lanes == 1)
        return fits and element % self.block < self.stride


class Tiles:
    """The register tiles of a kernel and what they hold now."""

    def __init__(self, code: Code, analysis: Analysis, kernel: UOp) -> None:
        self.code = code
        self.analysis = analysis
        self.held: dict[Slot, Value] = {}
        self._layouts: dict[int, Layout] = {}
        self._transposed: dict[tuple[str, ...], list[Value]] = {}
        for store in analysis.all_register_stores(kernel):
            self._widen_layout(store)

    def _widen_layout(self, store: RegisterStore) -> None:
        stage = cast(StageArg, store.stage.arg).id
        stride = self.analysis.offset(store.offset).stride
        lanes = store.lanes if stride > 0 else 1
        known = self._layouts.get(stage)
        if known is None or lanes > known.lanes:
            self._layouts[stage] = Layout(stage, lanes, stride or 1)

    def layout(self, stage: UOp) -> Layout:
        number = cast(StageArg, stage.arg).id
        return self._layouts.get(number) or Layout(number, 1, 1)

    # --- statements ---

    def declare(self, stage: UOp) -> None:
        """A STAGE statement: nothing is held any more."""
        number = cast(StageArg, stage.arg).id
        for slot in [s for s in self.held if s[0] == number]:
            del self.held[slot]

    def changed_by(self, statement: UOp, unrolled: Unrolled) -> dict[Slot, UOp]:
        """The slots, with their stage, that a statement stores to."""
        slots: dict[Slot, UOp] = {}
        for store in self.analysis.register_stores(statement):
            layout = self.layout(store.stage)
            stride = self.analysis.offset(store.offset).stride
            lanes = store.lanes if stride else 1
            for first in self._places(store, unrolled):
                if layout.is_slot(first, lanes, stride):
                    slots[layout.stage, first] = store.stage
                else:
                    slots |= {
                        layout.find(first + i * stride)[0]: store.stage
                        for i in range(lanes)
                    }
        return slots

    def _places(self, store: RegisterStore, unrolled: Unrolled) -> Iterator[int]:
        """The first element of every copy of a store."""
        axes = set(self.analysis.unrolled_axes(store.offset))
        loops = [(axis, extent) for axis, extent in store.loops if axis in axes]
        here = dict(unrolled)
        for values in product(*(range(extent) for _, extent in loops)):
            here.update(zip((axis for axis, _ in loops), values, strict=True))
            yield self.place(store.offset, here)[0]

    def place(self, offset: UOp, unrolled: Unrolled) -> tuple[int, int]:
        """(first element, stride by lane) of an access."""
        parts = self.analysis.offset(offset)
        if not parts.others:
            return parts.fixed(unrolled), parts.stride
        placed = parts.at(unrolled)
        if placed.scalars or placed.vectors:
            raise CompileError(
                f"a register tile needs constant offsets once loops are unrolled, not {offset!r}"
            )
        return placed.constant, placed.stride

    def at(self, slot: Slot, stage: UOp) -> Value:
        """What a slot holds; a slot never stored to holds anything."""
        found = self.held.get(slot)
        if found is None:
            return self.code.undefined(stage.dtype, self.layout(stage).lanes)
        return found

    # --- reading ---

    def read(
        self, stage: UOp, offset: UOp, unrolled: Unrolled, lanes: int
    ) -> Value:
        first, stride = self.place(offset, unrolled)
        layout = self.layout(stage)
        if stride == 0:
            slot, lane = layout.find(first)
            whole = self.at(slot, stage)
            return whole if layout.lanes == 1 else self.code.extract(whole, lane)
        if layout.is_slot(first, lanes, stride):
            return self.at((layout.stage, first), stage)
        parts = [layout.find(first + lane * stride) for lane in range(lanes)]
        return self._assemble(stage, parts)

    def _assemble(self, stage: UOp, parts: Sequence[Part]) -> Value:
        """A vector of lanes from here and there."""
        slots = list(dict.fromkeys(slot for slot, _ in parts))
        values = [self.at(slot, stage) for slot in slots]
        if len(slots) <= 2 and values[0].lanes > 1:
            number = {slot: i * values[0].lanes for i, slot in enumerate(slots)}
            return self.code.shuffle(
                values[0], values[-1], [number[slot] + lane for slot, lane in parts]
            )
        across = {lane for _, lane in parts}
        if len(slots) == len(parts) and len(across) == 1 and values[0].lanes > 1:
            return self._column(values, across.pop())
        return self._one_by_one(stage, parts)

    def _column(self, rows: list[Value], lane: int) -> Value:
        """One lane of every row: the whole square is transposed at once, the other columns are wanted soon."""
        count, width = len(rows), rows[0].lanes
        if width >= count:
            return self._square(rows, lane // count * count, lane % count)
        pieces = [
            self._square(rows[i : i + width], 0, lane)
            for i in range(0, count, width)
        ]
        while len(pieces) > 1:
            pairs = zip(pieces[::2], pieces[1::2], strict=True)
            pieces = [self.code.shuffle(a, b, range(2 * a.lanes)) for a, b in pairs]
        return pieces[0]

    def _square(self, rows: list[Value], start: int, column: int) -> Value:
        count = len(rows)
        if rows[0].lanes != count:
            rows = [
                self.code.shuffle(r, r, range(start, start + count)) for r in rows
            ]
        key = tuple(r.text for r in rows)
        columns = self._transposed.get(key)
        if columns is None:
            columns = self._transposed[key] = transpose(self.code, rows)
        return columns[column]

    def _one_by_one(self, stage: UOp, parts: Sequence[Part]) -> Value:
        made = self.code.undefined(stage.dtype, len(parts))
        for lane, (slot, source) in enumerate(parts):
            whole = self.at(slot, stage)
            scalar = whole if whole.lanes == 1 else self.code.extract(whole, source)
            made = self.code.insert(made, scalar, lane)
        return made

    # --- writing ---

    def write(
        self,
        stage: UOp,
        offset: UOp,
        unrolled: Unrolled,
        lanes: int,
        value: Value,
        mask: Value | None,
    ) -> None:
        first, stride = self.place(offset, unrolled)
        layout = self.layout(stage)
        count = lanes if stride else 1
        if stride == 0 and value.lanes > 1:
            raise CompileError(
                f"a store of {value.lanes} different lanes to one register element: {offset!r}"
            )
        value = self.code.widen(value, count)
        if layout.is_slot(first, count, stride):
            self._put((layout.stage, first), stage, value, mask)
            return
        parts = [layout.find(first + lane * stride) for lane in range(count)]
        self._scatter(stage, parts, value, mask)

    def _put(
        self, slot: Slot, stage: UOp, value: Value, mask: Value | None
    ) -> None:
        self.held[slot] = (
            value
            if mask is None
            else self.code.select(mask, value, self.at(slot, stage))
        )

    def _scatter(
        self, stage: UOp, parts: Sequence[Part], value: Value, mask: Value | None
    ) -> None:
        """Lanes that land inside other slots."""
        for lane, (slot, place) in enumerate(parts):
            scalar = value if value.lanes == 1 else self.code.extract(value, lane)
            whole = self.at(slot, stage)
            if mask is not None:
                chosen = mask if mask.lanes == 1 else self.code.extract(mask, lane)
                scalar = self.code.select(
                    chosen, scalar, self.code.extract(whole, place)
                )
            self.held[slot] = self.code.insert(whole, scalar, place)
