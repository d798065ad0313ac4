"""Reverse mode. In: outputs, their cotangents, and the nodes to differentiate for. Out: a gradient node for each of those.

    gradients([loss], [one], [w, b])  ->  (dw, db)

One walk from the outputs down finds what depends on the nodes asked for; one walk back adds up cotangents and hands them
on by the rules. No recursion but into what one operation is made of, whatever the depth of the graph.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import cast

from ingot.autograd.reductions import (
    as_scan,
    fold_gradient,
    prefix_as_scan,
    prefix_gradient,
)
from ingot.autograd.regions import REGION_RULES
from ingot.autograd.rules import REFUSED, RULES
from ingot.errors import ArgumentError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    ExternArg,
    OpArg,
    Ops,
    PrefixArg,
    ReduceArg,
    ResultArg,
)
from ingot.ir.shape import same
from ingot.ops.gradient import Cotangents, Gradients, stop
from ingot.ops.inverse import of_shape
from ingot.ops.lower import lower
from ingot.ops.op import find

__all__ = ["carries_gradient", "gradients"]


def gradients(
    outputs: Sequence[UOp],
    cotangents: Sequence[UOp],
    wrt: Sequence[UOp],
    stops: Collection[UOp] = (),
) -> tuple[UOp | None, ...]:
    """The sum over all outputs of cotangent times derivative, for each node of `wrt`; None where no path leads there.

    Nodes of `stops` are not passed: what lies below them is not looked at.
    """
    if not outputs:
        return (None,) * len(wrt)
    ends = frozenset(stops)
    root = UOp(Ops.SINK, dt.void, tuple(outputs))
    order = list(
        root.toposort(lambda u: u.op is not Ops.FUNCTION and u not in ends)
    )
    sweep = _Sweep(_needed(order, frozenset(wrt), ends), ends)
    for output, cotangent in zip(outputs, cotangents, strict=True):
        sweep.add(output, cotangent)
    for node in reversed(order):
        sweep.pass_on(node)
    return tuple(sweep.total.get(node) for node in wrt)


def carries_gradient(node: UOp) -> bool:
    """Gradients may flow through this node: it is a float, or several results, and does not stop them on purpose."""
    if not node.dtype.is_float and node.dtype is not dt.void:
        return False
    return (
        node.op is not Ops.OP or find(cast(OpArg, node.arg).name).grad is not stop
    )


def _needed(
    order: Sequence[UOp], wrt: frozenset[UOp], ends: frozenset[UOp]
) -> set[UOp]:
    """The nodes whose cotangents lead to one of `wrt`."""
    found: set[UOp] = set()
    for node in order:
        passes = node not in ends and carries_gradient(node)
        if node in wrt or (passes and not found.isdisjoint(node.src)):
            found.add(node)
    return found


class _Sweep:
    """The walk back: cotangents by node, and by result where a node has several."""

    def __init__(self, needed: set[UOp], ends: frozenset[UOp]) -> None:
        self.needed = needed
        self.ends = ends
        self.total: dict[UOp, UOp] = {}
        self.parts: dict[UOp, list[UOp | None]] = {}

    def add(self, node: UOp, cotangent: UOp) -> None:
        """One more use of a node sends its share."""
        if node not in self.needed:
            return
        fitting = _fitting(node, cotangent)
        before = self.total.get(node)
        self.total[node] = fitting if before is None else before + fitting

    def pass_on(self, node: UOp) -> None:
        """All uses of a node have been seen: its sources get their shares."""
        if node not in self.needed or node in self.ends:
            return
        if node.op is Ops.RESULT:
            self._collect(node)
            return
        cotangents = self._cotangents(node)
        wanted = [s in self.needed for s in node.src]
        if cotangents is None or not any(wanted):
            return
        shares = gradients_of(node, cotangents, wanted)
        for source, share in zip(node.src, shares, strict=True):
            if share is not None:
                self.add(source, share)

    def _cotangents(self, node: UOp) -> Cotangents | None:
        if node in self.parts:
            return tuple(self.parts[node])
        return (self.total[node],) if node in self.total else None

    def _collect(self, node: UOp) -> None:
        """One result of several: the node itself waits for all of them."""
        source, cotangent = node.src[0], self.total.get(node)
        if cotangent is not None and source in self.needed:
            parts = self.parts.setdefault(source, [None] * len(source.results))
            parts[cast(ResultArg, node.arg).index] = cotangent


def _fitting(node: UOp, cotangent: UOp) -> UOp:
    """The cotangent in the type of its node, and in the very sizes that its node has."""
    if len(cotangent.shape) != len(node.shape) or any(
        isinstance(a, int) and isinstance(b, int) and a != b
        for a, b in zip(cotangent.shape, node.shape, strict=True)
    ):
        raise ShapeError(
            f"gradient: a rule gave {cotangent.shape} for a value of {node.shape}",
            fix="the gradient of a value has its shape: see sum_to in ops/gradient.py",
        )
    typed = cotangent.cast(node.dtype)
    return typed if same(typed.shape, node.shape) else of_shape(typed, node.shape)


def gradients_of(
    node: UOp, cotangents: Cotangents, wanted: Sequence[bool]
) -> Gradients:
    """The gradient for each source of one node; those not wanted may be None."""
    rule = RULES.get(node.op)
    if rule is not None:
        return rule(node, cotangents)
    if node.op is Ops.OP:
        return _named(node, cotangents, wanted)
    if node.op in (Ops.REDUCE, Ops.PREFIX):
        return _reduce(node, cotangents, wanted)
    region = REGION_RULES.get(node.op)
    if region is not None:
        return region(node, cotangents, wanted, gradients)
    if node.op in REFUSED:
        raise _refusal(node)
    return (None,) * len(node.src)


def _named(node: UOp, cotangents: Cotangents, wanted: Sequence[bool]) -> Gradients:
    declared = find(cast(OpArg, node.arg).name)
    if declared.grad is not None:
        rule = declared.grad
        found: Gradients = rule(node, cotangents)
        return found
    if declared.no_grad_reason:
        raise ArgumentError(
            f"gradient: {declared.name} has none: {declared.no_grad_reason}",
            fix="call .detach() on what goes into it, if it should count as a constant",
        )
    lowered = lower(node)
    outputs = lowered.src if lowered.op is Ops.SINK else (lowered,)
    return _through(node, outputs, cotangents, wanted)


def _through(
    node: UOp,
    outputs: Sequence[UOp],
    cotangents: Cotangents,
    wanted: Sequence[bool],
) -> Gradients:
    """The gradients of a node from those of what it is made of, which ends at the node's own sources."""
    pairs = zip(outputs, cotangents, strict=True)
    used = [(output, g) for output, g in pairs if g is not None]
    asked = [s for s, want in zip(node.src, wanted, strict=True) if want]
    unique = list(dict.fromkeys(asked))
    found = gradients(
        [output for output, _ in used], [g for _, g in used], unique, node.src
    )
    shares = dict(zip(unique, found, strict=True))
    # A source that stands twice gets its whole share at the first place.
    return tuple(shares.pop(source, None) for source in node.src)


def _reduce(node: UOp, cotangents: Cotangents, wanted: Sequence[bool]) -> Gradients:
    is_prefix = node.op is Ops.PREFIX
    simple = (prefix_gradient if is_prefix else fold_gradient)(node, cotangents)
    n = cast(ReduceArg | PrefixArg, node.arg).n
    if simple is not None:
        return simple, *(None,) * (len(node.src) - 1)
    steps = prefix_as_scan(node) if is_prefix else as_scan(node)
    found = _through(node, steps, cotangents, wanted)
    return *found[:n], *(None,) * (len(node.src) - n)


def _refusal(node: UOp) -> ArgumentError:
    reason, fix = REFUSED[node.op]
    name = f" {node.arg.name!r}" if isinstance(node.arg, ExternArg) else ""
    return ArgumentError(
        f"gradient: {node.op.name.lower()}{name}: {reason}", fix=fix
    )
