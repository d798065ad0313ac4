"""Scattering: rows of updates into rows of a base. In: base, int64 places, updates. Out: a new base.

Updates to the same place are made in the order of their indices, whoever makes them.

    columns   rows are wide: every chunk has some columns, and goes through all updates
    ranges    rows are single elements, and many: updates are first dealt out to ranges of the base, in order; then a
              chunk has a range, which stays in its cache
    plain     few updates: one after the other
"""

from __future__ import annotations

from functools import partial

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.kernel.launches import Built
from ingot.kernel.skeleton.form import Skeleton
from ingot.kernel.skeleton.items import Values, get, put
from ingot.kernel.skeleton.parts import LANES, Parts, copy, fill, halvings
from ingot.kernel.skeleton.write import (
    ZERO,
    Author,
    Memory,
    Register,
    at_index,
    ceil_div,
    load,
    number,
    size,
    store,
)

COPIED = 1 << 16  # elements of the base that a chunk copies
COLUMNS = 32  # of a chunk
RANGES = 64  # as many as pages that a processor finds at once
DEALT = 1 << 16  # updates of a part
_HALF = UOp.const(dt.uint64, 32)

_MODES = {"add": Ops.ADD, "mul": Ops.MUL, "max": Ops.MAX, "min": Ops.MIN}


def updated(kernel: Skeleton, old: UOp, value: UOp) -> UOp:
    """What an update makes of an element."""
    mode = str(kernel.option("mode"))
    if mode == "set":
        return value
    if mode == "add" and value.dtype is dt.boolean:
        return old.alu(Ops.OR, value)
    return old.alu(_MODES[mode], value)


def _memory(kernel: Skeleton) -> Memory:
    return Memory(kernel.types, 1)


def _copied(memory: Memory, total: UOp) -> list[UOp]:
    author = Author()
    parts = Parts(number(1), total, COPIED)

    def part(chunk: UOp) -> list[UOp]:
        start = parts.start(chunk)
        extent = parts.extent(chunk)
        return copy(author, memory[3], start, memory[0], start, extent)

    return [author.chunks(parts.chunks, part)]


def plain(kernel: Skeleton) -> Built:
    """One update after the other."""
    memory, author = _memory(kernel), Author()
    width, count = size(1), size(2)

    def update(k: UOp) -> list[UOp]:
        first = at_index(load(memory[1], k)) * width
        return [author.loop(width, partial(element, k, first), "w")]

    def element(k: UOp, first: UOp, w: UOp) -> list[UOp]:
        old = load(memory[3], first + w)
        value = load(memory[2], k * width + w)
        return [store(memory[3], first + w, updated(kernel, old, value))]

    apply = author.loop(count, update, "k")
    return memory.built("scatter", [_copied(memory, size(0) * width), [apply]])


def columns(kernel: Skeleton) -> Built:
    """Every chunk has some columns of all rows."""
    memory, author = _memory(kernel), Author()
    width, count = size(1), size(2)

    def block(chunk: UOp) -> list[UOp]:
        start = chunk * COLUMNS
        wide = (width - start).minimum(COLUMNS)
        return [author.loop(count, partial(update, start, wide), "k")]

    def update(start: UOp, wide: UOp, k: UOp) -> list[UOp]:
        first = at_index(load(memory[1], k)) * width + start
        vectors = author.loop(
            ceil_div(wide, LANES), partial(vector, k, start, first, wide)
        )
        return [vectors]

    def vector(k: UOp, start: UOp, first: UOp, wide: UOp, i: UOp) -> list[UOp]:
        return [author.vector(LANES, partial(lane, k, start, first, wide, i))]

    def lane(
        k: UOp, start: UOp, first: UOp, wide: UOp, i: UOp, v: UOp
    ) -> list[UOp]:
        at = i * LANES + v
        inside = at < wide
        zero = UOp.const(kernel.types[0], 0)
        old = UOp(Ops.LOAD, zero.dtype, (memory[3], first + at, inside, zero))
        from_ = k * width + start + at
        value = UOp(Ops.LOAD, zero.dtype, (memory[2], from_, inside, zero))
        return [store(memory[3], first + at, updated(kernel, old, value), inside)]

    apply = author.chunks(ceil_div(width, COLUMNS), block)
    return memory.built("scatter", [_copied(memory, size(0) * width), [apply]])


class Updates:
    """A place and a value; a value of at most four bytes shares a word with its place, so that both move in one store."""

    def __init__(self, value: dt.DType) -> None:
        self.value = value
        self.packed = value.itemsize == 4
        self.fields = (dt.uint64,) if self.packed else (dt.int64, value)

    def made(self, place: UOp, value: UOp) -> Values:
        if not self.packed:
            return [place, value]
        upper = value.bitcast(dt.uint32).cast(dt.uint64).alu(Ops.SHL, _HALF)
        return [upper | place.cast(dt.uint64)]

    def apart(self, values: Values) -> tuple[UOp, UOp]:
        if not self.packed:
            return values[0], values[1]
        place = values[0] & UOp.const(dt.uint64, (1 << 32) - 1)
        bits = values[0].alu(Ops.SHR, _HALF).cast(dt.uint32)
        return place, bits.bitcast(self.value)


class Ranges:
    """Single elements: dealt out to ranges of the base, then applied range by range."""

    def __init__(self, kernel: Skeleton) -> None:
        self.kernel = kernel
        self.memory = _memory(kernel)
        self.base, self.count = size(0), size(2)
        self.parts = Parts(number(1), self.count, DEALT)
        entries = self.parts.chunks * RANGES
        self.table = self.memory.temporary(dt.int64, entries)
        self.ends = self.memory.temporary(dt.int64, entries)
        self.updates = Updates(kernel.types[0])
        self.dealt_out = [
            self.memory.temporary(t, self.count) for t in self.updates.fields
        ]

    def built(self) -> Built:
        launches = [self.counted(), self.added(), self.dealt(), self.applied()]
        return self.memory.built("scatter", launches)

    def range_of(self, place: UOp, shift: Register) -> UOp:
        return at_index(place.alu(Ops.SHR, shift.get().cast(dt.int64)))

    def counted(self) -> list[UOp]:
        """How many updates of each part fall into each range."""
        author = Author()

        def part(chunk: UOp) -> list[UOp]:
            begin, shift = halvings(author, self.base, RANGES)
            start, first = self.parts.start(chunk), chunk * RANGES

            def one(k: UOp) -> list[UOp]:
                place = load(self.memory[1], start + k)
                at = first + self.range_of(place, shift)
                return [store(self.table, at, load(self.table, at) + 1)]

            zero = UOp.const(dt.int64, 0)
            return [
                *begin,
                *fill(author, self.table, first, number(RANGES), zero),
                author.loop(self.parts.extent(chunk), one),
            ]

        return [author.chunks(self.parts.chunks, part)]

    def added(self) -> list[UOp]:
        """Where each part's updates of each range begin: the ranges one after the other, the parts of each in order."""
        author = Author()
        so_far = author.register(dt.int64, "so_far")
        held = author.register(dt.int64, "held")

        def step(d: UOp, p: UOp) -> list[UOp]:
            at = p * RANGES + d
            return [
                held.put(load(self.table, at)),
                store(self.table, at, so_far.get()),
                so_far.put(so_far.get() + held.get()),
                store(self.ends, at, so_far.get()),
            ]

        each = author.loop(
            RANGES,
            lambda d: [author.loop(self.parts.chunks, partial(step, d), "p")],
            "d",
        )
        return [so_far.stage, held.stage, so_far.put(UOp.const(dt.int64, 0)), each]

    def dealt(self) -> list[UOp]:
        """Updates to their ranges, in order."""
        author = Author()

        def part(chunk: UOp) -> list[UOp]:
            begin, shift = halvings(author, self.base, RANGES)
            start, first = self.parts.start(chunk), chunk * RANGES

            def one(k: UOp) -> list[UOp]:
                place = load(self.memory[1], start + k)
                at = first + self.range_of(place, shift)
                to = load(self.table, at)
                return [
                    *put(
                        self.dealt_out,
                        at_index(to),
                        self.updates.made(place, load(self.memory[2], start + k)),
                    ),
                    store(self.table, at, to + 1),
                ]

            return [*begin, author.loop(self.parts.extent(chunk), one)]

        return [author.chunks(self.parts.chunks, part)]

    def applied(self) -> list[UOp]:
        """A range of the base copied and updated."""
        author = Author()

        def range_(d: UOp) -> list[UOp]:
            begin, shift = halvings(author, self.base, RANGES)
            wide = UOp.const(dt.index, 1).alu(Ops.SHL, shift.get())
            start = (d * wide).minimum(self.base)
            extent = (self.base - start).minimum(wide)
            last = (self.parts.chunks - 1) * RANGES + d
            before = number(0).eq(d).where(ZERO, at_index(load_before(last)))
            end = at_index(load(self.ends, last))
            return [
                *begin,
                *copy(author, self.memory[3], start, self.memory[0], start, extent),
                author.loop(end - before, partial(one, before)),
            ]

        def load_before(last: UOp) -> UOp:
            return load(self.ends, (last - 1).maximum(0))

        def one(before: UOp, k: UOp) -> list[UOp]:
            place, value = self.updates.apart(get(self.dealt_out, before + k))
            at = at_index(place)
            old = load(self.memory[3], at)
            return [store(self.memory[3], at, updated(self.kernel, old, value))]

        return [author.chunks(RANGES, range_)]


def ranges(kernel: Skeleton) -> Built:
    return Ranges(kernel).built()
