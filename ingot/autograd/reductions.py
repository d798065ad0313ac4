"""Gradients of REDUCE and PREFIX. In: a reduction and its cotangents. Out: the gradient of each value that was reduced.

A sum hands its cotangent to every element. max and min hand it to the largest, shared evenly among equals, as PyTorch's
amax does. A product hands on the product of the others, also where elements are 0. The gradient of running sums is a
running sum from the other end. Any other combination of states is differentiated as the SCAN that it means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, PrefixArg, ReduceArg, StateArg
from ingot.ir.region import function, param, scan
from ingot.ir.rewrite import substitute
from ingot.ir.shape import product
from ingot.ops import elementwise as ew
from ingot.ops.elementwise import constant
from ingot.ops.gradient import Cotangents
from ingot.ops.movement import broadcast_to, permute, reshape
from ingot.ops.reduce import fold, kept_shape, prod, sum_


def folded_by(node: UOp) -> Ops | None:
    """The opcode that joins the states, where it is one and there is one state."""
    if cast(ReduceArg | PrefixArg, node.arg).n != 1:
        return None
    combine = node.src[2]
    slots = [s.arg.slot for s in combine.src if isinstance(s.arg, StateArg)]
    return combine.op if slots == [0, 1] else None


def _spread(reduced: UOp, node: UOp) -> UOp:
    """A value of the reduced shape, repeated for every element that was reduced."""
    shape = node.src[0].shape
    kept = kept_shape(shape, cast(ReduceArg, node.arg).axes)
    return broadcast_to(reshape(reduced, kept), shape)


def _sum(node: UOp, g: UOp) -> UOp:
    return _spread(g, node)


def _extreme(node: UOp, g: UOp) -> UOp:
    x, axes = node.src[0], cast(ReduceArg, node.arg).axes
    chosen = ew.equal(x, _spread(node, node))
    ones = ew.where(chosen, constant(1.0, x.dtype, x.shape), 0.0)
    share = g / fold(ones, Ops.ADD, 0, axes)
    return ew.where(chosen, _spread(share, node), 0.0)


def _product(node: UOp, g: UOp) -> UOp:
    """The product of the others: all over the element, or, at the only 0, all but that one."""
    x, axes = node.src[0], cast(ReduceArg, node.arg).axes
    zero = ew.equal(x, 0.0)
    zeros = sum_(ew.where(zero, constant(1.0, x.dtype, x.shape), 0.0), axes)
    others = prod(ew.where(zero, 1.0, x), axes)
    alone = ew.where(ew.equal(zeros, 1.0), others, 0.0)
    whole = ew.where(ew.equal(zeros, 0.0), others, 0.0)
    safe = ew.where(zero, 1.0, x)
    slope = ew.where(
        zero, _spread(alone, node), ew.divide(_spread(whole, node), safe)
    )
    return ew.multiply(_spread(g, node), slope)


_FOLDS: dict[Ops, Callable[[UOp, UOp], UOp]] = {
    Ops.ADD: _sum,
    Ops.MAX: _extreme,
    Ops.MIN: _extreme,
    Ops.MUL: _product,
}


def fold_gradient(node: UOp, cotangents: Cotangents) -> UOp | None:
    """The gradient of a reduction by one opcode; None: it has another form."""
    by = folded_by(node)
    rule = None if by is None else _FOLDS.get(by)
    return None if rule is None else rule(node, cast(UOp, cotangents[0]))


def prefix_gradient(node: UOp, cotangents: Cotangents) -> UOp | None:
    """The gradient of running sums: element i took part in all from i on. None: something else is running."""
    if folded_by(node) is not Ops.ADD:
        return None
    arg = cast(PrefixArg, node.arg)
    turned = arg._replace(reverse=not arg.reverse)
    return node.replace(src=(cast(UOp, cotangents[0]), *node.src[1:]), arg=turned)


# --- any other reduction ------------------------------------------------------------------------------------------


def as_scan(node: UOp) -> tuple[UOp, ...]:
    """The states of a reduction, one element after the other."""
    arg = cast(ReduceArg, node.arg)
    values = [_rows(v, arg.axes) for v in node.src[: arg.n]]
    rest = values[0].shape[1:]
    starts = [broadcast_to(init, rest) for init in node.src[arg.n : 2 * arg.n]]
    body = _step(node, values, keeps_states=False)
    return scan(body, starts, values)[: arg.n]


def prefix_as_scan(node: UOp) -> tuple[UOp, ...]:
    """Every state on the way."""
    arg = cast(PrefixArg, node.arg)
    values = [_rows(v, (arg.axis,)) for v in node.src[: arg.n]]
    rest = values[0].shape[1:]
    starts = [broadcast_to(init, rest) for init in node.src[arg.n : 2 * arg.n]]
    body = _step(node, values, keeps_states=True)
    states = scan(body, starts, values, reverse=arg.reverse)[arg.n :]
    order = [*range(1, arg.axis + 1), 0, *range(arg.axis + 1, len(rest) + 1)]
    return tuple(permute(s, order) for s in states)


def _rows(x: UOp, axes: tuple[int, ...]) -> UOp:
    """The reduced axes as one, in front."""
    kept = [a for a in range(len(x.shape)) if a not in axes]
    moved = permute(x, [*axes, *kept])
    count = product(tuple(x.shape[a] for a in axes))
    return reshape(moved, (count, *(x.shape[a] for a in kept)))


def _step(node: UOp, values: list[UOp], *, keeps_states: bool) -> UOp:
    """combine(state, element) as a function over whole rows; with the new states once more, to be stacked."""
    n, shape = len(values), values[0].shape[1:]
    params = [param(i, values[i % n].dtype, shape) for i in range(2 * n)]
    states = {UOp.state(p.dtype, i): p for i, p in enumerate(params)}
    combines = UOp(Ops.SINK, dt.void, node.src[2 * n :])
    wide = {
        u: broadcast_to(u, shape)
        for u in combines.toposort()
        if u.op is Ops.CONST and shape
    }
    outcomes = substitute(combines, {**states, **wide}).src
    return function("step", params, outcomes * 2 if keeps_states else outcomes)
