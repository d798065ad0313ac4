"""The element types, under their public names. In: ir/dtype.py. Out: float32, int64, bool, ..."""

from ingot.ir.dtype import (
    bfloat16,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ingot.ir.dtype import boolean as bool

__all__ = [
    "bfloat16",
    "bool",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
