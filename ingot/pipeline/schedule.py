"""Schedules: a program graph as commands. In: roots with numbered leaves. Out: a Schedule that can run with any buffers.

A schedule knows sizes, kernels and memory, but no buffer: leaves are PARAM slots. It is kept by structure, so the same
program over other buffers, or with other values of its variables, is found again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, ParamArg
from ingot.ir.rewrite import substitute
from ingot.ir.shape import product
from ingot.kernel.nest import Kernel
from ingot.ops.lower import lower_all
from ingot.pipeline.compiler import Compiler
from ingot.pipeline.host import Number, evaluate, source
from ingot.pipeline.member import Member, size_names
from ingot.pipeline.report import Report
from ingot.runtime.pool import Pool
from ingot.runtime.program import Operand, Program, ProgramBuilder, Slot
from ingot.schedule.family import Family, family
from ingot.schedule.fuse import Fusion, fuse
from ingot.schedule.memory import Interval, arrange


@dataclass(slots=True)
class Step:
    """One kernel: its family and the nodes behind its buffer arguments."""

    family: Family
    buffers: tuple[UOp, ...]
    label: str


@dataclass(slots=True)
class Schedule:
    """Kernels in order; `programs` holds the native program for each set of variable values."""

    roots: tuple[UOp, ...]
    fusion: Fusion
    steps: list[Step]
    programs: dict[tuple[tuple[str, int], ...], Bound] = field(default_factory=dict)


@dataclass(slots=True)
class Bound:
    """A program with its sizes: what to allocate for each root and for the arena."""

    program: Program
    outputs: tuple[int, ...]
    arena: int
    slots: tuple[int, ...]  # which leaves are read, in slot order


def schedule(sink: UOp) -> Schedule:
    """Lower, fuse and draft a normalised graph."""
    lowered = lower_all(sink)
    fusion = fuse(lowered.src)
    steps = [Step(family(d), d.buffers, _label(d.kernel)) for d in fusion.drafts]
    return Schedule(lowered.src, fusion, steps)


def _label(kernel: Kernel) -> str:
    return kernel.name


def nbytes(node: UOp, variables: Mapping[str, Number]) -> int:
    """How large a node's value is."""
    size = product(node.shape)
    elements = size if isinstance(size, int) else evaluate(source(size), variables)
    return elements * node.dtype.itemsize


def bind(plan: Schedule, compiler: Compiler, pool: Pool, variables: Mapping[str, int], report: Report) -> Bound:
    """Sizes are known: choose members, lay out memory, write the commands."""
    return _Binding(plan, compiler, variables, report).run(pool)


class _Binding:
    def __init__(self, plan: Schedule, compiler: Compiler, variables: Mapping[str, int], report: Report) -> None:
        self.plan = plan
        self.compiler = compiler
        self.variables = variables
        self.report = report
        self.builder = ProgramBuilder()
        self.place: dict[UOp, Operand] = {}

    def run(self, pool: Pool) -> Bound:
        leaves = self._leaves()
        self.place = {leaf: self.builder.slot() for leaf in leaves}
        outputs = {root: self.builder.slot() for root in dict.fromkeys(self.plan.roots)}
        self.place |= outputs
        chosen = [self._member(step) for step in self.plan.steps]
        arena = self._arena(chosen, self.builder.slot())
        for number, (step, (member, names)) in enumerate(zip(self.plan.steps, chosen, strict=True)):
            self._emit(number, step, member, names)
        sizes = tuple(nbytes(root, self.variables) for root in outputs)
        slots = tuple(cast(ParamArg, leaf.arg).slot for leaf in leaves)
        return Bound(self.builder.finish(pool), sizes, arena, slots)

    def _leaves(self) -> list[UOp]:
        found = {u for step in self.plan.steps for u in step.buffers if u.op is Ops.PARAM}
        return sorted(found, key=lambda u: cast(ParamArg, u.arg).slot)

    def _member(self, step: Step) -> tuple[Member, dict[str, Number]]:
        values = {v: self._number(n) for v, n in step.family.values.items()}
        names = size_names(values)
        member = self.compiler.member(step.family.kernel, values, self.report)
        for name, text in member.extra:
            names[name] = evaluate(text, names)
        return member, names

    def _number(self, value: Number | UOp) -> Number:
        return evaluate(source(value), self.variables) if isinstance(value, UOp) else value

    def _arena(self, chosen: Sequence[tuple[Member, Mapping[str, Number]]], base: Slot) -> int:
        """Intermediate values and temporaries share one block; what is dead makes room."""
        intervals: dict[object, Interval] = {}
        for number, (step, (member, names)) in enumerate(zip(self.plan.steps, chosen, strict=True)):
            for node in step.buffers:
                if node not in self.place:
                    old = intervals.get(node)
                    first = old.first if old else number
                    intervals[node] = Interval(first, number, nbytes(node, self.variables))
            for slot, (width, count) in enumerate(member.temporaries):
                intervals[(number, slot)] = Interval(number, number, width * evaluate(count, names))
        offsets, size = arrange(intervals)
        self.offsets = {key: base + offset for key, offset in offsets.items()}
        return size

    def _emit(self, number: int, step: Step, member: Member, names: Mapping[str, Number]) -> None:
        pointers = [self.place[u] if u in self.place else self.offsets[u] for u in step.buffers]
        pointers += [self.offsets[(number, slot)] for slot in range(len(member.temporaries))]
        words = [word(step.family, name, names[name]) for name in member.arguments]
        cost = estimate(step.family.kernel, names)
        for launch in member.launches:
            self.builder.run(
                self.compiler.address(launch),
                [*pointers, *words],
                chunks=evaluate(launch.chunks, names),
                scratch=evaluate(launch.scratch, names),
                cost_ns=cost,
                label=step.label,
            )


def word(owner: Family, name: str, value: Number) -> int:
    """A scalar argument as the 64 bits that the kernel reads."""
    for variable in owner.values:
        if variable.arg.name == name and variable.dtype.is_float:  # type: ignore[union-attr]
            return dt.to_bits(variable.dtype, float(value))
    return int(value)


def estimate(kernel: Kernel, names: Mapping[str, Number]) -> int:
    """About how many nanoseconds one thread needs: decides whether waking others pays."""
    most = 0.0
    for nest in kernel.nests:
        steps = 1.0
        for axis in nest.loops:
            steps *= evaluate(source(kernel.loops[axis].extent), names)
        most = max(most, steps * (0.015 if len(nest.loops) > 2 and nest.reduced else 0.25))
    return int(most)


def normalise(roots: Sequence[UOp]) -> tuple[UOp, list[UOp], dict[str, int]]:
    """The graph with numbered leaves and without bound values: (sink, buffers by slot, variable values)."""
    sink = UOp(Ops.SINK, dt.void, tuple(roots))
    buffers: list[UOp] = []
    variables: dict[str, int] = {}
    mapping: dict[UOp, UOp] = {}
    for node in sink.toposort():
        if node.op is Ops.BUFFER:
            mapping[node] = UOp(Ops.PARAM, node.dtype, node.src, ParamArg(len(buffers)))
            buffers.append(node)
        elif node.op is Ops.BIND:
            variable, value = node.unbind()
            mapping[node] = variable
            variables[variable.arg.name] = value  # type: ignore[union-attr]
    return substitute(sink, mapping), buffers, variables


