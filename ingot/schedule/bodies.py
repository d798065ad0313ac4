"""Fusion of programs with control flow. In: the roots of a primitive graph. Out: a Fusion, with one inside for each body.

A region is a leaf of the graph around it: what it reads is stored, what it gives lies in memory. Its functions are
closed graphs, and each is fused by itself. Assertions run as soon as they can, before everything that they do not
need: so whoever reads a guarded value comes after the check.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, ResultArg, ScanArg
from ingot.ir.region import shallow, unchanged
from ingot.ops.lower import inherit
from ingot.schedule.fuse import Effect, Fusion, fuse, is_result
from ingot.schedule.hoist import hoisted
from ingot.schedule.prices import PRICES, Prices
from ingot.schedule.relay import relaid

Roots = tuple[UOp, ...]

KEPT_BODIES = 1024
_bodies: dict[tuple[Roots, Prices], Fusion] = {}


def fuse_all(roots: Sequence[UOp], prices: Prices = PRICES) -> Fusion:
    """Choose what is stored, here and in every body."""
    plain, checks = without_guards(tuple(roots))
    fusion = fuse([_own(u) for u in plain], prices, checks)
    for step in fusion.steps:
        if isinstance(step, Effect) and step.node.op in _PARTS:
            parts = _PARTS[step.node.op](step)
            step.bodies = tuple(fused_body(part, prices) for part in parts)
    return fusion


def fused_body(roots: Roots, prices: Prices) -> Fusion:
    """The fusion of one body; the same body is fused once."""
    found = _bodies.get((roots, prices))
    if found is None:
        if len(_bodies) >= KEPT_BODIES:
            _bodies.pop(next(iter(_bodies)))
        found = _bodies[roots, prices] = fuse_all(roots, prices)
    return found


def _own(root: UOp) -> UOp:
    """What is asked for gets memory of its own, also where it is an input as it stands."""
    if root.op is Ops.PARAM:
        return UOp(Ops.CONTIGUOUS, root.dtype, (root,))
    return root


# --- assertions and what loops leave alone ----------------------------------------------------------------------------


def without_guards(roots: Roots) -> tuple[Roots, Roots]:
    """The graph without AFTER and with small loops, and its assertions: those that others need first.

    AFTER(value, ASSERT(cond))  ->  value      RESULT(loop, k) that no turn changes  ->  what the loop was given
    """
    sink = UOp(Ops.SINK, dt.void, roots)
    became: dict[UOp, UOp] = {}
    checks: dict[UOp, None] = {}
    for node in shallow(sink):
        source = _seen_through(node)
        if source is not None:
            became[node] = became.get(source, source)
            continue
        src = tuple([became.get(s, s) for s in node.src])
        made = node if src == node.src else inherit(node.replace(src=src), node)
        if made.op in (Ops.SCAN, Ops.WHILE):
            made = relaid(hoisted(made) if made.op is Ops.SCAN else made)
        if made is not node:
            became[node] = made
        if node.op is Ops.ASSERT:
            checks[made] = None
    return became.get(sink, sink).src, tuple(checks)


def _seen_through(node: UOp) -> UOp | None:
    """The source that a node stands for."""
    if node.op is Ops.AFTER and all(e.op is Ops.ASSERT for e in node.src[1:]):
        return node.src[0]
    if is_result(node) and node.src[0].op in (Ops.SCAN, Ops.WHILE):
        loop, index = node.src[0], cast(ResultArg, node.arg).index
        first = 1 if loop.op is Ops.SCAN else 2
        return loop.src[first + index] if index in unchanged(loop) else None
    return None


# --- the bodies of a region, as roots ---------------------------------------------------------------------------------


def _call(step: Effect) -> list[Roots]:
    return [_chosen(step.node.src[0], step)]


def _if(step: Effect) -> list[Roots]:
    return [_chosen(branch, step) for branch in step.node.src[1:3]]


def _chosen(function: UOp, step: Effect) -> Roots:
    return tuple(function.src[k] for k in sorted(step.results))


def _while(step: Effect) -> list[Roots]:
    test, body = step.node.src[:2]
    return [test.src, tuple(body.src[k] for k in changed(step.node))]


def _scan(step: Effect) -> list[Roots]:
    body = step.node.src[0]
    carries = [body.src[k] for k in changed(step.node)]
    return [(*carries, *(body.src[k] for k in stacked(step)))]


def changed(loop: UOp) -> list[int]:
    """The carries or the state that a turn changes."""
    count = (
        cast(ScanArg, loop.arg).n_carry
        if loop.op is Ops.SCAN
        else len(loop.src) - 2
    )
    same = unchanged(loop)
    return [k for k in range(count) if k not in same]


def stacked(step: Effect) -> list[int]:
    """The stacked results of a SCAN that are read."""
    count = cast(ScanArg, step.node.arg).n_carry
    return [k for k in sorted(step.results) if k >= count]


_PARTS: dict[Ops, Callable[[Effect], list[Roots]]] = {
    Ops.CALL: _call,
    Ops.IF: _if,
    Ops.WHILE: _while,
    Ops.SCAN: _scan,
}
