"""Integer operations made total. In: nodes that some operands make undefined. Out: the same, defined for all."""

from __future__ import annotations

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Kind
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.kernel import numeric as nu
from ingot.kernel.numeric import like

GUARDED = "guarded"  # the tag of a node whose operands are known to be in range


def guarded_division(node: UOp) -> UOp | None:
    """IDIV or MOD of integers."""
    a, b = node.src
    minus_one = (
        node.dtype.kind is Kind.INT
        and node.dtype is not dt.index
        and b.vmin <= -1 <= b.vmax
    )
    by_zero = b.vmin <= 0 <= b.vmax
    if not by_zero and not minus_one:
        return None
    is_zero = b.eq(0)
    unsafe = nu.either(is_zero, b.eq(-1)) if minus_one else is_zero
    made = UOp(node.op, node.dtype, (a, unsafe.where(like(b, 1), b)), tag=GUARDED)
    if minus_one and node.op is Ops.IDIV:
        made = b.eq(-1).where(-a, made)
    return is_zero.where(like(a, 0), made)


def guarded_shift(node: UOp) -> UOp | None:
    """SHL or SHR: an amount outside 0..width-1 leaves nothing, or the sign."""
    x, amount = node.src
    width = node.dtype.bits
    if 0 <= amount.vmin and amount.vmax < width:
        return None
    inside = nu.both(
        nu.either(amount.eq(0), like(amount, 0) < amount), amount < width
    )
    safe = inside.where(amount, like(amount, 0))
    moved = UOp(node.op, node.dtype, (x, safe), tag=GUARDED)
    signed = node.op is Ops.SHR and node.dtype.kind is Kind.INT
    rest = nu.shifted_right(x, width - 1) if signed else like(x, 0)
    return inside.where(moved, rest)


def power(node: UOp) -> UOp | None:
    """Integer x**y by squaring, one step per bit of y; a negative y gives the truncated inverse."""
    x, y = node.src
    if not node.dtype.is_int:
        return None
    result, square = like(x, 1), x
    last = (
        int(y.vmax).bit_length()
        if y.op is Ops.CONST
        else node.dtype.bits - (node.dtype.kind is Kind.INT)
    )
    for bit in range(last):
        is_set = (nu.shifted_right(y, bit) & 1).ne(0)
        result = is_set.where(result * square, result)
        square = square * square
    if node.dtype.kind is Kind.UINT:
        return result
    return (y < 0).where(_inverse(x, y), result)


def _inverse(x: UOp, y: UOp) -> UOp:
    """1 / x**-y, truncated: 0 unless x is 1 or -1."""
    alternating = (y & 1).eq(0).where(like(x, 1), like(x, -1))
    return x.eq(1).where(like(x, 1), x.eq(-1).where(alternating, like(x, 0)))


def from_float(x: UOp, target: DType) -> UOp:
    """A float32 or float64 as an integer: truncated, saturated, nan gives 0."""
    low, high = int(dt.least(target)), int(dt.greatest(target))
    above = like(x, low).maximum(x)
    if dt.to_bits(x.dtype, high) == dt.to_bits(x.dtype, high + 1):
        return _saturated(x, above, target, high)
    inside = like(x, high).minimum(above)
    number = nu.choose(x.eq(x), inside, 0.0)
    return UOp(Ops.CAST, target, (number,), tag=GUARDED)


def _saturated(x: UOp, above: UOp, target: DType, high: int) -> UOp:
    """The greatest integer is no float: it is put in afterwards."""
    inside = above < float(high + 1)
    made = UOp(Ops.CAST, target, (nu.choose(inside, above, 0.0),), tag=GUARDED)
    outside = x.eq(x).where(UOp.const(target, high), UOp.const(target, 0))
    return inside.where(made, outside)
