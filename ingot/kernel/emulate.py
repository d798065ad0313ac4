"""What machines without fused multiply-add lack, made of what they have. In: decomposed nodes. Out: none of MULACC.

Such machines (x86 before 2013) also lack the conversions of float16, and some the rounding instructions. Everything is
exact but MULACC of float64, whose last bit may differ where the addends nearly cancel.
"""

from __future__ import annotations

from collections.abc import Callable

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.kernel import numeric as nu
from ingot.kernel.numeric import like

SPLIT = (
    134217729.0  # 2**27 + 1: times this, a float64 falls into two halves of 26 bits
)
LARGEST_SPLIT = 2.0**970


def emulate(root: UOp) -> UOp:
    """Rewrite everything below, sources first."""
    done: dict[UOp, UOp] = {}
    for node in root.toposort():
        src = tuple(done[s] for s in node.src)
        made = node if src == node.src else node.replace(src=src)
        rule = _RULES.get(node.op)
        done[node] = rule(made) if rule is not None else made
    return done[root]


# --- multiply-add ---


def _multiply_add(node: UOp) -> UOp:
    a, b, c = node.src
    if node.dtype is dt.float32:
        product = a.cast(dt.float64) * b.cast(dt.float64)
        return nu.odd_sum(product, c.cast(dt.float64)).cast(dt.float32)
    if node.dtype is not dt.float64:
        return node
    product, error = _two_product(a, b)
    total, left = nu.two_sum(product, c)
    refined = total + (left + error)
    is_safe = nu.both(
        nu.absolute(product) < LARGEST_SPLIT, nu.absolute(total) < LARGEST_SPLIT
    )
    is_small = nu.both(
        nu.absolute(a) < LARGEST_SPLIT, nu.absolute(b) < LARGEST_SPLIT
    )
    return nu.both(is_safe, is_small).where(refined, total)


def _two_product(a: UOp, b: UOp) -> tuple[UOp, UOp]:
    """The product and its rounding error, by halves whose products are exact."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    error = (
        (a_high * b_high - product) + a_high * b_low + a_low * b_high
    ) + a_low * b_low
    return product, error


def _halves(x: UOp) -> tuple[UOp, UOp]:
    wide = x * SPLIT
    high = wide - (wide - x)
    return high, x - high


# --- rounding ---


def _round(node: UOp) -> UOp:
    """Adding and taking away 2**mantissa rounds; larger numbers are whole already."""
    x = node.src[0]
    limit = 2.0 ** nu.MANTISSA[x.dtype]
    a = nu.absolute(x)
    near = nu.with_sign_of((a + limit) - limit, x)
    return nu.choose(a < limit, near, x)


def _floor(node: UOp) -> UOp:
    x = node.src[0]
    near = _round(node)
    below = nu.choose(x < near, near - 1.0, near)
    return nu.choose(below.eq(0.0), nu.with_sign_of(nu.absolute(below), x), below)


def _truncate(node: UOp) -> UOp:
    x = node.src[0]
    return nu.with_sign_of(_floor(node.replace(src=(nu.absolute(x),))), x)


# --- float16 ---


def _cast(node: UOp) -> UOp:
    x = node.src[0]
    if x.dtype is dt.float16:
        return _from_half(x)
    return _to_half(x) if node.dtype is dt.float16 else node


def _from_half(x: UOp) -> UOp:
    """The exponent moves by a multiplication, which takes care of denormals."""
    whole = x.bitcast(dt.uint16).cast(dt.uint32)
    rest = nu.shifted_left(whole & 0x7FFF, 13)
    number = nu.bits(rest.bitcast(dt.float32) * 2.0**112)
    is_finite = (whole & 0x7FFF) < 0x7C00
    magnitude = is_finite.where(number, rest | 0x7F800000)
    return (magnitude | nu.shifted_left(whole & 0x8000, 16)).bitcast(dt.float32)


def _to_half(x: UOp) -> UOp:
    """To nearest even: by the carry of an addition, for denormals by adding 1/2."""
    whole = nu.bits(x)
    rest = whole & 0x7FFFFFFF
    even = nu.shifted_right(rest, 13) & 1
    normal = nu.shifted_right(rest - 0x38000000 + 0xFFF + even, 13)
    small = nu.bits(rest.bitcast(dt.float32) + 0.5) - dt.to_bits(dt.float32, 0.5)
    number = (rest < 0x38800000).where(small, normal)
    large = (like(rest, 0x7F800000) < rest).where(
        like(rest, 0x7E00) | nu.shifted_right(rest, 13) & 0x3FF, like(rest, 0x7C00)
    )
    magnitude = (rest < 0x477FF000).where(number, large)
    sign = nu.shifted_right(whole, 16) & 0x8000
    return (magnitude | sign).cast(dt.uint16).bitcast(dt.float16)


_RULES: dict[Ops, Callable[[UOp], UOp]] = {
    Ops.MULACC: _multiply_add,
    Ops.ROUND: _round,
    Ops.FLOOR: _floor,
    Ops.TRUNC: _truncate,
    Ops.CAST: _cast,
}
