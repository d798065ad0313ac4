"""Evaluation. In: program nodes. Out: their values in memory.

Normalise the graph, find or make its recipe, find or make the native program for its sizes, run it. What is in memory
or on disk is found without the compiler, which is loaded when something is not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ingot.errors import DeviceError
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.pipeline.bind import Bound, bind
from ingot.pipeline.buffers import memory
from ingot.pipeline.host import Number, evaluate
from ingot.pipeline.late import Late
from ingot.pipeline.member import Launch, Member
from ingot.pipeline.normalise import Particulars, normalise
from ingot.pipeline.recipe import Recipe, Step
from ingot.pipeline.report import Report
from ingot.pipeline.store import Store
from ingot.runtime.buffer import Buffer
from ingot.runtime.cache import ObjectCache
from ingot.runtime.library import Library
from ingot.runtime.pool import Pool
from ingot.settings import Codegen, settings
from ingot.target import host

if TYPE_CHECKING:
    from ingot.pipeline.compiler import Compiler
    from ingot.schedule.family import Family

KEPT_SCHEDULES = 4096
KEPT_PROGRAMS = 256  # of one schedule, for different values of its variables

_compiler: Late[type[Compiler]] = Late("ingot.pipeline.compiler:Compiler")
_interpreted: Late[Callable[[Sequence[UOp]], list[Buffer]]] = Late("ingot.pipeline.reference:interpreted")
_reference: Late[Callable[[Sequence[UOp]], Prepared]] = Late("ingot.pipeline.reference:Reference")


class Schedule:
    """A recipe, the program that it is of, native programs by values of variables, families once they are needed."""

    __slots__ = ("families", "programs", "recipe", "sink")

    def __init__(self, sink: UOp, recipe: Recipe, families: dict[str, Family]) -> None:
        self.sink = sink
        self.recipe = recipe
        self.families = families
        self.programs: dict[tuple[tuple[str, int], ...], Bound] = {}


class Forge:
    """What was made for one set of code settings: schedules, members of families; the compiler once it is needed."""

    def __init__(self, library: Library, cache: ObjectCache, codegen: Codegen) -> None:
        self.library = library
        self.codegen = codegen
        self.store = Store(cache, library.target, codegen)
        self.schedules: dict[UOp, Schedule] = {}
        self.members: dict[str, list[Member]] = {}
        self.compiled = 0  # kernels
        self._compiler: Compiler | None = None

    def compiler(self) -> Compiler:
        if self._compiler is None:
            self._compiler = _compiler()(self.library, self.library.target, self.codegen)
        return self._compiler

    def schedule(self, sink: UOp, report: Report) -> Schedule:
        """The schedule of a normalised program."""
        started = time.perf_counter()
        found = self.schedules.get(sink)
        hit = found is not None
        key = sink.digest.hex() if found is None or report.level else ""
        if found is None:
            recipe = None if _afresh() else self.store.recipe(key)
            hit = recipe is not None
            found = Schedule(sink, recipe, {}) if recipe is not None else self._new_schedule(sink, key, report)
            self.schedules[sink] = found
            if len(self.schedules) > KEPT_SCHEDULES:
                self.schedules.pop(next(iter(self.schedules)))
        report.scheduled(len(found.recipe.steps), time.perf_counter() - started, hit, key[:12])
        return found

    def _new_schedule(self, sink: UOp, key: str, report: Report) -> Schedule:
        recipe, families = self.compiler().schedule(sink, report)
        self.store.keep_recipe(key, recipe)
        return Schedule(sink, recipe, families)

    def bound(self, schedule: Schedule, variables: dict[str, int], pool: Pool, report: Report) -> Bound:
        """The program for these values of the variables."""
        key = tuple(sorted(variables.items()))
        found = schedule.programs.get(key)
        if found is None:

            def find(step: Step, names: Mapping[str, Number]) -> Member:
                return self.member(schedule, step, names, variables, report)

            found = schedule.programs[key] = bind(schedule.recipe, variables, find, self.address, pool)
            if len(schedule.programs) > KEPT_PROGRAMS:
                schedule.programs.pop(next(iter(schedule.programs)))
        return found

    def member(
        self, schedule: Schedule, step: Step, names: Mapping[str, Number], variables: dict[str, int], report: Report
    ) -> Member:
        """A member of the step's family whose guards hold: met before, described on disk, or compiled now."""
        known = self.members.setdefault(step.family, [])
        found = _fitting(known, names) or self._from_disk(step.family, names)
        if found is None:
            family = self._family(schedule, step.family, report)
            found = self.compiler().member(family, step.label, variables, report)
            self.compiled += 1
            self.store.keep_member(step.family, found)
        if found not in known:
            known.append(found)
        return found

    def _from_disk(self, family: str, names: Mapping[str, Number]) -> Member | None:
        if _afresh():
            return None
        usable = [m for m in self.store.members(family) if all(self.library.knows(x.module) for x in m.launches)]
        return _fitting(usable, names)

    def _family(self, schedule: Schedule, digest: str, report: Report) -> Family:
        if not schedule.families:
            _, schedule.families = self.compiler().schedule(schedule.sink, report)
        return schedule.families[digest]

    def address(self, launch: Launch) -> int:
        """Where the function of a launch lies."""
        return self.library.functions(launch.module, _never)[launch.function]


def _fitting(members: Sequence[Member], names: Mapping[str, Number]) -> Member | None:
    return next((m for m in members if m.fits(names)), None)


def _afresh() -> bool:
    """Whoever wants to see or verify the stages wants them to happen, also if the result lies on disk."""
    runtime = settings.runtime
    return runtime.spec >= 1 or runtime.debug >= 3


def _never() -> str:
    raise AssertionError("a member's module is compiled before it is used")


class Session:
    """What one process keeps: threads, loaded code, and a forge for each set of code settings."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.forges: dict[Codegen, Forge] = {}
        self.watch: Callable[[Sequence[UOp]], None] | None = None  # called with everything that is evaluated
        self._library: Library | None = None
        self._cache: ObjectCache | None = None
        self._pool: Pool | None = None

    @property
    def cache(self) -> ObjectCache:
        if self._cache is None:
            runtime = settings.runtime
            self._cache = ObjectCache(runtime.cache_dir, runtime.cache_limit)
        return self._cache

    def forge(self) -> Forge:
        codegen = settings.codegen
        found = self.forges.get(codegen)
        if found is None:
            if self._library is None:
                self._library = Library(self.cache, host())
            found = self.forges[codegen] = Forge(self._library, self.cache, codegen)
        return found

    def pool(self) -> Pool:
        if self._pool is None:
            self._pool = Pool(settings.runtime.threads, self.forge().library)
        return self._pool

    def bound(self, sink: UOp, variables: dict[str, int], report: Report) -> tuple[Schedule, Bound]:
        """The schedule of a normalised program, and the native program for these values of its variables."""
        with self.lock:
            forge = self.forge()
            schedule = forge.schedule(sink, report)
            return schedule, forge.bound(schedule, variables, self.pool(), report)


session = Session()


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


def _native(roots: Sequence[UOp], runs: bool) -> list[Buffer]:
    report = Report(settings.runtime.debug)
    ready = {root: memory(root) for root in roots if root.op is Ops.BUFFER}
    waiting = [root for root in dict.fromkeys(roots) if root not in ready]
    if waiting:
        sink, found = normalise(waiting)
        schedule, bound = session.bound(sink, found.variables, report)
        outputs = _run(schedule.recipe, bound, found, runs, report)
        ready |= {root: outputs[number] for root, number in zip(waiting, schedule.recipe.roots, strict=True)}
    return [ready[root] for root in roots]


def _run(recipe: Recipe, bound: Bound, found: Particulars, runs: bool, report: Report) -> list[Buffer]:
    outputs = [Buffer.allocate(size) for size in bound.outputs]
    inputs = [memory(found.buffers[slot]) for slot in recipe.inputs]
    arena = Buffer.allocate(bound.arena)
    words = (*(b.address for b in inputs), *(b.address for b in outputs), arena.address)
    if runs and report.level < 2:
        bound.program.run(*words)
    elif runs:
        _profiled(recipe, bound, words, found.variables, report)
    return outputs


class Runner:
    """A prepared program: give it the memory of its leaves, get the memory of its roots."""

    def __init__(self, roots: Sequence[UOp]) -> None:
        sink, found = normalise(roots)
        schedule, bound = session.bound(sink, found.variables, Report(settings.runtime.debug))
        self.leaves = [found.buffers[slot] for slot in schedule.recipe.inputs]
        self.arena = bound.arena
        self.sizes = bound.outputs
        self.roots = schedule.recipe.roots
        self.plain = self.roots == tuple(range(len(self.sizes)))
        self.execute = bound.program.run if settings.runtime.device == "CPU" else _nothing

    def run(self, inputs: Sequence[Buffer]) -> list[Buffer]:
        """Run once with these inputs."""
        made = [Buffer.allocate(size) for size in self.sizes]
        if self.arena:
            arena = Buffer.allocate(self.arena)
            self.execute(*[b.address for b in inputs], *[b.address for b in made], arena.address)
        else:
            self.execute(*[b.address for b in inputs], *[b.address for b in made], 0)
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
    return DeviceError(f"no device {device} here", wanted="CPU, PYTHON or NULL", fix="set DEVICE=CPU")


def _profiled(
    recipe: Recipe, bound: Bound, words: tuple[int, ...], variables: Mapping[str, int], report: Report
) -> None:
    """Run, and tell how long each kernel took; the launches of one kernel are one line."""
    times: dict[str, int] = {}
    for label, nanoseconds in zip(bound.program.labels, bound.program.profile(*words), strict=True):
        times[label] = times.get(label, 0) + nanoseconds
    for step in recipe.steps:
        flops, nbytes = evaluate(step.flops, variables), evaluate(step.nbytes, variables)
        report.ran(step.label, times[step.label], flops, nbytes)
