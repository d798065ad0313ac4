"""What is sorted: keys alone, or keys with their places. In: types. Out: how an item lies in memory.

A key of at most four bytes and its place share one word, so that an item moves in one store; a longer key has its place in
an array beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.kernel.skeleton.write import Memory, load, store

Values = list[UOp]
_HALF = UOp.const(dt.uint64, 32)


class Items:
    """Items of one sort; a value of an item is a list, one expression a field."""

    def __init__(self, key: dt.DType, place: dt.DType | None) -> None:
        self.key_type = key
        self.place_type = place
        self.packed = place is dt.int32 and key.itemsize <= 4
        if place is None:
            self.fields: tuple[dt.DType, ...] = (key,)
        else:
            self.fields = (dt.uint64,) if self.packed else (key, place)

    @property
    def bits(self) -> int:
        return 8 * self.key_type.itemsize

    def made(self, key: UOp, place: UOp) -> Values:
        """An item from its key and its place, an index."""
        if self.place_type is None:
            return [key]
        if not self.packed:
            return [key, place.cast(self.place_type)]
        upper = key.cast(dt.uint64).alu(Ops.SHL, _HALF)
        return [upper.alu(Ops.OR, place.cast(dt.uint64))]

    def key(self, values: Values) -> UOp:
        if not self.packed:
            return values[0]
        return values[0].alu(Ops.SHR, _HALF).cast(self.key_type)

    def outcome(self, values: Values) -> UOp:
        """What is asked for: the place, or the key where there are none."""
        if self.packed:
            mask = UOp.const(dt.uint64, (1 << 32) - 1)
            return (values[0] & mask).cast(dt.int32)
        return values[-1]

    def memory(self, memory: Memory, size: UOp) -> list[UOp]:
        """Temporaries for so many items."""
        return [memory.temporary(t, size) for t in self.fields]


def get(buffers: Sequence[UOp], offset: UOp) -> Values:
    return [load(b, offset) for b in buffers]


def put(buffers: Sequence[UOp], offset: UOp, values: Values) -> list[UOp]:
    return [store(b, offset, v) for b, v in zip(buffers, values, strict=True)]
