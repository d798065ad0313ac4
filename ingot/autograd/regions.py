"""Gradients of CALL, IF and SCAN. In: a region node and its cotangents. Out: the same kind of node, run back.

A function has a backward function, which takes the same arguments and the cotangents of the results, and computes again
what it needs: CALL becomes CALL, IF becomes IF with the same condition. A SCAN becomes a SCAN from the last step to the
first, over the states that a second forward SCAN stacks (scans.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from ingot.autograd.scans import scan_gradient
from ingot.autograd.zero import Differentiate, zeros_like
from ingot.ir.node import UOp
from ingot.ir.opcode import FunctionArg, Ops
from ingot.ir.region import call, function, if_, param, shallow
from ingot.ops.gradient import Cotangents, Gradients


class RegionRule(Protocol):
    """A rule that also knows which gradients are wanted, and how to differentiate what is inside."""

    def __call__(
        self,
        node: UOp,
        cotangents: Cotangents,
        wanted: Sequence[bool],
        differentiate: Differentiate,
    ) -> Gradients: ...


class _Backward:
    """What the backward functions of one node have in common: arguments, live cotangents, wanted slots."""

    def __init__(
        self,
        args: Sequence[UOp],
        cotangents: Cotangents,
        wanted: Sequence[bool],
        differentiate: Differentiate,
    ) -> None:
        self.args = args
        self.live = [j for j, g in enumerate(cotangents) if g is not None]
        self.cotangents = [g for g in cotangents if g is not None]
        self.slots = [i for i, want in enumerate(wanted) if want]
        self.differentiate = differentiate
        self.params = [param(i, a.dtype, a.shape) for i, a in enumerate(args)]
        self.incoming = [
            param(len(args) + k, g.dtype, g.shape)
            for k, g in enumerate(self.cotangents)
        ]

    def outcomes(self, made: UOp) -> list[UOp]:
        """The gradients of the wanted parameters of a function, over its parameters and the incoming cotangents."""
        outputs = [made.src[j] for j in self.live]
        wrt = [self.params[i] for i in self.slots]
        found = self.differentiate(outputs, self.incoming, wrt)
        return [
            zeros_like(p) if g is None else g
            for p, g in zip(wrt, found, strict=True)
        ]

    def used(self, outcomes: Sequence[UOp]) -> list[int]:
        """Which of all parameters, the cotangents behind the arguments, the outcomes read."""
        reached = {u for outcome in outcomes for u in shallow(outcome)}
        every = [*self.params, *self.incoming]
        return [i for i, p in enumerate(every) if p in reached]

    def closed(
        self, made: UOp, outcomes: Sequence[UOp], used: Sequence[int]
    ) -> UOp:
        every = [*self.params, *self.incoming]
        name = f"{cast(FunctionArg, made.arg).name}_backward"
        return function(name, [every[i] for i in used], outcomes)

    def given(self, used: Sequence[int]) -> list[UOp]:
        every = [*self.args, *self.cotangents]
        return [every[i] for i in used]

    def placed(self, found: Sequence[UOp]) -> Gradients:
        """One gradient for every argument."""
        by_slot = dict(zip(self.slots, found, strict=True))
        return tuple(by_slot.get(i) for i in range(len(self.args)))


def _call(
    node: UOp,
    cotangents: Cotangents,
    wanted: Sequence[bool],
    differentiate: Differentiate,
) -> Gradients:
    made, *args = node.src
    back = _Backward(args, cotangents, wanted[1:], differentiate)
    outcomes = back.outcomes(made)
    used = back.used(outcomes)
    found = call(back.closed(made, outcomes, used), *back.given(used))
    return None, *back.placed(found)


def _if(
    node: UOp,
    cotangents: Cotangents,
    wanted: Sequence[bool],
    differentiate: Differentiate,
) -> Gradients:
    cond, then, otherwise, *args = node.src
    back = _Backward(args, cotangents, wanted[3:], differentiate)
    branches = [back.outcomes(branch) for branch in (then, otherwise)]
    used = sorted({i for outcomes in branches for i in back.used(outcomes)})
    closed = [
        back.closed(branch, outcomes, used)
        for branch, outcomes in zip((then, otherwise), branches, strict=True)
    ]
    found = if_(cond, closed[0], closed[1], *back.given(used))
    return None, None, None, *back.placed(found)


REGION_RULES: dict[Ops, RegionRule] = {
    Ops.CALL: _call,
    Ops.IF: _if,
    Ops.SCAN: scan_gradient,
}
