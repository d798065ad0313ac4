"""Memory that watches its users, for the SIMT interpreter. In: accesses of many threads. Out: values, or a fault.

Between two barriers no thread may touch what another one writes, in shared or in global memory; blocks have no barrier
between them, so that they must never meet where one writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ingot.errors import KernelFault
from ingot.ir import dtype as dt
from ingot.ir import meaning
from ingot.ir.dtype import DType

Array = np.ndarray[Any, np.dtype[Any]]
NOBODY, SEVERAL = -1, -2


class Clock:
    """Which block runs, and how many barriers it has passed."""

    def __init__(self) -> None:
        self.block = 0
        self.step = 0

    def barrier(self) -> None:
        self.step += 1

    def next_block(self) -> None:
        self.block += 1
        self.step += 1


class Watch:
    """Who touched each cell since the last barrier, and which blocks ever did; `local` memory is new in each block."""

    def __init__(self, size: int, clock: Clock, local: bool) -> None:
        self.clock = clock
        self.local = local
        self.writer, self.written_at = np.full(size, NOBODY), np.full(size, NOBODY)
        self.reader, self.read_at = np.full(size, NOBODY), np.full(size, NOBODY)
        self.writing_block, self.reading_block = (
            np.full(size, NOBODY),
            np.full(size, NOBODY),
        )

    def read(self, cells: Array, threads: Array) -> tuple[Array, str, Array] | None:
        """None, or (which accesses are wrong, why, the other thread)."""
        clock = self.clock
        wrong = (self.written_at[cells] == clock.step) & (
            self.writer[cells] != threads
        )
        if wrong.any():
            return (
                wrong,
                "reads what {} wrote and no barrier is between",
                self.writer[cells],
            )
        blocks = self.writing_block[cells]
        wrong = self._elsewhere(blocks)
        if wrong.any():
            return (
                wrong,
                "reads what another block of the same launch wrote",
                blocks,
            )
        recent = self.read_at[cells] == clock.step
        mine = np.where(recent & (self.reader[cells] != threads), SEVERAL, threads)
        self.reader[cells] = mine
        self.reader[cells[self.reader[cells] != mine]] = SEVERAL
        self.read_at[cells] = clock.step
        seen = self.reading_block[cells]
        self.reading_block[cells] = np.where(
            (seen == NOBODY) | (seen == clock.block), clock.block, SEVERAL
        )
        return None

    def _elsewhere(self, blocks: Array) -> Array:
        if self.local:
            return np.zeros(len(blocks), bool)
        elsewhere: Array = (blocks != NOBODY) & (blocks != self.clock.block)
        return elsewhere

    def write(
        self, cells: Array, threads: Array
    ) -> tuple[Array, str, Array] | None:
        clock = self.clock
        order = np.argsort(cells, kind="stable")
        twice = np.zeros(len(cells), bool)
        twice[order[1:]] = cells[order[1:]] == cells[order[:-1]]
        if twice.any():
            before = np.zeros(len(cells), np.int64)
            before[order[1:]] = threads[order[:-1]]
            return twice, "writes in the same step as {}", before
        wrong = (self.written_at[cells] == clock.step) & (
            self.writer[cells] != threads
        )
        if wrong.any():
            return (
                wrong,
                "writes what {} wrote and no barrier is between",
                self.writer[cells],
            )
        wrong = (self.read_at[cells] == clock.step) & (
            self.reader[cells] != threads
        )
        if wrong.any():
            return (
                wrong,
                "writes what {} read and no barrier is between",
                self.reader[cells],
            )
        for blocks in (self.writing_block[cells], self.reading_block[cells]):
            wrong = self._elsewhere(blocks)
            if wrong.any():
                return (
                    wrong,
                    "writes what another block of the same launch touched",
                    blocks,
                )
        self.writer[cells], self.written_at[cells] = threads, clock.step
        self.writing_block[cells] = clock.block
        return None


class Memory:
    """One flat buffer. Private memory has a row for each thread; common memory has one, and a watch."""

    def __init__(
        self,
        name: str,
        dtype: DType,
        data: Array,
        defined: bool,
        watch: Watch | None,
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.data = data
        self.size = data.shape[-1]
        self.defined = np.full(data.shape, defined)
        self.watch = watch

    def forget(self) -> None:
        """Its contents are undefined again."""
        self.defined[...] = False

    def load(self, cells: Array, threads: Array, fault: Fault) -> Any:
        """The values at `cells`, one for each of `threads`."""
        self._inside("load", cells, threads, fault)
        place = self._place(cells, threads)
        empty = ~self.defined[place]
        if empty.any():
            self._fail("reads uninitialised", empty, cells, threads, fault)
        if self.watch is not None:
            self._meet(self.watch.read(cells, threads), cells, threads, fault)
        return meaning.load(self.dtype, self.data[place])

    def store(
        self, cells: Array, values: Any, threads: Array, fault: Fault
    ) -> None:
        self._inside("store", cells, threads, fault)
        if self.watch is not None:
            self._meet(self.watch.write(cells, threads), cells, threads, fault)
        place = self._place(cells, threads)
        self.data[place] = meaning.store(self.dtype, values)
        self.defined[place] = True

    def _place(self, cells: Array, threads: Array) -> Any:
        return cells if self.watch is not None else (threads, cells)

    def _inside(
        self, what: str, cells: Array, threads: Array, fault: Fault
    ) -> None:
        wrong = (cells < 0) | (cells >= self.size)
        if wrong.any():
            self._fail(f"{what} out of bounds:", wrong, cells, threads, fault)

    def _meet(
        self,
        found: tuple[Array, str, Array] | None,
        cells: Array,
        threads: Array,
        fault: Fault,
    ) -> None:
        if found is None:
            return
        wrong, why, others = found
        first = int(np.flatnonzero(wrong)[0])
        other = (
            "several threads"
            if others[first] == SEVERAL
            else f"thread {int(others[first])}"
        )
        cell = f"{self.name}[{int(cells[first])}]"
        raise fault(
            f"race in {cell}: thread {int(threads[first])} {why.format(other)}",
            int(threads[first]),
        )

    def _fail(
        self, what: str, wrong: Array, cells: Array, threads: Array, fault: Fault
    ) -> None:
        first = int(np.flatnonzero(wrong)[0])
        thread = int(threads[first])
        cell = f"{self.name}[{int(cells[first])}]"
        raise fault(
            f"thread {thread} {what} {cell} of {self.size} elements", thread
        )


Fault = Callable[[str, int], KernelFault]
"""Makes a fault from its message and the thread that it happened to."""


def staged(
    name: str, dtype: DType, size: int, threads: int | None, clock: Clock
) -> Memory:
    """Memory declared in a kernel: private to each of `threads`, or common to a block."""
    kind = dt.to_numpy(dtype)
    if threads is None:
        return Memory(
            name, dtype, np.zeros(size, kind), False, Watch(size, clock, local=True)
        )
    return Memory(name, dtype, np.zeros((threads, size), kind), False, None)
