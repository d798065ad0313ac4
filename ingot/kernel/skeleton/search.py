"""Searching sorted rows. In: sorted rows, and rows of values. Out: how many elements come before each value.

A vector of values goes through the same halvings together: only where each looks differs.
"""

from __future__ import annotations

from functools import partial

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.kernel.launches import Built
from ingot.kernel.skeleton.form import Skeleton
from ingot.kernel.skeleton.parts import LANES, Parts, halvings
from ingot.kernel.skeleton.write import (
    ZERO,
    Author,
    Memory,
    flip,
    load,
    load_if,
    number,
    size,
    store,
    when,
)

PART = 1 << 13  # values of a chunk


class Search:
    """One search: n0 rows, of n1 sorted elements and n2 values each."""

    def __init__(self, kernel: Skeleton) -> None:
        self.memory = Memory(kernel.types, 1)
        self.right = bool(kernel.option("right"))
        self.parts = Parts(size(0), size(2), PART)
        self.length = size(1)

    def before(self, element: UOp, value: UOp) -> UOp:
        """The element comes before the value's place; NaN comes after all numbers."""
        less = element < value
        if self.right:
            less = flip(value < element)
        if not element.dtype.is_float:
            return less
        number_, is_nan = element.eq(element), value.ne(value)
        if self.right:
            return is_nan | (less & number_)
        return less | (is_nan & number_)

    def built(self) -> Built:
        author = Author()

        def part(chunk: UOp) -> list[UOp]:
            begin, steps = halvings(author, self.length, 1)
            row = self.parts.row(chunk)
            first = row * self.parts.length + self.parts.start(chunk)
            extent = self.parts.extent(chunk)
            walk = partial(self.vector, author, row * self.length, first, extent)
            whole = (extent + (LANES - 1)) // LANES
            return [*begin, author.loop(whole, partial(walk, steps.get()))]

        launch = author.chunks(self.parts.chunks, part)
        return self.memory.built("search", [[launch]])

    def vector(
        self, author: Author, row: UOp, first: UOp, extent: UOp, steps: UOp, i: UOp
    ) -> list[UOp]:
        low = author.register(dt.index, "low", LANES)
        left = author.register(dt.index, "left")
        kind = self.memory[0].dtype
        zero = UOp.const(kind, 0)

        def value(v: UOp) -> UOp:
            at = i * LANES + v
            return load_if(self.memory[1], first + at, at < extent, zero)

        def look(half: UOp, v: UOp) -> list[UOp]:
            here = load(low.stage, v)
            element = load(self.memory[0], row + here + half - 1)
            moved = self.before(element, value(v)).where(here + half, here)
            return [store(low.stage, v, moved)]

        def halve(step: UOp) -> list[UOp]:
            half = left.get() // 2
            return [
                when(
                    ZERO < half,
                    author.vector(LANES, partial(look, half)),
                    left.put(left.get() - half),
                )
            ]

        def last(v: UOp) -> list[UOp]:
            here = load(low.stage, v)
            at = i * LANES + v
            more = self.before(load(self.memory[0], row + here), value(v))
            found = here + more.cast(dt.index)
            return [
                store(self.memory[2], first + at, found.cast(dt.int64), at < extent)
            ]

        def nothing(v: UOp) -> list[UOp]:
            at = i * LANES + v
            return [
                store(
                    self.memory[2], first + at, UOp.const(dt.int64, 0), at < extent
                )
            ]

        return [
            low.stage,
            left.stage,
            author.vector(LANES, lambda v: [store(low.stage, v, ZERO)]),
            left.put(self.length),
            author.loop(steps + 1, halve),
            when(ZERO < self.length, author.vector(LANES, last)),
            when(self.length.eq(number(0)), author.vector(LANES, nothing)),
        ]


def search(kernel: Skeleton) -> Built:
    return Search(kernel).built()
