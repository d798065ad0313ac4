"""The compiler proper: programs to recipes, families to members. In: what was not found anywhere. Out: both.

Loaded by the first program that needs it (late.py). All it does with a graph it does through the table in stages.py.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

from ingot.errors import CompileError
from ingot.ir.node import UOp
from ingot.ir.opcode import KernelArg, Ops, ParamArg, VarArg
from ingot.ir.shape import product
from ingot.ir.spec import watch_construction
from ingot.kernel.launches import Built
from ingot.kernel.nest import Kernel, Reduce, Store
from ingot.kernel.plan import Plan
from ingot.ops.lower import origin
from ingot.pipeline import stages
from ingot.pipeline.host import Number, source
from ingot.pipeline.member import Launch, Member
from ingot.pipeline.recipe import Recipe, Step, Use, Value
from ingot.pipeline.report import Report
from ingot.render import c
from ingot.runtime.library import Library
from ingot.runtime.objects import assembly
from ingot.schedule.estimate import estimate
from ingot.schedule.family import Family
from ingot.schedule.fuse import Fusion
from ingot.schedule.label import label
from ingot.schedule.nests import Draft
from ingot.schedule.prices import prices_of
from ingot.settings import Codegen, settings
from ingot.target import Costs


class Compiler:
    """Makes recipes and members for one target."""

    def __init__(self, library: Library, codegen: Codegen, costs: Costs) -> None:
        self.library = library
        self.target = library.target
        self.codegen = codegen
        self.prices = prices_of(costs)
        if settings.runtime.spec >= 2:
            watch_construction(True)

    def schedule(
        self, sink: UOp, report: Report
    ) -> tuple[Recipe, dict[str, Family]]:
        """The recipe of a program, and its families by digest."""
        work = stages.Work(self.target, self.codegen, prices=self.prices)
        fusion = stages.fused(sink, work)
        recipe, families = _Writing(fusion, work).run()
        report.line(2, f"scheduled: {times(work)}")
        return recipe, families

    def member(
        self, made: Family, name: str, names: Mapping[str, Number], report: Report
    ) -> Member:
        """A member of the family that may run with these sizes and scalars."""
        values = {v: names[cast(VarArg, v.arg).name] for v in made.values}
        work = stages.Work(self.target, self.codegen)
        forged = stages.forged(Family(made.kernel, dict(values)), work)
        started = time.perf_counter()
        modules = [
            hashlib.sha256(f"{self.target.key()}\n{text}".encode()).hexdigest()
            for text in forged.sources
        ]
        for module, text in zip(modules, forged.sources, strict=True):
            self.library.functions(module, partial(str, text))
        work.seconds["object"] = time.perf_counter() - started
        self._tell(forged, name, work, report)
        member = describe(modules, forged.plan, forged.built)
        if not member.fits(names):
            problem = f"{name}: the moves made for {dict(names)} do not allow it"
            raise CompileError(problem, given=f"guards {member.guards}")
        return member

    def _tell(
        self, forged: stages.Forged, name: str, work: stages.Work, report: Report
    ) -> None:
        """What DEBUG shows of a compiled kernel; what is not shown is not written."""
        function = cast(KernelArg, forged.built.launches[0].arg).name
        report.line(2, f"compiled {name} as {function}: {times(work)}")
        report.lines(3, lambda: stages.MOVES.text(forged.plan).splitlines())
        report.lines(
            4,
            lambda: [
                c.render(launch, self.target) for launch in forged.simple.launches
            ],
        )
        report.lines(5, lambda: [stages.TREE.text(forged.built)])
        report.lines(6, lambda: forged.sources)
        report.lines(
            7, lambda: [assembly(text, self.target) for text in forged.sources]
        )


def times(work: stages.Work) -> str:
    return (
        ", ".join(
            f"{name} {1e3 * seconds:.1f}" for name, seconds in work.seconds.items()
        )
        + " ms"
    )


# --- recipes ----------------------------------------------------------------------------------------------------------


class _Writing:
    """A fusion as text. Drafts that share a kernel are lifted, priced and written once."""

    def __init__(self, fusion: Fusion, work: stages.Work) -> None:
        self.fusion = fusion
        self.work = work
        self.numbers: dict[
            int, int
        ] = {}  # a draft's kernel, by identity -> number of its use
        self.uses: list[Use] = []
        self.families: dict[str, Family] = {}
        self.names: dict[object, str] = {}
        self.labels: dict[str, int] = {}

    def run(self) -> tuple[Recipe, dict[str, Family]]:
        used = dict.fromkeys(
            u for draft in self.fusion.drafts for u in draft.buffers
        )
        inputs = sorted((u for u in used if u.op is Ops.PARAM), key=_slot)
        outputs = {u: n for n, u in enumerate(dict.fromkeys(self.fusion.roots))}
        between = [u for u in used if u.op is not Ops.PARAM and u not in outputs]
        numbers = {u: n for n, u in enumerate((*inputs, *outputs, *between))}
        steps = tuple(self._step(draft, numbers) for draft in self.fusion.drafts)
        roots = tuple(outputs[root] for root in self.fusion.roots)
        slots = tuple(map(_slot, inputs))
        sizes = [tuple(map(nbytes, nodes)) for nodes in (outputs, between)]
        return Recipe(
            slots, sizes[0], sizes[1], roots, tuple(self.uses), steps
        ), self.families

    def _step(self, draft: Draft, numbers: Mapping[UOp, int]) -> Step:
        number = self.numbers.get(id(draft.kernel))
        if number is None:
            number = self.numbers[id(draft.kernel)] = len(self.uses)
            self.uses.append(self._use(draft))
        return Step(
            self._label(draft, number),
            number,
            tuple([numbers[u] for u in draft.buffers]),
        )

    def _use(self, draft: Draft) -> Use:
        made = stages.FAMILY(draft, self.work)
        key = digest(made.kernel)
        self.families.setdefault(key, made)
        values = tuple(
            _value(variable, value) for variable, value in made.values.items()
        )
        costs = estimate(draft)
        return Use(
            key,
            values,
            *map(source, (costs.nanoseconds, costs.flops, costs.nbytes)),
        )

    def _label(self, draft: Draft, number: int) -> str:
        """Two kernels of one program that compute the same ops are told apart by a number."""
        output = draft.outputs[0]
        key = (number, origin(output))
        if key not in self.names:
            self.names[key] = label(output, self.fusion.reasons)
        name = self.names[key]
        count = self.labels[name] = self.labels.get(name, 0) + 1
        return name if count == 1 else f"{name}_{count}"


def _slot(param: UOp) -> int:
    return cast(ParamArg, param.arg).slot


def _value(variable: UOp, value: int | float | UOp) -> Value:
    written = source(value) if isinstance(value, UOp) else value
    return Value(cast(VarArg, variable.arg).name, variable.dtype.name, written)


def nbytes(node: UOp) -> str:
    """The bytes of a node's value, as Python over the program's variables."""
    size = product(node.shape)
    total = size * node.dtype.itemsize
    return str(total) if isinstance(total, int) else source(total.simplify())


# --- families and members ---------------------------------------------------------------------------------------------


def digest(kernel: Kernel) -> str:
    """What makes two kernels the same family, in every process: loops and nests, and no name."""
    total = hashlib.blake2b(digest_size=20)
    for nest in kernel.nests:
        kind = type(nest.body).__name__
        total.update(
            f"{kind} {nest.loops} {nest.dims} {nest.reduced} {len(nest.expressions())};".encode()
        )
        for node in (*nest.expressions(), *nest.conditions, *_memory(nest.body)):
            total.update(node.digest)
    for axis, loop in kernel.loops.items():
        total.update(f"loop {axis} {loop.kind};".encode() + loop.extent.digest)
    for param in kernel.params:
        total.update(param.digest)
    return total.hexdigest()


def _memory(body: object) -> tuple[UOp, ...]:
    """What `expressions` leaves out of a body."""
    if isinstance(body, Store):
        return (body.buffer,)
    return body.combines if isinstance(body, Reduce) else ()


def describe(modules: Sequence[str], plan: Plan, built: Built) -> Member:
    """What the binder must know of a built kernel; `modules` are the keys of its objects, one per launch."""
    first = cast(KernelArg, built.launches[0].arg)
    extra = tuple(
        (cast(VarArg, v.arg).name, source(e)) for v, e in plan.extra.items()
    )
    launches = (
        _launch(m, cast(KernelArg, k.arg))
        for m, k in zip(modules, built.launches, strict=True)
    )
    return Member(
        tuple(source(g) for g in plan.guards),
        extra,
        tuple(cast(VarArg, s.arg).name for s in first.sizes),
        tuple((t.itemsize, source(n)) for t, n in built.temporaries),
        tuple(launches),
    )


def _launch(module: str, arg: KernelArg) -> Launch:
    return Launch(module, arg.name, source(arg.chunks), source(arg.scratch))
