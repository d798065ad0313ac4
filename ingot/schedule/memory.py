"""The memory plan. In: values with their first and last use and size. Out: offsets in one arena, reused when values are dead."""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

ALIGN = 64
K = TypeVar("K")


class Interval(NamedTuple):
    """A value: written at step `first`, last read at step `last`."""

    first: int
    last: int
    nbytes: int


def arrange(values: Mapping[K, Interval]) -> tuple[dict[K, int], int]:
    """Offsets, and the size of the arena: in order of time, each value in the smallest gap that holds it."""
    free = _Gaps()
    offsets: dict[K, int] = {}
    living: list[tuple[int, int, int]] = []
    for key, value in sorted(
        values.items(), key=lambda item: (item[1].first, -item[1].nbytes)
    ):
        while living and living[0][0] < value.first:
            _, offset, size = heapq.heappop(living)
            free.give(offset, size)
        size = -(-max(value.nbytes, 1) // ALIGN) * ALIGN
        offsets[key] = free.take(size)
        heapq.heappush(living, (value.last, offsets[key], size))
    return offsets, free.end


class _Gaps:
    """Free room below `end`, as disjoint gaps that never touch."""

    def __init__(self) -> None:
        self.end = 0
        self.starts: list[int] = []
        self.sizes: dict[int, int] = {}

    def take(self, size: int) -> int:
        fitting = [s for s in self.starts if self.sizes[s] >= size]
        if not fitting:
            return self._grow(size)
        start = min(fitting, key=lambda s: self.sizes[s])
        room = self.sizes.pop(start)
        self.starts.remove(start)
        if room > size:
            self._add(start + size, room - size)
        return start

    def _grow(self, size: int) -> int:
        """At the end; a gap that reaches it is used first."""
        start = self.end
        if (
            self.starts
            and self.starts[-1] + self.sizes[self.starts[-1]] == self.end
        ):
            start = self.starts.pop()
            del self.sizes[start]
        self.end = start + size
        return start

    def give(self, start: int, size: int) -> None:
        """A value has died: its room joins the gaps on both sides."""
        at = bisect.bisect(self.starts, start)
        if at < len(self.starts) and self.starts[at] == start + size:
            size += self.sizes.pop(self.starts.pop(at))
        if at and self.starts[at - 1] + self.sizes[self.starts[at - 1]] == start:
            start = self.starts.pop(at - 1)
            size += self.sizes.pop(start)
        self._add(start, size)

    def _add(self, start: int, size: int) -> None:
        bisect.insort(self.starts, start)
        self.sizes[start] = size
