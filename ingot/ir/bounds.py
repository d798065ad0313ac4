"""Intervals of integer expressions. In: a node whose sources know their bounds. Out: (least, greatest), inclusive.

Only integers and booleans have bounds worth knowing; every other value is unbounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from ingot.ir import dtype as dt
from ingot.ir.opcode import Ops, VarArg

if TYPE_CHECKING:
    from ingot.ir.node import UOp

Bound = int | float
Interval = tuple[Bound, Bound]
EVERYTHING: Interval = (-math.inf, math.inf)


def bounds_of(node: UOp) -> Interval:
    """The interval of a scalar node, from those of its sources."""
    if node.op is Ops.CONST:
        value = node.value
        return (
            (value, value)
            if not isinstance(value, float) or value == value
            else EVERYTHING
        )
    if node.dtype is dt.boolean and node.op not in _RULES:
        return 0, 1
    rule = _RULES.get(node.op)
    if node.dtype.is_float or not (node.dtype.is_int or node.dtype is dt.boolean):
        return EVERYTHING
    if rule is None:
        return _whole(node.dtype)
    return _kept(node.dtype, rule(node, *(s.bounds for s in node.src)))


def _whole(dtype: dt.DType) -> Interval:
    """Every value of a type; `index` counts as unbounded because it never wraps."""
    return (
        EVERYTHING
        if dtype is dt.index
        else (int(dt.least(dtype)), int(dt.greatest(dtype)))
    )


def _kept(dtype: dt.DType, interval: Interval) -> Interval:
    """The interval, unless the arithmetic can leave the type and wrap."""
    whole = _whole(dtype)
    return (
        interval if whole[0] <= interval[0] and interval[1] <= whole[1] else whole
    )


def _corners(
    combine: Callable[[Bound, Bound], Bound],
) -> Callable[[UOp, Interval, Interval], Interval]:
    def rule(node: UOp, a: Interval, b: Interval) -> Interval:
        values = [combine(x, y) for x in a for y in b]
        return min(values), max(values)

    return rule


def _times(x: Bound, y: Bound) -> Bound:
    return 0 if x == 0 or y == 0 else x * y


def _quotient(node: UOp, a: Interval, b: Interval) -> Interval:
    if b[0] <= 0 <= b[1]:
        return EVERYTHING
    values = [_floor_div(x, y) for x in a for y in b]
    return min(values), max(values)


def _floor_div(x: Bound, y: Bound) -> Bound:
    if math.isinf(y):
        return 0 if x == 0 or (x > 0) == (y > 0) else -1
    if math.isinf(x):
        return x if y > 0 else -x
    return x // y


def _remainder(node: UOp, a: Interval, b: Interval) -> Interval:
    if b[0] <= 0:
        return EVERYTHING
    if 0 <= a[0] and a[1] < b[0]:
        return a
    top = b[1] - 1
    return 0, min(top, a[1]) if a[0] >= 0 else top


def _less(node: UOp, a: Interval, b: Interval) -> Interval:
    return int(a[1] < b[0]), int(a[0] < b[1])


def _choice(node: UOp, cond: Interval, a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), max(a[1], b[1])


def _cast(node: UOp, a: Interval) -> Interval:
    """Integers that fit keep their value; a float can be anything."""
    source = node.src[0].dtype
    return _whole(node.dtype) if source.is_float or node.dtype is dt.boolean else a


def _size(node: UOp, count: Interval, limit: Interval) -> Interval:
    """A size known at run time is at most the one that memory is planned for."""
    return 0, limit[1]


def _variable(node: UOp) -> Interval:
    arg = cast(VarArg, node.arg)
    return arg.lo, arg.hi


_RULES: dict[Ops, Callable[..., Interval]] = {
    Ops.DEFINE_VAR: _variable,
    Ops.BIND: lambda node, var, *value: value[0] if value else var,
    Ops.AXIS: lambda node, *extent: (
        0,
        max(extent[0][1] - 1, 0) if extent else math.inf,
    ),
    Ops.NEG: lambda node, a: (-a[1], -a[0]),
    Ops.ADD: lambda node, a, b: (a[0] + b[0], a[1] + b[1]),
    Ops.SUB: lambda node, a, b: (a[0] - b[1], a[1] - b[0]),
    Ops.MUL: _corners(_times),
    Ops.MAX: lambda node, a, b: (max(a[0], b[0]), max(a[1], b[1])),
    Ops.MIN: lambda node, a, b: (min(a[0], b[0]), min(a[1], b[1])),
    Ops.IDIV: _quotient,
    Ops.MOD: _remainder,
    Ops.CMPLT: _less,
    Ops.WHERE: _choice,
    Ops.CAST: _cast,
    Ops.SIZE_OF: _size,
}
