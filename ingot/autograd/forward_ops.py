"""Derivatives of named ops, forward. In: an OP node and the tangents of its inputs. Out: the tangents of its results.

Most ops are taken one level down. A rule stands here where the op itself is the better word for its derivative, or
where it lowers to an algorithm that is opaque: then the derivative is read off its gradient, which is linear in what
comes from above. For a function of one element the two are the same factor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import cast

from ingot.autograd.backward import gradients
from ingot.autograd.batch_ops import is_elementwise
from ingot.autograd.duals import (
    Dual,
    Forward,
    Tangent,
    Tangents,
    duals_of,
    total,
    zeros,
)
from ingot.autograd.lanes import parts
from ingot.errors import ArgumentError
from ingot.ir.node import UOp
from ingot.ir.opcode import OpArg, Ops, ParamArg
from ingot.ir.region import param, sizes
from ingot.ir.rewrite import substitute
from ingot.ir.shape import Type
from ingot.ops import elementwise as ew
from ingot.ops.families import FAMILY
from ingot.ops.gradient import Rule as Gradient
from ingot.ops.gradient import stop
from ingot.ops.lower import lower, lower_all
from ingot.ops.movement import broadcast_to, reshape
from ingot.ops.op import Op, find
from ingot.ops.reduce import kept_shape, sum_

Named = Callable[[UOp, Tangents], Tangent]


def named(
    walk: Forward, node: UOp, tangents: Tangents
) -> Tangent | tuple[Dual, ...]:
    """An OP node."""
    op = find(cast(OpArg, node.arg).name)
    if op.grad is stop:
        return tuple(Dual(part, None) for part in parts(node))
    rule = NAMED_RULES.get(op.name)
    if rule is not None:
        return rule(node, tangents)
    if op.grad is None:
        return _lowered(walk, op, node)
    if _has_own_derivative(op):
        return _transposed(op.grad, node, tangents)
    if is_elementwise(node):
        return _by_element(op.grad, node, tangents)
    if _is_opaque(node):
        return _transposed(op.grad, node, tangents)
    return _lowered(walk, op, node)


def _lowered(walk: Forward, op: Op, node: UOp) -> Tangent | tuple[Dual, ...]:
    """One level down; the value keeps its name."""
    if op.no_grad_reason or op.basic:
        reason = op.no_grad_reason or "it is no function of small steps"
        raise ArgumentError(
            f"jvp: {op.name} has no derivative: {reason}",
            fix="call .detach() on what goes into it, if it should count as a constant",
        )
    below = lower(node)
    walk.visit(below)
    if len(node.results) == 1:
        return walk.tangent(below)
    return duals_of(node, [walk.tangent(s) for s in below.src])


# --- read off the gradient ----------------------------------------------------------------------------------------


def _by_element(grad: Gradient, node: UOp, tangents: Tangents) -> Tangent:
    """Each element has one factor for every input, whichever way it is asked."""
    shares = [
        None if tangent is None else grad(node, (tangent,))[place]
        for place, tangent in enumerate(tangents)
    ]
    return total(shares)


def _has_own_derivative(op: Op) -> bool:
    """Its author's rule is its derivative, whatever it lowers to."""
    return op.name == "custom_gradient" or op.name not in FAMILY


def _is_opaque(node: UOp) -> bool:
    """What it lowers to holds an algorithm or host code: there is nothing to differentiate inside."""
    kinds = tuple((s.dtype, s.shape) for s in node.src)
    return _holds_algorithm(cast(OpArg, node.arg), kinds)


@lru_cache(4096)
def _holds_algorithm(arg: OpArg, kinds: tuple[Type, ...]) -> bool:
    inputs = tuple(param(slot, *kind) for slot, kind in enumerate(kinds))
    whole = lower_all(find(arg.name).node(inputs, dict(arg.attrs)))
    reached = whole.toposort()
    left = {cast(OpArg, u.arg).name for u in reached if u.op is Ops.OP}
    return bool(left - {"iota"}) or any(u.op is Ops.EXTERN for u in reached)


def _transposed(
    grad: Gradient, node: UOp, tangents: Tangents
) -> Tangent | tuple[Dual, ...]:
    """A gradient is linear in the cotangents c: <grad(c), t> = <c, tangent>, so the tangent is its gradient for c."""
    asked = [
        UOp(Ops.PARAM, kind, sizes(shape), ParamArg(j), tag="cotangent")
        if kind.is_float
        else None
        for j, (kind, shape) in enumerate(node.results)
    ]
    shares = grad(node, tuple(asked))
    pairs = [
        (share, tangent)
        for share, tangent in zip(shares, tangents, strict=True)
        if share is not None and tangent is not None
    ]
    wrt = [c for c in asked if c is not None]
    found = gradients([s for s, _ in pairs], [t for _, t in pairs], wrt)
    nothing = {c: zeros(c) for c in wrt}
    made = [None if f is None else substitute(f, nothing) for f in found]
    places = dict(zip(wrt, made, strict=True))
    return duals_of(node, [None if c is None else places[c] for c in asked])


# --- linear in each input ---------------------------------------------------------------------------------------------


def _again(node: UOp, sources: Sequence[UOp]) -> UOp:
    arg = cast(OpArg, node.arg)
    return find(arg.name).node(tuple(sources), dict(arg.attrs))


def _product(node: UOp, tangents: Tangents) -> Tangent:
    """Two inputs, and a third that is added for each output: linear in each."""
    a, b, *added = tangents
    x, y = node.src[:2]
    parts = [
        None if a is None else _again(node, (a, y)),
        None if b is None else _again(node, (x, b)),
    ]
    return total([*parts, *(_added(node, bias) for bias in added)])


def _added(node: UOp, bias: Tangent) -> Tangent:
    if bias is None:
        return None
    last = (1,) * (len(node.shape) - 2) if _name(node) == "conv2d" else ()
    return broadcast_to(reshape(bias, (*bias.shape, *last)), node.shape)


def _name(node: UOp) -> str:
    return cast(OpArg, node.arg).name


# --- rows -------------------------------------------------------------------------------------------------------------


def _softmax(node: UOp, tangents: Tangents) -> Tangent:
    axis = cast(int, cast(OpArg, node.arg)["axis"])
    weighted = node * cast(UOp, tangents[0])
    return weighted - ew.multiply(node, sum_(weighted, axis, keepdims=True))


def _log_softmax(node: UOp, tangents: Tangents) -> Tangent:
    axis = cast(int, cast(OpArg, node.arg)["axis"])
    tangent = cast(UOp, tangents[0])
    return ew.subtract(tangent, sum_(ew.exp(node) * tangent, axis, keepdims=True))


def _logsumexp(node: UOp, tangents: Tangents) -> Tangent:
    x, tangent = node.src[0], cast(UOp, tangents[0])
    axes = cast("tuple[int, ...]", cast(OpArg, node.arg)["axis"])
    column = reshape(node, kept_shape(x.shape, axes))
    weights = ew.exp(ew.subtract(x, column))
    return reshape(sum_(weights * tangent, axes), node.shape)


NAMED_RULES: dict[str, Named] = {
    **dict.fromkeys(("matmul", "linear", "conv2d"), _product),
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
}
