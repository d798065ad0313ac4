"""Evaluation. In: program nodes. Out: their values in memory.

Normalise the graph, ask the session for a native program, run it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from ingot.errors import DeviceError
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.pipeline.bind import Bound
from ingot.pipeline.buffers import memory
from ingot.pipeline.host import evaluate
from ingot.pipeline.late import Late
from ingot.pipeline.normalise import Particulars, normalise
from ingot.pipeline.recipe import Recipe
from ingot.pipeline.report import Report
from ingot.pipeline.session import session
from ingot.runtime.buffer import Buffer
from ingot.settings import settings

_interpreted: Late[Callable[[Sequence[UOp]], list[Buffer]]] = Late(
    "ingot.pipeline.reference:interpreted"
)
_reference: Late[Callable[[Sequence[UOp]], Prepared]] = Late(
    "ingot.pipeline.reference:Reference"
)


def realize(roots: Sequence[UOp]) -> list[Buffer]:
    """Compute these nodes."""
    if session.watch is not None:
        session.watch(roots)
    device = settings.runtime.device
    if device in ("CPU", "NULL"):
        return _native(roots, runs=device == "CPU")
    if device == "PYTHON":
        return _interpreted()(roots)
    raise _no_device(device)


@contextmanager
def uncollected() -> Iterator[None]:
    """Building a large program leaves no cycles behind, but every collection would walk all of it."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _native(roots: Sequence[UOp], runs: bool) -> list[Buffer]:
    report = Report(settings.runtime.debug)
    ready = {root: memory(root) for root in roots if root.op is Ops.BUFFER}
    waiting = [root for root in dict.fromkeys(roots) if root not in ready]
    if waiting:
        with uncollected():
            sink, found = normalise(waiting)
            schedule, bound = session.bound(sink, found.variables, report)
        outputs = _run(schedule.recipe, bound, found, runs, report)
        ready |= {
            root: outputs[number]
            for root, number in zip(waiting, schedule.recipe.roots, strict=True)
        }
    return [ready[root] for root in roots]


def _run(
    recipe: Recipe, bound: Bound, found: Particulars, runs: bool, report: Report
) -> list[Buffer]:
    outputs = [Buffer.allocate(size) for size in bound.outputs]
    inputs = [memory(found.buffers[slot]) for slot in recipe.inputs]
    arena = Buffer.allocate(bound.arena)
    words = (
        *(b.address for b in inputs),
        *(b.address for b in outputs),
        arena.address,
    )
    if runs and report.level < 2:
        bound.program.run(*words)
    elif runs:
        _profiled(recipe, bound, words, found.variables, report)
    return outputs


class Runner:
    """A prepared program: give it the memory of its leaves, get the memory of its roots."""

    def __init__(self, roots: Sequence[UOp]) -> None:
        sink, found = normalise(roots)
        schedule, bound = session.bound(
            sink, found.variables, Report(settings.runtime.debug)
        )
        self.leaves = [found.buffers[slot] for slot in schedule.recipe.inputs]
        self.arena = bound.arena
        self.sizes = bound.outputs
        self.roots = schedule.recipe.roots
        self.plain = self.roots == tuple(range(len(self.sizes)))
        self.execute = (
            bound.program.run if settings.runtime.device == "CPU" else _nothing
        )

    def run(self, inputs: Sequence[Buffer]) -> list[Buffer]:
        """Run once with these inputs."""
        made = [Buffer.allocate(size) for size in self.sizes]
        if self.arena:
            arena = Buffer.allocate(self.arena)
            self.execute(
                *[b.address for b in inputs],
                *[b.address for b in made],
                arena.address,
            )
        else:
            self.execute(
                *[b.address for b in inputs], *[b.address for b in made], 0
            )
        return made if self.plain else [made[number] for number in self.roots]


def _nothing(*words: int) -> None:
    """What the device NULL runs."""


class Prepared(Protocol):
    """What can be run again and again with other inputs."""

    leaves: list[UOp]

    def run(self, inputs: Sequence[Buffer]) -> list[Buffer]: ...


def prepare(roots: Sequence[UOp]) -> Prepared:
    """Compile these nodes without running them."""
    device = settings.runtime.device
    if device in ("CPU", "NULL"):
        return Runner(roots)
    if device == "PYTHON":
        return _reference()(roots)
    raise _no_device(device)


def _no_device(device: str) -> DeviceError:
    return DeviceError(
        f"no device {device} here",
        wanted="CPU, PYTHON or NULL",
        fix="set DEVICE=CPU",
    )


def _profiled(
    recipe: Recipe,
    bound: Bound,
    words: tuple[int, ...],
    variables: Mapping[str, int],
    report: Report,
) -> None:
    """Run, and tell how long each kernel took; the launches of one kernel are one line."""
    times: dict[str, int] = {}
    for label, nanoseconds in zip(
        bound.program.labels, bound.program.profile(*words), strict=True
    ):
        times[label] = times.get(label, 0) + nanoseconds
    for step in recipe.steps:
        use = recipe.uses[step.use]
        flops, nbytes = (
            evaluate(use.flops, variables),
            evaluate(use.nbytes, variables),
        )
        report.ran(step.label, times[step.label], flops, nbytes)
