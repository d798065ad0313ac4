"""Derivatives of opcodes, forward. In: a node and the tangents of its sources. Out: the tangent of its result.

Element by element, the factor of a tangent is that of a gradient, so there is one table for both (arithmetic.py).
None is the tangent of what does not change.
"""

from __future__ import annotations

from typing import cast

from ingot.autograd.arithmetic import ARITHMETIC
from ingot.autograd.duals import (
    Dual,
    Forward,
    Rule,
    Tangent,
    Tangents,
    duals_of,
    total,
    zeros,
)
from ingot.autograd.reductions import folded_by
from ingot.autograd.rules import FLAT
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import MOVEMENT, Ops, PrefixArg, ReduceArg
from ingot.ir.rewrite import substitute
from ingot.ops.gradient import Rule as GradientRule
from ingot.ops.movement import broadcast_to, reshape
from ingot.ops.reduce import fold, kept_shape

# --- elementwise ----------------------------------------------------------------------------------------------------


def _by_element(gradient: GradientRule) -> Rule:
    """Each element has one factor for every source: what gradients are multiplied by, tangents are too."""

    def rule(walk: Forward, node: UOp, tangents: Tangents) -> Tangent:
        return total(
            [
                None if tangent is None else gradient(node, (tangent,))[place]
                for place, tangent in enumerate(tangents)
            ]
        )

    return rule


def _cast(walk: Forward, node: UOp, tangents: Tangents) -> Tangent:
    return cast(UOp, tangents[0]).cast(node.dtype)


def _where(walk: Forward, node: UOp, tangents: Tangents) -> Tangent:
    yes, no = (zeros(node) if t is None else t for t in tangents[1:])
    return node.src[0].where(yes, no)


def _still(walk: Forward, node: UOp, tangents: Tangents) -> Tangent:
    return None


# --- linear in their first source, whatever the others say ------------------------------------------------------------


def _linear(walk: Forward, node: UOp, tangents: Tangents) -> Tangent:
    first = tangents[0]
    return None if first is None else node.replace(src=(first, *node.src[1:]))


def _after(walk: Forward, node: UOp, tangents: Tangents) -> Tangent:
    """A buffer after an assignment to it is what was assigned."""
    written = [
        tangents[i]
        for i, effect in enumerate(node.src)
        if effect.op is Ops.ASSIGN and effect.src[0] is node.src[0]
    ]
    return written[-1] if written else tangents[0]


# --- reductions -------------------------------------------------------------------------------------------------------


def _reduce(
    walk: Forward, node: UOp, tangents: Tangents
) -> Tangent | tuple[Dual, ...]:
    arg = cast(ReduceArg, node.arg)
    step = folded_by(node)
    if step is Ops.ADD:
        return fold(cast(UOp, tangents[0]), Ops.ADD, 0, arg.axes)
    if step in (Ops.MAX, Ops.MIN):
        return _reduce_extreme(node, cast(UOp, tangents[0]), arg.axes)
    return _with_tangent_states(walk, node, tangents, arg.n)


def _prefix(
    walk: Forward, node: UOp, tangents: Tangents
) -> Tangent | tuple[Dual, ...]:
    arg = cast(PrefixArg, node.arg)
    if arg.n == 1 and _is_sum(node.src[2]):
        return node.replace(src=(cast(UOp, tangents[0]), *node.src[1:]))
    return _with_tangent_states(walk, node, tangents, arg.n)


def _is_sum(combine: UOp) -> bool:
    return combine.op is Ops.ADD and all(s.op is Ops.STATE for s in combine.src)


def _reduce_extreme(node: UOp, tangent: UOp, axes: tuple[int, ...]) -> UOp:
    """The mean of the tangents at the places where the extreme value is."""
    x = node.src[0]
    column = reshape(node, kept_shape(x.shape, axes))
    here = x.eq(broadcast_to(column, x.shape))
    found = fold(here.where(tangent, zeros(x)), Ops.ADD, 0, axes)
    count = fold(here.cast(x.dtype), Ops.ADD, 0, axes)
    return found / count


def _with_tangent_states(
    walk: Forward, node: UOp, tangents: Tangents, n: int
) -> tuple[Dual, ...]:
    """The same reduction over twice the states: each float carries its tangent, which is combined by the chain rule."""
    values, starts, combines = node.src[:n], node.src[n : 2 * n], node.src[2 * n :]
    moving = [j for j in range(n) if values[j].dtype.is_float]
    more = [tangents[j] or zeros(values[j]) for j in moving]
    wide = n + len(moving)
    renamed = {
        UOp.state(v.dtype, n + j): UOp.state(v.dtype, wide + j)
        for j, v in enumerate(values)
    }
    own = substitute(UOp(Ops.SINK, dt.void, combines), renamed).src
    given = {
        UOp.state(values[j].dtype, side + j): UOp.state(
            values[j].dtype, side + n + k
        )
        for k, j in enumerate(moving)
        for side in (0, wide)
    }
    changed = walk.inside([own[j] for j in moving], given)
    chained = [d.tangent or zeros(d.primal) for d in changed]
    nothing = [UOp.const(m.dtype, 0) for m in more]
    sources = (*values, *more, *starts, *nothing, *own, *chained)
    arg = cast("ReduceArg | PrefixArg", node.arg)._replace(n=wide)
    joint = UOp(node.op, dt.void, sources, arg)
    duals = duals_of(joint, (None,) * wide)
    slots = {j: duals[n + k].primal for k, j in enumerate(moving)}
    return tuple(Dual(duals[j].primal, slots.get(j)) for j in range(n))


OPCODE_RULES: dict[Ops, Rule] = {
    **dict.fromkeys(FLAT, _still),
    **{op: _by_element(gradient) for op, gradient in ARITHMETIC.items()},
    **dict.fromkeys(MOVEMENT, _linear),
    Ops.CAST: _cast,
    Ops.WHERE: _where,
    Ops.CONTIGUOUS: _linear,
    Ops.TAKE: _linear,
    Ops.REDUCE: _reduce,
    Ops.PREFIX: _prefix,
    Ops.AFTER: _after,
    Ops.ASSIGN: lambda walk, node, tangents: tangents[1],
}
