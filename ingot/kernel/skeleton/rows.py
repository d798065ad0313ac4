"""Sorting rows that fit a cache. In: rows of unsigned keys. Out: the keys in order, or their places, stable.

digits    a row is sorted by its digits, by whoever has its chunk
network   short rows: as many rows as a vector has lanes lie side by side, and go through the exchanges of Batcher's
          merge sort together; which pairs it compares depends on the length alone
"""

from __future__ import annotations

from functools import partial

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, Scope
from ingot.kernel.launches import Built
from ingot.kernel.skeleton.items import Items, put
from ingot.kernel.skeleton.local import Local, ends_of
from ingot.kernel.skeleton.parts import halvings
from ingot.kernel.skeleton.write import (
    ONE,
    ZERO,
    Author,
    Memory,
    ceil_div,
    load,
    number,
    size,
    store,
    when,
)

WORK = 1 << 14  # keys of a chunk, about


class Rows:
    """n0 rows of n1 keys; of each the first n2 places are asked for, or all."""

    def __init__(
        self, key: dt.DType, place: dt.DType | None, first: bool = False
    ) -> None:
        self.items = Items(key, place)
        self.memory = Memory((key, place or key), 1)
        self.rows, self.length = size(0), size(1)
        self.kept = size(2) if first else self.length
        self.first = first

    def result(self, row: UOp, to: UOp, value: UOp) -> UOp:
        inside = (to < self.kept) if self.first else None
        return store(self.memory[1], row * self.kept + to, value, inside)

    # --- by digits --------------------------------------------------------------------------------------------------

    def digits(self) -> Built:
        author = Author()
        each = (number(WORK) // self.length.maximum(1)).maximum(1)
        fields = self.items.fields
        first = [
            author.stage(t, self.length, Scope.PACKED, "first") for t in fields
        ]
        second = [
            author.stage(t, self.length, Scope.PACKED, "second") for t in fields
        ]

        def chunk(c: UOp) -> list[UOp]:
            left = (self.rows - c * each).minimum(each)
            body = partial(self.sorted_row, author, first, second, c * each)
            return [*first, *second, author.loop(left, body)]

        launch = author.chunks(ceil_div(self.rows, each), chunk)
        return self.memory.built("sort", [[launch]])

    def sorted_row(
        self,
        author: Author,
        first: list[UOp],
        second: list[UOp],
        start: UOp,
        r: UOp,
    ) -> list[UOp]:
        row = start + r

        def key(i: UOp) -> UOp:
            return load(self.memory[0], row * self.length + i)

        found, low, high = ends_of(author, self.items.key_type, key, self.length)
        local = Local(
            self.items,
            lambda i: self.items.made(key(i), i),
            first,
            second,
            ZERO,
            self.length,
            low.get(),
            high.get() - low.get(),
        )

        def finish(to: UOp, values: list[UOp]) -> list[UOp]:
            return [self.result(row, to, self.items.outcome(values))]

        return [*found, *local.statements(author, finish)]

    # --- by a network -----------------------------------------------------------------------------------------------

    @property
    def lanes(self) -> int:
        return 64 // self.items.fields[0].itemsize

    def network(self) -> Built:
        """Rows as lanes: element i of all of them is one vector."""
        author = Author()
        lanes = self.lanes
        kind = self.items.fields[0]
        zero = UOp.const(kind, 0)
        tile = author.stage(kind, self.length * lanes, Scope.PACKED, "tile")

        def chunk(c: UOp) -> list[UOp]:
            rows = (self.rows - c * lanes).minimum(lanes)
            blank = author.loop(
                self.length,
                lambda i: [
                    author.vector(
                        lanes, lambda v: [store(tile, i * lanes + v, zero)]
                    )
                ],
            )
            return [
                tile,
                when(rows < lanes, blank),
                author.loop(rows, partial(fill, c), "row"),
                *self.exchanges(author, tile),
                author.loop(rows, partial(empty, c), "row"),
            ]

        def fill(c: UOp, r: UOp) -> list[UOp]:
            row = (c * lanes + r) * self.length

            def one(i: UOp) -> list[UOp]:
                item = self.items.made(load(self.memory[0], row + i), i)
                return put([tile], i * lanes + r, item)

            return [author.loop(self.length, one)]

        def empty(c: UOp, r: UOp) -> list[UOp]:
            def one(i: UOp) -> list[UOp]:
                value = self.items.outcome([load(tile, i * lanes + r)])
                return [
                    store(self.memory[1], (c * lanes + r) * self.kept + i, value)
                ]

            return [author.loop(self.kept, one)]

        launch = author.chunks(ceil_div(self.rows, lanes), chunk)
        return self.memory.built("sort", [[launch]])

    def exchanges(self, author: Author, tile: UOp) -> list[UOp]:
        """Batcher's merge exchange: passes p = t/2, t/4, .. 1; in each, distances d that shrink to p."""
        begin, steps = halvings(author, self.length, 1)
        p, q, r, d = (author.register(dt.index, n) for n in "pqrd")
        half = ONE.alu(Ops.SHL, (steps.get() - 1).maximum(0))

        def pass_(s: UOp) -> list[UOp]:
            inner = author.loop(s + 1, distance, "q")
            shrink = p.put(p.get() // 2)
            start = [q.put(half), r.put(ZERO), d.put(p.get())]
            return [*start, inner, shrink]

        def distance(k: UOp) -> list[UOp]:
            upto = self.length - d.get() - r.get()
            return [
                author.loop(ceil_div(upto, p.get() * 2).maximum(0), block, "b"),
                d.put(q.get() - p.get()),
                q.put(q.get() // 2),
                r.put(p.get()),
            ]

        def block(b: UOp) -> list[UOp]:
            start = r.get() + b * p.get() * 2
            wide = (self.length - d.get() - start).minimum(p.get())
            return [author.loop(wide, lambda i: exchange(start + i), "i")]

        def exchange(i: UOp) -> list[UOp]:
            return [author.vector(self.lanes, partial(pair, i))]

        def pair(i: UOp, v: UOp) -> list[UOp]:
            less = author.register(self.items.fields[0], "less", self.lanes).stage
            above = (i + d.get()) * self.lanes + v
            a, b = load(tile, i * self.lanes + v), load(tile, above)
            return [
                less,
                store(less, v, a.minimum(b)),
                store(tile, above, a.maximum(b)),
                store(tile, i * self.lanes + v, load(less, v)),
            ]

        stages = [x.stage for x in (p, q, r, d)]
        return [
            *begin,
            *stages,
            p.put(half),
            author.loop(steps.get(), pass_, "pass"),
        ]
