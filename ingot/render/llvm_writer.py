"""Memory and control flow in LLVM IR. In: loads, stores, loops and conditions. Out: lines and basic blocks."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.ir.opcode import Ops
from ingot.render.llvm_text import element, type_text
from ingot.render.llvm_values import LLVMValues
from ingot.render.value import Carried, Frame, FrameKind, Key, Value

PAST_BYTES = (16, 32, 64)  # what one instruction stores past the caches


class LLVMWriter(LLVMValues):
    """Instructions as lines of LLVM IR."""

    def __init__(self, pointers: int) -> None:
        super().__init__()
        self.allocations: list[str] = []
        self._pointers = pointers
        self.past = False  # some store goes past the caches

    # --- addresses ---

    def parameter(self, slot: int, dtype: DType) -> str:
        place = self._out(f"getelementptr i64, ptr %args, i64 {slot}")
        return self._out(f"load ptr, ptr {place}, align 8")

    def argument(self, position: int, dtype: DType) -> str:
        place = self._out(
            f"getelementptr i64, ptr %args, i64 {self._pointers + position}"
        )
        return self.load(Value(place, dtype, 1, 0), 1, 8)

    def chunk(self) -> str:
        return "%chunk"

    def stack(self, dtype: DType, size: int) -> str:
        name = self._fresh()
        self.allocations.append(
            f"  {name} = alloca [{size} x {_stored(dtype, 1)}], align 64"
        )
        return name

    def scratch(self, dtype: DType, offset: Value) -> str:
        return self._out(f"getelementptr i8, ptr %scratch, i64 {offset.text}")

    def advance(self, pointer: Value, amount: Value) -> str:
        return self._out(
            f"getelementptr {_stored(pointer.dtype, 1)}, ptr {pointer.text}, i64 {amount.text}"
        )

    def sealed(self, pointer: Value) -> str:
        """LLVM would take sums of outer terms apart in every loop (its strength reduction is then most of the time)."""
        return self._out(f"freeze ptr {pointer.text}")

    # --- memory ---

    def load(self, pointer: Value, lanes: int, align: int) -> str:
        kind = _stored(pointer.dtype, lanes)
        return self._loaded(
            pointer.dtype,
            lanes,
            self._out(f"load {kind}, ptr {pointer.text}, align {align}"),
        )

    def _loaded(self, dtype: DType, lanes: int, text: str) -> str:
        if dtype is not dt.boolean:
            return text
        return self._out(
            f"icmp ne {_stored(dtype, lanes)} {text}, {'0' if lanes == 1 else 'zeroinitializer'}"
        )

    def _to_store(self, value: Value) -> str:
        if value.dtype is not dt.boolean:
            return value.text
        source = type_text(value.dtype, value.lanes)
        return self._out(
            f"zext {source} {value.text} to {_stored(value.dtype, value.lanes)}"
        )

    def load_if(self, pointer: Value, mask: Value, other: Value, align: int) -> str:
        dtype, lanes = pointer.dtype, mask.lanes
        if lanes == 1:
            # Masked off, it reads the argument block, which is always there.
            place = self._out(
                f"select i1 {mask.text}, ptr {pointer.text}, ptr %args"
            )
            read = self.load(Value(place, dtype, 1, 0), 1, align)
            return self.alu(
                Ops.WHERE, dtype, (mask, Value(read, dtype, 1, 0), other)
            )
        kind, bits = _stored(dtype, lanes), element("i1", lanes)
        name = f"@llvm.masked.load.{_suffix(kind)}.p0"
        self.declarations.add(f"declare {kind} {name}(ptr, i32, {bits}, {kind})")
        rest = self._to_store(other)
        call = f"call {kind} {name}(ptr {pointer.text}, i32 {align}, {bits} {mask.text}, {kind} {rest})"
        return self._loaded(dtype, lanes, self._out(call))

    def gather(
        self, pointer: Value, index: Value, mask: Value | None, other: Value | None
    ) -> str:
        dtype, lanes = pointer.dtype, index.lanes
        places = self._places(pointer, index)
        kind, bits, many = (
            _stored(dtype, lanes),
            element("i1", lanes),
            element("ptr", lanes),
        )
        name = f"@llvm.masked.gather.{_suffix(kind)}.v{lanes}p0"
        self.declarations.add(f"declare {kind} {name}({many}, i32, {bits}, {kind})")
        chosen = mask.text if mask is not None else "splat (i1 true)"
        rest = self._to_store(other) if other is not None else "poison"
        call = f"call {kind} {name}({many} {places}, i32 {dtype.itemsize}, {bits} {chosen}, {kind} {rest})"
        return self._loaded(dtype, lanes, self._out(call))

    def _places(self, pointer: Value, index: Value) -> str:
        numbers = f"{type_text(index.dtype, index.lanes)} {index.text}"
        return self._out(
            f"getelementptr {_stored(pointer.dtype, 1)}, ptr {pointer.text}, {numbers}"
        )

    def store(self, pointer: Value, value: Value, align: int) -> None:
        text = self._to_store(value)
        kind = _stored(value.dtype, value.lanes)
        self.lines.append(
            f"  store {kind} {text}, ptr {pointer.text}, align {align}"
        )

    def store_past(
        self, frame: Frame, pointer: Value, value: Value, align: int
    ) -> None:
        """A store past the caches, if the address is a multiple of what is stored: any other faults."""
        nbytes = value.lanes * value.dtype.itemsize
        if nbytes not in PAST_BYTES:
            self.store(pointer, value, align)
            return
        self.past = True
        number = self._out(f"ptrtoint ptr {pointer.text} to i64")
        rest = self._out(f"and i64 {number}, {nbytes - 1}")
        whole = self._out(f"icmp eq i64 {rest}, 0")
        past, near, after = (self._label(n) for n in ("past", "near", "after"))
        self.lines += [f"  br i1 {whole}, label %{past}, label %{near}", f"{past}:"]
        self.store(pointer, value, nbytes)
        self.lines[-1] += ", !nontemporal !0"
        self.lines += [f"  br label %{after}", f"{near}:"]
        self.store(pointer, value, align)
        self.lines += [f"  br label %{after}", f"{after}:"]
        frame.label = after

    def store_if(
        self, frame: Frame, pointer: Value, value: Value, mask: Value, align: int
    ) -> None:
        if value.lanes == 1:
            self._store_branch(frame, pointer, value, mask, align)
            return
        kind, bits = _stored(value.dtype, value.lanes), element("i1", value.lanes)
        name = f"@llvm.masked.store.{_suffix(kind)}.p0"
        self.declarations.add(f"declare void {name}({kind}, ptr, i32, {bits})")
        text = self._to_store(value)
        self.lines.append(
            f"  call void {name}({kind} {text}, ptr {pointer.text}, i32 {align}, {bits} {mask.text})"
        )

    def _store_branch(
        self, frame: Frame, pointer: Value, value: Value, mask: Value, align: int
    ) -> None:
        yes, after = self._label("yes"), self._label("after")
        self.lines += [
            f"  br i1 {mask.text}, label %{yes}, label %{after}",
            f"{yes}:",
        ]
        self.store(pointer, value, align)
        self.lines += [f"  br label %{after}", f"{after}:"]
        frame.label = after

    def scatter(
        self, pointer: Value, index: Value, value: Value, mask: Value | None
    ) -> None:
        lanes = value.lanes
        places = self._places(pointer, index)
        kind, bits, many = (
            _stored(value.dtype, lanes),
            element("i1", lanes),
            element("ptr", lanes),
        )
        name = f"@llvm.masked.scatter.{_suffix(kind)}.v{lanes}p0"
        self.declarations.add(f"declare void {name}({kind}, {many}, i32, {bits})")
        chosen = mask.text if mask is not None else "splat (i1 true)"
        text = self._to_store(value)
        size = value.dtype.itemsize
        self.lines.append(
            f"  call void {name}({kind} {text}, {many} {places}, i32 {size}, {bits} {chosen})"
        )

    # --- frames ---

    def new_frame(
        self, kind: FrameKind, stored: frozenset[Key] = frozenset()
    ) -> Frame:
        return Frame(
            kind,
            "entry" if kind is FrameKind.ENTRY else self._label(kind.name.lower()),
            stored,
        )

    def close_loop(
        self,
        parent: Frame,
        guard: Frame | None,
        body: Frame,
        counter: Value,
        extent: Value,
        carried: Sequence[tuple[Carried, Value]],
    ) -> list[str]:
        after = self._label("after")
        begin, before = parent.label, guard or parent
        if guard is not None:
            self.lines = parent.lines
            runs = self._out(f"icmp sgt i64 {extent.text}, 0")
            parent.lines += [
                f"  br i1 {runs}, label %{guard.start}, label %{after}",
                f"{guard.start}:",
                *guard.lines,
            ]
        parent.lines += [f"  br label %{body.start}", f"{body.start}:"]
        self.lines = body.lines
        following = self._out(f"add nuw nsw i64 {counter.text}, 1")
        again = self._out(f"icmp slt i64 {following}, {extent.text}")
        parent.lines.append(
            _phi(counter.text, "i64", "0", before.label, following, body.label)
        )
        for c, end in carried:
            kind = type_text(end.dtype, end.lanes)
            parent.lines.append(
                _phi(
                    c.inside.text,
                    kind,
                    c.before.text,
                    before.label,
                    end.text,
                    body.label,
                )
            )
        parent.lines += body.lines
        parent.lines += [
            f"  br i1 {again}, label %{body.start}, label %{after}",
            f"{after}:",
        ]
        parent.label = after
        if guard is None:
            return [end.text for _, end in carried]
        return self._merge(parent, carried, body.label, begin)

    def close_when(
        self,
        parent: Frame,
        body: Frame,
        condition: Value,
        carried: Sequence[tuple[Carried, Value]],
    ) -> list[str]:
        after = self._label("after")
        begin = parent.label
        parent.lines += [
            f"  br i1 {condition.text}, label %{body.start}, label %{after}",
            f"{body.start}:",
        ]
        parent.lines += body.lines
        parent.lines += [f"  br label %{after}", f"{after}:"]
        parent.label = after
        return self._merge(parent, carried, body.label, begin)

    def _merge(
        self,
        parent: Frame,
        carried: Sequence[tuple[Carried, Value]],
        inside: str,
        outside: str,
    ) -> list[str]:
        """What registers hold after a block that may have been skipped."""
        names = []
        for c, end in carried:
            name = self._fresh()
            kind = type_text(end.dtype, end.lanes)
            parent.lines.append(
                _phi(name, kind, end.text, inside, c.before.text, outside)
            )
            names.append(name)
        return names


def _phi(name: str, kind: str, a: str, from_a: str, b: str, from_b: str) -> str:
    return f"  {name} = phi {kind} [ {a}, %{from_a} ], [ {b}, %{from_b} ]"


def _stored(dtype: DType, lanes: int) -> str:
    """The type in memory."""
    return type_text(dt.uint8 if dtype is dt.boolean else dtype, lanes)


def _suffix(kind: str) -> str:
    """`<16 x float>` as intrinsics spell it: v16f32."""
    count, _, word = kind[1:-1].partition(" x ")
    return f"v{count}" + {"float": "f32", "double": "f64"}.get(word, word)
