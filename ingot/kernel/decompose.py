"""Awkward opcodes as basic ones. In: an expression, statement or kernel. Out: the same with every rule below applied.

    EXP EXP2 LOG LOG2 SIN COS TANH ERF POW   polynomials; see elementary32.py, elementary64.py
    float16, bfloat16 arithmetic           in float32, rounded once
    CAST from and to bfloat16              integer arithmetic
    CAST of float64 to 16 bits             through float32 rounded to odd, so that there is one rounding
    CAST of floats to integers             saturates, nan gives 0
    IDIV MOD                               x // 0 = x % 0 = 0, least // -1 wraps
    SHL SHR                                by the width or more: nothing but the sign is left

All targets then compute the same bits. A node whose operands are made safe here is tagged: a second run leaves it.
"""

from __future__ import annotations

from collections.abc import Callable

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.opcode import CASTS, COMPARE, ELEMENTWISE, Ops
from ingot.kernel import elementary32, elementary64, integers
from ingot.kernel import numeric as nu
from ingot.kernel.emulate import emulate
from ingot.kernel.integers import GUARDED
from ingot.target import Target

SHORT = (dt.float16, dt.bfloat16)
F32 = dt.float32


def decompose(root: UOp, target: Target | None = None) -> UOp:
    """Rewrite everything below, sources first. `target`: where it shall run; None has all the usual instructions."""
    done: dict[UOp, UOp] = {}
    for node in root.toposort():
        done[node] = _rewritten(node, tuple(done[s] for s in node.src))
    if target is not None and not target.fma:
        return emulate(done[root])
    return done[root]


def _rewritten(node: UOp, src: tuple[UOp, ...]) -> UOp:
    made = node if src == node.src else node.replace(src=src)
    if made.op not in ELEMENTWISE or made.tag == GUARDED:
        return made
    return simple(made)


def simple(node: UOp) -> UOp:
    """One elementwise node whose sources are simple already."""
    if node.op in CASTS:
        return _cast(node) if node.op is Ops.CAST else node
    if node.src[-1].dtype in SHORT and node.op is not Ops.WHERE:
        return _in_float32(node)
    rule = _RULES.get(node.op)
    made = rule(node) if rule is not None else None
    return node if made is None else made


def _in_float32(node: UOp) -> UOp:
    wide = tuple(widened(s) for s in node.src)
    if node.op is Ops.MULACC:
        a, b, c = (w.cast(dt.float64) for w in wide)
        return narrowed(_odd_float32(nu.odd_sum(a * b, c)), node.dtype)
    made = simple(UOp(node.op, dt.boolean if node.op in COMPARE else F32, wide))
    return made if node.op in COMPARE else narrowed(made, node.dtype)


# --- conversions ------------------------------------------------------------------------------------------------------


def _cast(node: UOp) -> UOp:
    x, target = node.src[0], node.dtype
    if x.dtype in SHORT or target in SHORT:
        return _cast_short(x, target)
    if x.dtype.is_float and target.is_int:
        return integers.from_float(x, target)
    return node


def _cast_short(x: UOp, target: DType) -> UOp:
    if x.dtype in SHORT:
        wide = widened(x)
        return wide if target is F32 else simple(UOp(Ops.CAST, target, (wide,)))
    if x.dtype is dt.float64:
        return narrowed(_odd_float32(x), target)
    if x.dtype.is_int and x.dtype.bits >= 32:
        return narrowed(_odd_float32(x.cast(dt.float64)), target)
    return narrowed(x.cast(F32), target)


def widened(x: UOp) -> UOp:
    """A 16-bit float as float32."""
    if x.dtype is dt.float16:
        return UOp(Ops.CAST, F32, (x,), tag=GUARDED)
    if x.dtype is not dt.bfloat16:
        return x
    return nu.shifted_left(x.bitcast(dt.uint16).cast(dt.uint32), 16).bitcast(F32)


def narrowed(x: UOp, target: DType) -> UOp:
    """float32 as a 16-bit float, to nearest even."""
    if target is not dt.bfloat16:
        return UOp(Ops.CAST, target, (x,), tag=GUARDED)
    whole = nu.bits(x)
    even = nu.shifted_right(whole, 16) & 1
    kept = nu.is_nan(x).where(whole | 0x400000, whole + even + 0x7FFF)
    return nu.shifted_right(kept, 16).cast(dt.uint16).bitcast(target)


def _odd_float32(x: UOp) -> UOp:
    """float64 as float32, rounded to odd."""
    near = x.cast(F32)
    back = near.cast(dt.float64)
    is_inexact = nu.either(back < x, x < back)
    outward = nu.absolute(back) < nu.absolute(x)
    is_finite = nu.absolute(near) < float("inf")
    return nu.made_odd(near, nu.both(is_inexact, is_finite), outward)


# --- rules: a node of float32, float64 or integers -> its decomposition, None to keep it ---


def _elementary(name: str) -> Callable[[UOp], UOp | None]:
    """A function that both modules of elementary functions have."""

    def rule(node: UOp) -> UOp | None:
        if not node.dtype.is_float:
            return None
        module = elementary32 if node.dtype is F32 else elementary64
        made: UOp = getattr(module, name)(*node.src)
        return made

    return rule


def _whole_number(node: UOp) -> UOp | None:
    """FLOOR, TRUNC, ROUND of an integer."""
    return None if node.dtype.is_float else node.src[0]


def _power(node: UOp) -> UOp | None:
    return (
        _elementary("power")(node) if node.dtype.is_float else integers.power(node)
    )


def _divide(node: UOp) -> UOp | None:
    return (
        _float_division(node)[0]
        if node.dtype.is_float
        else integers.guarded_division(node)
    )


def _modulo(node: UOp) -> UOp | None:
    return (
        _float_division(node)[1]
        if node.dtype.is_float
        else integers.guarded_division(node)
    )


def _float_division(node: UOp) -> tuple[UOp, UOp]:
    """(a // b, a % b), exact as long as the quotient is; the remainder has b's sign."""
    a, b = node.src
    quotient = (a / b).alu(Ops.FLOOR)
    rest = nu.fma(-quotient, b, a)
    below = (rest < 0.0).ne(b < 0.0)
    is_low = nu.both(rest.ne(0.0), below)
    is_high = nu.both(
        below.alu(Ops.NOT),
        nu.absolute(rest).alu(Ops.CMPLT, nu.absolute(b)).alu(Ops.NOT),
    )
    step = nu.choose(
        is_low, nu.like(a, -1.0), nu.choose(is_high, nu.like(a, 1.0), 0.0)
    )
    plain = nu.both(b.ne(0.0), nu.absolute(quotient) < float("inf"))
    quotient = nu.choose(plain, quotient + step, quotient)
    rest = nu.fma(-step, b, rest)
    return _infinite_divisor(a, b, quotient, rest)


def _infinite_divisor(a: UOp, b: UOp, quotient: UOp, rest: UOp) -> tuple[UOp, UOp]:
    """A finite number divided by an infinite one leaves itself, or the divisor if the signs differ."""
    applies = nu.both(
        nu.absolute(b).eq(float("inf")), nu.absolute(a) < float("inf")
    )
    differs = nu.both(a.ne(0.0), (a < 0.0).ne(b < 0.0))
    whole = differs.where(nu.like(a, -1.0), nu.like(a, 0.0))
    left = differs.where(b, a)
    rest = nu.choose(rest.eq(0.0), nu.with_sign_of(nu.absolute(rest), b), rest)
    return applies.where(whole, quotient), applies.where(left, rest)


_RULES: dict[Ops, Callable[[UOp], UOp | None]] = {
    Ops.EXP: _elementary("exp"),
    Ops.EXP2: _elementary("exp2"),
    Ops.LOG: _elementary("log"),
    Ops.LOG2: _elementary("log2"),
    Ops.SIN: _elementary("sin"),
    Ops.COS: _elementary("cos"),
    Ops.TANH: _elementary("tanh"),
    Ops.ERF: _elementary("erf"),
    Ops.POW: _power,
    Ops.IDIV: _divide,
    Ops.MOD: _modulo,
    Ops.SHL: integers.guarded_shift,
    Ops.SHR: integers.guarded_shift,
    Ops.FLOOR: _whole_number,
    Ops.TRUNC: _whole_number,
    Ops.ROUND: _whole_number,
}
