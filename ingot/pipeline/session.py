"""What one process keeps: recipes, members, programs, threads. In: normalised programs. Out: native programs for them.

Everything is looked for in memory, then on disk, and then made by the compiler, which is loaded at that moment.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ingot.ir.node import UOp
from ingot.pipeline.bind import Bound, bind
from ingot.pipeline.host import Number
from ingot.pipeline.late import Late
from ingot.pipeline.member import Launch, Member
from ingot.pipeline.recipe import Recipe, Use
from ingot.pipeline.report import Report
from ingot.pipeline.store import Store
from ingot.runtime.cache import ObjectCache
from ingot.runtime.library import Library
from ingot.runtime.pool import Pool
from ingot.settings import Codegen, settings
from ingot.target import host, load_costs

if TYPE_CHECKING:
    from ingot.pipeline.compiler import Compiler
    from ingot.schedule.family import Family

KEPT_SCHEDULES = 4096
KEPT_PROGRAMS = 256  # of one schedule, for different values of its variables

_compiler: Late[type[Compiler]] = Late("ingot.pipeline.compiler:Compiler")


class Schedule:
    """A recipe, the program that it is of, native programs by values of variables, families once they are needed."""

    __slots__ = ("families", "programs", "recipe", "sink")

    def __init__(
        self, sink: UOp, recipe: Recipe, families: dict[str, Family]
    ) -> None:
        self.sink = sink
        self.recipe = recipe
        self.families = families
        self.programs: dict[tuple[tuple[str, int], ...], Bound] = {}


class Forge:
    """What was made for one set of code settings: schedules, members of families; the compiler once it is needed."""

    def __init__(
        self, library: Library, cache: ObjectCache, codegen: Codegen
    ) -> None:
        self.library = library
        self.codegen = codegen
        self.costs = load_costs(settings.runtime.cache_dir, library.target)
        self.store = Store(cache, library.target, codegen, self.costs)
        self.schedules: dict[UOp, Schedule] = {}
        self.members: dict[str, list[Member]] = {}
        self.compiled = 0  # kernels
        self._compiler: Compiler | None = None

    def compiler(self) -> Compiler:
        if self._compiler is None:
            self._compiler = _compiler()(self.library, self.codegen, self.costs)
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
            found = (
                Schedule(sink, recipe, {})
                if recipe is not None
                else self._new_schedule(sink, key, report)
            )
            self.schedules[sink] = found
            if len(self.schedules) > KEPT_SCHEDULES:
                self.schedules.pop(next(iter(self.schedules)))
        report.scheduled(
            found.recipe.kernels(), time.perf_counter() - started, hit, key[:12]
        )
        return found

    def _new_schedule(self, sink: UOp, key: str, report: Report) -> Schedule:
        recipe, families = self.compiler().schedule(sink, report)
        self.store.keep_recipe(key, recipe)
        return Schedule(sink, recipe, families)

    def bound(
        self,
        schedule: Schedule,
        variables: dict[str, int],
        pool: Callable[[], Pool],
        report: Report,
    ) -> Bound:
        """The program for these values of the variables; all its kernels are written before the first is asked for."""
        key = tuple(sorted(variables.items()))
        found = schedule.programs.get(key)
        if found is None:

            def find(use: Use, label: str, names: Mapping[str, Number]) -> Member:
                known = self._known(use.family, names)
                return known or self._compile(schedule, use, label, names, report)

            found = schedule.programs[key] = bind(
                schedule.recipe, variables, find, self.address, pool
            )
            if len(schedule.programs) > KEPT_PROGRAMS:
                schedule.programs.pop(next(iter(schedule.programs)))
        return found

    def _known(self, family: str, names: Mapping[str, Number]) -> Member | None:
        """A member of the family whose guards hold: met before, or described on disk."""
        known = self.members.setdefault(family, [])
        found = _fitting(known, names)
        if found is None:
            found = self._from_disk(family, names)
            if found is not None:
                known.append(found)
        return found

    def _compile(
        self,
        schedule: Schedule,
        use: Use,
        label: str,
        names: Mapping[str, Number],
        report: Report,
    ) -> Member:
        family = self._family(schedule, use.family, report)
        made = self.compiler().member(family, label, names, report)
        self.compiled += 1
        self.store.keep_member(use.family, made)
        self.members[use.family].append(made)
        return made

    def _from_disk(self, family: str, names: Mapping[str, Number]) -> Member | None:
        if _afresh():
            return None
        usable = [
            m
            for m in self.store.members(family)
            if all(self.library.knows(x.module) for x in m.launches)
        ]
        return _fitting(usable, names)

    def _family(self, schedule: Schedule, digest: str, report: Report) -> Family:
        if not schedule.families:
            _, schedule.families = self.compiler().schedule(schedule.sink, report)
        return schedule.families[digest]

    def address(self, launch: Launch) -> int:
        """Where the function of a launch lies."""
        return self.library.functions(launch.module, _never)[launch.function]


def _fitting(
    members: Sequence[Member], names: Mapping[str, Number]
) -> Member | None:
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
        # Called with everything that is evaluated, before it is.
        self.watch: Callable[[Sequence[UOp]], None] | None = None
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

    @property
    def has_pool(self) -> bool:
        return self._pool is not None

    def pool(self) -> Pool:
        if self._pool is None:
            self._pool = Pool(settings.runtime.threads, self.forge().library)
        return self._pool

    def bound(
        self, sink: UOp, variables: dict[str, int], report: Report
    ) -> tuple[Schedule, Bound]:
        """The schedule of a normalised program, and the native program for these values of its variables."""
        with self.lock:
            forge = self.forge()
            schedule = forge.schedule(sink, report)
            return schedule, forge.bound(schedule, variables, self.pool, report)


session = Session()
