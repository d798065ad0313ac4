"""Selecting: the smallest keys of each row, in order. In: rows of unsigned keys. Out: the places of the first k.

Keys are counted by their upper bits. The first bins that hold k keys together tell which keys can be among the first k; these
candidates, often little more than k, are sorted, and of equal keys the first comes first.
"""

from __future__ import annotations

from functools import partial

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import FoldArg, LoopKind, Ops
from ingot.kernel.launches import Built
from ingot.kernel.skeleton.grouped import Binned
from ingot.kernel.skeleton.items import get, put
from ingot.kernel.skeleton.local import Local, ends_of
from ingot.kernel.skeleton.parts import LANES
from ingot.kernel.skeleton.write import (
    Author,
    Register,
    at_index,
    load,
    number,
    size,
    store,
    when,
)

BLOCK = 4 * LANES


class Select(Binned):
    """n0 rows of n1 keys, of which n2 are asked for."""

    def __init__(self, key: dt.DType, place: dt.DType) -> None:
        super().__init__(key, place)
        rows, total = size(0), size(0) * size(1)
        self.kept = size(2)
        self.limit = self.memory.temporary(dt.int32, rows)
        self.starts = self.memory.temporary(dt.uint32, self.parts.chunks)
        self.counts = self.memory.temporary(dt.uint32, rows)
        self.first = self.items.memory(self.memory, total)
        self.second = self.items.memory(self.memory, total)

    def built(self) -> Built:
        launches = [
            self.find_ends(),
            self.count(),
            self.choose(),
            self.collect(),
            self.sort(),
        ]
        return self.memory.built("select", launches)

    def choose(self) -> list[UOp]:
        """The last bin that counts, and where the candidates of each part begin."""
        author = Author()
        so_far = author.register(dt.uint32, "so_far")
        last = author.register(dt.index, "last")
        zero = UOp.const(dt.uint32, 0)
        wanted = self.kept.cast(dt.uint32)

        def seen(r: UOp, p: UOp, b: UOp) -> UOp:
            return load(self.bins, (r * self.parts.count + p) * self.bin_count + b)

        def add(r: UOp, p: UOp, b: UOp) -> list[UOp]:
            return [so_far.put(so_far.get() + seen(r, p, b))]

        def bin_(r: UOp, b: UOp) -> list[UOp]:
            parts = author.loop(self.parts.count, lambda p: add(r, p, b), "p")
            return [when(so_far.get() < wanted, last.put(b), parts)]

        def part(r: UOp, p: UOp) -> list[UOp]:
            return [
                store(self.starts, r * self.parts.count + p, so_far.get()),
                author.loop(last.get() + 1, lambda b: add(r, p, b), "bin"),
            ]

        def row(r: UOp) -> list[UOp]:
            return [
                so_far.stage,
                last.stage,
                so_far.put(zero),
                last.put(number(0)),
                author.loop(self.bin_count, partial(bin_, r), "bin"),
                store(self.limit, r, last.get().cast(dt.int32)),
                so_far.put(zero),
                author.loop(self.parts.count, partial(part, r), "p"),
                store(self.counts, r, so_far.get()),
            ]

        return [author.chunks(self.parts.rows, row)]

    def collect(self) -> list[UOp]:
        """The candidates of every part, in order."""
        author = Author()
        at = author.register(dt.index, "at")

        def part(chunk: UOp) -> list[UOp]:
            row = self.parts.row(chunk)
            begin, low, shift = self.bin_of_row(author, row)
            last = at_index(load(self.limit, row))

            def one(i: UOp) -> list[UOp]:
                key = self.key_at(chunk, i)
                item = self.items.made(key, self.parts.start(chunk) + i)
                to = row * self.parts.length + at.get()
                counts = self.bin_of(key, low, shift) < last + 1
                return [
                    when(counts, *put(self.first, to, item), at.put(at.get() + 1))
                ]

            def block(b: UOp) -> list[UOp]:
                """The smallest key of a block often tells that none of it counts."""
                least, smallest = self.smallest(author, chunk, b)
                some = self.bin_of(smallest.get(), low, shift) < last + 1
                each = author.loop(BLOCK, lambda i: one(b * BLOCK + i))
                return [*least, when(some, each)]

            extent = self.parts.extent(chunk)
            whole = extent // BLOCK
            return [
                *begin,
                at.stage,
                at.put(at_index(load(self.starts, chunk))),
                author.loop(whole, block),
                author.loop(
                    extent - whole * BLOCK, lambda i: one(whole * BLOCK + i)
                ),
            ]

        return [author.chunks(self.parts.chunks, part)]

    def smallest(
        self, author: Author, chunk: UOp, b: UOp
    ) -> tuple[list[UOp], Register]:
        """(statements, the smallest key of a block)"""
        kind = self.items.key_type
        lanes = author.register(kind, "lanes", LANES)
        least = author.register(kind, "least")

        def first(v: UOp) -> list[UOp]:
            return [store(lanes.stage, v, self.key_at(chunk, b * BLOCK + v))]

        def more(u: UOp, v: UOp) -> list[UOp]:
            key = self.key_at(chunk, b * BLOCK + (u + 1) * LANES + v)
            return [store(lanes.stage, v, load(lanes.stage, v).minimum(key))]

        state = UOp.state(kind, 0).minimum(UOp.state(kind, 1))
        axis = author.number()
        lane = load(lanes.stage, UOp.axis(axis, "v"))
        arg = FoldArg(axis, LoopKind.VECTOR, 1)
        fold = UOp(
            Ops.FOLD, dt.void, (number(LANES), least.get(), lane, state), arg
        )
        rest = author.unroll(
            BLOCK // LANES - 1, lambda u: [author.vector(LANES, partial(more, u))]
        )
        return [
            lanes.stage,
            least.stage,
            author.vector(LANES, first),
            rest,
            fold,
        ], least

    def sort(self) -> list[UOp]:
        """The candidates of a row; the first k of them are stored."""
        author = Author()

        def row(r: UOp) -> list[UOp]:
            base = r * self.parts.length
            count = at_index(load(self.counts, r))

            def item(i: UOp) -> list[UOp]:
                return get(self.first, base + i)

            def finish(to: UOp, values: list[UOp]) -> list[UOp]:
                place = self.items.outcome(values)
                return [
                    store(self.memory[1], r * self.kept + to, place, to < self.kept)
                ]

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
            return [*found, *local.statements(author, finish)]

        return [author.chunks(self.parts.rows, row)]
