"""Memory of tensors: bytes with an address, an owner and a version.

In:  a number of bytes, or a NumPy array to borrow.
Out: `Buffer`. Freed blocks are kept by size and given out again: the first touch of fresh pages costs more than many
     kernels do. How much is kept is bounded.
"""

import ctypes
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ingot.errors import ArgumentError
from ingot.runtime.pages import (
    PAGE,
    map_huge_pages,
    map_pages,
    round_up,
    unmap_pages,
)

if TYPE_CHECKING:
    # Loads slowly, and only people and checkers read it.
    from numpy.typing import (
        DTypeLike,
        NDArray,
    )

__all__ = ["Allocator", "Buffer", "allocator"]

_LINE = 64
# Blocks up to 1/8 of a slab are cut from slabs, which are never given back.
_SLAB = 256 << 10
_HUGE_FROM = 4 << 20
_DEFAULT_LIMIT = 1 << 30
_KNOWN_SIZES = 4096


def size_class(nbytes: int) -> int:
    """The size of the block for a request: four steps an octave, whole cache lines; large ones whole pages."""
    step = max(_LINE, 1 << max(nbytes - 1, 0).bit_length() >> 3)
    capacity = round_up(max(nbytes, 1), step)
    return round_up(capacity, PAGE) if capacity > _SLAB // 8 else capacity


class _Blocks:
    """Free blocks of one size, and the type of the objects that hold such a block.

    A lease is a ctypes array over the block. NumPy views are built on it and keep it alive; when the last reference is
    gone, the block is free again.
    """

    __slots__ = ("capacity", "free", "lease", "mapped")

    def __init__(
        self, capacity: int, give_back: Callable[["_Blocks", int], None]
    ) -> None:
        self.capacity = capacity
        self.mapped = capacity > _SLAB // 8  # each block is a mapping of its own
        self.free: list[int] = []
        keep = (
            functools.partial(give_back, self) if self.mapped else self.free.append
        )
        address_of = ctypes.addressof

        def end(lease: Any) -> None:
            keep(address_of(lease))

        base = ctypes.c_char * capacity
        self.lease = type(
            "Lease",
            (base,),
            {"__del__": end, "__doc__": f"A block of {capacity} bytes."},
        )


class Allocator:
    """Blocks by size class. `limit_bytes` bounds the large free blocks that are kept."""

    def __init__(self, limit_bytes: int = _DEFAULT_LIMIT) -> None:
        self.limit_bytes = limit_bytes
        self.cached_bytes = 0
        self._classes: dict[int, _Blocks] = {}
        # Requests seen before, so that they cost one look-up.
        self._known: dict[int, _Blocks] = {}

    def lease(self, nbytes: int) -> Any:
        """An object that holds at least `nbytes` at a 64-byte-aligned address, as long as it lives."""
        blocks = self._known.get(nbytes)
        if blocks is None:
            blocks = self._blocks_for(nbytes)
        try:
            address = blocks.free.pop()
        except IndexError:
            address = self._fresh(blocks)
        else:
            if blocks.mapped:
                self.cached_bytes -= blocks.capacity
        return blocks.lease.from_address(address)  # type: ignore[attr-defined]  # a ctypes type, made at run time

    def trim(self) -> None:
        """Gives all large free blocks back to the system."""
        for blocks in list(self._classes.values()):
            if blocks.mapped:
                self._empty(blocks)
        self.cached_bytes = 0

    def _empty(self, blocks: _Blocks) -> None:
        while blocks.free:
            try:
                address = blocks.free.pop()
            except IndexError:
                return  # another thread took the last one
            unmap_pages(address, blocks.capacity)

    def _blocks_for(self, nbytes: int) -> _Blocks:
        if nbytes < 0:
            raise ArgumentError(
                "allocate", given=f"{nbytes} bytes", wanted="0 or more"
            )
        capacity = size_class(nbytes)
        blocks = self._classes.setdefault(
            capacity, _Blocks(capacity, self._give_back)
        )
        if len(self._known) >= _KNOWN_SIZES:
            self._known.clear()
        self._known[nbytes] = blocks
        return blocks

    def _fresh(self, blocks: _Blocks) -> int:
        try:
            return self._map(blocks)
        except MemoryError:
            self.trim()
            return self._map(blocks)

    def _map(self, blocks: _Blocks) -> int:
        if blocks.capacity >= _HUGE_FROM:
            return map_huge_pages(blocks.capacity)
        if blocks.mapped:
            return map_pages(blocks.capacity)
        start = map_pages(_SLAB)
        addresses = range(
            start, start + _SLAB - blocks.capacity + 1, blocks.capacity
        )
        blocks.free.extend(addresses[1:])
        return start

    def _give_back(self, blocks: _Blocks, address: int) -> None:
        """Keeps a mapped block. May be called at any moment, by the garbage collector: so it takes no lock."""
        if blocks.capacity > self.limit_bytes:
            unmap_pages(address, blocks.capacity)
            return
        if self.cached_bytes + blocks.capacity > self.limit_bytes:
            self.trim()
        self.cached_bytes += blocks.capacity
        blocks.free.append(address)


allocator = Allocator()


class Buffer:
    """Flat memory. `owner` keeps it alive; `version` counts the writes to it that the program graph knows of."""

    __slots__ = ("__weakref__", "address", "nbytes", "owner", "version", "writable")

    def __init__(
        self, address: int, nbytes: int, owner: object, writable: bool = True
    ) -> None:
        self.address = address
        self.nbytes = nbytes
        self.owner = owner
        self.writable = writable
        self.version = 0

    @staticmethod
    def allocate(nbytes: int) -> "Buffer":
        """Fresh memory, 64-byte aligned, contents undefined."""
        lease = allocator.lease(nbytes)
        return Buffer(ctypes.addressof(lease), nbytes, lease)

    @staticmethod
    def from_array(array: "NDArray[Any]") -> "Buffer":
        """The array's own memory, borrowed: writes on either side are seen on the other."""
        if not array.flags.c_contiguous:
            fix = "copy it first: Buffer.copy_of(array)"
            raise ArgumentError(
                "a borrowed array must be contiguous",
                given=f"strides {array.strides}",
                fix=fix,
            )
        address: int = array.__array_interface__["data"][0]
        return Buffer(
            address, array.nbytes, array, writable=bool(array.flags.writeable)
        )

    @staticmethod
    def copy_of(array: "NDArray[Any]") -> "Buffer":
        """Fresh memory with the elements of the array in C order."""
        buffer = Buffer.allocate(array.nbytes)
        np.copyto(buffer.as_array(array.dtype, array.shape), array)
        return buffer

    def as_array(
        self, dtype: "DTypeLike", shape: tuple[int, ...]
    ) -> "NDArray[Any]":
        """A NumPy view of the first elements. It keeps the memory alive."""
        kind = np.dtype(dtype)
        if kind.itemsize * math.prod(shape) > self.nbytes:
            raise ArgumentError(
                "view of a buffer",
                given=f"{kind}{list(shape)}",
                wanted=f"at most {self.nbytes} bytes",
            )
        return np.ndarray(shape, kind, self.owner)  # type: ignore[arg-type]  # it has the buffer protocol

    def changed(self) -> None:
        """Somebody wrote: what was derived from the old contents is stale."""
        self.version += 1

    def __repr__(self) -> str:
        return f"Buffer({self.nbytes} bytes at {self.address:#x}, version {self.version})"
