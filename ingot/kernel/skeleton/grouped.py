"""Sorting long rows. In: rows of unsigned keys. Out: the keys in order, or their places, stable.

A row is cut into parts whose number follows from its length. The upper bits of `key - lowest key` make bins; bins
side by side make up to 64 groups of about the same size, however the keys are spread; the items move to their groups, part
by part in order; then a group, which fits a cache, is sorted in one place (local.py). 64 is as many streams as a processor
has pages at hand.
"""

from __future__ import annotations

from functools import partial

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.kernel.launches import Built
from ingot.kernel.skeleton.items import Items, get, put
from ingot.kernel.skeleton.local import Local, ends_of
from ingot.kernel.skeleton.parts import Parts, fill
from ingot.kernel.skeleton.write import (
    Author,
    Memory,
    Register,
    at_index,
    ceil_div,
    flip,
    load,
    number,
    size,
    store,
    when,
)

BIN_BITS = {
    1: 8,
    2: 11,
    4: 11,
    8: 14,
}  # by bytes of a key: long floats have many exponents, and use few of them
GROUPS = 64
PART = 1 << 17


class Binned:
    """Rows of keys, counted by their upper bits, part by part."""

    def __init__(self, key: dt.DType, place: dt.DType | None) -> None:
        self.items = Items(key, place)
        self.parts = Parts(size(0), size(1), PART)
        self.bin_bits = BIN_BITS[key.itemsize]
        self.bin_count = 1 << self.bin_bits
        self.memory = Memory((key, place or key), 1)
        self.ends = self.memory.temporary(key, self.parts.chunks * 2)
        self.bins = self.memory.temporary(
            dt.uint32, self.parts.chunks * self.bin_count
        )

    def key_at(self, chunk: UOp, i: UOp) -> UOp:
        row = self.parts.row(chunk) * self.parts.length
        return load(self.memory[0], row + self.parts.start(chunk) + i)

    def find_ends(self) -> list[UOp]:
        """The smallest and the largest key of each part."""
        author = Author()

        def part(chunk: UOp) -> list[UOp]:
            found, low, high = ends_of(
                author,
                self.items.key_type,
                partial(self.key_at, chunk),
                self.parts.extent(chunk),
            )
            return [
                *found,
                store(self.ends, chunk * 2, low.get()),
                store(self.ends, chunk * 2 + 1, high.get()),
            ]

        return [author.chunks(self.parts.chunks, part)]

    def bin_of_row(
        self, author: Author, row: UOp
    ) -> tuple[list[UOp], Register, Register]:
        """(statements, lowest key, how far to shift) for the bins of a row."""
        kind = self.items.key_type
        low, high = (author.register(kind, n) for n in ("low", "high"))
        shift = author.register(kind, "shift")
        first = row * self.parts.count

        def part(p: UOp) -> list[UOp]:
            below, above = (load(self.ends, (first + p) * 2 + k) for k in (0, 1))
            return [
                low.put(low.get().minimum(below)),
                high.put(high.get().maximum(above)),
            ]

        def narrow(i: UOp) -> list[UOp]:
            widest = (high.get() - low.get()).alu(Ops.SHR, shift.get())
            too_wide = UOp.const(kind, self.bin_count - 1) < widest
            return [when(too_wide, shift.put(shift.get() + 1))]

        shifts = max(0, self.items.bits - self.bin_bits)
        return (
            [
                low.stage,
                high.stage,
                shift.stage,
                low.put(load(self.ends, first * 2)),
                high.put(load(self.ends, first * 2 + 1)),
                author.loop(self.parts.count, part),
                shift.put(UOp.const(kind, 0)),
                *([author.loop(shifts, narrow)] if shifts else []),
            ],
            low,
            shift,
        )

    def bin_of(self, key: UOp, low: Register, shift: Register) -> UOp:
        return at_index((key - low.get()).alu(Ops.SHR, shift.get()))

    def count(self) -> list[UOp]:
        """How many keys of each part fall into each bin."""
        author = Author()

        def part(chunk: UOp) -> list[UOp]:
            begin, low, shift = self.bin_of_row(author, self.parts.row(chunk))
            first = chunk * self.bin_count

            def one(i: UOp) -> list[UOp]:
                at = first + self.bin_of(self.key_at(chunk, i), low, shift)
                return [store(self.bins, at, load(self.bins, at) + 1)]

            zero = UOp.const(dt.uint32, 0)
            return [
                *begin,
                *fill(author, self.bins, first, number(self.bin_count), zero),
                author.loop(self.parts.extent(chunk), one),
            ]

        return [author.chunks(self.parts.chunks, part)]


class Grouped(Binned):
    """One sort of n0 rows of n1 keys."""

    def __init__(self, key: dt.DType, place: dt.DType | None) -> None:
        super().__init__(key, place)
        chunks, total = self.parts.chunks, size(0) * size(1)
        self.group = self.memory.temporary(dt.uint8, size(0) * self.bin_count)
        self.to = self.memory.temporary(dt.uint32, chunks * GROUPS)
        self.starts = self.memory.temporary(dt.uint32, size(0) * (GROUPS + 1))
        self.first = self.items.memory(self.memory, total)
        self.second = self.items.memory(self.memory, total)

    def built(self, name: str) -> Built:
        launches = [
            self.find_ends(),
            self.count(),
            self.divide(),
            self.move(),
            self.sort(),
        ]
        return self.memory.built(name, launches)

    def divide(self) -> list[UOp]:
        """Bins into groups, and where each part's items of each group begin."""
        author = Author()
        group = author.register(dt.index, "group")
        inside = author.register(dt.uint32, "inside")
        total = author.register(dt.uint32, "total")
        target = ceil_div(self.parts.length, GROUPS).cast(dt.uint32)

        def row(r: UOp) -> list[UOp]:
            zero = UOp.const(dt.uint32, 0)
            parts = self.parts.count
            return [
                group.stage,
                inside.stage,
                total.stage,
                *fill(author, self.to, r * parts * GROUPS, parts * GROUPS, zero),
                group.put(number(0)),
                inside.put(zero),
                author.loop(self.bin_count, partial(bin_, r), "bin"),
                *self.group_starts(author, r),
            ]

        def bin_(r: UOp, b: UOp) -> list[UOp]:
            full = (inside.get() + total.get()) < target + 1
            another = flip(full) & (UOp.const(dt.uint32, 0) < inside.get())
            another = another & (group.get() < GROUPS - 1)
            zero = UOp.const(dt.uint32, 0)
            return [
                total.put(zero),
                author.loop(self.parts.count, partial(add, r, b), "p"),
                when(another, group.put(group.get() + 1), inside.put(zero)),
                inside.put(inside.get() + total.get()),
                store(
                    self.group, r * self.bin_count + b, group.get().cast(dt.uint8)
                ),
                author.loop(self.parts.count, partial(give, r, b), "p"),
            ]

        def seen(r: UOp, b: UOp, p: UOp) -> UOp:
            return load(self.bins, (r * self.parts.count + p) * self.bin_count + b)

        def add(r: UOp, b: UOp, p: UOp) -> list[UOp]:
            return [total.put(total.get() + seen(r, b, p))]

        def give(r: UOp, b: UOp, p: UOp) -> list[UOp]:
            at = (r * self.parts.count + p) * GROUPS + group.get()
            return [store(self.to, at, load(self.to, at) + seen(r, b, p))]

        return [author.chunks(self.parts.rows, row)]

    def group_starts(self, author: Author, r: UOp) -> list[UOp]:
        so_far = author.register(dt.uint32, "so_far")
        held = author.register(dt.uint32, "held")

        def group(g: UOp) -> list[UOp]:
            return [
                store(self.starts, r * (GROUPS + 1) + g, so_far.get()),
                author.loop(self.parts.count, partial(part, g), "p"),
            ]

        def part(g: UOp, p: UOp) -> list[UOp]:
            at = (r * self.parts.count + p) * GROUPS + g
            return [
                held.put(load(self.to, at)),
                store(self.to, at, so_far.get()),
                so_far.put(so_far.get() + held.get()),
            ]

        end = store(self.starts, r * (GROUPS + 1) + GROUPS, so_far.get())
        return [
            so_far.stage,
            held.stage,
            so_far.put(UOp.const(dt.uint32, 0)),
            author.loop(GROUPS, group, "g"),
            end,
        ]

    def move(self) -> list[UOp]:
        """Every item to its group."""
        author = Author()

        def part(chunk: UOp) -> list[UOp]:
            row = self.parts.row(chunk)
            begin, low, shift = self.bin_of_row(author, row)

            def one(i: UOp) -> list[UOp]:
                key = self.key_at(chunk, i)
                b = self.bin_of(key, low, shift)
                g = at_index(load(self.group, row * self.bin_count + b))
                at = chunk * GROUPS + g
                seen = load(self.to, at)
                to = row * self.parts.length + at_index(seen)
                item = self.items.made(key, self.parts.start(chunk) + i)
                return [*put(self.first, to, item), store(self.to, at, seen + 1)]

            return [*begin, author.loop(self.parts.extent(chunk), one)]

        return [author.chunks(self.parts.chunks, part)]

    def sort(self) -> list[UOp]:
        """A group in one place."""
        author = Author()

        def group(chunk: UOp) -> list[UOp]:
            row, g = chunk // GROUPS, chunk % GROUPS
            at = row * (GROUPS + 1) + g
            start = at_index(load(self.starts, at))
            count = at_index(load(self.starts, at + 1)) - start
            base = row * self.parts.length + start

            def item(i: UOp) -> list[UOp]:
                return get(self.first, base + i)

            found, low, high = ends_of(
                author,
                self.items.key_type,
                lambda i: self.items.key(item(i)),
                count,
            )
            local = Local(
                self.items,
                item,
                self.second,
                self.first,
                base,
                count,
                low.get(),
                high.get() - low.get(),
            )

            def finish(to: UOp, values: list[UOp]) -> list[UOp]:
                return [
                    store(self.memory[1], base + to, self.items.outcome(values))
                ]

            return [
                when(number(0) < count, *found, *local.statements(author, finish))
            ]

        return [author.chunks(self.parts.rows * GROUPS, group)]
