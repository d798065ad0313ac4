"""Compacting: where a mask holds. In: bools, and maybe values. Out: their places or values in order, and how many.

Every part counts, a running sum tells where each begins, every part writes. A write asks for room, not for the mask: what a
place that is not kept leaves behind is written over by the next one, and no branch has to be guessed. While a part has room
for a whole block, it is asked for once.
"""

from __future__ import annotations

from functools import partial

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.kernel.launches import Built
from ingot.kernel.skeleton.form import Skeleton
from ingot.kernel.skeleton.parts import LANES, Parts
from ingot.kernel.skeleton.write import (
    Author,
    Memory,
    at_index,
    flip,
    load,
    number,
    size,
    store,
    when,
)

PART = 1 << 16
BLOCK = 16


class Compact:
    """One mask."""

    def __init__(self, kernel: Skeleton) -> None:
        self.memory = Memory(kernel.types, 2)
        *given, self.found, self.total = self.memory.buffers
        self.values = given[1] if len(given) > 1 else None
        self.parts = Parts(number(1), size(0), PART)
        self.starts = self.memory.temporary(dt.int64, self.parts.chunks + 1)

    def built(self) -> Built:
        launches = [self.counted(), self.added(), self.written()]
        return self.memory.built("compact", launches)

    def kept(self, place: UOp) -> UOp:
        """What is written for a place: its value, or itself."""
        if self.values is None:
            return place.cast(dt.int64)
        return load(self.values, place)

    def counted(self) -> list[UOp]:
        author = Author()
        wide = author.register(dt.int32, "wide", LANES)
        total = author.register(dt.int32, "total")

        def part(chunk: UOp) -> list[UOp]:
            start, whole = (
                self.parts.start(chunk),
                self.parts.extent(chunk) // LANES,
            )

            def here(at: UOp) -> UOp:
                return load(self.memory[0], start + at).cast(dt.int32)

            def lane(i: UOp, v: UOp) -> list[UOp]:
                more = load(wide.stage, v) + here(i * LANES + v)
                return [store(wide.stage, v, more)]

            zero = UOp.const(dt.int32, 0)
            return [
                wide.stage,
                total.stage,
                author.vector(LANES, lambda v: [store(wide.stage, v, zero)]),
                author.loop(
                    whole, lambda i: [author.vector(LANES, partial(lane, i))]
                ),
                total.put(zero),
                author.unroll(
                    LANES, lambda u: [total.put(total.get() + load(wide.stage, u))]
                ),
                author.loop(
                    self.parts.extent(chunk) - whole * LANES,
                    lambda i: [total.put(total.get() + here(whole * LANES + i))],
                ),
                store(self.starts, chunk + 1, total.get().cast(dt.int64)),
            ]

        return [author.chunks(self.parts.chunks, part)]

    def added(self) -> list[UOp]:
        author = Author()
        so_far = author.register(dt.int64, "so_far")

        def part(p: UOp) -> list[UOp]:
            return [
                so_far.put(so_far.get() + load(self.starts, p + 1)),
                store(self.starts, p + 1, so_far.get()),
            ]

        zero = UOp.const(dt.int64, 0)
        return [
            so_far.stage,
            so_far.put(zero),
            store(self.starts, number(0), zero),
            author.loop(self.parts.chunks, part),
            store(self.total, number(0), so_far.get()),
        ]

    def written(self) -> list[UOp]:
        author = Author()
        at = author.register(dt.index, "at")
        before = author.register(dt.boolean, "room")

        def part(chunk: UOp) -> list[UOp]:
            start = self.parts.start(chunk)
            end = at_index(load(self.starts, chunk + 1))

            def step(i: UOp) -> UOp:
                return at.put(
                    at.get() + load(self.memory[0], start + i).cast(dt.index)
                )

            def here(i: UOp) -> UOp:
                return store(self.found, at.get(), self.kept(start + i))

            def one(i: UOp) -> list[UOp]:
                return [when(at.get() < end, here(i)), step(i)]

            def block(b: UOp) -> list[UOp]:
                room = (at.get() + (BLOCK - 1)) < end
                free = author.unroll(
                    BLOCK, lambda u: [here(b * BLOCK + u), step(b * BLOCK + u)]
                )
                asked = author.loop(BLOCK, lambda i: one(b * BLOCK + i))
                return [
                    before.put(room),
                    when(before.get(), free),
                    when(flip(before.get()), asked),
                ]

            extent = self.parts.extent(chunk)
            whole = extent // BLOCK
            return [
                at.stage,
                before.stage,
                at.put(at_index(load(self.starts, chunk))),
                author.loop(whole, block),
                author.loop(
                    extent - whole * BLOCK, lambda i: one(whole * BLOCK + i)
                ),
            ]

        return [author.chunks(self.parts.chunks, part)]


def compact(kernel: Skeleton) -> Built:
    return Compact(kernel).built()
