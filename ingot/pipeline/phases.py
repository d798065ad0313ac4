"""Programs whose sizes are computed. In: roots with SIZE_OF below them. Out: the same, run in phases.

Each phase but the last gives the numbers of some sizes, which the next one takes like values of variables: all numbers
share its schedule and its kernels. Values that a later phase reads are handed on in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.rewrite import substitute
from ingot.pipeline.buffers import placeholder
from ingot.pipeline.host import evaluate, source
from ingot.pipeline.normalise import normalise
from ingot.pipeline.report import Report
from ingot.pipeline.run import Run
from ingot.pipeline.session import session
from ingot.pipeline.sizes import (
    checked_number,
    first_sizes,
    known_shape,
    read_count,
    settled_shape,
    to_keep,
)
from ingot.runtime.buffer import Buffer
from ingot.settings import settings

Memory = dict[UOp, Buffer]
Numbers = dict[UOp, int]


class Phase:
    """One program: the nodes that it computes, and the sizes that it must be given."""

    def __init__(self, roots: Sequence[UOp], given: Sequence[UOp]) -> None:
        self.roots = list(roots)
        self.sink, self.found = normalise(roots, given)

    def run(self, values: Memory, numbers: Numbers) -> list[Buffer]:
        report = Report(settings.runtime.debug)
        variables = self.variables(numbers)
        schedule, bound = session.bound(self.sink, variables, report)
        inputs = [
            values[self.found.buffers[slot]] for slot in schedule.recipe.inputs
        ]
        made = Run(schedule.recipe, bound, variables, report)(inputs)
        return [made[number] for number in schedule.recipe.roots]

    def variables(self, numbers: Numbers) -> dict[str, int]:
        """The values of all variables, computed sizes among them."""
        sizes = {name: numbers[size] for size, name in self.found.sizes.items()}
        return {**self.found.variables, **sizes}


class Phases:
    """A program in phases: give it the memory of its leaves, get the memory of its roots, and the sizes."""

    def __init__(self, roots: Sequence[UOp]) -> None:
        self.parts: list[tuple[Phase, list[UOp], list[UOp]]] = []
        self.handed: dict[
            UOp, UOp
        ] = {}  # a kept value -> the leaf that stands for it
        sizes: list[UOp] = []
        rest = list(roots)
        while True:
            last = Phase(rest, sizes)
            if not last.found.unknown:
                break
            rest = self._count(rest, last.found.unknown, sizes)
        self.last = last
        self.leaves = self._leaves()

    def _count(
        self, roots: list[UOp], unknown: list[UOp], sizes: list[UOp]
    ) -> list[UOp]:
        """A phase for the innermost sizes; what is left over leaves that stand for what it keeps."""
        first = first_sizes(unknown)
        counts = [size.src[0] for size in first]
        kept = to_keep(roots, counts)
        self.parts.append((Phase([*counts, *kept], sizes), first, kept))
        sizes += first
        leaves = {u: placeholder(u.dtype, u.shape) for u in kept}
        self.handed |= leaves
        sink = UOp(Ops.SINK, dt.void, tuple(roots))
        return list(substitute(sink, leaves).src)

    def _leaves(self) -> list[UOp]:
        phases = [*(phase for phase, _, _ in self.parts), self.last]
        found = dict.fromkeys(u for p in phases for u in p.found.buffers)
        inner = set(self.handed.values())
        return [u for u in found if u not in inner]

    def run(self, inputs: Sequence[Buffer]) -> list[Buffer]:
        """Run once with these inputs."""
        return self.run_sized(inputs)[0]

    def run_sized(self, inputs: Sequence[Buffer]) -> tuple[list[Buffer], Numbers]:
        """Run once; the numbers of the computed sizes say how much of the results counts."""
        values = dict(zip(self.leaves, inputs, strict=True))
        numbers: Numbers = {}
        for phase, sizes, kept in self.parts:
            made = phase.run(values, numbers)
            counted, handed = made[: len(sizes)], made[len(sizes) :]
            for size, buffer in zip(sizes, counted, strict=True):
                limit = _limit(size, phase.variables(numbers), numbers)
                numbers[size] = _number(size, buffer, limit)
            values |= {self.handed[u]: b for u, b in zip(kept, handed, strict=True)}
        return self.last.run(values, numbers), numbers


def _limit(size: UOp, variables: Mapping[str, int], numbers: Numbers) -> int:
    """The limit of a size may be a size that was computed before."""
    (limit,) = settled_shape(known_shape(size.src[1:]), numbers)
    return limit if isinstance(limit, int) else evaluate(source(limit), variables)


def _number(size: UOp, buffer: Buffer, limit: int) -> int:
    """The number of a size; where nothing runs it is the largest."""
    if settings.runtime.device == "NULL":
        return limit
    return checked_number(size, read_count(buffer), limit)
