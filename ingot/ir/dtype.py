"""Data types: one table. In: names and NumPy dtypes. Out: interned `DType` objects, compared by identity."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from enum import Enum

import numpy as np

from ingot.errors import DTypeError
from ingot.spelling import hint

Scalar = bool | int | float


class Kind(Enum):
    """What arithmetic a type obeys."""

    VOID = "void"
    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    FLOAT = "float"


@dataclass(frozen=True, eq=False, slots=True)
class DType:
    """One element type. Exactly one object exists per name, so `is` compares types."""

    name: str
    short: str
    kind: Kind
    bits: int

    @property
    def itemsize(self) -> int:
        return (self.bits + 7) // 8

    @property
    def is_float(self) -> bool:
        return self.kind is Kind.FLOAT

    @property
    def is_int(self) -> bool:
        return self.kind in (Kind.INT, Kind.UINT)

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """NumPy's type of the same name: so NumPy takes this type wherever it takes its own."""
        if self in (void, bfloat16):
            raise AttributeError(f"NumPy has no type {self.name}")
        return to_numpy(self)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return named, (self.name,)


void = DType("void", "void", Kind.VOID, 0)
boolean = DType("bool", "b1", Kind.BOOL, 8)
int8 = DType("int8", "i8", Kind.INT, 8)
int16 = DType("int16", "i16", Kind.INT, 16)
int32 = DType("int32", "i32", Kind.INT, 32)
int64 = DType("int64", "i64", Kind.INT, 64)
uint8 = DType("uint8", "u8", Kind.UINT, 8)
uint16 = DType("uint16", "u16", Kind.UINT, 16)
uint32 = DType("uint32", "u32", Kind.UINT, 32)
uint64 = DType("uint64", "u64", Kind.UINT, 64)
float16 = DType("float16", "f16", Kind.FLOAT, 16)
bfloat16 = DType("bfloat16", "bf16", Kind.FLOAT, 16)
float32 = DType("float32", "f32", Kind.FLOAT, 32)
float64 = DType("float64", "f64", Kind.FLOAT, 64)
index = DType("index", "idx", Kind.INT, 64)  # extents, offsets and loop counters

ALL = (
    *(void, boolean, int8, int16, int32, int64, uint8, uint16, uint32, uint64),
    *(float16, bfloat16, float32, float64, index),
)
_BY_NAME = {d.name: d for d in ALL} | {
    "half": float16,
    "float": float32,
    "double": float64,
    "int": int32,
}
_FROM_NUMPY = {np.dtype(d.name): d for d in ALL if d not in (void, bfloat16, index)}


def named(name: str) -> DType:
    """The type called `name`."""
    found = _BY_NAME.get(name)
    if found is None:
        # Two types are ours alone.
        known = sorted(set(_BY_NAME) - {"index", "void"})
        raise DTypeError(
            f"unknown dtype {name!r}; wanted one of {', '.join(known)}",
            fix=hint(name, known),
        )
    return found


def from_numpy(dtype: np.dtype[np.generic]) -> DType:
    """The type that stores a NumPy dtype without loss."""
    found = _FROM_NUMPY.get(dtype) or (
        bfloat16 if dtype.name == "bfloat16" else None
    )
    if found is None:
        known = ", ".join(sorted(d.name for d in _FROM_NUMPY))
        raise DTypeError(
            f"NumPy dtype {dtype} has no Ingot type",
            wanted=f"one of {known}",
            fix="convert the array first, for example with .astype('float32')",
        )
    return found


def to_numpy(dtype: DType) -> np.dtype[np.generic]:
    """The NumPy dtype of the same bits; bfloat16 is stored as uint16, which has no arithmetic of its own in NumPy."""
    if dtype is bfloat16:
        return np.dtype(np.uint16)
    return np.dtype("int64" if dtype is index else dtype.name)


# How a constant's bits are packed: struct format of the value and of the unsigned integer of the same width.
_PACK = {8: ("b", "B"), 16: ("h", "H"), 32: ("i", "I"), 64: ("q", "Q")}
_PACK_FLOAT = {16: "e", 32: "f", 64: "d"}


def to_bits(dtype: DType, value: Scalar) -> int:
    """The exact bits of `value` in `dtype`; integers wrap as in two's complement."""
    if dtype is boolean:
        return int(bool(value))
    if dtype is bfloat16:
        return _bfloat16_bits(float(value))
    if dtype.is_float:
        return _float_bits(dtype, float(value))
    return int(value) & ((1 << dtype.bits) - 1)


def from_bits(dtype: DType, bits: int) -> Scalar:
    """The Python value of constant bits."""
    if dtype is boolean:
        return bool(bits)
    if dtype is bfloat16:
        return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])
    if dtype.is_float:
        form = _PACK_FLOAT[dtype.bits]
        return float(
            struct.unpack(f"<{form}", bits.to_bytes(dtype.itemsize, "little"))[0]
        )
    if dtype.kind is Kind.INT and bits >> (dtype.bits - 1):
        return bits - (1 << dtype.bits)
    return bits


def _float_bits(dtype: DType, value: float) -> int:
    if value == 0.0:  # the most frequent constant, and NumPy takes microseconds
        return int(math.copysign(1.0, value) < 0) << (dtype.bits - 1)
    with np.errstate(over="ignore", invalid="ignore"):
        return int.from_bytes(np.array(value, to_numpy(dtype)).tobytes(), "little")


def _bfloat16_bits(value: float) -> int:
    bits = _float_bits(float32, value)
    if value != value:
        return (bits >> 16) | 0x40
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


def least(dtype: DType) -> Scalar:
    """The smallest value: the identity of max."""
    if dtype.is_float:
        return float("-inf")
    if dtype.kind is Kind.INT:
        return -(1 << (dtype.bits - 1))
    return 0


def greatest(dtype: DType) -> Scalar:
    """The largest value: the identity of min."""
    if dtype.is_float:
        return float("inf")
    if dtype is boolean:
        return True
    return (1 << (dtype.bits - (dtype.kind is Kind.INT))) - 1
