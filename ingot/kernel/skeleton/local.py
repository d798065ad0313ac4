"""Sorting by digits in one place: what one thread has in its cache. In: items. Out: the same, in order, stable.

The bits in which `key - lowest key` can differ are cut into digits. Rounds go from the lowest digit to the highest; each counts
digits, adds the counts up and moves the items; the last one hands them over instead of storing them. Of keys with many such
bits the upper ones are sorted first: then nearly all items are in their places, and neighbours are exchanged until all are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, Scope
from ingot.kernel.skeleton.items import Items, Values, get, put
from ingot.kernel.skeleton.parts import LANES, fill
from ingot.kernel.skeleton.write import (
    Author,
    Register,
    at_index,
    flip,
    load,
    number,
    store,
    when,
)

Source = Callable[[UOp], Values]
Finish = Callable[[UOp, Values], list[UOp]]


DIGIT = 11  # bits of a round at most: its table stays in the first cache
MOST_ROUNDS = 3
PREFIX = 22  # longer keys are first sorted by so many of their upper bits
TURNS = 6


def ends_of(
    author: Author, kind: dt.DType, key: Callable[[UOp], UOp], extent: UOp
) -> tuple[list[UOp], Register, Register]:
    """(statements, smallest, largest) of key(0), key(1), ..; without any, the smallest is above the largest."""
    least, most = (author.register(kind, n, LANES) for n in ("least", "most"))
    low, high = (author.register(kind, n) for n in ("low", "high"))
    top, zero = UOp.const(kind, dt.greatest(kind)), UOp.const(kind, 0)
    whole = extent // LANES

    def begin(v: UOp) -> list[UOp]:
        return [store(least.stage, v, top), store(most.stage, v, zero)]

    def widen(i: UOp, v: UOp) -> list[UOp]:
        here = key(i * LANES + v)
        return [
            store(least.stage, v, load(least.stage, v).minimum(here)),
            store(most.stage, v, load(most.stage, v).maximum(here)),
        ]

    def join(below: UOp, above: UOp) -> list[UOp]:
        return [
            low.put(low.get().minimum(below)),
            high.put(high.get().maximum(above)),
        ]

    def rest(i: UOp) -> list[UOp]:
        here = key(whole * LANES + i)
        return join(here, here)

    statements = [
        *(r.stage for r in (least, most, low, high)),
        author.vector(LANES, begin),
        author.loop(whole, lambda i: [author.vector(LANES, partial(widen, i))]),
        low.put(load(least.stage, number(0))),
        high.put(load(most.stage, number(0))),
        author.unroll(
            LANES - 1,
            lambda u: join(load(least.stage, u + 1), load(most.stage, u + 1)),
        ),
        author.loop(extent - whole * LANES, rest),
    ]
    return statements, low, high


@dataclass(frozen=True, slots=True)
class Local:
    """One sort: `count` items from `source`, between two buffers from `base` on, with keys low..low + widest."""

    items: Items
    source: Source
    first: list[UOp]
    second: list[UOp]
    base: UOp
    count: UOp
    low: UOp
    widest: UOp

    def statements(self, author: Author, finish: Finish) -> list[UOp]:
        begin, bits = bits_of(author, self.widest)
        if self.items.bits <= MOST_ROUNDS * DIGIT:
            return [*begin, *self.rounds(author, bits.get(), number(0), finish)]
        few = bits.get() < MOST_ROUNDS * DIGIT + 1
        upper = self.rounds(
            author, number(PREFIX), bits.get() - PREFIX, self._onward(1)
        )
        return [
            *begin,
            when(few, *self.rounds(author, bits.get(), number(0), finish)),
            when(flip(few), *upper, *self._mended(author, bits.get(), finish)),
        ]

    def rounds(
        self, author: Author, bits: UOp, skipped: UOp, finish: Finish
    ) -> list[UOp]:
        """By `bits` bits of the keys, above those that are skipped."""
        tables = [
            author.stage(dt.uint32, 1 << DIGIT, Scope.STACK, name) for name in "ab"
        ]
        most = -(-self.items.bits // DIGIT)
        turns = (bits + (DIGIT - 1)) // DIGIT
        wide = (bits + (turns.maximum(1) - 1)) // turns.maximum(1)
        made = list(tables)
        for turn in range(most):
            digits = [Digit(skipped + wide * k, wide) for k in (turn, turn + 1)]
            more = number(turn + 1) < turns
            counted = self._counted(author, tables, turn, digits, more)
            moved = self._moved(
                author, tables[turn % 2], turn, digits[0], more, finish
            )
            begin = counted if turn % 2 == 0 else []
            made.append(when(number(turn) < turns, *begin, *moved))
        straight = author.loop(self.count, lambda i: finish(i, self.source(i)))
        return [*made, when(turns.eq(0), straight)]

    def _digit(self, values: Values, digit: Digit) -> UOp:
        key = self.items.key(values) - self.low
        moved = at_index(key.alu(Ops.SHR, digit.shift.cast(key.dtype)))
        return moved & (digit.values - 1)

    def _read(self, turn: int, i: UOp) -> Values:
        if turn == 0:
            return self.source(i)
        return get(self.first if turn % 2 else self.second, self.base + i)

    def _onward(self, turn: int) -> Finish:
        to = self.second if turn % 2 else self.first
        return lambda place, values: put(to, self.base + place, values)

    def _counted(
        self,
        author: Author,
        tables: list[UOp],
        turn: int,
        digits: list[Digit],
        more: UOp,
    ) -> list[UOp]:
        """Where the values of a digit, and of the next one if it is needed, begin: one reading counts both."""

        def count(both: bool, i: UOp) -> list[UOp]:
            values = self._read(turn, i)
            made = []
            for table, digit in zip(tables[: 1 + both], digits, strict=False):
                at = self._digit(values, digit)
                made.append(store(table, at, load(table, at) + 1))
            return made

        zero = UOp.const(dt.uint32, 0)
        wide = digits[0].values
        clear = [fill(author, table, number(0), wide, zero) for table in tables]
        sums = [added_up(author, table, wide) for table in tables]
        alone = author.loop(self.count, partial(count, False))
        together = author.loop(self.count, partial(count, True))
        return [
            *clear[0],
            when(more, *clear[1], together, *sums[1]),
            when(flip(more), alone),
            *sums[0],
        ]

    def _moved(
        self,
        author: Author,
        table: UOp,
        turn: int,
        digit: Digit,
        more: UOp,
        finish: Finish,
    ) -> list[UOp]:
        """Every item to its place by one digit."""

        def move(hand_over: Finish, i: UOp) -> list[UOp]:
            values = self._read(turn, i)
            at = self._digit(values, digit)
            seen = load(table, at)
            stored = hand_over(at_index(seen), values)
            return [*stored, store(table, at, seen + 1)]

        onward = author.loop(self.count, partial(move, self._onward(turn)))
        return [
            when(more, onward),
            when(flip(more), author.loop(self.count, partial(move, finish))),
        ]

    # --- long keys ----------------------------------------------------------------------------------------------------

    def _mended(self, author: Author, bits: UOp, finish: Finish) -> list[UOp]:
        """Items in order of their upper bits: few are out of place, and not far. Those that still are after some turns
        are sorted by all their bits."""
        wrong = author.register(dt.index, "wrong")
        turn = author.loop(
            TURNS,
            lambda t: [when(wrong.get().ne(0), *self._exchanged(author, wrong))],
        )
        again = replace(self, source=lambda i: get(self.second, self.base + i))
        straight = author.loop(
            self.count, lambda i: finish(i, get(self.second, self.base + i))
        )
        return [
            wrong.stage,
            wrong.put(number(1)),
            turn,
            when(wrong.get().eq(0), straight),
            when(wrong.get().ne(0), *again.rounds(author, bits, number(0), finish)),
        ]

    def _exchanged(self, author: Author, wrong: Register) -> list[UOp]:
        """Every item past smaller ones that follow it; `wrong` tells whether there were any."""
        held = [author.register(t, "held") for t in self.items.fields]
        less = [author.register(t, "less") for t in self.items.fields]

        def one(i: UOp) -> list[UOp]:
            old = [r.get() for r in held]
            new = get(self.second, self.base + i + 1)
            out = self.items.key(new) < self.items.key(old)
            pairs = list(zip(old, new, strict=True))
            return [
                *(
                    r.put(out.where(b, a))
                    for r, (a, b) in zip(less, pairs, strict=True)
                ),
                wrong.put(wrong.get() + out.cast(dt.index)),
                *(
                    r.put(out.where(a, b))
                    for r, (a, b) in zip(held, pairs, strict=True)
                ),
                *put(self.second, self.base + i, [r.get() for r in less]),
            ]

        first = get(self.second, self.base)
        return [
            *(r.stage for r in (*held, *less)),
            wrong.put(number(0)),
            *(r.put(v) for r, v in zip(held, first, strict=True)),
            author.loop(self.count - 1, one),
            *put(self.second, self.base + self.count - 1, [r.get() for r in held]),
        ]


class Digit(NamedTuple):
    """Some bits of a key: how many lie below them, and how many they are."""

    shift: UOp
    bits: UOp

    @property
    def values(self) -> UOp:
        """How many values they have."""
        return UOp.const(dt.index, 1).alu(Ops.SHL, self.bits)


def bits_of(author: Author, value: UOp) -> tuple[list[UOp], Register]:
    """(statements, how many bits a value needs)"""
    count = author.register(dt.index, "bits")
    most = 8 * value.dtype.itemsize

    def bit(i: UOp) -> list[UOp]:
        above = value.alu(Ops.SHR, i.cast(value.dtype)).ne(0)
        return [when(above, count.put(i + 1))]

    return [count.stage, count.put(number(0)), author.loop(most, bit)], count


def added_up(author: Author, table: UOp, digits: UOp) -> list[UOp]:
    """Counts become first places."""
    so_far = author.register(dt.uint32, "so_far")
    held = author.register(dt.uint32, "held")

    def digit(d: UOp) -> list[UOp]:
        return [
            held.put(load(table, d)),
            store(table, d, so_far.get()),
            so_far.put(so_far.get() + held.get()),
        ]

    zero = UOp.const(dt.uint32, 0)
    return [so_far.stage, held.stage, so_far.put(zero), author.loop(digits, digit)]
