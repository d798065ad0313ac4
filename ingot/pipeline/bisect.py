"""Where do the numbers first change? In: a program. Out: the first stage that computes something else, and why.

Every level runs: the program as its ops' own references say, by the interpreter, lowered, as plain nests, after each
move, as loop trees, decomposed, and as machine code. Each kernel is given the right inputs, so the first wrong output
is the fault of the step that was just taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from ingot.errors import IngotError, KernelFault
from ingot.ir import dtype as dt
from ingot.ir.interpret import interpret
from ingot.ir.match_stats import last_rule
from ingot.ir.node import UOp
from ingot.ir.opcode import OpArg, Ops, ParamArg, ScanArg, VarArg
from ingot.ir.region import shallow
from ingot.ir.text import type_text
from ingot.kernel.launches import Built
from ingot.kernel.nest import Kernel
from ingot.kernel.tree import build
from ingot.ops.lower import describe, lower
from ingot.ops.op import find
from ingot.pipeline import effects, probe, stages
from ingot.pipeline.compare import Array, difference, wide
from ingot.pipeline.host import Number, evaluate, source
from ingot.pipeline.normalise import normalise
from ingot.pipeline.reference import array, numbers
from ingot.pipeline.report import Report
from ingot.pipeline.run_from import run_sources, run_trees
from ingot.pipeline.session import Forge
from ingot.runtime.buffer import Buffer
from ingot.runtime.cache import ObjectCache
from ingot.runtime.library import Library
from ingot.runtime.pool import Pool
from ingot.schedule.fuse import Effect, Fusion
from ingot.schedule.label import label
from ingot.schedule.nests import Draft
from ingot.settings import settings
from ingot.target import host

Progress = Callable[[str], None]
Sizes = Mapping[str, Number]

# A kernel in the middle of its moves need not be one that can be built; that is no fault.
_HALFWAY = (IngotError, AssertionError, KeyError, IndexError, StopIteration)


@dataclass(frozen=True, slots=True)
class Finding:
    """The first wrong step."""

    stage: str
    kernel: str  # its name, "" where the whole program is meant
    culprit: str  # the op, the move or the operation
    node: str  # what is computed wrongly
    how: str  # which element, or which fault
    rules: tuple[str, ...] = ()  # rewrite rules that had a part in it

    def __str__(self) -> str:
        rows = [
            ("stage", self.stage),
            ("kernel", self.kernel),
            ("step", self.culprit),
            ("node", self.node),
        ]
        rows += [("wrong", self.how), *(("rule", rule) for rule in self.rules)]
        return "\n".join(f"{name:8}{value}" for name, value in rows if value)


class Wrong(Exception):
    """Carries the finding out of the levels."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding


def bisect(
    roots: Sequence[UOp],
    progress: Progress = lambda line: None,
    replaced: Mapping[str, str] | None = None,
) -> Finding | None:
    """The first wrong step of evaluating these nodes, or None if every level agrees."""
    with settings.override(spec=1), np.errstate(all="ignore"):
        try:
            _Bisection(roots, progress, replaced or {}).run()
        except Wrong as wrong:
            return wrong.finding
    return None


class _Bisection:
    def __init__(
        self, roots: Sequence[UOp], progress: Progress, replaced: Mapping[str, str]
    ) -> None:
        self.sink, found = normalise(roots)
        self.progress = progress
        self.variables = found.variables
        self.arrays = [array(buffer, found.variables) for buffer in found.buffers]
        # Nothing is taken from the disk, or left there: what is wrong now may have been right when it was stored.
        self.library = Library(ObjectCache(None, 0), host())
        self.pool = Pool(1, self.library)
        self.work = stages.Work(
            host(), settings.codegen, sizes=found.variables, replaced=replaced
        )

    def run(self) -> None:
        try:
            wanted = self._program()
            fusion = stages.FUSE(self._lowered(wanted), self.work)
            self._kernels(fusion, self.arrays)
            self._whole(wanted)
        finally:
            self.pool.close()

    def interpret(
        self, nodes: Sequence[UOp], arrays: Sequence[Array] | None = None
    ) -> dict[UOp, Array]:
        """The values of nodes over the program's parameters, or over those of a body."""
        sink = UOp(Ops.SINK, dt.void, tuple(dict.fromkeys(nodes)))
        given = self.arrays if arrays is None else arrays
        params = {
            u: given[cast(ParamArg, u.arg).slot]
            for u in shallow(sink)
            if u.op is Ops.PARAM
        }
        values = interpret(sink, params, sizes=self.variables, lower=lower)
        return dict(zip(sink.src, cast(tuple[Array, ...], values), strict=True))

    def _kernels(self, fusion: Fusion, arrays: Sequence[Array]) -> None:
        """The kernels of a program or a body over these parameters, one by one; of a loop, those of its first turn."""
        regions = [
            step
            for step in fusion.steps
            if isinstance(step, Effect) and step.bodies
        ]
        given = [u for step in regions for u in effects.arguments(step)]
        buffers = [u for draft in fusion.drafts for u in draft.buffers]
        memory = self.interpret([*buffers, *given], arrays)
        for draft in fusion.drafts:
            _OneKernel(self, fusion, draft, memory).run()
        for step in regions:
            values = _first_turn(step, memory)
            for body in step.bodies if values is not None else ():
                self._kernels(body, values or [])

    # --- the program --------------------------------------------------------------------------------------------------

    def _program(self) -> list[Array]:
        """Every op of the program is what its own reference says; then the program's values are right."""
        self.progress("program: each op against its reference")
        program = stages.PROGRAM(self.sink, self.work)
        ops = [u for u in shallow(program) if u.op is Ops.OP and _has_reference(u)]
        values = self.interpret(
            [*(s for u in ops for s in u.src), *ops, *program.src]
        )
        for node in ops:
            self._one_op(node, values)
        return [values[root] for root in program.src]

    def _one_op(self, node: UOp, values: Mapping[UOp, Array]) -> None:
        arg = cast(OpArg, node.arg)
        inputs = [wide(values[s], s.dtype) for s in node.src]
        wanted = np.asarray(find(arg.name).ref(*inputs, **dict(arg.attrs)))
        wrong = difference(values[node], wanted, node.dtype)
        if wrong is not None:
            raise Wrong(
                Finding(
                    "lower",
                    "",
                    f"the lowering of {arg.name}",
                    _named(node),
                    str(wrong),
                )
            )

    def _lowered(self, wanted: Sequence[Array]) -> UOp:
        self.progress("lower: the primitive graph by the interpreter")
        lowered = stages.LOWER(self.sink, self.work)
        values = self.interpret(lowered.src)
        for root, want in zip(lowered.src, wanted, strict=True):
            wrong = difference(values[root], want, root.dtype)
            if wrong is not None:
                raise Wrong(
                    Finding(
                        "lower",
                        "",
                        "all lowerings together",
                        _named(root),
                        str(wrong),
                        _rules([root]),
                    )
                )
        return lowered

    # --- everything together ------------------------------------------------------------------------------------------

    def _whole(self, wanted: Sequence[Array]) -> None:
        """Kernels are right one by one: what is left is their order, their arguments and their memory."""
        self.progress("run: the whole program as machine code")
        forge = Forge(self.library, ObjectCache(None, 0), settings.codegen)
        schedule = forge.schedule(self.sink, Report())
        bound = forge.bound(schedule, self.variables, lambda: self.pool, Report())
        outputs = [Buffer.allocate(size) for size in bound.outputs]
        inputs = [self.arrays[slot].ctypes.data for slot in schedule.recipe.inputs]
        arena = Buffer.allocate(bound.arena)
        bound.program.run(*inputs, *(b.address for b in outputs), arena.address)
        for root, number, want in zip(
            self.sink.src, schedule.recipe.roots, wanted, strict=True
        ):
            got = outputs[number].as_array(
                dt.to_numpy(root.dtype), numbers(root, self.variables)
            )
            wrong = difference(got, want, root.dtype)
            if wrong is not None:
                raise Wrong(
                    Finding(
                        "run",
                        "",
                        "order, arguments or memory of kernels",
                        _named(root),
                        str(wrong),
                    )
                )


class _OneKernel:
    """The levels of one kernel, from nests to machine code."""

    def __init__(
        self,
        parent: _Bisection,
        fusion: Fusion,
        draft: Draft,
        memory: Mapping[UOp, Array],
    ) -> None:
        self.parent = parent
        self.draft = draft
        self.memory = memory
        self.output = draft.outputs[0]
        self.label = label(self.output, fusion.reasons)

    def run(self) -> None:
        work = self.parent.work
        self._check(
            "fuse",
            "the nests",
            build(self.draft.kernel),
            work.sizes,
            self.draft.kernel,
        )
        family = stages.FAMILY(self.draft, work)
        sizes = {_name(v): self._number(n) for v, n in family.values.items()}
        self._check(
            "family",
            "sizes as arguments",
            build(family.kernel),
            sizes,
            family.kernel,
        )
        plan = stages.MOVES(family, work)
        for variable, value in plan.extra.items():
            sizes[_name(variable)] = evaluate(source(value), sizes)
        self._moves(plan.kernel, sizes)
        built = stages.TREE(plan, work)
        self._check("tree", "the loop tree", built, sizes, plan.kernel)
        simple = stages.DECOMPOSE(built, work)
        self._check("decompose", lambda: probe.undecomposed(built), simple, sizes)
        self._native(simple, sizes)

    def _number(self, value: Number | UOp) -> Number:
        return (
            evaluate(source(value), self.parent.variables)
            if isinstance(value, UOp)
            else value
        )

    def _moves(self, kernel: Kernel, sizes: Sizes) -> None:
        """The kernel after one move, after two ..."""
        first = len(kernel.trail) - len(kernel.moves)
        for move, moved in zip(kernel.moves, kernel.trail[first:], strict=True):
            try:
                built = build(moved)
            except _HALFWAY:
                continue
            self._check("moves", move, built, sizes, moved)

    def _check(
        self,
        stage: str,
        culprit: str | Callable[[], str],
        built: Built,
        sizes: Sizes,
        kernel: Kernel | None = None,
    ) -> None:
        """The loop trees by their interpreter."""
        self.parent.progress(
            f"{stage}: {self.label}"
            + (f", {culprit}" if isinstance(culprit, str) else "")
        )
        arrays = self._arrays()
        try:
            run_trees(built, arrays, sizes)
            how = self._wrong(arrays)
        except KernelFault as fault:
            how = str(fault)
        if how:
            step = culprit if isinstance(culprit, str) else culprit()
            raise Wrong(
                Finding(
                    stage,
                    self.label,
                    step,
                    _named(self.output),
                    how,
                    _kernel_rules(kernel),
                )
            )

    def _native(self, simple: Built, sizes: Sizes) -> None:
        parent = self.parent
        parent.progress(f"source: {self.label}, machine code")
        arrays = self._arrays()
        run_sources(
            simple,
            stages.SOURCE(simple, parent.work),
            arrays,
            sizes,
            parent.library,
            parent.pool,
        )
        how = self._wrong(arrays)
        if how:
            culprit = probe.misrendered(
                simple, parent.work, parent.library, parent.pool
            )
            raise Wrong(
                Finding("source", self.label, culprit, _named(self.output), how)
            )

    def _arrays(self) -> list[Array]:
        """The right inputs, and outputs that hold what nobody should read."""
        made = [
            np.array(self.memory[u], dt.to_numpy(u.dtype), order="C").reshape(-1)
            for u in self.draft.buffers
        ]
        for node, one in zip(self.draft.buffers, made, strict=True):
            if node in self.draft.outputs:
                one.view(np.uint8)[:] = 0 if node.dtype is dt.boolean else 0xCB
        return made

    def _wrong(self, arrays: Sequence[Array]) -> str:
        for node, got in zip(self.draft.buffers, arrays, strict=True):
            if node in self.draft.outputs:
                found = difference(got, self.memory[node], node.dtype)
                if found is not None:
                    return str(found)
        return ""


def _first_turn(step: Effect, memory: Mapping[UOp, Array]) -> list[Array] | None:
    """What a body is given at first; None if it never runs."""
    node = step.node
    values = [memory[u] for u in effects.arguments(step)]
    if node.op is Ops.IF:
        return values[1:]
    if node.op is not Ops.SCAN:
        return values
    arg = cast(ScanArg, node.arg)
    xs = values[arg.n_carry :]
    if len(xs[0]) == 0:
        return None
    first = -1 if arg.reverse else 0
    return [*values[: arg.n_carry], *(np.asarray(x[first]) for x in xs)]


# --- names ------------------------------------------------------------------------------------------------------------


def _name(variable: UOp) -> str:
    return cast(VarArg, variable.arg).name


def _named(node: UOp) -> str:
    return f"{describe(node)}  {type_text(node)}"


def _has_reference(node: UOp) -> bool:
    return not find(cast(OpArg, node.arg).name).basic and len(node.results) == 1


def _kernel_rules(kernel: Kernel | None) -> tuple[str, ...]:
    if kernel is None:
        return ()
    extents = [loop.extent for loop in kernel.loops.values()]
    return _rules(
        [*extents, *(e for nest in kernel.nests for e in nest.expressions())]
    )


def _rules(roots: Sequence[UOp]) -> tuple[str, ...]:
    """The rewrite rules that made nodes of these expressions."""
    found = {last_rule(node) for root in roots for node in root.toposort()}
    return tuple(sorted(found - {""}))
