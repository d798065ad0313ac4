"""A model as kernels in order: what a C file has to hold. In: a graph, a target. Out: kernels, calls, memory; no text.

The kernels are those that the compiler runs itself: the same fusion, the same moves, the same loop trees. Sizes that the
model leaves open stay expressions; a kernel that only fits some sizes is one of several, each with its condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    ELEMENTWISE,
    MOVEMENT,
    REGION,
    KernelArg,
    OpArg,
    Ops,
    ParamArg,
    ResultArg,
    VarArg,
)
from ingot.ir.region import shallow
from ingot.ir.rewrite import substitute
from ingot.ir.shape import product
from ingot.kernel.launches import Built
from ingot.model.graph import Graph
from ingot.ops.lower import lower_all
from ingot.pipeline import stages
from ingot.schedule.family import Family
from ingot.schedule.fuse import Effect
from ingot.schedule.label import label
from ingot.schedule.memory import Interval, arrange
from ingot.schedule.nests import Draft
from ingot.settings import Codegen
from ingot.target import Target

TYPICAL = (
    32,
    1,
    8,
    1024,
)  # sizes to plan for where the model leaves one open; the first is tried first
ONE = UOp.const(dt.index, 1)


class Launch(NamedTuple):
    """One function, run once for each chunk; sizes are expressions over the model's open sizes."""

    kernel: UOp
    chunks: UOp
    scratch: UOp


class Variant(NamedTuple):
    """One way to run a kernel, under a condition: scalar arguments in order, bytes of temporaries, launches."""

    condition: UOp
    scalars: tuple[UOp, ...]
    temporaries: tuple[UOp, ...]
    launches: tuple[Launch, ...]


class Call(NamedTuple):
    """One kernel of the program over values, by node; the variants in the order to be tried."""

    name: str
    values: tuple[UOp, ...]
    variants: tuple[Variant, ...]


class Check(NamedTuple):
    """A stored flag that has to be true: an index is in range."""

    flag: UOp

    @property
    def values(self) -> tuple[UOp, ...]:
        return (self.flag,)


@dataclass(frozen=True)
class Program:
    """Calls and checks in order. `offsets`: where values between calls lie in the arena; temporaries by (call, number)."""

    calls: tuple[Call | Check, ...]
    outputs: tuple[UOp, ...]
    offsets: Mapping[object, int]
    arena: int
    scratch: int


def program(
    graph: Graph,
    target: Target,
    most: Mapping[UOp, int],
    *,
    plain: bool = False,
    fuse: bool = True,
    lowest: bool = False,
) -> Program:
    """The program of a graph; `most` bounds the open sizes, so that all memory is known.

    `plain` kernels are simple loops over what the model says; without `fuse` there is one for each operation. `lowest`
    takes functions such as exp apart as well, for a language without a library.
    """
    work = stages.Work(target, Codegen(noopt=plain), language="c")
    sink = inlined(graph.sink)
    if plain:
        sink = lower_all(sink, keeps=lambda name: name not in STREAMED)
        sink = simple_products(sink) if fuse else apart(sink)
    fusion = stages.fused(sink, work)
    calls = tuple(
        _check(step)
        if isinstance(step, Effect)
        else _call(step, fusion.reasons, graph, work, n, lowest)
        for n, step in enumerate(fusion.steps)
    )
    lives, scratch = _memory(calls, fusion.roots, most)
    offsets, arena = arrange(lives)
    return Program(calls, tuple(fusion.roots), offsets, arena, scratch)


def inlined(sink: UOp) -> UOp:
    """The same graph with calls written out; loops and branches, which these targets cannot say yet, are refused."""
    after: dict[UOp, UOp] = {}
    for node in shallow(sink):
        if node.op in REGION - {Ops.CALL}:
            raise ArgumentError(
                f"this target cannot say {node.op.name} yet",
                fix="emit the body as a model of its own, and loop around it",
            )
        if node.op is Ops.RESULT and node.src[0].op is Ops.CALL:
            function, *args = (after.get(s, s) for s in node.src[0].src)
            result = inlined(function.src[cast(ResultArg, node.arg).index])
            slots = {
                u: args[port_slot(u)]
                for u in result.toposort()
                if u.op is Ops.PARAM
            }
            after[node] = substitute(result, slots)
        else:
            after[node] = node.replace(src=tuple(after.get(s, s) for s in node.src))
    return after[sink]


def _check(step: Effect) -> Check:
    if step.node.op is not Ops.ASSERT:
        raise AssertionError(f"{step.node.op.name} is refused before fusion")
    return Check(step.node.src[0])


STREAMED = frozenset({"scaled_dot_product_attention", "grouped_query_attention"})
PRODUCTS = frozenset({"matmul", "linear", "conv1d", "conv2d", "conv3d"})


def simple_products(sink: UOp) -> UOp:
    """The same graph where what a product reads is stored: plain loops would compute it again for every element."""
    after: dict[UOp, UOp] = {}
    for node in sink.toposort():
        sources = [after[s] for s in node.src]
        if node.op is Ops.OP and cast(OpArg, node.arg).name in PRODUCTS:
            sources = [_stored(s) for s in sources]
        after[node] = node.replace(src=tuple(sources))
    return after[sink]


def _stored(node: UOp) -> UOp:
    """A value that is computed, in memory."""
    source = node
    while source.op in MOVEMENT:
        source = source.src[0]
    if source.op in (Ops.PARAM, Ops.CONST, Ops.CONTIGUOUS):
        return node
    return UOp(Ops.CONTIGUOUS, node.dtype, (node,))


def apart(sink: UOp) -> UOp:
    """The same graph with every operation stored: one kernel each."""
    after: dict[UOp, UOp] = {}
    for node in sink.toposort():
        made = node.replace(src=tuple(after[s] for s in node.src))
        computes = node.op is Ops.OP or (node.op in ELEMENTWISE and node.shape)
        if computes and node.dtype is not dt.index:
            made = UOp(Ops.CONTIGUOUS, made.dtype, (made,))
        after[node] = made
    return after[sink]


# --- kernels ----------------------------------------------------------------------------------------------------------


def _call(
    draft: Draft,
    stored: Mapping[UOp, str],
    graph: Graph,
    work: stages.Work,
    number: int,
    lowest: bool,
) -> Call:
    made = stages.FAMILY(draft, work)
    variants: dict[UOp, Variant] = {}
    for size in TYPICAL if graph.variables else TYPICAL[:1]:
        here = replace(work, sizes=_typical(graph, size))
        found = _variant(made, here, lowest)
        variants.setdefault(found.condition, found)
        if _is_true(found.condition):
            break
    name = f"{label(draft.outputs[0], stored)}_{number}"
    return Call(name, draft.buffers, tuple(variants.values()))


def _typical(graph: Graph, size: int) -> dict[str, int]:
    return {cast(VarArg, v.arg).name: size for v in graph.variables}


def _variant(made: Family, work: stages.Work, lowest: bool) -> Variant:
    plan = stages.MOVES(made, work)
    built = stages.TREE(plan, work)
    simple = stages.DECOMPOSE(built, work) if lowest else built
    values = {
        variable: _as_node(variable, value)
        for variable, value in made.values.items()
    }
    for variable, value in plan.extra.items():
        values[variable] = substitute(value, values).simplify()
    condition = UOp.const(dt.boolean, True)
    for guard in plan.guards:
        condition = condition & substitute(guard, values)
    return Variant(condition.simplify(), *_sized(simple, values))


def _sized(
    made: Built, values: Mapping[UOp, UOp]
) -> tuple[tuple[UOp, ...], tuple[UOp, ...], tuple[Launch, ...]]:
    def here(size: UOp) -> UOp:
        return substitute(size, values).simplify()

    args = [cast(KernelArg, launch.arg) for launch in made.launches]
    launches = tuple(
        Launch(kernel, here(arg.chunks), here(arg.scratch))
        for kernel, arg in zip(made.launches, args, strict=True)
    )
    temporaries = tuple(here(n * t.itemsize) for t, n in made.temporaries)
    return tuple(here(s) for s in args[0].sizes), temporaries, launches


def _as_node(variable: UOp, value: int | float | UOp) -> UOp:
    return value if isinstance(value, UOp) else UOp.const(variable.dtype, value)


def _is_true(condition: UOp) -> bool:
    return condition.op is Ops.CONST and bool(condition.value)


# --- memory -----------------------------------------------------------------------------------------------------------


def _memory(
    calls: Sequence[Call | Check], roots: Sequence[UOp], most: Mapping[UOp, int]
) -> tuple[dict[object, Interval], int]:
    """Who lives when, and how large, in the arena; and the largest scratch."""
    limits = {v: UOp.const(dt.index, n) for v, n in most.items()}
    lives: dict[object, Interval] = {}
    scratch = 0
    for number, call in enumerate(calls):
        for value in call.values:
            if value.op is Ops.PARAM or value in roots:
                continue
            first = lives[value].first if value in lives else number
            lives[value] = Interval(first, number, _bytes(value, limits))
        for variant in () if isinstance(call, Check) else call.variants:
            for slot, size in enumerate(variant.temporaries):
                known = lives.get((number, slot), Interval(number, number, 0))
                largest = max(known.nbytes, _most(size, limits))
                lives[number, slot] = Interval(number, number, largest)
            for launch in variant.launches:
                scratch = max(scratch, _most(launch.scratch, limits))
    return lives, scratch


def _bytes(value: UOp, limits: Mapping[UOp, UOp]) -> int:
    size = product(value.shape) * value.dtype.itemsize
    return size if isinstance(size, int) else _most(size, limits)


def _most(size: UOp, limits: Mapping[UOp, UOp]) -> int:
    """The largest value of a size whose variables are at most these."""
    known = substitute(size, limits).simplify()
    return int(known.value) if known.op is Ops.CONST else int(known.vmax)


def port_slot(value: UOp) -> int:
    """Which port a value is."""
    return cast(ParamArg, value.arg).slot
