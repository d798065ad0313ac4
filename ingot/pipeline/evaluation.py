"""Evaluation. In: program nodes. Out: their values in memory.

Normalise the graph, ask the session for a native program, run it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from ingot.errors import DeviceError
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.pipeline import sizes
from ingot.pipeline.buffers import memory
from ingot.pipeline.host import evaluate, source
from ingot.pipeline.late import Late
from ingot.pipeline.normalise import Particulars, normalise
from ingot.pipeline.phases import Phases
from ingot.pipeline.report import Report
from ingot.pipeline.run import Run
from ingot.pipeline.session import session
from ingot.runtime.buffer import Buffer
from ingot.settings import settings

_interpreted: Late[Callable[[Sequence[UOp]], list[Buffer]]] = Late(
    "ingot.pipeline.reference:interpreted"
)
_finite: Late[Callable[..., list[Buffer]]] = Late("ingot.pipeline.finite:checked")
_finite_runner: Late[Callable[..., Prepared]] = Late("ingot.pipeline.finite:Finite")
_blame: Late[Callable[[Exception, Sequence[UOp]], None]] = Late(
    "ingot.pipeline.blame:blame"
)
_reference: Late[Callable[[Sequence[UOp]], Prepared]] = Late(
    "ingot.pipeline.reference:Reference"
)


def realize(roots: Sequence[UOp]) -> list[Buffer]:
    """Compute these nodes."""
    if session.watch is not None:
        session.watch(roots)
    try:
        if settings.runtime.debug_nan:
            return _finite()(roots, _realized)
        return _realized(roots)
    except Exception as error:
        explain(error, roots)
        raise


def explain(error: Exception, roots: Sequence[UOp]) -> None:
    """Have the error of a running program name the operation that failed, and the line that built it."""
    if getattr(error, "step", ""):
        _blame()(error, roots)


def _realized(roots: Sequence[UOp]) -> list[Buffer]:
    device = settings.runtime.device
    if device in ("CPU", "NULL"):
        return _native(roots)
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


def _native(roots: Sequence[UOp]) -> list[Buffer]:
    report = Report(settings.runtime.debug)
    ready = {root: memory(root) for root in roots if root.op is Ops.BUFFER}
    waiting = [root for root in dict.fromkeys(roots) if root not in ready]
    if waiting:
        ready |= zip(waiting, _computed(waiting, report), strict=True)
    return [ready[root] for root in roots]


def _computed(roots: Sequence[UOp], report: Report) -> list[Buffer]:
    with uncollected():
        sink, found = normalise(roots)
        if not found.unknown:
            schedule, bound = session.bound(sink, found.variables, report)
    if found.unknown:
        return _in_phases(roots)
    inputs = [memory(found.buffers[slot]) for slot in schedule.recipe.inputs]
    outputs = Run(schedule.recipe, bound, found.variables, report)(inputs)
    return [outputs[number] for number in schedule.recipe.roots]


def _in_phases(roots: Sequence[UOp]) -> list[Buffer]:
    phases = Phases(roots)
    made, numbers = phases.run_sized([memory(leaf) for leaf in phases.leaves])
    sizes.remember(numbers)
    return made


def size(dim: int | UOp) -> int:
    """The number of a dimension; what counts it is computed."""
    if isinstance(dim, int):
        return dim
    unknown = normalise([dim])[1].unknown
    while unknown:
        first = sizes.first_sizes(unknown)
        made = realize([one.src[0] for one in first])
        for one, buffer in zip(first, made, strict=True):
            limit = size(one.src[1])
            count = limit if _is_null() else sizes.read_count(buffer)
            sizes.remember({one: sizes.checked_number(one, count, limit)})
        unknown = normalise([dim])[1].unknown
    sink, found = normalise([dim])
    return evaluate(source(sink.src[0]), found.variables)


class Runner:
    """A prepared program: give it the memory of its leaves, get the memory of its roots."""

    def __init__(self, sink: UOp, found: Particulars) -> None:
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
        report = Report(settings.runtime.debug)
        self.timed: Run | None = None
        if report.level >= 2:
            self.timed = Run(schedule.recipe, bound, found.variables, report)

    def run(self, inputs: Sequence[Buffer]) -> list[Buffer]:
        """Run once with these inputs."""
        if self.timed is not None:
            outputs = self.timed(inputs)
            return [outputs[number] for number in self.roots]
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

    def run_sized(
        self, inputs: Sequence[Buffer]
    ) -> tuple[list[Buffer], dict[UOp, int]]:
        return self.run(inputs), {}


def _is_null() -> bool:
    return settings.runtime.device == "NULL"


def _nothing(*words: int) -> None:
    """What the device NULL runs."""


class Prepared(Protocol):
    """What can be run again and again with other inputs."""

    leaves: list[UOp]

    def run(self, inputs: Sequence[Buffer]) -> list[Buffer]: ...

    def run_sized(
        self, inputs: Sequence[Buffer]
    ) -> tuple[list[Buffer], dict[UOp, int]]:
        """The same, and the numbers of the sizes that were computed."""


def prepare(roots: Sequence[UOp]) -> Prepared:
    """Compile these nodes without running them."""
    if settings.runtime.debug_nan:
        return _finite_runner()(roots, _realized)
    device = settings.runtime.device
    if device in ("CPU", "NULL"):
        sink, found = normalise(roots)
        return Phases(roots) if found.unknown else Runner(sink, found)
    if device == "PYTHON":
        return _reference()(roots)
    raise _no_device(device)


def _no_device(device: str) -> DeviceError:
    return DeviceError(
        f"no device {device} here",
        wanted="CPU, PYTHON or NULL",
        fix="set DEVICE=CPU",
    )
