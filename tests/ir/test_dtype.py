"""Types: bits in and out, bfloat16 rounding, NumPy both ways."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from ingot.errors import DTypeError
from ingot.ir import dtype as dt

VALUES = [d for d in dt.ALL if d is not dt.void]


@pytest.mark.parametrize("dtype", VALUES, ids=str)
def test_bits_come_back(dtype: dt.DType) -> None:
    top = (1 << dtype.bits) - 1 if dtype is not dt.boolean else 1
    for bits in {0, 1, top, top >> 1, (top >> 1) + 1, 0x1234567890ABCDEF & top}:
        value = dt.from_bits(dtype, bits)
        if value == value:
            assert dt.to_bits(dtype, value) == bits


def test_integers_wrap() -> None:
    assert dt.from_bits(dt.int8, dt.to_bits(dt.int8, 200)) == -56
    assert dt.from_bits(dt.uint16, dt.to_bits(dt.uint16, -1)) == 65535


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (1.0, 0x3F80),
        (1.00390625, 0x3F80),  # a tie goes to even
        (1.01171875, 0x3F82),
        (3.4e38, 0x7F80),
        (-0.0, 0x8000),
        (math.inf, 0x7F80),
    ],
)
def test_bfloat16_rounds_to_nearest_even(value: float, bits: int) -> None:
    assert dt.to_bits(dt.bfloat16, value) == bits


def test_bfloat16_keeps_nan() -> None:
    assert math.isnan(dt.from_bits(dt.bfloat16, dt.to_bits(dt.bfloat16, math.nan)))


def test_names_and_numpy() -> None:
    assert dt.named("float") is dt.float32
    assert dt.from_numpy(np.dtype("int64")) is dt.int64
    assert dt.to_numpy(dt.index) == np.int64
    assert dt.to_numpy(dt.bfloat16) == np.uint16
    with pytest.raises(DTypeError, match="unknown dtype 'float7'"):
        dt.named("float7")
    with pytest.raises(DTypeError, match="complex64"):
        dt.from_numpy(np.dtype("complex64"))


def test_limits() -> None:
    assert (dt.least(dt.int8), dt.greatest(dt.int8)) == (-128, 127)
    assert (dt.least(dt.uint8), dt.greatest(dt.uint8)) == (0, 255)
    assert (dt.least(dt.float16), dt.greatest(dt.boolean)) == (-math.inf, True)


def test_a_type_is_one_object() -> None:
    assert pickle.loads(pickle.dumps(dt.float32)) is dt.float32
