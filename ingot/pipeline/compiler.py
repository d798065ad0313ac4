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
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import KernelArg, Ops, ParamArg, VarArg
from ingot.ir.spec import watch_construction
from ingot.kernel.launches import Built
from ingot.kernel.nest import Kernel, Prefix, Reduce, Store
from ingot.kernel.plan import Plan
from ingot.kernel.skeleton.form import Skeleton
from ingot.ops.lower import origin
from ingot.pipeline import effects, stages
from ingot.pipeline.host import Number, source
from ingot.pipeline.member import Launch, Member
from ingot.pipeline.recipe import AnyStep, Recipe, Step, Use, Value
from ingot.pipeline.report import Report
from ingot.runtime.library import Library
from ingot.runtime.objects import assembly
from ingot.schedule.estimate import estimate
from ingot.schedule.family import Family
from ingot.schedule.fuse import Effect, Fusion
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
                stages.RENDERERS["c"](launch, self.target)
                for launch in forged.simple.launches
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

    def __init__(
        self,
        fusion: Fusion,
        work: stages.Work,
        families: dict[str, Family] | None = None,
    ) -> None:
        self.fusion = fusion
        self.work = work
        self.numbers: dict[
            int, int
        ] = {}  # a draft's kernel, by identity -> number of its use
        self.uses: list[Use] = []
        self.families = {} if families is None else families
        self.names: dict[object, str] = {}
        self.labels: dict[str, int] = {}
        self.bodies: dict[int, int] = {}  # a body, by identity -> its number
        self.recipes: list[Recipe] = []

    def run(self) -> tuple[Recipe, dict[str, Family]]:
        used = dict.fromkeys(
            u for step in self.fusion.steps for u in _buffers(step)
        )
        inputs = sorted((u for u in used if u.op is Ops.PARAM), key=_slot)
        outputs = {u: n for n, u in enumerate(dict.fromkeys(self.fusion.roots))}
        between = [u for u in used if u.op is not Ops.PARAM and u not in outputs]
        numbers = {u: n for n, u in enumerate((*inputs, *outputs, *between))}
        steps = tuple(self._any_step(step, numbers) for step in self.fusion.steps)
        roots = tuple(outputs[root] for root in self.fusion.roots)
        slots = tuple(map(_slot, inputs))
        sizes = [tuple(map(nbytes, nodes)) for nodes in (outputs, between)]
        made = Recipe(
            slots,
            sizes[0],
            sizes[1],
            roots,
            tuple(self.uses),
            steps,
            tuple(self.recipes),
        )
        return made, self.families

    def _any_step(self, step: Draft | Effect, numbers: dict[UOp, int]) -> AnyStep:
        if isinstance(step, Draft):
            return self._step(step, numbers)
        label_ = self._apart(effects.name(step))
        return effects.written(step, label_, numbers, self._body)

    def _body(self, fusion: Fusion) -> int:
        """The number of a body's recipe."""
        number = self.bodies.get(id(fusion))
        if number is None:
            made, _ = _Writing(fusion, self.work, self.families).run()
            number = self.bodies[id(fusion)] = len(self.recipes)
            self.recipes.append(made)
        return number

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
        output = draft.outputs[0]
        key = (number, origin(output))
        if key not in self.names:
            self.names[key] = label(output, self.fusion.reasons)
        return self._apart(self.names[key])

    def _apart(self, name: str) -> str:
        """Two steps of one program with the same name are told apart by a number."""
        count = self.labels[name] = self.labels.get(name, 0) + 1
        return name if count == 1 else f"{name}_{count}"


def _buffers(step: Draft | Effect) -> Sequence[UOp]:
    return step.buffers if isinstance(step, Draft) else effects.buffers(step)


def _slot(param: UOp) -> int:
    return cast(ParamArg, param.arg).slot


def _value(variable: UOp, value: int | float | UOp) -> Value:
    written = source(value) if isinstance(value, UOp) else value
    return Value(cast(VarArg, variable.arg).name, variable.dtype.name, written)


def nbytes(node: UOp) -> str:
    """The bytes of a node's value, as Python over the program's variables."""
    return effects.nbytes((node.dtype, node.shape))


# --- families and members ---------------------------------------------------------------------------------------------


def digest(kernel: Kernel) -> str:
    """What makes two kernels the same family, in every process: loops and nests, and no name."""
    total = hashlib.blake2b(digest_size=20)
    if isinstance(kernel, Skeleton):
        total.update(kernel.text().encode())
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
    if isinstance(body, Prefix):
        return *body.combines, *body.buffers, UOp.const(dt.boolean, body.reverse)
    return body.combines if isinstance(body, Reduce) else ()


def describe(modules: Sequence[str], plan: Plan, built: Built) -> Member:
    """What the binder must know of a built kernel; `modules` are the keys of its objects, one per launch."""
    first = cast(KernelArg, built.launches[0].arg)
    extra = tuple(
        (cast(VarArg, v.arg).name, source(e)) for v, e in plan.extra.items()
    )
    launches = (
        _launch(module, kernel)
        for module, kernel in zip(modules, built.launches, strict=True)
    )
    return Member(
        tuple(source(g) for g in plan.guards),
        extra,
        tuple(cast(VarArg, s.arg).name for s in first.sizes),
        tuple((t.itemsize, source(n)) for t, n in built.temporaries),
        tuple(launches),
    )


def _launch(module: str, kernel: UOp) -> Launch:
    arg = cast(KernelArg, kernel.arg)
    nodes = kernel.toposort()
    written = [
        target.src[0]
        for u in nodes
        for target in (u, *(u.src if u.op is Ops.FOLD else ()))
        if target.op is Ops.STORE or (u.op is Ops.FOLD and target.op is Ops.LOAD)
    ]
    return Launch(
        module,
        arg.name,
        source(arg.chunks),
        source(arg.scratch),
        tuple(sorted(_slot(u) for u in nodes if u.op is Ops.PARAM)),
        tuple(sorted({_slot(u) for u in written if u.op is Ops.PARAM})),
    )
