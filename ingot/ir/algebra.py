"""Simplification. In: any scalar expression, or a tree of them. Out: the same value, written shorter.

Rules are tables: identities hold for the types that they name, bit for bit. Floats keep IEEE meaning: x*0, x/x and
x + 0.0 stay, because of nan, inf and -0.0. `index` expressions become polynomials in one canonical order, and what the
bounds decide is decided: divisions, remainders, comparisons, min and max.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir import meaning
from ingot.ir.division import INDEX_DIVISION
from ingot.ir.dtype import DType
from ingot.ir.node import UOp, provide
from ingot.ir.opcode import ELEMENTWISE, AxisArg, ConstArg, FoldArg, LoopArg, Ops
from ingot.ir.pattern import PatternMatcher, UPat
from ingot.ir.polynomial import build, content, lower, plus, polynomial, upper
from ingot.ir.rewrite import graph_rewrite, substitute
from ingot.ir.sums import INDEX_SUMS

__all__ = ["loop_extents", "simplify", "symbolic"]

FLOATS = tuple(d for d in dt.ALL if d.is_float)
INTS = tuple(d for d in dt.ALL if d.is_int)
WRAPPING = tuple(d for d in INTS if d is not dt.index)

x, y, z = UPat.var("x"), UPat.var("y"), UPat.var("z")
i, j = UPat.var("i", INTS), UPat.var("j", INTS)
w = UPat.var("w", WRAPPING)
f, g = UPat.var("f", FLOATS), UPat.var("g", FLOATS)
b, c = UPat.var("b", dt.boolean), UPat.var("c", dt.boolean)
minus_i, minus_f, minus_g = -i, -f, -g
m, n = UPat.cvar("m", INTS), UPat.cvar("n", INTS)


# --- constants --------------------------------------------------------------------------------------------------------

# Every compiler and library has its own last bit for these, so their constants are left to run time.
_INEXACT = frozenset(
    {
        Ops.EXP,
        Ops.EXP2,
        Ops.LOG,
        Ops.LOG2,
        Ops.SIN,
        Ops.COS,
        Ops.TANH,
        Ops.ERF,
        Ops.POW,
    }
)


def fold(x: UOp) -> UOp | None:
    """The value of an opcode on constants, by the interpreter's own definition."""
    if x.op is Ops.BITCAST:
        return (
            UOp(Ops.CONST, x.dtype, (), x.src[0].arg)
            if x.dtype.bits == x.src[0].dtype.bits
            else None
        )
    with np.errstate(all="ignore"):
        values = [meaning.constant(s.dtype, s.value) for s in x.src]
        made = meaning.apply(x.op, x.dtype, x.src[0].dtype, *values)
    return UOp.const(x.dtype, made if isinstance(made, int) else made.item())


def same_bits(x: UOp, y: UOp) -> bool:
    return cast(ConstArg, x.arg).bits == cast(ConstArg, y.arg).bits


CONSTANTS = PatternMatcher(
    [
        (UPat(ELEMENTWISE - _INEXACT, src=UPat(Ops.CONST), name="x"), fold),
    ]
)


# --- identities -------------------------------------------------------------------------------------------------------

INTEGERS = PatternMatcher(
    [
        (i + 0, i),
        (i - 0, i),
        (i * 1, i),
        (i * 0, UPat.const(None, 0)),
        (i - i, UPat.const(None, 0)),
        (i // 1, i),
        (i % 1, UPat.const(None, 0)),
        (i & 0, UPat.const(None, 0)),
        (i & i, i),
        (i | 0, i),
        (i | i, i),
        (i ^ 0, i),
        (i ^ i, UPat.const(None, 0)),
        (i << 0, i),
        (i >> 0, i),
        (-minus_i, i),
        (~(~i), i),
        (i.eq(i), UPat.const(None, True)),
        (i.ne(i), UPat.const(None, False)),
        ((i + m) + n, i + (m + n)),
        ((i * m) * n, i * (m * n)),
        (UPat.const(WRAPPING, 0) - w, -w),
        (w * -1, -w),
    ]
)


def reciprocal(f: UOp, n: UOp) -> UOp | None:
    """x / c as x * (1/c) where that is the same number: c a power of two with a power of two for its inverse."""
    value = float(n.value)
    mantissa, _ = np.frexp(value)
    if abs(mantissa) != 0.5:
        return None
    inverse = UOp.const(n.dtype, 1.0 / value)
    back = float(inverse.value)
    return (
        f * inverse
        if back == 1.0 / value and back not in (0.0, float("inf"), float("-inf"))
        else None
    )


IEEE = PatternMatcher(
    [
        (f * 1.0, f),
        (f / 1.0, f),
        (f * -1.0, -f),
        (f / -1.0, -f),
        (f + -0.0, f),
        (f - 0.0, f),
        (-minus_f, f),
        (f + minus_g, f - g),
        (f - minus_g, f + g),
        (f / UPat.cvar("n", FLOATS), reciprocal),
        (f.alu(Ops.MULACC, 1.0, g), f + g),
        (f.alu(Ops.MULACC, g, -0.0), f * g),
    ]
)

CHOICES = PatternMatcher(
    [
        (UPat.const(dt.boolean, True).where(x, y), x),
        (UPat.const(dt.boolean, False).where(x, y), y),
        (b.where(x, x), x),
        ((~b).where(x, y), b.where(y, x)),
        (b.where(b.where(x, y), z), b.where(x, z)),
        (b.where(x, b.where(y, z)), b.where(x, z)),
        (b.where(UPat.const(dt.boolean, True), UPat.const(dt.boolean, False)), b),
        (b.where(UPat.const(dt.boolean, False), UPat.const(dt.boolean, True)), ~b),
        (x.maximum(x), x),
        (x.minimum(x), x),
        (x < x, UPat.const(dt.boolean, False)),
    ]
)

LOGIC = PatternMatcher(
    [
        (b & True, b),
        (b & False, UPat.const(None, False)),
        (b | True, UPat.const(None, True)),
        (b | False, b),
        (b & b, b),
        (b | b, b),
        (b ^ False, b),
        (b ^ True, ~b),
        (b ^ b, UPat.const(None, False)),
        (~(~b), b),
        (b & (~b), UPat.const(None, False)),
        (b | (~b), UPat.const(None, True)),
        (b.eq(True), b),
        (b.eq(False), ~b),
        (b.ne(True), ~b),
        (b.ne(False), b),
        (b & (b & c), b & c),
        (b | (b | c), b | c),
        (~(i.eq(j)), i.ne(j)),
        (~(i.ne(j)), i.eq(j)),
    ]
)


# --- conversions ------------------------------------------------------------------------------------------------------


def holds_all(wide: DType, narrow: DType) -> bool:
    """Every value of `narrow` is one of `wide`."""
    if narrow is dt.boolean or narrow is wide:
        return True
    if narrow.is_float:
        return wide.is_float and wide.bits > narrow.bits
    if wide.is_float:
        return narrow.bits <= {16: 8, 32: 16, 64: 32}[wide.bits]
    if narrow.kind is wide.kind:
        return wide.bits >= narrow.bits
    return wide.kind is dt.Kind.INT and wide.bits > narrow.bits


def cast_back(x: UOp, y: UOp) -> UOp | None:
    """A cast to a type that holds everything, and back."""
    return x if y.dtype is x.dtype and holds_all(y.src[0].dtype, x.dtype) else None


CONVERSIONS = PatternMatcher(
    [
        (
            UPat(Ops.CAST, src=(x,), name="y"),
            lambda x, y: x if x.dtype is y.dtype else None,
        ),
        (
            UPat(Ops.BITCAST, src=(x,), name="y"),
            lambda x, y: x if x.dtype is y.dtype else None,
        ),
        (UPat(Ops.CAST, src=(x.cast(),), name="y"), cast_back),
        (
            UPat(Ops.BITCAST, src=(x.bitcast(),), name="y"),
            lambda x, y: x.bitcast(y.dtype),
        ),
    ]
)


# --- what bounds decide -----------------------------------------------------------------------------------------------


def known(x: UOp) -> UOp | None:
    """A value whose bounds meet."""
    low, high = x.bounds
    return UOp.const(x.dtype, int(low)) if low == high and not x.shape else None


def larger(i: UOp, j: UOp) -> UOp | None:
    if i.vmin >= j.vmax:
        return i
    return j if j.vmin >= i.vmax else None


def smaller(i: UOp, j: UOp) -> UOp | None:
    if i.vmax <= j.vmin:
        return i
    return j if j.vmax <= i.vmin else None


def apart(i: UOp, j: UOp) -> bool:
    """No value of one is a value of the other."""
    return i.vmax < j.vmin or j.vmax < i.vmin


BOUNDS = PatternMatcher(
    [
        (
            UPat(
                (Ops.ADD, Ops.SUB, Ops.MUL, Ops.IDIV, Ops.MOD, Ops.CAST),
                INTS,
                name="x",
            ),
            known,
        ),
        (UPat((Ops.CMPLT, Ops.AND, Ops.OR), dt.boolean, name="x"), known),
        (UPat(Ops.MAX, src=(i, j)), larger),
        (UPat(Ops.MIN, src=(i, j)), smaller),
        (UPat(Ops.CMPEQ, src=(i, j)), UPat.const(dt.boolean, False), apart),
        (UPat(Ops.CMPNE, src=(i, j)), UPat.const(dt.boolean, True), apart),
    ]
)


# --- comparisons of index expressions ---------------------------------------------------------------------------------

k, h = UPat.var("k", dt.index), UPat.var("h", dt.index)


def less(k: UOp, h: UOp) -> UOp | None:
    """k < h with common parts gone, positive terms left, the rest right; or its truth where that is known."""
    if k.shape:
        return None
    difference = plus(polynomial(k), polynomial(h), -1)
    if upper(difference) < 0:
        return UOp.const(dt.boolean, True)
    if lower(difference) >= 0:
        return UOp.const(dt.boolean, False)
    constant = difference.pop((), 0)
    divisor = content(difference)
    most = -(constant // divisor)  # p*d + c < 0  <=>  p < -c/d  <=>  p < ceil(-c/d)
    left = {t: v // divisor for t, v in difference.items() if v > 0}
    right = {t: -v // divisor for t, v in difference.items() if v < 0}
    if left:
        return build(left) < build(plus(right, {(): most}))
    return build({(): -most}) < build(right)


def larger_index(k: UOp, h: UOp) -> UOp | None:
    difference = plus(polynomial(k), polynomial(h), -1)
    if lower(difference) >= 0:
        return k
    return h if upper(difference) <= 0 else None


def smaller_index(k: UOp, h: UOp) -> UOp | None:
    difference = plus(polynomial(k), polynomial(h), -1)
    if upper(difference) <= 0:
        return k
    return h if lower(difference) >= 0 else None


def equal(k: UOp, h: UOp) -> UOp | None:
    difference = plus(polynomial(k), polynomial(h), -1)
    if not difference:
        return UOp.const(dt.boolean, True)
    if upper(difference) < 0 or lower(difference) > 0:
        return UOp.const(dt.boolean, False)
    return None


def unequal(k: UOp, h: UOp) -> UOp | None:
    found = equal(k, h)
    return None if found is None else UOp.const(dt.boolean, not found.value)


INDEX_COMPARISONS = PatternMatcher(
    [
        (k < h, less),
        (~(k < h), h < (k + 1)),
        (UPat(Ops.MAX, src=(k, h)), larger_index),
        (UPat(Ops.MIN, src=(k, h)), smaller_index),
        (UPat(Ops.CMPEQ, src=(k, h)), equal),
        (UPat(Ops.CMPNE, src=(k, h)), unequal),
    ]
)

symbolic = (
    CONSTANTS + INTEGERS + IEEE + CHOICES + LOGIC + CONVERSIONS + BOUNDS
    + INDEX_COMPARISONS + INDEX_DIVISION + INDEX_SUMS
)  # fmt: skip


# --- the way in -------------------------------------------------------------------------------------------------------


def loop_extents(tree: UOp) -> dict[UOp, UOp]:
    """The counter of every loop in a kernel tree, and its extent."""
    loops = [u for u in tree.toposort() if u.op in (Ops.LOOP, Ops.FOLD)]
    counters = {cast("LoopArg | FoldArg", u.arg).axis: u.src[0] for u in loops}
    axes = [u for u in tree.toposort() if u.op is Ops.AXIS and not u.src]
    return {a: counters[a.arg.id] for a in axes if a.arg.id in counters}  # type: ignore[union-attr]


def simplify(node: UOp, extents: Mapping[UOp, UOp | int] | None = None) -> UOp:
    """The same value, written shorter. `extents` tells how far loop counters go; the loops of a tree are known."""
    if node.op is Ops.KERNEL or node.op is Ops.LOOP:
        extents = {**loop_extents(node), **(extents or {})}
    if not extents:
        return graph_rewrite(node, symbolic, name="simplify")
    counters = _Counters(extents)
    made = graph_rewrite(counters.put_in(node), symbolic, name="simplify")
    return counters.take_out(made)


class _Counters:
    """Loop counters that carry their extents while an expression is simplified."""

    def __init__(self, extents: Mapping[UOp, UOp | int]) -> None:
        self.extents = extents
        self.numbers = {cast(AxisArg, axis.arg).id for axis in extents}
        self.made: dict[UOp, UOp] = {}

    def put_in(self, node: UOp) -> UOp:
        axes = [u for u in node.toposort() if u in self.extents]
        return substitute(node, {axis: self.with_extent(axis) for axis in axes})

    def with_extent(self, axis: UOp) -> UOp:
        """An extent may use the counters of outer loops: the last tile of a row is shorter."""
        if axis not in self.made:
            extent = self.extents[axis]
            if isinstance(extent, int):
                extent = UOp.const(dt.index, extent)
            self.made[axis] = (
                axis  # a loop in its own extent would be a cycle: it stays as it is
            )
            extent = graph_rewrite(self.put_in(extent), symbolic)
            self.made[axis] = axis.replace(src=(extent,))
        return self.made[axis]

    def take_out(self, node: UOp) -> UOp:
        ranged = [u for u in node.toposort() if u.op is Ops.AXIS and u.src]
        ours = [u for u in ranged if cast(AxisArg, u.arg).id in self.numbers]
        return substitute(node, {u: u.replace(src=()) for u in ours})


provide(simplify=simplify)
