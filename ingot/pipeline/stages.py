"""The stages: one table from program to machine code. In: a program. Out: what every stage made of it.

Each stage can be shown, and one whose text rebuilds what it shows can be replaced by a file or started from
(run_from.py). The first three work on a whole program, the others on one kernel each. Whoever compiles goes through
this table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ingot.errors import ArgumentError, DeviceError
from ingot.ir import dtype as dt
from ingot.ir import spec
from ingot.ir.merge import merged
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, ParamArg
from ingot.ir.text import eval_text, text
from ingot.kernel.decompose import decompose
from ingot.kernel.heuristic import choose
from ingot.kernel.launches import Built
from ingot.kernel.nest import Kernel
from ingot.kernel.plan import Plan
from ingot.kernel.prefix import is_running
from ingot.kernel.skeleton.form import Skeleton
from ingot.kernel.tree import build
from ingot.ops.lower import lower_all
from ingot.pipeline import show
from ingot.pipeline.host import Number, evaluate, source
from ingot.pipeline.late import Late
from ingot.render import llvm
from ingot.runtime.objects import assembly
from ingot.schedule.bodies import fuse_all
from ingot.schedule.family import Family, family
from ingot.schedule.fuse import Fusion
from ingot.schedule.nests import Draft
from ingot.schedule.prices import PRICES, Prices
from ingot.settings import Codegen
from ingot.target import SM90A, GpuTarget, Target

# A CPU program needs none of these.
_for_gpu: Late[Callable[..., Kernel]] = Late("ingot.kernel.gpu:choose")
_c: Late[Callable[[UOp, Target], str]] = Late("ingot.render.c:render")
_cuda: Late[Callable[[UOp], str]] = Late("ingot.render.cuda:render_cuda")

In = TypeVar("In")
Out = TypeVar("Out")
Sources = tuple[str, ...]  # one text a launch


@dataclass(slots=True)
class Work:
    """One compilation: where it goes, the sizes that it is made for, stages replaced by text, and the time of each."""

    target: Target
    codegen: Codegen = field(default_factory=Codegen)
    language: str = "llvm"
    gpu: GpuTarget = SM90A
    prices: Prices = PRICES
    # Values of the program's variables, as hints.
    sizes: Mapping[str, Number] = field(default_factory=dict)
    replaced: Mapping[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stage(Generic[In, Out]):
    """`nodes` are those that the spec `proves` speaks of; `show` is for people, `exact` is what `read` rebuilds."""

    name: str
    change: str
    run: Callable[[In, Work], Out]
    show: Callable[[Out], str]
    proves: spec.Spec | None = None
    nodes: Callable[[Out], Sequence[UOp]] = lambda made: ()
    exact: Callable[[Out], str] | None = None
    read: Callable[[str], Out] | None = None

    def __call__(self, value: In, work: Work) -> Out:
        """Run the stage, or take its result from a text; then see that the spec holds."""
        started = time.perf_counter()
        replacement = work.replaced.get(self.name)
        made = (
            self.run(value, work)
            if replacement is None
            else self.rebuilt(replacement)
        )
        work.seconds[self.name] = (
            work.seconds.get(self.name, 0.0) + time.perf_counter() - started
        )
        if self.proves is not None:
            for node in self.nodes(made):
                spec.check(node, self.proves, f"after {self.name}")
        return made

    def rebuilt(self, replacement: str) -> Out:
        """What a text says that this stage made."""
        if self.read is None:
            raise ArgumentError(
                f"stage {self.name} cannot be read from text", wanted=_exact_names()
            )
        return self.read(replacement)

    def text(self, made: Out, exact: bool = False) -> str:
        if not exact:
            return self.show(made)
        if self.exact is None:
            raise ArgumentError(
                f"stage {self.name} has no text that rebuilds it",
                wanted=_exact_names(),
            )
        return self.exact(made)


# --- what the stages do -----------------------------------------------------------------------------------------------

_NO_KERNEL = {Ops.ASSIGN, Ops.SIZE_OF}


def _fuse(lowered: UOp, work: Work) -> Fusion:
    for node in lowered.toposort():
        if node.op in _NO_KERNEL:
            raise DeviceError(
                f"kernels cannot do {node.op.name} yet",
                fix="DEVICE=PYTHON interprets it",
            )
    return fuse_all(lowered.src, work.prices)


def hints(made: Family, work: Work) -> dict[UOp, int]:
    """The sizes that a kernel is made for: those of the program that needs it first."""
    found: dict[UOp, int] = {}
    for variable, value in made.values.items():
        if variable.dtype is not dt.index or isinstance(value, float):
            continue
        if isinstance(value, int):
            found[variable] = value
        elif {v.arg.name for v in value.variables()} <= set(work.sizes):  # type: ignore[union-attr]
            found[variable] = evaluate(source(value), work.sizes)
    return found


def _check_nests(made: Family) -> None:
    if isinstance(made.kernel, Skeleton) or is_running(made.kernel):
        raise DeviceError(
            f"{made.kernel.name}: written by hand for a CPU; there are no CUDA kernels of it yet",
            fix="DEVICE=CPU",
        )


def _moves(made: Family, work: Work) -> Plan:
    if work.language == "cuda":
        _check_nests(made)
        moved = _for_gpu()(made.kernel, hints(made, work), work.gpu)
        return Plan(moved, moved.guards)
    return choose(made.kernel, hints(made, work), work.target, work.codegen.noopt)


def _decompose(made: Built, work: Work) -> Built:
    return Built(
        tuple(decompose(launch, work.target) for launch in made.launches),
        made.temporaries,
    )


RENDERERS: dict[str, Callable[[UOp, Target], str]] = {
    "llvm": llvm.render,
    "c": lambda kernel, target: _c()(kernel, target),
    "cuda": lambda kernel, target: _cuda()(kernel),
}


def _source(made: Built, work: Work) -> Sources:
    render = RENDERERS[work.language]
    return tuple(render(launch, work.target) for launch in made.launches)


def _assembly(sources: Sources, work: Work) -> Sources:
    if work.language != "llvm":
        raise ArgumentError(
            "assembly is made of LLVM IR",
            given=f"language {work.language}",
            wanted="language llvm",
        )
    return tuple(assembly(one, work.target) for one in sources)


# --- text that rebuilds what a stage made -----------------------------------------------------------------------------


def built_text(made: Built) -> str:
    """The launches, and the temporary buffers between them as parameters with a size."""
    between = (
        UOp(Ops.PARAM, t, (size,), ParamArg(n))
        for n, (t, size) in enumerate(made.temporaries)
    )
    return text(UOp(Ops.SINK, dt.void, (*made.launches, *between)))


def built_from_text(given: str) -> Built:
    """The inverse of `built_text`; the text of one kernel will do."""
    root = eval_text(given)
    parts = root.src if root.op is Ops.SINK else (root,)
    launches = tuple(u for u in parts if u.op is Ops.KERNEL)
    if not launches:
        raise ArgumentError(
            "the text builds no kernel",
            given=root.op.name,
            wanted="KERNEL, or a SINK of them",
        )
    return Built(
        launches, tuple((u.dtype, u.src[0]) for u in parts if u.op is Ops.PARAM)
    )


_NEXT_LAUNCH = "\n; --- next launch ---\n"  # a comment in LLVM IR


# --- the table --------------------------------------------------------------------------------------------------------


def _whole(sink: UOp) -> tuple[UOp, ...]:
    return (sink,)


def _launches(made: Built) -> tuple[UOp, ...]:
    return made.launches


def _split(given: str) -> Sources:
    return tuple(given.split(_NEXT_LAUNCH))


def same(sink: UOp, work: Work) -> UOp:
    return sink


def _lower(sink: UOp, work: Work) -> UOp:
    return lower_all(merged(sink))


def _family(made: Draft, work: Work) -> Family:
    return family(made)


def _tree(made: Plan, work: Work) -> Built:
    return build(made.kernel)


# fmt: off
PROGRAM: Stage[UOp, UOp] = Stage(
    "program", "program graph -> the same, its leaves numbered", same,
    show.graph, spec.PROGRAM, _whole, text, eval_text)
LOWER: Stage[UOp, UOp] = Stage(
    "lower", "program graph -> primitive graph", _lower,
    show.graph, spec.PRIMITIVE, _whole, text, eval_text)
FUSE: Stage[UOp, Fusion] = Stage(
    "fuse", "primitive graph -> drafts of kernels, and why they are kernels", _fuse, show.fusion)
FAMILY: Stage[Draft, Family] = Stage(
    "family", "draft -> kernel without sizes, and its sizes here", _family, show.family)
MOVES: Stage[Family, Plan] = Stage(
    "moves", "kernel -> the same kernel, arranged to run fast", _moves, show.plan)
TREE: Stage[Plan, Built] = Stage(
    "tree", "nests -> loop trees, one a launch", _tree,
    show.built, spec.KERNEL, _launches, built_text, built_from_text)
DECOMPOSE: Stage[Built, Built] = Stage(
    "decompose", "loop trees -> loop trees in what the machine can do", _decompose,
    show.built, spec.KERNEL, _launches, built_text, built_from_text)
SOURCE: Stage[Built, Sources] = Stage(
    "source", "loop trees -> LLVM IR, C or CUDA C", _source,
    "\n".join, exact=_NEXT_LAUNCH.join, read=_split)
ASSEMBLY: Stage[Sources, Sources] = Stage(
    "assembly", "LLVM IR -> assembly", _assembly, "\n".join)
# fmt: on

STAGES: tuple[Stage[Any, Any], ...] = (
    PROGRAM,
    LOWER,
    FUSE,
    FAMILY,
    MOVES,
    TREE,
    DECOMPOSE,
    SOURCE,
    ASSEMBLY,
)
BY_NAME = {stage.name: stage for stage in STAGES}


def find(name: str) -> Stage[Any, Any]:
    """The stage called `name`."""
    if name not in BY_NAME:
        raise ArgumentError(
            "no such stage", given=repr(name), wanted="one of " + ", ".join(BY_NAME)
        )
    return BY_NAME[name]


def _exact_names() -> str:
    return "one of " + ", ".join(
        stage.name for stage in STAGES if stage.read is not None
    )


# --- going through them -----------------------------------------------------------------------------------------------


def fused(sink: UOp, work: Work) -> Fusion:
    """A program up to the drafts of its kernels."""
    return FUSE(LOWER(PROGRAM(sink, work), work), work)


@dataclass(frozen=True, slots=True)
class Forged:
    """One kernel, after every stage up to its source."""

    family: Family
    plan: Plan
    built: Built
    simple: Built
    sources: Sources


def forged(made: Family, work: Work) -> Forged:
    """A kernel from nests without sizes to source."""
    plan = MOVES(made, work)
    built = TREE(plan, work)
    simple = DECOMPOSE(built, work)
    return Forged(made, plan, built, simple, SOURCE(simple, work))


def dump(sink: UOp, stage: str, work: Work, exact: bool = False) -> str:
    """What `stage` makes of a program, for people, or exactly; kernels one after the other."""
    last = find(stage)
    value: Any = sink
    for step in STAGES[:3]:
        value = step(value, work)
        if step is last:
            return step.text(value, exact)
    drafts = [one for part in value.everywhere() for one in part.drafts]
    return "\n\n".join(_dump_kernel(one, last, work, exact) for one in drafts)


def _dump_kernel(
    made: Draft, last: Stage[Any, Any], work: Work, exact: bool
) -> str:
    value: Any = made
    for step in STAGES[3:]:
        value = step(value, work)
        if step is last:
            return step.text(value, exact)
    raise AssertionError(last.name)
