"""The gradient of SCAN. In: a scan and its cotangents. Out: a scan from the last step to the first.

    forward    (c, x) -> (c', y)                               run once more, stacking what a step back reads
    back       (gc', gy, kept values of the step) -> (gc, gx)

What is kept of a step: its state, and the results of its sums (matrix products above all); the rest is cheap and is
computed again. A value that the steps only read (a weight) is not stacked; its gradient is a sum over all steps, and where
it is a product or a sum in each step, the factors are stacked and one large product after the loop adds it up (hoist.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import cast

from ingot.autograd.hoist import Hoisted, hoisted
from ingot.autograd.zero import Differentiate, zeros_like
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import FunctionArg, Ops, ScanArg
from ingot.ir.region import function, param, scan, shallow, unchanged
from ingot.ops.gradient import Cotangents, Gradients
from ingot.ops.lower import lower_all


def scan_gradient(
    node: UOp,
    cotangents: Cotangents,
    wanted: Sequence[bool],
    differentiate: Differentiate,
) -> Gradients:
    """The gradients of the first states and of the sequences."""
    step = _Step(node, cotangents, wanted)
    step.differentiate(differentiate)
    return None, *step.run_back()


class _Step:
    """One step of a scan as a graph over parameters, and the gradients of that step."""

    def __init__(
        self, node: UOp, cotangents: Cotangents, wanted: Sequence[bool]
    ) -> None:
        self.node = node
        self.body = node.src[0]
        self.count = cast(ScanArg, node.arg).n_carry
        self.cotangents = cotangents
        self.carries = node.src[1 : 1 + self.count]
        self.xs = node.src[1 + self.count :]
        self.states = [
            param(j, c.dtype, c.shape) for j, c in enumerate(self.carries)
        ]
        self.slices = [
            param(self.count + i, x.dtype, x.shape[1:])
            for i, x in enumerate(self.xs)
        ]
        self.still = unchanged(node)
        asked = wanted[1:]
        floats = [j for j, c in enumerate(self.carries) if c.dtype.is_float]
        self.moving = [j for j in floats if j not in self.still]
        self.held = [j for j in floats if j in self.still and asked[j]]
        self.fed = [i for i in range(len(self.xs)) if asked[self.count + i]]
        self.live = [
            k for k, g in enumerate(cotangents[self.count :]) if g is not None
        ]

    # --- one step back --------------------------------------------------------------------------------------------

    def differentiate(self, differentiate: Differentiate) -> None:
        """The gradients of one step: of its state, of what it only reads, of its slices."""
        outputs = [self.body.src[j] for j in self.moving]
        outputs += [self.body.src[self.count + k] for k in self.live]
        first = self.count + len(self.xs)
        incoming = [
            param(first + i, u.dtype, u.shape) for i, u in enumerate(outputs)
        ]
        self.from_state = incoming[: len(self.moving)]
        self.from_results = incoming[len(self.moving) :]
        wrt = [self.states[j] for j in (*self.moving, *self.held)]
        wrt += [self.slices[i] for i in self.fed]
        found = list(differentiate(outputs, incoming, wrt))
        moved, read = len(self.moving), len(self.moving) + len(self.held)
        self.to_state = [
            zeros_like(p) if g is None else g
            for p, g in zip(wrt[:moved], found[:moved], strict=True)
        ]
        shares = zip(self.held, found[moved:read], strict=True)
        self.to_held = {j: g for j, g in shares if g is not None}
        fed = zip(self.fed, found[read:], strict=True)
        self.to_slices = {i: g for i, g in fed if g is not None}

    @cached_property
    def forward(self) -> dict[UOp, None]:
        """Every node of a step forward, sources first."""
        return shallow(UOp(Ops.SINK, dt.void, self.body.src))

    @cached_property
    def changing(self) -> set[UOp]:
        """The nodes of a step that are not the same in every step."""
        still = {self.states[j] for j in self.still}
        sources = {*self.states, *self.slices} - still
        found: set[UOp] = set()
        for node in self.forward:
            if node in sources or not found.isdisjoint(node.src):
                found.add(node)
        return found

    @cached_property
    def dear(self) -> set[UOp]:
        """Values of a step that are kept rather than computed again: sums, and sums of those."""
        found: set[UOp] = set()
        for node in self.forward:
            if node not in self.changing or not node.dtype.is_float:
                continue
            joins = node.op is Ops.ADD and not found.isdisjoint(node.src)
            whole = all(s in found or s not in self.changing for s in node.src)
            if _sums(node) or (joins and whole):
                found.add(node)
        return found

    def kept(self, outcomes: Iterable[UOp]) -> list[UOp]:
        """What a step back reads of the step forward: the state before it, and dear values."""
        states = {s for j, s in enumerate(self.states) if j not in self.still}
        ends = states | self.dear
        sink = UOp(Ops.SINK, dt.void, tuple(outcomes))
        reached = sink.toposort(
            lambda u: u.op is not Ops.FUNCTION and u not in ends
        )
        return [u for u in reached if u in ends]

    # --- all steps back -------------------------------------------------------------------------------------------

    def run_back(self) -> list[UOp | None]:
        """A scan over all steps, from the last to the first."""
        plans = {j: hoisted(g) for j, g in self.to_held.items()}
        sums = [j for j, plan in plans.items() if plan is None]
        factors = _factors(plans.values())
        per_step = [*self.to_state, *(self.to_held[j] for j in sums)]
        outcomes = dict.fromkeys([*self.to_slices.values(), *factors])
        kept = self.kept([*per_step, *outcomes])
        stacked = [u for u in outcomes if u not in kept and u not in self.slices]
        loop = _Loop(self, sums, per_step, stacked, kept)
        last, places = loop.run()
        states = dict(zip(self.moving, last, strict=False))
        states |= dict(zip(sums, last[len(self.moving) :], strict=True))
        for j, plan in plans.items():
            if plan is not None:
                states[j] = self._beside_last(j, plan.total(places))
        for j in self.held:
            if j not in plans and self.cotangents[j] is not None:
                states[j] = cast(UOp, self.cotangents[j])
        to_xs = [
            places[self.to_slices[i]] if i in self.to_slices else None
            for i in range(len(self.xs))
        ]
        return [*(states.get(j) for j in range(self.count)), *to_xs]

    def _beside_last(self, j: int, total: UOp) -> UOp:
        """A value that all steps hand on is also a result of the scan."""
        g = self.cotangents[j]
        return total if g is None else total + g


class _Loop:
    """The scan back: what it carries, what it reads of each step, what it stacks."""

    def __init__(
        self,
        step: _Step,
        sums: Sequence[int],
        per_step: Sequence[UOp],
        stacked: Sequence[UOp],
        kept: Sequence[UOp],
    ) -> None:
        self.step = step
        self.kept = kept
        self.stacked = stacked
        first = step.count + len(step.xs) + len(step.from_state)
        first += len(step.from_results)
        self.sums = [step.states[j] for j in sums]
        self.totals = [
            param(first + i, s.dtype, s.shape) for i, s in enumerate(self.sums)
        ]
        moved = len(step.moving)
        self.outcomes = [
            *per_step[:moved],
            *(t + g for t, g in zip(self.totals, per_step[moved:], strict=True)),
        ]
        self.starts = [self._start(j) for j in (*step.moving, *sums)]
        self.reads = self._reads()

    def _start(self, j: int) -> UOp:
        """The gradient of a state after the last step."""
        g = self.step.cotangents[j]
        return zeros_like(self.step.carries[j]) if g is None else g

    def _reads(self) -> set[UOp]:
        """The leaves of a step back, with what is kept standing for what it was computed from."""
        ends = set(self.kept)
        sink = UOp(Ops.SINK, dt.void, (*self.outcomes, *self.stacked))
        reached = sink.toposort(
            lambda u: u.op is not Ops.FUNCTION and u not in ends
        )
        return {u for u in reached if u.op is Ops.PARAM}

    def run(self) -> tuple[list[UOp], dict[UOp, UOp]]:
        """The gradients of the first states, and the stack of every value that a step back makes or reads."""
        step = self.step
        still = [j for j in sorted(step.still) if step.states[j] in self.reads]
        slices = [i for i, s in enumerate(step.slices) if s in self.reads]
        held = [step.states[j] for j in still]
        params = [*step.from_state, *self.totals, *held]
        params += [step.slices[i] for i in slices]
        params += [*self.kept, *step.from_results]
        name = f"{cast(FunctionArg, step.body.arg).name}_backward"
        body = function(name, params, [*self.outcomes, *held, *self.stacked])
        carry = [*self.starts, *(step.carries[j] for j in still)]
        kept = self._kept_stacks()
        xs = [*(step.xs[i] for i in slices), *kept]
        xs += [cast(UOp, step.cotangents[step.count + k]) for k in step.live]
        reverse = not cast(ScanArg, step.node.arg).reverse
        found = scan(body, carry, xs or [self._turns()], reverse=reverse)
        places = dict(zip(step.slices, step.xs, strict=True))
        places |= dict(zip(self.kept, kept, strict=True))
        places |= dict(zip(self.stacked, found[len(carry) :], strict=True))
        return list(found[: len(self.starts)]), places

    def _kept_stacks(self) -> list[UOp]:
        """What each step back reads, stacked by running the steps forward once more."""
        step = self.step
        if not self.kept:
            return []
        name = cast(FunctionArg, step.body.arg).name
        params = [*step.states, *step.slices]
        body = function(name, params, [*step.body.src, *self.kept])
        arg = cast(ScanArg, step.node.arg)
        found = scan(body, step.carries, step.xs, reverse=arg.reverse)
        return list(found[len(step.body.src) :])

    def _turns(self) -> UOp:
        """A sequence as long as the scan, for steps that read none."""
        return self.step.xs[0]


def _factors(plans: Iterable[Hoisted | None]) -> list[UOp]:
    found = [f for plan in plans if plan is not None for f in plan.factors]
    return list(dict.fromkeys(found))


_SUMS = frozenset({Ops.REDUCE, Ops.PREFIX, Ops.RESULT})


def _sums(node: UOp) -> bool:
    """Computing it again would mean to sum again."""
    if node.op is not Ops.OP:
        return node.op in _SUMS
    fresh = tuple(param(i, s.dtype, s.shape) for i, s in enumerate(node.src))
    lowered = lower_all(node.replace(src=fresh))
    return any(u.op in _SUMS for u in lowered.toposort())
