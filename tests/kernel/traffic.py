"""What a kernel moves, measured in the tree interpreter. In: trees that run inside `recording()`. Out: Traffic.

The measure of fusion: an argument is moved once if every element of it that is touched is loaded in one span
of time, before and after which it is left alone. Loading a row again while it is worked on is a read from cache
and counts as the same move; `apart` finds rows whose spans overlap, which would have to stay in cache together.
Memory between the launches of one kernel (packed panels, partial results) is listed apart from its arguments,
and so is the scratch of a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from ingot.ir import interpret_tree
from ingot.ir.interpret_tree import Memory

Array = np.ndarray[Any, Any]


@dataclass
class Traffic:
    """Loads and stores by argument: (when, offset), one entry an element."""

    loads: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    stores: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    clock: int = 0

    def note(
        self, table: dict[str, list[tuple[int, int]]], name: str, offsets: Any
    ) -> None:
        self.clock += 1
        table.setdefault(name, []).extend(
            (self.clock, int(k)) for k in np.ravel(offsets)
        )

    def touched(self, slot: int) -> int:
        """Different elements of an argument that were loaded or stored."""
        return len(
            {
                k
                for table in (self.loads, self.stores)
                for _, k in table.get(f"p{slot}", ())
            }
        )

    def loaded(self, slot: int) -> int:
        """Elements loaded, each time counted."""
        return len(self.loads.get(f"p{slot}", ()))

    def stored(self, slot: int) -> int:
        return len(self.stores.get(f"p{slot}", ()))

    def apart(self, slot: int, row: int) -> bool:
        """Each row of an argument is loaded in a span of its own: no other row is loaded before it is done with."""
        spans: dict[int, list[int]] = {}
        for when, offset in self.loads[f"p{slot}"]:
            spans.setdefault(offset // row, []).append(when)
        ordered = sorted((min(times), max(times)) for times in spans.values())
        return all(first[1] < second[0] for first, second in pairwise(ordered))


@contextmanager
def recording() -> Iterator[Traffic]:
    """Trees that are run inside tell what they touch."""
    traffic = Traffic()

    class Recorded(Memory):
        def load(self, offset: int) -> Any:
            self.tell(traffic.loads, offset)
            return super().load(offset)

        def store(self, offset: int, value: Any) -> None:
            self.tell(traffic.stores, offset)
            super().store(offset, value)

        def gather(self, offset: Array, mask: Any, *rest: Any) -> Any:
            self.tell(traffic.loads, active(offset, mask))
            return super().gather(offset, mask, *rest)

        def scatter(self, offset: Any, value: Any, mask: Any, *rest: Any) -> None:
            places, _, active_lanes = np.broadcast_arrays(offset, value, mask)
            self.tell(traffic.stores, places[active_lanes])
            super().scatter(offset, value, mask, *rest)

        def tell(
            self, table: dict[str, list[tuple[int, int]]], offsets: Any
        ) -> None:
            if self.written is None:
                traffic.note(table, self.name, offsets)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpret_tree, "Memory", Recorded)
        yield traffic


def active(offset: Any, mask: Any) -> Any:
    places, lanes = np.broadcast_arrays(offset, mask)
    return places[lanes]
