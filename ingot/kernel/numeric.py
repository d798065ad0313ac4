"""Pieces of floating-point expressions. In: UOp values. Out: UOp values; nothing here looks inside a node."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Scalar
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops

UNSIGNED = {16: dt.uint16, 32: dt.uint32, 64: dt.uint64}
SIGNED = {32: dt.int32, 64: dt.int64}
MANTISSA = {dt.float32: 23, dt.float64: 52}
BIAS = {dt.float32: 127, dt.float64: 1023}
# 1.5 * 2**mantissa: adding it rounds to a whole number, which then stands in the low bits.
MAGIC = {dt.float32: 12582912.0, dt.float64: 6755399441055744.0}
LN2 = {
    dt.float32: (0.693147182464599609375, -1.904654299957768e-09),
    dt.float64: (0.6931471805599453, 2.319046813846299e-17),
}
LOG2E = 1.4426950408889634


def like(x: UOp, value: Scalar) -> UOp:
    """A constant of x's type."""
    return UOp.const(x.dtype, value)


def fma(a: UOp, b: UOp | float, c: UOp | float) -> UOp:
    """a * b + c, rounded once."""
    return UOp(Ops.MULACC, a.dtype, (a, a.ufix(b), a.ufix(c)))


def horner(x: UOp, coefficients: Sequence[float]) -> UOp:
    """coefficients[0] + coefficients[1] * x + ..."""
    total = like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = fma(total, x, coefficient)
    return total


def bits(x: UOp) -> UOp:
    """A float's bits, unsigned."""
    return x.bitcast(UNSIGNED[x.dtype.bits])


def sign_mask(dtype: DType) -> int:
    return 1 << (dtype.bits - 1)


def absolute(x: UOp) -> UOp:
    return (bits(x) & (sign_mask(x.dtype) - 1)).bitcast(x.dtype)


def with_sign_of(magnitude: UOp, x: UOp) -> UOp:
    """A value that is not negative, with x's sign."""
    sign = bits(x) & sign_mask(x.dtype)
    return (bits(magnitude) | sign).bitcast(x.dtype)


def shifted_left(x: UOp, amount: int) -> UOp:
    return x.alu(Ops.SHL, like(x, amount))


def shifted_right(x: UOp, amount: int) -> UOp:
    return x.alu(Ops.SHR, like(x, amount))


def xor(a: UOp, b: UOp) -> UOp:
    return a.alu(Ops.XOR, b)


def rounded(x: UOp) -> UOp:
    return x.alu(Ops.ROUND)


def either(a: UOp, b: UOp) -> UOp:
    return a.alu(Ops.OR, b)


def both(a: UOp, b: UOp) -> UOp:
    return a.alu(Ops.AND, b)


def is_nan(x: UOp) -> UOp:
    return x.ne(x)


def choose(condition: UOp, yes: UOp, no: UOp | float) -> UOp:
    return condition.where(yes, yes.ufix(no))


# --- exact sums and products: (rounded result, what the rounding left) ---


def two_sum(a: UOp, b: UOp) -> tuple[UOp, UOp]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def fast_two_sum(a: UOp, b: UOp) -> tuple[UOp, UOp]:
    """Needs |a| >= |b|."""
    total = a + b
    return total, b - (total - a)


def two_product(a: UOp, b: UOp) -> tuple[UOp, UOp]:
    product = a * b
    return product, fma(a, b, -product)


def over_itself_plus_two(e: UOp) -> UOp:
    """e / (e + 2) for e >= 0, corrected for the rounding of the sum: 1 / (e + 2) is (1 - q) / 2."""
    divisor = e + 2.0
    left = e - (divisor - 2.0)
    q = e / divisor
    # A large e swallows the 2; there the rounding of the sum does not matter.
    return choose(e < 1024.0, fma(fma(-q, q, q), left * -0.5, q), q)


def odd_sum(a: UOp, b: UOp) -> UOp:
    """a + b rounded to odd: rounding the result to fewer bits is as good as rounding the exact sum."""
    total, error = two_sum(a, b)
    is_inexact = either(error < 0.0, error.ufix(0.0) < error)
    outward = (error < 0.0).eq(total < 0.0)
    return made_odd(total, is_inexact, outward)


def made_odd(x: UOp, is_inexact: UOp, outward: UOp) -> UOp:
    """A rounded value whose last bit is 0 becomes its neighbour on the side where the exact value lies."""
    whole = bits(x)
    is_even = (whole & 1).eq(0)
    step = outward.where(whole + 1, whole - 1)
    return both(is_inexact, is_even).where(step, whole).bitcast(x.dtype)


# --- exponents ---


def power_of_two(shifted: UOp) -> UOp:
    """2**n where the low bits of `shifted` hold n + bias."""
    return shifted_left(bits(shifted), MANTISSA[shifted.dtype]).bitcast(
        shifted.dtype
    )


def scale(x: UOp, shifted: UOp) -> UOp:
    """x * 2**n where the low bits of `shifted` hold n + 2 * bias: in two steps, so that overflow and denormals come out
    right and only the last step rounds."""
    both_halves = bits(shifted)
    half = shifted_right(both_halves, 1)
    mantissa = MANTISSA[x.dtype]
    first = shifted_left(half, mantissa).bitcast(x.dtype)
    second = shifted_left(both_halves - half, mantissa).bitcast(x.dtype)
    return x * first * second


def split_exponent(x: UOp) -> tuple[UOp, UOp]:
    """(m, e) with x == m * 2**e and sqrt(1/2) <= m < sqrt(2), for a normal x > 0; e is a float."""
    dtype = x.dtype
    signed, mantissa = SIGNED[dtype.bits], MANTISSA[dtype]
    whole = x.bitcast(signed)
    low = dt.to_bits(dtype, 0.5**0.5)
    exponent = shifted_right(whole - low, mantissa)
    fraction = (whole - shifted_left(exponent, mantissa)).bitcast(dtype)
    return fraction, small_integer(exponent, dtype)


def small_integer(n: UOp, dtype: DType) -> UOp:
    """An integer as a float; 64 bits go into the low bits of a float, as not all machines convert them."""
    if dtype is dt.float32:
        return n.cast(dtype)
    magic = MAGIC[dtype]
    return (n + dt.to_bits(dtype, magic)).bitcast(dtype) - magic
