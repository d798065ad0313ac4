"""Streams of random numbers. In: a seed. Out: keys, one for each random tensor (see ops/random.py).

A generator's state is two words in memory, the seed and how many positions have been drawn. Every draw takes the memory
as it is and moves the state on to other memory, so what was drawn keeps its numbers, and no draw waits for another.
While a function is captured the state is a tensor like any other that the function changes: each replay moves it on.
"""

from __future__ import annotations

import os
import struct
from threading import Lock, get_ident
from typing import Self

from ingot import pipeline
from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ops.movement import Dim, pad, reshape, size
from ingot.runtime.buffer import Buffer
from ingot.tensor.computed import compute
from ingot.tensor.handle import Handle, kind_of

_STATE = struct.Struct("=QQ")
_KIND = kind_of(dt.uint64, (2,))
_MASK = (1 << 64) - 1


class Generator:
    """A stream of its own: the same seed gives the same numbers, on every target and with any number of threads."""

    __slots__ = ("_lock", "_seed", "state")

    def __init__(self, seed: int | None = None) -> None:
        self._lock = Lock()
        self._seed = _unforeseen() if seed is None else _checked(seed)
        self.state = Handle.holding(_memory(self._seed, 0), _KIND)

    def manual_seed(self, seed: int) -> Self:
        """Begin the stream of this seed."""
        self._seed = _checked(seed)
        fresh = _memory(self._seed, 0)
        with self._lock:
            if _is_capturing():
                self.state.rebind(pipeline.buffer_node(fresh, *_KIND, borrow=True))
            else:
                self.state.move(fresh, _KIND)
        return self

    def seed(self) -> int:
        """Begin a stream that nobody can foresee, and say its seed."""
        self.manual_seed(_unforeseen())
        return self._seed

    def initial_seed(self) -> int:
        """The seed that the stream began with."""
        return self._seed

    def key(self, positions: Dim) -> UOp:
        """The key for so many positions; the next one begins after them."""
        with self._lock:
            found = self.state.uop
            if isinstance(positions, int) and not _is_capturing():
                seed, drawn = self._words(found)
                following = _memory(seed, drawn + positions & _MASK)
                self.state.move(following, _KIND)
            else:
                self.state.rebind(found + _second(positions))
            return found

    def _words(self, node: UOp) -> tuple[int, int]:
        """What the state holds now; after a replayed program only memory knows."""
        if self.state.buffer is None:
            compute([node])
            self.state.settle()
            self.state.hold()
        seed, drawn = _STATE.unpack_from(self.state.buffer.owner)  # type: ignore[union-attr, arg-type]
        return seed, drawn


def _second(positions: Dim) -> UOp:
    """(0, positions) as a node."""
    number = reshape(size(positions).cast(dt.uint64), (1,))
    return pad(number, ((1, 0),))


def _is_capturing() -> bool:
    return Handle.journal is not None and Handle.journal.thread == get_ident()


def _memory(seed: int, drawn: int) -> Buffer:
    made = Buffer.allocate(_STATE.size)
    _STATE.pack_into(made.owner, 0, seed, drawn)  # type: ignore[arg-type]  # it has the buffer protocol
    return made


def _unforeseen() -> int:
    return int.from_bytes(os.urandom(8), "little")


def _checked(seed: object) -> int:
    if not isinstance(seed, int) or not -(1 << 63) <= seed <= _MASK:
        raise ArgumentError(
            f"manual_seed: {seed!r} is no seed", wanted="a whole number of 64 bits"
        )
    return seed & _MASK


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """The random numbers that follow are those of this seed; returns the generator that makes them."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """The random numbers that follow cannot be foreseen; returns their seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the random numbers."""
    return default_generator.initial_seed()
