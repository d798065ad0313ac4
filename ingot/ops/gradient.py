"""What gradient rules are written with. In: a node and the cotangents of its results. Out: one for each source.

    def _silu_grad(node, cotangents):                     # y = x * sigmoid(x)
        (g,), (x,) = cotangents, node.src
        s = sigmoid(x)
        return (g * s * (1 + x * (1 - s)),)               # in ops, not in operators

`op(..., grad=rule)`. A cotangent is None where nobody used that result; None in the answer says that nothing flows to
that source. An op without a rule is lowered one level, and what it is made of is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from ingot.ir.node import UOp
from ingot.ir.opcode import Attr, OpArg
from ingot.ops import elementwise as ew

Cotangents = tuple[UOp | None, ...]
Gradients = tuple[UOp | None, ...]
Rule = Callable[[UOp, Cotangents], Gradients]


def only(cotangents: Cotangents) -> UOp:
    """The cotangent of a node with one result: a rule is asked only when there is one."""
    return cast(UOp, cotangents[0])


def attrs(node: UOp) -> dict[str, Attr]:
    """The attributes of a named op."""
    return dict(cast(OpArg, node.arg).attrs)


def pointwise(derivative: Callable[[UOp], UOp]) -> Rule:
    """The rule of a function of one element: the cotangent times `derivative(node)`."""

    def rule(node: UOp, cotangents: Cotangents) -> Gradients:
        return (ew.multiply(only(cotangents), derivative(node)),)

    return rule


def masked(keeps: Callable[[UOp], UOp]) -> Rule:
    """The rule of a function that hands its input on where `keeps(node)` holds, and is constant elsewhere."""

    def rule(node: UOp, cotangents: Cotangents) -> Gradients:
        return (ew.where(keeps(node), only(cotangents), 0.0),)

    return rule


def stop(node: UOp, cotangents: Cotangents) -> Gradients:
    """The rule of an op that gradients do not pass, and should not: what comes out counts as a constant."""
    return (None,) * len(node.src)


def flat(node: UOp, cotangents: Cotangents) -> Gradients:
    """The rule of a function that is constant between its steps."""
    return (None,) * len(node.src)


def passed(node: UOp, cotangents: Cotangents) -> Gradients:
    """The rule of an op whose first input is its value."""
    return (only(cotangents), *(None,) * (len(node.src) - 1))
