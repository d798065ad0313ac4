"""Relocations of ELF objects: what a linker writes into code when it knows where things are.

In:  a relocation type, the place (offset in the image and address), the value it refers to.
Out: the patched bytes in the image. An unknown type or a distance that does not fit is a CompileError.
"""

import struct
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ingot.errors import CompileError

__all__ = ["RELOCATIONS", "Place", "Relocation"]


class Place(NamedTuple):
    """Where a relocation writes: `offset` in `image`, which will run at `address`."""

    image: memoryview
    offset: int
    address: int


class Relocation(NamedTuple):
    """One type: `apply(place, target address)` writes `nbytes` bytes."""

    name: str
    nbytes: int
    apply: Callable[[Place, int], None]


def _fit(value: int, bits: int, name: str) -> int:
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise CompileError(
            f"object: {name} reaches too far",
            given=hex(value),
            wanted=f"{bits} signed bits",
        )
    return value


def _absolute64(place: Place, target: int) -> None:
    struct.pack_into("<Q", place.image, place.offset, target % (1 << 64))


def _relative64(place: Place, target: int) -> None:
    struct.pack_into("<q", place.image, place.offset, target - place.address)


def _relative32(place: Place, target: int) -> None:
    distance = _fit(target - place.address, 32, "a 32-bit distance")
    struct.pack_into("<i", place.image, place.offset, distance)


def _set_bits(place: Place, mask: int, bits: int) -> None:
    """Replaces the `mask` bits of the instruction word at `place`."""
    (word,) = struct.unpack_from("<I", place.image, place.offset)
    struct.pack_into("<I", place.image, place.offset, word & ~mask | bits & mask)


def _branch26(place: Place, target: int) -> None:
    distance = _fit(target - place.address, 28, "a branch")
    _set_bits(place, 0x03FFFFFF, distance >> 2)


def _page21(place: Place, target: int) -> None:
    """ADRP: the distance in 4 KiB pages, split over two fields."""
    pages = _fit((target >> 12) - (place.address >> 12), 21, "a page distance")
    _set_bits(place, 0x60FFFFE0, (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5)


def _low12(scale: int) -> Callable[[Place, int], None]:
    """The low 12 bits of the target, as the immediate of an instruction that counts in units of `1 << scale` bytes."""

    def apply(place: Place, target: int) -> None:
        low = target & 0xFFF
        if low & (1 << scale) - 1:
            raise CompileError(
                "object: misaligned data",
                given=hex(target),
                wanted=f"a multiple of {1 << scale}",
            )
        _set_bits(place, 0x003FFC00, low >> scale << 10)

    return apply


_X86_64 = {
    1: Relocation("R_X86_64_64", 8, _absolute64),
    2: Relocation("R_X86_64_PC32", 4, _relative32),
    4: Relocation("R_X86_64_PLT32", 4, _relative32),
    24: Relocation("R_X86_64_PC64", 8, _relative64),
}

_AARCH64 = {
    257: Relocation("R_AARCH64_ABS64", 8, _absolute64),
    260: Relocation("R_AARCH64_PREL64", 8, _relative64),
    261: Relocation("R_AARCH64_PREL32", 4, _relative32),
    275: Relocation("R_AARCH64_ADR_PREL_PG_HI21", 4, _page21),
    277: Relocation("R_AARCH64_ADD_ABS_LO12_NC", 4, _low12(0)),
    278: Relocation("R_AARCH64_LDST8_ABS_LO12_NC", 4, _low12(0)),
    282: Relocation("R_AARCH64_JUMP26", 4, _branch26),
    283: Relocation("R_AARCH64_CALL26", 4, _branch26),
    284: Relocation("R_AARCH64_LDST16_ABS_LO12_NC", 4, _low12(1)),
    285: Relocation("R_AARCH64_LDST32_ABS_LO12_NC", 4, _low12(2)),
    286: Relocation("R_AARCH64_LDST64_ABS_LO12_NC", 4, _low12(3)),
    299: Relocation("R_AARCH64_LDST128_ABS_LO12_NC", 4, _low12(4)),
}

# ELF's number of a machine -> its relocations.
RELOCATIONS: Mapping[int, Mapping[int, Relocation]] = {62: _X86_64, 183: _AARCH64}
