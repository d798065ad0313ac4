"""The compiler proper: a family's kernel to machine code. In: a kernel and its sizes here. Out: a Member that fits them.

Looked for in this order: members met in this process, members described on disk, and the compiler itself.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import ingot
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.text import text, tree_text
from ingot.kernel.decompose import decompose
from ingot.kernel.heuristic import choose
from ingot.kernel.nest import Kernel
from ingot.kernel.tree import Built, build
from ingot.pipeline.host import Number
from ingot.pipeline.member import Launch, Member, describe, member_from_text, size_names
from ingot.pipeline.report import Report
from ingot.render.llvm import render
from ingot.runtime.cache import ObjectCache
from ingot.runtime.library import Library
from ingot.settings import Codegen
from ingot.target import Target


class Compiler:
    """Compiled kernels of one target."""

    def __init__(self, cache: ObjectCache, target: Target, codegen: Codegen) -> None:
        self.cache = cache
        self.target = target
        self.codegen = codegen
        self.library = Library(cache, target)
        self.members: dict[tuple[object, ...], list[Member]] = {}
        self.lock = threading.RLock()
        self.compiled = 0

    def member(self, kernel: Kernel, values: Mapping[UOp, Number], report: Report) -> Member:
        """A member of the kernel's family that may run with these values."""
        names = size_names(values)
        key = structure(kernel)
        with self.lock:
            known = self.members.setdefault(key, [])
            found = next((m for m in known if m.fits(names)), None)
            if found is None:
                found = self._from_disk(kernel, known, names) or self._compile(kernel, values, report)
                known.append(found)
        return found

    def _digest(self, kernel: Kernel) -> str:
        parts = (kernel_text(kernel), self.codegen.key(), self.target.key(), source_digest(), ingot.__version__)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _from_disk(self, kernel: Kernel, known: list[Member], names: Mapping[str, Number]) -> Member | None:
        data = self.cache.get(self._digest(kernel))
        if data is None:
            return None
        for line in data.decode().splitlines():
            member = member_from_text(line)
            if member not in known and member.fits(names) and all(self.library.knows(x.module) for x in member.launches):
                return member
        return None

    def _compile(self, kernel: Kernel, values: Mapping[UOp, Number], report: Report) -> Member:
        started = time.perf_counter()
        hints = {v: int(n) for v, n in values.items() if v.dtype is dt.index}
        plan = choose(kernel, hints, self.target, self.codegen.noopt)
        moved = time.perf_counter()
        built = build(plan.kernel)
        treed = time.perf_counter()
        sources = [render(decompose(k), self.target) for k in built.launches]
        rendered = time.perf_counter()
        modules = [hashlib.sha256(f"{self.target.key()}\n{s}".encode()).hexdigest() for s in sources]
        for module, source in zip(modules, sources, strict=True):
            self.library.functions(module, lambda source=source: source)
        marks = (started, moved, treed, rendered, time.perf_counter())
        report.compiled(kernel, plan, built, sources, marks, self.target)
        self.compiled += 1
        member = describe(modules, plan, built)
        self._remember(kernel, member)
        return member

    def _remember(self, kernel: Kernel, member: Member) -> None:
        key = self._digest(kernel)
        old = self.cache.get(key)
        lines = old.decode().splitlines() if old else []
        self.cache.put(key, "\n".join((member.text(), *lines)).encode())

    def address(self, launch: Launch) -> int:
        """Where the function of a launch lies."""
        return self.library.functions(launch.module, _never)[launch.function]


def _never() -> str:
    raise AssertionError("a member's module is compiled before it is used")


def structure(kernel: Kernel) -> tuple[object, ...]:
    """What makes two kernels the same family: nests and loops without names of sizes' values."""
    nests = tuple((n.loops, n.dims, n.body) for n in kernel.nests)
    loops = tuple((a, lp.extent) for a, lp in kernel.loops.items())
    return nests, loops, kernel.params


def kernel_text(kernel: Kernel) -> str:
    """The structure as text, the same in every process."""
    expressions = [e for n in kernel.nests for e in n.expressions()]
    combines = [c for n in kernel.nests for c in getattr(n.body, "combines", ())]
    extents = [lp.extent for lp in kernel.loops.values()]
    shape = [(n.loops, n.dims, n.reduced, type(n.body).__name__) for n in kernel.nests]
    sink = UOp(Ops.SINK, dt.void, (*expressions, *combines, *extents, *kernel.params))
    return f"{text(sink)}\n{shape}\n{list(kernel.loops)}"


@lru_cache(maxsize=1)
def source_digest() -> str:
    """The code that generates code: a change there makes every cached object stale."""
    package = Path(ingot.__file__).parent
    total = hashlib.sha256()
    for folder in ("ir", "kernel", "render"):
        for path in sorted((package / folder).glob("*.py")):
            total.update(path.read_bytes())
    return total.hexdigest()


def trees(built: Built) -> str:
    """The loop trees as readable text."""
    return "\n".join(tree_text(k) for k in built.launches)


