"""Random numbers as functions of a key and a position. In: a key in memory. Out: numbers that any target repeats bit by bit.

The generator is threefry2x32 with 20 rounds: a cipher over a 64-bit counter. A key is two 64-bit words, the seed and the
number of positions drawn before; it is a buffer, so fresh numbers need no new program. Every position gives two words of
32 random bits, whatever computes it and in which order; a consumer that fuses with it needs no memory.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Scalar
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.shape import Type
from ingot.ops.elementwise import constant
from ingot.ops.movement import broadcast_to, reshape, shrink
from ingot.ops.op import op
from ingot.ops.promotion import resolve
from ingot.ops.sample import ints, sample

Words = tuple[UOp, UOp]
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_NO_GRADIENT = "random numbers do not depend on anything that has a gradient"
_SAMPLES = (
    sample(
        ints(2, low=0, high=2**40, dtype="uint64"),
        ints(3, 4, low=0, high=2**50, dtype="uint64"),
    ),
)


# --- bits -----------------------------------------------------------------------------------------------------------


def _bits_type(key: UOp, position: UOp) -> tuple[Type, ...]:
    return (dt.uint32, position.shape), (dt.uint32, position.shape)


def _bits(key: UOp, position: UOp) -> tuple[UOp, UOp]:
    """Two words of 32 random bits for every position."""
    shape = position.shape
    seed, drawn = _word(key, 0), _word(key, 1)
    keys = [*_halves(seed)]
    keys.append(_xor(_xor(keys[0], keys[1]), _like(keys[0], _PARITY)))
    counter = position + broadcast_to(drawn, shape)
    left, right = _halves(counter)
    left = left + broadcast_to(keys[0], shape)
    right = right + broadcast_to(keys[1], shape)
    for group in range(5):
        for turn in _ROTATIONS[group % 2]:
            left = left + right
            right = _xor(_rotated(right, turn), left)
        left = left + broadcast_to(keys[(group + 1) % 3], shape)
        last = keys[(group + 2) % 3]
        right = right + broadcast_to(last + _like(last, group + 1), shape)
    return left, right


def _word(key: UOp, number: int) -> UOp:
    return reshape(shrink(key, ((number, number + 1),)), ())


def _halves(x: UOp) -> Words:
    """The low and the high 32 bits."""
    return x.cast(dt.uint32), x.alu(Ops.SHR, _like(x, 32)).cast(dt.uint32)


def _rotated(x: UOp, by: int) -> UOp:
    left, right = x.alu(Ops.SHL, _like(x, by)), x.alu(Ops.SHR, _like(x, 32 - by))
    return left | right


def _xor(a: UOp, b: UOp) -> UOp:
    return a.alu(Ops.XOR, b)


def _like(x: UOp, number: Scalar) -> UOp:
    return constant(number, x.dtype, x.shape)


def _reference_bits(key: Any, position: Any) -> tuple[Any, Any]:
    """The cipher in Python's whole numbers, one position at a time."""
    words = [
        _reference_block(int(key[0]), int(key[1]) + int(p)) for p in position.flat
    ]
    made = np.array(words, np.uint32).reshape(*position.shape, 2)
    return made[..., 0], made[..., 1]


def _reference_block(key: int, counter: int) -> tuple[int, int]:
    mask = 2**32 - 1
    keys = [key & mask, key >> 32 & mask]
    keys.append(keys[0] ^ keys[1] ^ _PARITY)
    x = [(counter & mask) + keys[0] & mask, (counter >> 32) + keys[1] & mask]
    for turn in range(20):
        by = _ROTATIONS[turn // 4 % 2][turn % 4]
        x[0] = x[0] + x[1] & mask
        x[1] = (x[1] << by | x[1] >> 32 - by) & mask ^ x[0]
        if turn % 4 == 3:
            group = turn // 4
            x[0] = x[0] + keys[(group + 1) % 3] & mask
            x[1] = x[1] + keys[(group + 2) % 3] + group + 1 & mask
    return x[0], x[1]


random_bits = op(
    "random_bits",
    types=_bits_type,
    lower=_bits,
    ref=_reference_bits,
    samples=_SAMPLES,
    public=False,
    no_grad_reason=_NO_GRADIENT,
)


# --- numbers --------------------------------------------------------------------------------------------------------


def _number_type(
    key: UOp, position: UOp, *, dtype: DType | str = dt.float32
) -> Type:
    return resolve(dtype), position.shape


def _uniform(key: UOp, position: UOp, *, dtype: DType | str = dt.float32) -> UOp:
    """Numbers 0 <= u < 1, all multiples of 2**-24 (as float64: 2**-53; float16: 2**-11; bfloat16: 2**-8)."""
    kind = resolve(dtype)
    high, low = random_bits.results(key, position)
    if kind is dt.float64:
        return _fraction64(high, low)
    kept = {dt.float16: 11, dt.bfloat16: 8}.get(kind, 24)
    whole = high.alu(Ops.SHR, _like(high, 32 - kept)).cast(dt.float32)
    return (whole * _like(whole, 2.0**-kept)).cast(kind)


def _fraction64(high: UOp, low: UOp) -> UOp:
    """53 bits out of 64."""
    upper = high.alu(Ops.SHR, _like(high, 5)).cast(dt.float64)
    lower = low.alu(Ops.SHR, _like(low, 6)).cast(dt.float64)
    return (upper * _like(upper, 2.0**26) + lower) * _like(upper, 2.0**-53)


def _reference_uniform(key: Any, position: Any, dtype: str = "float32") -> Any:
    high, low = (
        words.astype(np.float64) for words in _reference_bits(key, position)
    )
    if str(dtype) == "float64":
        return (np.floor(high / 32) * 2**26 + np.floor(low / 64)) / 2**53
    kept = {"float16": 11, "bfloat16": 8}.get(str(dtype), 24)
    return np.floor(high / 2 ** (32 - kept)) / 2**kept


random_uniform = op(
    "random_uniform",
    types=_number_type,
    lower=_uniform,
    ref=_reference_uniform,
    samples=(
        *_SAMPLES,
        *(_SAMPLES[0]._replace(attrs={"dtype": t}) for t in ("float64", "float16")),
    ),
    ulp=0,
    public=False,
    no_grad_reason=_NO_GRADIENT,
)


def _normal(key: UOp, position: UOp, *, dtype: DType | str = dt.float32) -> UOp:
    """Numbers of the normal distribution with mean 0 and variance 1, by the method of Box and Muller."""
    kind = resolve(dtype)
    wide = kind is dt.float64
    fraction, turn = _two64(key, position) if wide else _two32(key, position)
    squared = fraction.alu(Ops.LOG) * _like(fraction, -2.0)
    return (squared.alu(Ops.SQRT) * _sine_of_turns(turn)).cast(kind)


# sin(pi/2 x) / x in x**2 for |x| <= 1, highest power first: errors below 1e-8 and 1e-18
_SINE32 = (
    0.0001516717036640896,
    -0.0046741438381517775,
    0.0796899183290285,
    -0.6459637595835394,
    1.5707963200386017,
)
_SINE64 = (
    5.87297574479995e-12,
    -6.684416831856085e-10,
    5.6921364280986254e-08,
    -3.5988430204672576e-06,
    0.0001604411847130916,
    -0.004681754135304255,
    0.07969262624616565,
    -0.6459640975062462,
    1.5707963267948966,
)


def _sine_of_turns(x: UOp) -> UOp:
    """sin(2 pi x) for |x| <= 1/2: no angle is ever far from 0, so a general sine would do too much."""
    quarters = x * _like(x, 4.0)
    two = _like(x, 2.0)
    folded = quarters.minimum(two - quarters).maximum(-two - quarters)
    table = _SINE64 if x.dtype is dt.float64 else _SINE32
    return _polynomial(table, folded * folded) * folded


def _two32(key: UOp, position: UOp) -> Words:
    """0 < u <= 1, finest near 0, and -1/2 <= v <= 1/2 of one position."""
    high, low = random_bits.results(key, position)
    first = high.cast(dt.float32)
    signed = low.bitcast(dt.int32).cast(dt.float32)
    tiny = _like(first, 2.0**-32)
    return (first + _like(first, 0.5)) * tiny, signed * tiny


def _two64(key: UOp, position: UOp) -> Words:
    """The same in 53 bits, which takes two positions."""
    even = position + position
    first = _fraction64(*random_bits.results(key, even))
    second = _fraction64(*random_bits.results(key, even + _like(even, 1)))
    return _like(first, 1.0) - first, second - _like(second, 0.5)


def _reference_normal(key: Any, position: Any, dtype: str = "float32") -> Any:
    if str(dtype) == "float64":
        u = 1 - _reference_uniform(key, 2 * position, "float64")
        v = _reference_uniform(key, 2 * position + 1, "float64") - 0.5
    else:
        high, low = _reference_bits(key, position)
        u = (high.astype(np.float32) + np.float32(0.5)).astype(np.float64) / 2**32
        v = low.view(np.int32).astype(np.float32).astype(np.float64) / 2**32
    return np.sqrt(-2 * np.log(u)) * np.sin(2 * np.pi * v)


random_normal = op(
    "random_normal",
    types=_number_type,
    lower=_normal,
    ref=_reference_normal,
    samples=(*_SAMPLES, _SAMPLES[0]._replace(attrs={"dtype": "float64"})),
    ulp=8,
    normwise=True,
    public=False,
    no_grad_reason=_NO_GRADIENT,
)


# --- a part of the normal distribution ------------------------------------------------------------------------------

# Giles, "Approximating the erfinv function" (2010): p(w) * x for w = -log(1 - x**2) below 5, and for sqrt(w) above.
_CENTRE = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


def _truncated(
    key: UOp,
    position: UOp,
    *,
    low: float,
    high: float,
    dtype: DType | str = dt.float32,
) -> UOp:
    """Normal numbers low <= x <= high, by the inverse of the distribution function: none is drawn in vain."""
    kind = resolve(dtype)
    wide = dt.float64 if kind is dt.float64 else dt.float32
    u = random_uniform(key, position, dtype=wide)
    start, end = (math.erf(limit / math.sqrt(2)) for limit in (low, high))
    place = u * _like(u, end - start) + _like(u, start)
    found = _inverse_erf(place) * _like(u, math.sqrt(2))
    kept = found.maximum(_like(u, low)).minimum(_like(u, high))
    return kept.cast(kind)


def _inverse_erf(y: UOp) -> UOp:
    one = _like(y, 1.0)
    w = -(((one - y) * (one + y)).alu(Ops.LOG))
    centre = _polynomial(_CENTRE, w - _like(w, 2.5))
    tail = _polynomial(_TAIL, w.alu(Ops.SQRT) - _like(w, 3.0))
    found = (w < _like(w, 5.0)).where(centre, tail) * y
    steps = 2 if y.dtype is dt.float64 else 0
    for _ in range(steps):
        slope = (-(found * found)).alu(Ops.EXP) * _like(y, 2 / math.sqrt(math.pi))
        found = found - (found.alu(Ops.ERF) - y) / slope
    return found


def _polynomial(coefficients: tuple[float, ...], x: UOp) -> UOp:
    total = _like(x, coefficients[0])
    for c in coefficients[1:]:
        total = total.alu(Ops.MULACC, x, _like(x, c))
    return total


def _truncated_type(
    key: UOp,
    position: UOp,
    *,
    low: float,
    high: float,
    dtype: DType | str = dt.float32,
) -> Type:
    return resolve(dtype), position.shape


def _reference_truncated(
    key: Any, position: Any, low: float, high: float, dtype: str = "float32"
) -> Any:
    """Where the distribution function reaches u, found by halving."""
    wide = "float64" if str(dtype) == "float64" else "float32"
    u = _reference_uniform(key, position, wide)
    start, end = math.erf(low / math.sqrt(2)), math.erf(high / math.sqrt(2))
    places = (u * (end - start) + start).flat
    found = [_where_erf_reaches(float(y)) * math.sqrt(2) for y in places]
    return np.array(found).reshape(u.shape)


def _where_erf_reaches(y: float) -> float:
    low, high = -6.0, 6.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erf(middle) < y else (low, middle)
    return low


random_truncated = op(
    "random_truncated",
    types=_truncated_type,
    lower=_truncated,
    ref=_reference_truncated,
    samples=tuple(
        _SAMPLES[0]._replace(attrs={"low": -2.0, "high": 2.0, "dtype": t})
        for t in ("float32", "float64")
    ),
    ulp=32,
    normwise=True,
    public=False,
    no_grad_reason=_NO_GRADIENT,
)


# --- whole numbers --------------------------------------------------------------------------------------------------


def _integers_type(key: UOp, position: UOp, *, low: int, high: int) -> Type:
    return dt.int64, position.shape


def _integers(key: UOp, position: UOp, *, low: int, high: int) -> UOp:
    """Whole numbers low <= n < high, each as likely as another to 64 bits."""
    count = high - low
    first, second = (
        words.cast(dt.uint64) for words in random_bits.results(key, position)
    )
    if count <= 1 << 32:
        # The upper half of the product of 64 random bits and count, in arithmetic of 64 bits.
        times = _like(first, count)
        carried = (second * times).alu(Ops.SHR, _like(first, 32))
        found = (first * times + carried).alu(Ops.SHR, _like(first, 32))
    else:
        word = first.alu(Ops.SHL, _like(first, 32)) | second
        found = word % _like(word, count) if count < 1 << 64 else word
    return found.cast(dt.int64) + constant(low, dt.int64, position.shape)


def _reference_integers(key: Any, position: Any, low: int, high: int) -> Any:
    first, second = _reference_bits(key, position)
    count = high - low
    words = [
        int(a) << 32 | int(b) for a, b in zip(first.flat, second.flat, strict=True)
    ]
    if count <= 1 << 32:
        found = [low + (word * count >> 64) for word in words]
    else:
        found = [low + word % count for word in words]
    return np.array(found, np.int64).reshape(first.shape)


random_integers = op(
    "random_integers",
    types=_integers_type,
    lower=_integers,
    ref=_reference_integers,
    samples=tuple(
        _SAMPLES[0]._replace(attrs={"low": low, "high": high})
        for low, high in ((0, 10), (-3, 4), (0, 2**32), (-(2**50), 2**60))
    ),
    public=False,
    no_grad_reason=_NO_GRADIENT,
)
