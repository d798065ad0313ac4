"""Work cut into parts. In: how long a row is. Out: which elements a chunk has; loops over elements in vectors.

The number of parts follows from sizes alone, never from the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.kernel.skeleton.write import (
    Author,
    Register,
    ceil_div,
    load,
    store,
    when,
)

LANES = 16
PART = 1 << 17  # elements: large enough that counting is cheap beside moving


@dataclass(frozen=True, slots=True)
class Parts:
    """Rows of `length` elements, cut into `count` parts each; one chunk is one part."""

    rows: UOp
    length: UOp
    part: int = PART

    @property
    def count(self) -> UOp:
        """At least one, so that an empty row has a part too."""
        return ceil_div(self.length, self.part).maximum(1)

    @property
    def chunks(self) -> UOp:
        return self.rows * self.count

    def row(self, chunk: UOp) -> UOp:
        return chunk // self.count

    def start(self, chunk: UOp) -> UOp:
        """Where the part begins in its row."""
        return chunk % self.count * self.part

    def extent(self, chunk: UOp) -> UOp:
        return (self.length - self.start(chunk)).minimum(self.part)


def along(
    author: Author,
    extent: UOp,
    body: Callable[[UOp], list[UOp]],
    lanes: int = LANES,
) -> list[UOp]:
    """body(0), body(1), ..: in vectors, the rest one by one. The elements have nothing to do with each other."""
    whole = extent // lanes

    def block(i: UOp) -> list[UOp]:
        return [author.vector(lanes, lambda v: body(i * lanes + v))]

    return [
        author.loop(whole, block),
        author.loop(extent - whole * lanes, lambda i: body(whole * lanes + i)),
    ]


def copy(
    author: Author, to: UOp, first: UOp, source: UOp, start: UOp, extent: UOp
) -> list[UOp]:
    """to[first..] = source[start..]"""
    return along(
        author,
        extent,
        lambda i: [store(to, first + i, load(source, start + i))],
    )


def fill(author: Author, to: UOp, first: UOp, extent: UOp, value: UOp) -> list[UOp]:
    """to[first..] = value"""
    return along(author, extent, lambda i: [store(to, first + i, value)])


def halvings(author: Author, number: UOp, below: int) -> tuple[list[UOp], Register]:
    """(statements, how often a number is halved until it is at most `below`), rounding up."""
    count = author.register(dt.index, "halvings")
    left = author.register(dt.index, "left")

    def halve(i: UOp) -> list[UOp]:
        return [
            when(
                left.get().alu(Ops.CMPLT, left.get().ufix(below + 1)).ne(True),
                left.put((left.get() + 1) // 2),
                count.put(count.get() + 1),
            )
        ]

    return [
        count.stage,
        left.stage,
        count.put(UOp.const(dt.index, 0)),
        left.put(number),
        author.loop(41, halve),
    ], count
