"""Which lines of the user's a kernel comes from. In: a program as the user built it. Out: its fusion, whose nodes know lines.

The graph that schedules are kept under is shared by all programs of one structure, so it has no lines of its own: they are
carried over from this program, node by node, before it is lowered. Loaded by whoever looks, and by faults.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from ingot.ir.node import UOp
from ingot.ir.opcode import VarArg
from ingot.pipeline import effects
from ingot.pipeline.lines import carry
from ingot.pipeline.normalise import normalise
from ingot.pipeline.stages import Work, fused
from ingot.place import Place
from ingot.schedule.fuse import Effect, Fusion
from ingot.schedule.label import inside, name_of
from ingot.schedule.nests import Draft
from ingot.schedule.prices import prices_of
from ingot.settings import settings
from ingot.target import host, load_costs


class UserOp(NamedTuple):
    """An operation as the user wrote it; `place` is None where nobody knows the line."""

    name: str
    place: Place | None


class Traced(NamedTuple):
    """A program up to the choice of its kernels, and its sizes: of those that a kernel computes, the largest."""

    fusion: Fusion
    sizes: dict[str, int]


def traced(roots: Sequence[UOp]) -> Traced:
    """What will run for these roots; nothing is compiled."""
    sink, found = normalise(roots)
    carry(roots, sink.src)
    prices = prices_of(load_costs(settings.runtime.cache_dir, host()))
    work = Work(host(), settings.codegen, sizes=found.variables, prices=prices)
    limits = {cast(VarArg, v.arg).name: int(v.vmax) for v in sink.variables()}
    return Traced(fused(sink, work), limits | found.variables)


def users_of(step: Draft | Effect, fusion: Fusion) -> list[UserOp]:
    """The user's operations in a step, in the order in which they were written."""
    if isinstance(step, Effect):
        return [UserOp(effects.name(step), _place(step.node))]
    nodes = _nodes(step, fusion)
    found = dict.fromkeys(UserOp(name, place) for name, place in _named(nodes))
    known = {op.name for op in found if op.place is not None}
    return [op for op in found if op.place is not None or op.name not in known]


def _nodes(step: Draft, fusion: Fusion) -> list[UOp]:
    return [
        node
        for output in step.outputs
        for node in reversed(inside(output, fusion.reasons))
    ]


def _named(nodes: Sequence[UOp]) -> Iterator[tuple[str, Place | None]]:
    for node in nodes:
        name = name_of(node)
        if name:
            yield name, _place(node)


def _place(node: UOp) -> Place | None:
    return None if node.spot is None else Place.of(node.spot)
