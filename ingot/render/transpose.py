"""Square transposes in registers. In: n values of n lanes. Out: the n columns.

log2(n) steps of two-input shuffles on rows that differ in one bit of their number. Inside 16-byte blocks a step
interleaves (unpck, zip), across blocks it takes the even and the odd blocks: each is one instruction of any
vector unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ingot.render.code import Code
from ingot.render.value import Value

BLOCK_BYTES = 16
Picks = tuple[int, ...]


def _interleave(lanes: int, block: int, unit: int) -> tuple[Picks, Picks]:
    """Units of a and b in turn, from the lower and from the upper half of every block."""
    low: list[int] = []
    high: list[int] = []
    for start in range(0, lanes, block):
        for half, picks in ((0, low), (block // 2, high)):
            for first in range(start + half, start + half + block // 2, unit):
                picks += range(first, first + unit)
                picks += range(lanes + first, lanes + first + unit)
    return tuple(low), tuple(high)


def _alternate(lanes: int, block: int) -> tuple[Picks, Picks]:
    """The even and the odd blocks of a followed by b."""
    starts = range(0, 2 * lanes, block)
    even = [lane for start in starts[::2] for lane in range(start, start + block)]
    odd = [lane for start in starts[1::2] for lane in range(start, start + block)]
    return tuple(even), tuple(odd)


@cache
def steps(lanes: int, itemsize: int) -> tuple[tuple[Picks, Picks], ...]:
    """The shuffles of each step: for rows that differ in bit 0, then bit 1 ..."""
    block = min(lanes, BLOCK_BYTES // itemsize)
    made = []
    unit = 1
    while unit < lanes:
        made.append(
            _interleave(lanes, block, unit)
            if unit < block
            else _alternate(lanes, block)
        )
        unit *= 2
    return tuple(made)


@cache
def column_order(lanes: int, itemsize: int) -> tuple[int, ...]:
    """Which result holds column 0, 1, ...: found by moving labels through the steps."""
    rows = [[(row, column) for column in range(lanes)] for row in range(lanes)]
    for bit, (low, high) in enumerate(steps(lanes, itemsize)):
        for i in range(lanes):
            if not i >> bit & 1:
                j = i | 1 << bit
                both = rows[i] + rows[j]
                rows[i], rows[j] = [both[p] for p in low], [both[p] for p in high]
    wanted = [[(row, column) for row in range(lanes)] for column in range(lanes)]
    return tuple(rows.index(column) for column in wanted)


def transpose(code: Code, rows: Sequence[Value]) -> list[Value]:
    """The columns of a square."""
    values = list(rows)
    lanes, itemsize = len(rows), rows[0].dtype.itemsize
    for bit, (low, high) in enumerate(steps(lanes, itemsize)):
        for i in range(lanes):
            if not i >> bit & 1:
                j = i | 1 << bit
                a, b = values[i], values[j]
                values[i], values[j] = (
                    code.shuffle(a, b, low),
                    code.shuffle(a, b, high),
                )
    return [values[i] for i in column_order(lanes, itemsize)]
