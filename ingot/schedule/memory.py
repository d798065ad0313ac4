"""The memory plan. In: values with their first and last use and size. Out: offsets in one arena, reused when values are dead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ALIGN = 64


@dataclass(frozen=True, slots=True)
class Interval:
    """A value: written at step `first`, last read at step `last`."""

    first: int
    last: int
    nbytes: int


def arrange(values: Mapping[object, Interval]) -> tuple[dict[object, int], int]:
    """Offsets, and the size of the arena: large values first, each at the lowest place free during its life."""
    placed: list[tuple[int, int, Interval]] = []
    offsets: dict[object, int] = {}
    for key, value in sorted(values.items(), key=lambda item: -item[1].nbytes):
        size = -(-max(value.nbytes, 1) // ALIGN) * ALIGN
        offset = _lowest(placed, value, size)
        placed.append((offset, offset + size, value))
        offsets[key] = offset
    return offsets, max((end for _, end, _ in placed), default=0)


def _lowest(placed: list[tuple[int, int, Interval]], value: Interval, size: int) -> int:
    busy = sorted((start, end) for start, end, other in placed if other.first <= value.last and value.first <= other.last)
    offset = 0
    for start, end in busy:
        if offset + size <= start:
            return offset
        offset = max(offset, end)
    return offset
