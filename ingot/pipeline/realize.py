"""Evaluation. In: program nodes. Out: their values in memory.

Normalise the graph, find or make its schedule, find or make the native program for its sizes, run it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import cast

import numpy as np

from ingot.errors import DeviceError
from ingot.ir import dtype as dt
from ingot.ir.interpret import interpret
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ops.lower import lower
from ingot.pipeline.buffers import memory
from ingot.pipeline.compiler import Compiler
from ingot.pipeline.report import Report
from ingot.pipeline.schedule import Bound, Schedule, bind, nbytes, normalise, schedule
from ingot.runtime.buffer import Buffer
from ingot.runtime.cache import ObjectCache
from ingot.runtime.pool import Pool
from ingot.settings import Codegen, settings
from ingot.target import host

KEPT_SCHEDULES = 4096


class Session:
    """What one process keeps: compiled kernels, threads and schedules."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.schedules: dict[UOp, Schedule] = {}
        self.compilers: dict[Codegen, Compiler] = {}
        self._pool: Pool | None = None
        self._cache: ObjectCache | None = None

    @property
    def cache(self) -> ObjectCache:
        if self._cache is None:
            runtime = settings.runtime
            self._cache = ObjectCache(runtime.cache_dir, runtime.cache_limit)
        return self._cache

    def compiler(self) -> Compiler:
        codegen = settings.codegen
        with self.lock:
            if codegen not in self.compilers:
                self.compilers[codegen] = Compiler(self.cache, host(), codegen)
            return self.compilers[codegen]

    def pool(self) -> Pool:
        with self.lock:
            if self._pool is None:
                self._pool = Pool(settings.runtime.threads, self.compiler().library)
            return self._pool

    def schedule(self, sink: UOp, report: Report) -> Schedule:
        """The schedule of a normalised graph."""
        with self.lock:
            found = self.schedules.get(sink)
            started = time.perf_counter()
            status = "cache hit"
            if found is None:
                status = "CACHE MISS"
                found = self.schedules[sink] = schedule(sink)
                if len(self.schedules) > KEPT_SCHEDULES:
                    self.schedules.pop(next(iter(self.schedules)))
        took = 1e3 * (time.perf_counter() - started)
        report.line(1, f"scheduled {len(found.steps)} kernels in {took:.2f} ms | {status}")
        return found

    def bound(self, plan: Schedule, variables: dict[str, int], report: Report) -> Bound:
        """The program for these values of the variables."""
        key = tuple(sorted(variables.items()))
        with self.lock:
            found = plan.programs.get(key)
            if found is None:
                found = plan.programs[key] = bind(plan, self.compiler(), self.pool(), variables, report)
        return found


session = Session()


def realize(roots: Sequence[UOp]) -> list[Buffer]:
    """Compute these nodes."""
    device = settings.runtime.device
    if device == "PYTHON":
        return [_interpreted(root) for root in roots]
    if device not in ("CPU", "NULL"):
        raise DeviceError(f"no device {device} here", wanted="CPU, PYTHON or NULL", fix="set DEVICE=CPU")
    return _native(roots, runs=device == "CPU")


def _native(roots: Sequence[UOp], runs: bool) -> list[Buffer]:
    report = Report(settings.runtime.debug)
    ready = {root: memory(root) for root in roots if root.op is Ops.BUFFER}
    waiting = [root for root in dict.fromkeys(roots) if root not in ready]
    if waiting:
        sink, leaves, variables = normalise(waiting)
        plan = session.schedule(sink, report)
        bound = session.bound(plan, variables, report)
        ready |= _run(plan, bound, waiting, leaves, runs, report)
    return [ready[root] for root in roots]


def _run(
    plan: Schedule, bound: Bound, roots: list[UOp], leaves: list[UOp], runs: bool, report: Report
) -> dict[UOp, Buffer]:
    made = [Buffer.allocate(size) for size in bound.outputs]
    inputs = [memory(leaves[slot]) for slot in bound.slots]
    arena = Buffer.allocate(bound.arena)
    if runs:
        words = (*(b.address for b in inputs), *(b.address for b in made), arena.address)
        if report.level >= 2:
            _profiled(bound, words, report)
        else:
            bound.program.run(*words)
    by_node = dict(zip(dict.fromkeys(plan.roots), made, strict=True))
    return {root: by_node[lowered] for root, lowered in zip(roots, plan.roots, strict=True)}


class Runner:
    """A prepared program: give it the memory of its leaves, get the memory of its roots."""

    def __init__(self, roots: Sequence[UOp]) -> None:
        report = Report(settings.runtime.debug)
        sink, leaves, variables = normalise(roots)
        self.bound = session.bound(session.schedule(sink, report), variables, report)
        self.leaves = [leaves[slot] for slot in self.bound.slots]
        self.arena = self.bound.arena
        self.sizes = self.bound.outputs
        self.execute = self.bound.program.run

    def run(self, inputs: Sequence[Buffer]) -> list[Buffer]:
        """Run once with these inputs."""
        made = [Buffer.allocate(size) for size in self.sizes]
        if self.arena:
            arena = Buffer.allocate(self.arena)
            self.execute(*[b.address for b in inputs], *[b.address for b in made], arena.address)
        else:
            self.execute(*[b.address for b in inputs], *[b.address for b in made], 0)
        return made


def prepare(roots: Sequence[UOp]) -> Runner:
    """Compile these nodes without running them."""
    return Runner(roots)


def _profiled(bound: Bound, words: tuple[int, ...], report: Report) -> None:
    times = bound.program.profile(*words)
    for label, ns in zip(bound.program.labels, times, strict=True):
        report.line(2, f"{label:24} {ns / 1e3:10.2f} us")


def _interpreted(root: UOp) -> Buffer:
    """The interpreter's value: what a program means."""
    _, _, variables = normalise([root])
    leaves = {u: _array(u) for u in root.toposort() if u.op is Ops.BUFFER}
    value = cast(np.ndarray, interpret(root, leaves, sizes=variables, lower=lower))
    made = Buffer.allocate(nbytes(root, variables))
    array = np.ascontiguousarray(value, dtype=dt.to_numpy(root.dtype))
    np.copyto(made.as_array(array.dtype, array.shape), array)
    return made


def _array(node: UOp) -> np.ndarray:
    shape = tuple(int(n) for n in node.shape if not isinstance(n, UOp))
    return memory(node).as_array(dt.to_numpy(node.dtype), shape)
