"""The NumPy meaning of opcodes: wrapping, division by zero, shifts, NaN, one rounding in fma, conversions."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir import meaning
from ingot.ir.opcode import Ops


def ap(op: Ops, dtype: dt.DType, *values: float) -> Any:
    with np.errstate(all="ignore"):
        return meaning.apply(
            op, dtype, dtype, *(meaning.constant(dtype, v) for v in values)
        )


def test_integers_wrap_and_divide_like_floor() -> None:
    assert ap(Ops.ADD, dt.int8, 127, 1) == -128
    assert ap(Ops.MUL, dt.uint8, 200, 2) == 144
    assert ap(Ops.NEG, dt.int8, -128) == -128
    assert ap(Ops.IDIV, dt.int32, -7, 2) == -4
    assert ap(Ops.MOD, dt.int32, -7, 2) == 1
    assert ap(Ops.IDIV, dt.int32, -7, 0) == 0
    assert ap(Ops.MOD, dt.int32, -7, 0) == 0
    assert ap(Ops.IDIV, dt.int8, -128, -1) == -128
    assert ap(Ops.IDIV, dt.index, -7, 0) == 0
    assert ap(Ops.POW, dt.int32, 2, -1) == 0
    assert ap(Ops.POW, dt.int32, -1, -3) == -1


def test_shifts_beyond_the_width() -> None:
    assert ap(Ops.SHL, dt.int32, 1, 31) == -(2**31)
    assert ap(Ops.SHL, dt.int32, 1, 32) == 0
    assert ap(Ops.SHR, dt.int32, -8, 1) == -4
    assert ap(Ops.SHR, dt.int32, -8, 40) == -1
    assert ap(Ops.SHR, dt.uint8, 255, 9) == 0
    assert ap(Ops.SHL, dt.int32, 1, -1) == 0


@pytest.mark.parametrize("op", [Ops.MAX, Ops.MIN])
def test_nan_wins(op: Ops) -> None:
    for dtype in (dt.float16, dt.bfloat16, dt.float32, dt.float64):
        assert math.isnan(ap(op, dtype, math.nan, 1.0))
        assert math.isnan(ap(op, dtype, 1.0, math.nan))


def test_results_keep_their_type() -> None:
    for dtype in (dt.int8, dt.uint16, dt.float16, dt.float32):
        for op in (Ops.ADD, Ops.MUL, Ops.MAX, Ops.NEG):
            values = [1] if op is Ops.NEG else [1, 1]
            assert np.asarray(ap(op, dtype, *values)).dtype == meaning.held(
                dtype
            ), (op, dtype)
    assert np.asarray(ap(Ops.ERF, dt.float32, 0.5)).dtype == np.float32


def test_bfloat16_rounds_every_step_as_ml_dtypes_does() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    rng = np.random.default_rng(0)
    a, b = (
        rng.normal(size=4000).astype(np.float32).astype(ml_dtypes.bfloat16)
        for _ in range(2)
    )
    held_a, held_b = a.astype(np.float32), b.astype(np.float32)
    for op, wanted in (
        (Ops.ADD, a + b),
        (Ops.MUL, a * b),
        (Ops.SUB, a - b),
        (Ops.FDIV, a / b),
    ):
        made = meaning.apply(op, dt.bfloat16, dt.bfloat16, held_a, held_b)
        np.testing.assert_array_equal(made, wanted.astype(np.float32))
    stored = meaning.store(dt.bfloat16, held_a)
    np.testing.assert_array_equal(stored, a.view(np.uint16))
    np.testing.assert_array_equal(meaning.load(dt.bfloat16, stored), held_a)


def _rounded(exact: Fraction, dtype: dt.DType) -> float:
    """The nearest value of a type, ties to even, by searching its neighbours."""
    near = dt.from_bits(dtype, dt.to_bits(dtype, float(exact)))
    bits = dt.to_bits(dtype, near)
    magnitude = bits & ((1 << (dtype.bits - 1)) - 1)
    sign = bits & (1 << (dtype.bits - 1))
    options = [
        sign | m for m in (magnitude - 1, magnitude, magnitude + 1) if m >= 0
    ]
    values = [
        (abs(Fraction(float(dt.from_bits(dtype, o))) - exact), o & 1, o)
        for o in options
        if _finite(dtype, o)
    ]
    return float(dt.from_bits(dtype, min(values)[2]))


def _finite(dtype: dt.DType, bits: int) -> bool:
    return math.isfinite(dt.from_bits(dtype, bits))


@pytest.mark.parametrize(
    "dtype", [dt.float16, dt.bfloat16, dt.float32, dt.float64], ids=str
)
def test_fma_rounds_once(dtype: dt.DType) -> None:
    """c nearly cancels a*b, or is far below it: there two roundings differ from one."""
    rng = random.Random(1)
    for _ in range(1500):
        a, b = (
            float(dt.from_bits(dtype, dt.to_bits(dtype, rng.uniform(-2, 2))))
            for _ in range(2)
        )
        scale = rng.choice([1.0, -1.0, 2.0**-12, 2.0**-9, 2.0**-26, 2.0**-54])
        c = float(dt.from_bits(dtype, dt.to_bits(dtype, a * b * scale)))
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        made = float(ap(Ops.MULACC, dtype, a, b, c))
        assert made == (_rounded(exact, dtype) if exact else 0.0), (a, b, c)


def test_fma_on_arrays_equals_fma_on_numbers() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 500)).astype(np.float32)
    c = (-(a * b)).astype(np.float32)
    with np.errstate(all="ignore"):
        whole = meaning.apply(Ops.MULACC, dt.float32, dt.float32, a, b, c)
        single = [
            meaning.apply(Ops.MULACC, dt.float32, dt.float32, a[k], b[k], c[k])
            for k in range(500)
        ]
    np.testing.assert_array_equal(whole, np.array(single, np.float32))
    assert (whole != 0).any()


def test_fma_edges() -> None:
    for dtype in (dt.float32, dt.float64):
        assert math.isnan(ap(Ops.MULACC, dtype, math.inf, 0.0, 1.0))
        assert ap(Ops.MULACC, dtype, math.inf, 1.0, 1.0) == math.inf
        assert math.copysign(1, ap(Ops.MULACC, dtype, -1.0, 0.0, -0.0)) == -1
        assert math.copysign(1, ap(Ops.MULACC, dtype, 1.0, 1.0, -1.0)) == 1
    assert ap(Ops.MULACC, dt.float64, 1e308, 10.0, 0.0) == math.inf
    assert ap(Ops.MULACC, dt.int32, 3, 4, 5) == 17


@pytest.mark.parametrize(
    ("value", "source", "target", "wanted"),
    [
        (300.7, dt.float32, dt.uint8, 255),
        (-5.5, dt.float32, dt.uint8, 0),
        (-5.5, dt.float32, dt.int8, -5),
        (math.nan, dt.float32, dt.int32, 0),
        (math.inf, dt.float64, dt.int64, 2**63 - 1),
        (-math.inf, dt.float64, dt.int64, -(2**63)),
        (2.0**63, dt.float64, dt.uint64, 2**63),
        (300, dt.int32, dt.int8, 44),
        (-1, dt.int32, dt.uint32, 2**32 - 1),
        (2, dt.int32, dt.boolean, True),
        (math.nan, dt.float32, dt.boolean, True),
        (True, dt.boolean, dt.float32, 1.0),
        (65520.0, dt.float32, dt.float16, math.inf),
        (2**24 + 1, dt.int32, dt.float32, 2.0**24),
        (7.9, dt.float32, dt.index, 7),
        ((1 << 62) + (1 << 54) + 1, dt.int64, dt.bfloat16, 2.0**62 * (1 + 2**-7)),
    ],
)
def test_casts(
    value: float, source: dt.DType, target: dt.DType, wanted: float
) -> None:
    with np.errstate(all="ignore"):
        made = meaning.cast(meaning.constant(source, value), source, target)
    assert made == wanted
    if target is not dt.index:
        assert np.asarray(made).dtype == meaning.held(target)


def test_bitcasts() -> None:
    assert meaning.bitcast(np.float32(1.0), dt.float32, dt.int32) == 0x3F800000
    assert meaning.bitcast(np.int16(0x3F80), dt.int16, dt.bfloat16) == 1.0
    assert meaning.bitcast(np.float32(1.0), dt.bfloat16, dt.uint16) == 0x3F80
