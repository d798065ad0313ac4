"""Parts that lie in one piece in memory: x[i], x[i:j], x[i, j]. In: a tensor in memory and an index. Out: its memory there.

Reading such a part of a computed tensor needs no program, and every row or batch is read by the same one afterwards.
Writing a small part needs none either: the memory is copied first, unless nobody else can see it.
"""

from __future__ import annotations

import ctypes
import math
from sys import getrefcount
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ops.movement import broadcast_to
from ingot.runtime.buffer import Buffer
from ingot.tensor.computed import has_values
from ingot.tensor.dirty import changes_of
from ingot.tensor.evaluate import evaluate
from ingot.tensor.handle import Handle, Kind, kind_of
from ingot.tensor.leaves import tracked
from ingot.tensor.update import spreads

MOST_LAZY_PARTS = 4  # as many updates of parts may wait in a chain
SMALL_PART = 1 << 16
_reads: WeakKeyDictionary[UOp, int] = WeakKeyDictionary()


class Piece(NamedTuple):
    """Bytes start .. start + nbytes of a tensor's memory, as a tensor of this kind."""

    start: int
    nbytes: int
    kind: Kind


def read_part(x: Handle, index: Any) -> tuple[Buffer, Kind] | None:
    """The memory of x[index], if x lies in memory and the part in one piece; a copy, if the memory belongs to others."""
    piece = _piece(x.kind or (x.uop.dtype, x.uop.shape), index)
    if piece is None:
        return None
    memory = x.plain_memory() or _computed_by_now(x)
    if memory is None:
        return None
    part = _part_of(memory, piece)
    is_borrowed = isinstance(memory.owner, np.ndarray)
    return _copied(part) if is_borrowed else part, piece.kind


def _part_of(memory: Buffer, piece: Piece) -> Buffer:
    """The same memory; it lives as long as one of its parts."""
    whole = memoryview(cast(Any, memory.owner)).cast("B")
    bytes_there = whole[piece.start : piece.start + piece.nbytes]
    address = memory.address + piece.start
    return Buffer(address, piece.nbytes, bytes_there, memory.writable)


def _computed_by_now(x: Handle) -> Buffer | None:
    """A pending tensor that is read part by part is computed once: each part would be a program of its own."""
    if Handle.journal is not None:
        return None
    node = x.uop
    reads = _reads[node] = _reads.get(node, 0) + 1
    if reads <= MOST_LAZY_PARTS or tracked([node]) or not has_values(node):
        return None
    evaluate(x)
    return x.plain_memory()


def write_part(x: Handle, index: Any, value: UOp) -> bool:
    """Store a small part of x at once. False: the part is large, in pieces, or has to stay in the graph."""
    if Handle.journal is not None or not (is_plain(x) or _many_wait(x)):
        return False
    # Asking a tensor in memory for its node would make one, and then the memory could be seen by others.
    waiting = [] if is_plain(x) else [x.uop]
    piece = _piece(x.kind or (x.uop.dtype, x.uop.shape), index)
    if piece is None or piece.nbytes > SMALL_PART or tracked([*waiting, value]):
        return False
    if not spreads(value.shape, piece.kind[1]):
        return False
    part = Handle.of(broadcast_to(value, piece.kind[1]))
    evaluate(x, part)
    if not is_plain(x):
        return False
    source = cast(Buffer, part.plain_memory())
    target = _address_of_own(x)
    ctypes.memmove(target + piece.start, source.address, piece.nbytes)
    return True


def is_plain(x: Handle) -> bool:
    """It lies in memory, and nothing has to see how it is read."""
    return x.plain_memory() is not None


def _many_wait(x: Handle) -> bool:
    return changes_of(x) >= MOST_LAZY_PARTS and has_values(x.uop)


# --- memory that nobody else can see --------------------------------------------------------------------------------


def _address_of_own(x: Handle) -> int:
    """Memory of x to write to: what it has if no other object refers to it, else a copy."""
    kind = cast(Kind, x.kind)
    memory = cast(Buffer, x.buffer)
    is_lease = isinstance(memory.owner, ctypes.Array)
    del memory
    if x._uop is None and is_lease and _references(x) == _ALONE:
        cast(Buffer, x.buffer).changed()
    else:
        x.move(_copied(cast(Buffer, x.buffer)), kind)
    return cast(Buffer, x.buffer).address


def _copied(memory: Buffer) -> Buffer:
    made = Buffer.allocate(memory.nbytes)
    ctypes.memmove(made.address, memory.address, memory.nbytes)
    return made


def _references(x: Handle) -> tuple[int, int]:
    """How many refer to the buffer and to its memory: views of arrays, nodes, other tensors."""
    return getrefcount(x.buffer), getrefcount(cast(Buffer, x.buffer).owner)


# What that says of a tensor that nobody else knows.
_ALONE = _references(Handle.holding(Buffer.allocate(8), kind_of(dt.uint64, ())))


# --- which part -----------------------------------------------------------------------------------------------------


def _piece(kind: Kind, index: Any) -> Piece | None:
    """Where x[index] lies: whole numbers, then at most one slice without a step, then whole axes."""
    dtype, shape = kind
    given = index if isinstance(index, tuple) else (index,)
    if len(given) > len(shape) or not all(isinstance(n, int) for n in shape):
        return None
    sizes = cast(tuple[int, ...], shape)
    start, kept = 0, sizes
    for place, part in enumerate(given, 1):
        wide = math.prod(kept[1:])
        if type(part) is int and -kept[0] <= part < kept[0]:
            start += part % kept[0] * wide
            kept = kept[1:]
        elif (
            isinstance(part, slice)
            and place == len(given)
            and _is_plain_slice(part)
        ):
            first, stop, _ = part.indices(kept[0])
            start += first * wide
            kept = (max(0, stop - first), *kept[1:])
        else:
            return None
    if 0 in kept:
        return None
    count = math.prod(kept)
    return Piece(
        start * dtype.itemsize, count * dtype.itemsize, kind_of(dtype, kept)
    )


def _is_plain_slice(part: slice) -> bool:
    ends = (part.start, part.stop)
    return part.step is None and all(n is None or type(n) is int for n in ends)
