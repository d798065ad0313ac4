"""Memory and control flow in C. In: loads, stores, loops and conditions. Out: lines."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.render.c_prelude import Prelude, all_lanes
from ingot.render.c_text import scalar_type
from ingot.render.c_values import CValues
from ingot.render.value import Carried, Frame, FrameKind, Key, Value

INDENT = "    "
Merges = Sequence[tuple[Carried, Value]]


class CWriter(CValues):
    """Instructions as lines of C."""

    def __init__(self, pointers: int, prelude: Prelude) -> None:
        super().__init__(prelude)
        self.allocations: list[str] = []
        self._pointers = pointers

    # --- addresses ---

    def parameter(self, slot: int, dtype: DType) -> str:
        return self._pointer(dtype, f"({_stored(dtype)} *)(uintptr_t)args[{slot}]")

    def _pointer(self, dtype: DType, text: str) -> str:
        name = self._fresh()
        self.lines.append(f"{_stored(dtype)} *const {name} = {text};")
        return name

    def argument(self, position: int, dtype: DType) -> str:
        word = f"args[{self._pointers + position}]"
        kind = scalar_type(dtype)
        if dtype.is_float and dtype.bits > 16:
            return self._out(
                kind, f"{self.prelude.from_bits(dtype)}((uint{dtype.bits}_t){word})"
            )
        return self._out(kind, f"({kind}){word}")

    def chunk(self) -> str:
        return "chunk"

    def stack(self, dtype: DType, size: int) -> str:
        name = self._fresh()
        self.allocations.append(f"_Alignas(64) {_stored(dtype)} {name}[{size}];")
        return name

    def scratch(self, dtype: DType, offset: Value) -> str:
        return self._pointer(
            dtype, f"({_stored(dtype)} *)(void *)(scratch + {offset.text})"
        )

    def advance(self, pointer: Value, amount: Value) -> str:
        return self._pointer(pointer.dtype, f"{pointer.text} + {amount.text}")

    def sealed(self, pointer: Value) -> str:
        return pointer.text

    # --- memory ---

    def load(self, pointer: Value, lanes: int, align: int) -> str:
        dtype = pointer.dtype
        if lanes == 1:
            return self._out(
                scalar_type(dtype),
                f"*{pointer.text}" + (" != 0" if dtype is dt.boolean else ""),
            )
        held = _held(dtype)
        text = f"*({self.prelude.unaligned(held, lanes)} *){pointer.text}"
        if dtype is dt.boolean:
            return self._mask(8, lanes, f"{text} != 0")
        return self._value(dtype, lanes, text)

    def load_if(self, pointer: Value, mask: Value, other: Value, align: int) -> str:
        dtype, lanes = pointer.dtype, mask.lanes
        if lanes == 1:
            test = " != 0" if dtype is dt.boolean else ""
            return self._out(
                scalar_type(dtype),
                f"{mask.text} ? *{pointer.text}{test} : {other.text}",
            )
        held = _held(dtype)
        call = self.prelude.load_if(held, lanes)
        return self._loaded(
            dtype,
            lanes,
            f"{call}({pointer.text}, {self.mask_as(mask, held.bits)}, {self._bytes(other)})",
        )

    def _loaded(self, dtype: DType, lanes: int, text: str) -> str:
        return (
            self._mask(8, lanes, f"{text} != 0")
            if dtype is dt.boolean
            else self._value(dtype, lanes, text)
        )

    def _bytes(self, value: Value) -> str:
        """A value as it lies in memory."""
        if value.dtype is not dt.boolean:
            return value.text
        if value.lanes == 1:
            return f"(uint8_t){value.text}"
        return f"({self.prelude.vector(dt.uint8, value.lanes)})({self.mask_as(value, 8)} & 1)"

    def gather(
        self, pointer: Value, index: Value, mask: Value | None, other: Value | None
    ) -> str:
        dtype, lanes = pointer.dtype, index.lanes
        held = _held(dtype)
        call = self.prelude.gather(held, index.dtype, lanes)
        chosen = self._chosen(mask, held, lanes)
        rest = (
            self._bytes(other)
            if other is not None
            else f"({self.prelude.vector(held, lanes)}){{0}}"
        )
        return self._loaded(
            dtype, lanes, f"{call}({pointer.text}, {index.text}, {chosen}, {rest})"
        )

    def _chosen(self, mask: Value | None, held: DType, lanes: int) -> str:
        self.prelude.mask(held.bits, lanes)
        return (
            all_lanes(held, lanes)
            if mask is None
            else self.mask_as(mask, held.bits)
        )

    def store(self, pointer: Value, value: Value, align: int) -> None:
        place = f"*{pointer.text}"
        if value.lanes > 1:
            place = f"*({self.prelude.unaligned(_held(value.dtype), value.lanes)} *){pointer.text}"
        self.lines.append(f"{place} = {self._bytes(value)};")

    def store_past(
        self, frame: Frame, pointer: Value, value: Value, align: int
    ) -> None:
        """Plain C has no word for it."""
        self.store(pointer, value, align)

    def store_if(
        self, frame: Frame, pointer: Value, value: Value, mask: Value, align: int
    ) -> None:
        if value.lanes == 1:
            self.lines += [
                f"if ({mask.text})",
                f"{INDENT}*{pointer.text} = {self._bytes(value)};",
            ]
            return
        held = _held(value.dtype)
        call = self.prelude.store_if(held, value.lanes)
        self.lines.append(
            f"{call}({pointer.text}, {self.mask_as(mask, held.bits)}, {self._bytes(value)});"
        )

    def scatter(
        self, pointer: Value, index: Value, value: Value, mask: Value | None
    ) -> None:
        held = _held(value.dtype)
        call = self.prelude.scatter(held, index.dtype, value.lanes)
        chosen = self._chosen(mask, held, value.lanes)
        self.lines.append(
            f"{call}({pointer.text}, {index.text}, {chosen}, {self._bytes(value)});"
        )

    # --- frames ---

    def new_frame(
        self, kind: FrameKind, stored: frozenset[Key] = frozenset()
    ) -> Frame:
        return Frame(kind, "", stored)

    def close_loop(
        self,
        parent: Frame,
        guard: Frame | None,
        body: Frame,
        counter: Value,
        extent: Value,
        carried: Merges,
    ) -> list[str]:
        for c, _ in carried:
            parent.lines.append(self._variable(c.inside, c.before))
        name = counter.text
        assignments = self._assignments(carried)
        block = [f"for (int64_t {name} = 0; {name} < {extent.text}; {name}++) {{"]
        block += [f"{INDENT}{line}" for line in (*body.lines, *assignments)]
        block.append("}")
        if guard is not None and guard.lines:
            block = [f"{INDENT}{line}" for line in (*guard.lines, *block)]
            block = [f"if ({extent.text} > 0) {{", *block, "}"]
        parent.lines += block
        # The variable is known by another name afterwards: inside the loop its name stood for other values.
        self.lines = parent.lines
        return [self._copy(c.inside) for c, _ in carried]

    def _variable(self, target: Value, value: Value) -> str:
        kind = self.type_of(target.dtype, target.lanes, target.text)
        return f"{kind} {target.text} = {self._as_held(target, value)};"

    def _as_held(self, target: Value, value: Value) -> str:
        if target.dtype is dt.boolean and target.lanes > 1:
            return self.mask_as(value, self._mask_bits[target.text])
        return value.text

    def _copy(self, value: Value) -> str:
        if value.dtype is dt.boolean and value.lanes > 1:
            return self._mask(self._mask_bits[value.text], value.lanes, value.text)
        return self._value(value.dtype, value.lanes, value.text)

    def _assignments(self, carried: Merges) -> list[str]:
        """All at once: a new value may be the old value of another variable."""
        names = {c.inside.text for c, _ in carried}
        changed = [
            (c.inside, end) for c, end in carried if end.text != c.inside.text
        ]
        first: list[str] = []
        then: list[str] = []
        for target, end in changed:
            text = self._as_held(target, end)
            if end.text in names:
                self.lines = first
                text = self._out(
                    self.type_of(target.dtype, target.lanes, target.text), text
                )
            then.append(f"{target.text} = {text};")
        return first + then

    def close_when(
        self, parent: Frame, body: Frame, condition: Value, carried: Merges
    ) -> list[str]:
        after = []
        assignments = []
        for c, end in carried:
            merged = Value(self.name(end.dtype, end.lanes), end.dtype, end.lanes, 0)
            parent.lines.append(self._variable(merged, c.before))
            assignments.append(f"{merged.text} = {self._as_held(merged, end)};")
            after.append(merged.text)
        inside = [f"{INDENT}{line}" for line in (*body.lines, *assignments)]
        parent.lines += [f"if ({condition.text}) {{", *inside, "}"]
        return after


def _held(dtype: DType) -> DType:
    """The type of an element in memory."""
    return dt.uint8 if dtype is dt.boolean else dtype


def _stored(dtype: DType) -> str:
    return scalar_type(_held(dtype))
