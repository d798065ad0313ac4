"""Binding: a recipe becomes a native program. In: a recipe, values of variables, members of families. Out: a Bound.

The program takes addresses: first of the inputs, then of the outputs, then of the arena that holds everything
between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ingot.ir import dtype as dt
from ingot.pipeline.host import Number, evaluate
from ingot.pipeline.member import Launch, Member
from ingot.pipeline.recipe import Recipe, Step
from ingot.runtime.pool import Pool
from ingot.runtime.program import Operand, Program, ProgramBuilder
from ingot.schedule.memory import Interval, arrange

FindMember = Callable[[Step, Mapping[str, Number]], Member]
Address = Callable[[Launch], int]
Chosen = tuple[Step, Member, dict[str, Number]]


class Bound:
    """A program with its sizes, and what to allocate for each output and for the arena."""

    __slots__ = ("arena", "outputs", "program")

    def __init__(self, program: Program, outputs: tuple[int, ...], arena: int) -> None:
        self.program = program
        self.outputs = outputs
        self.arena = arena


def bind(recipe: Recipe, variables: Mapping[str, int], find: FindMember, address: Address, pool: Pool) -> Bound:
    """The program of a recipe for these values of its variables."""
    chosen = [_chosen(step, variables, find) for step in recipe.steps]
    return _Binding(recipe, variables, chosen).run(address, pool)


def _chosen(step: Step, variables: Mapping[str, int], find: FindMember) -> Chosen:
    names = step.names(variables)
    member = find(step, names)
    return step, member, member.complete(names)


class _Binding:
    def __init__(self, recipe: Recipe, variables: Mapping[str, int], chosen: Sequence[Chosen]) -> None:
        self.recipe = recipe
        self.variables = variables
        self.chosen = chosen
        self.builder = ProgramBuilder()

    def run(self, address: Address, pool: Pool) -> Bound:
        recipe = self.recipe
        given = len(recipe.inputs) + len(recipe.outputs)
        slots: list[Operand] = [self.builder.slot() for _ in range(given)]
        offsets, arena = self._arena(given)
        base = self.builder.slot()
        for number, (step, member, names) in enumerate(self.chosen):
            pointers = [slots[b] if b < given else base + offsets[b] for b in step.buffers]
            pointers += [base + offsets[number, t] for t in range(len(member.temporaries))]
            self._emit(step, member, names, pointers, address)
        outputs = tuple(evaluate(size, self.variables) for size in recipe.outputs)
        return Bound(self.builder.finish(pool), outputs, arena)

    def _arena(self, given: int) -> tuple[dict[object, int], int]:
        """Values between kernels, and temporaries inside them, share one block; what is dead makes room."""
        lives: dict[object, Interval] = {}
        for number, (step, member, names) in enumerate(self.chosen):
            for buffer in step.buffers:
                if buffer >= given:
                    first = lives[buffer].first if buffer in lives else number
                    size = evaluate(self.recipe.between[buffer - given], self.variables)
                    lives[buffer] = Interval(first, number, size)
            for slot, (width, count) in enumerate(member.temporaries):
                lives[number, slot] = Interval(number, number, width * evaluate(count, names))
        return arrange(lives)

    def _emit(
        self, step: Step, member: Member, names: Mapping[str, Number], pointers: list[Operand], address: Address
    ) -> None:
        types = {value.name: value.dtype for value in step.values}
        words = [word(types.get(name, "index"), names[name]) for name in member.arguments]
        cost = evaluate(step.cost, self.variables)
        for launch in member.launches:
            self.builder.run(
                address(launch),
                [*pointers, *words],
                chunks=evaluate(launch.chunks, names),
                scratch=evaluate(launch.scratch, names),
                cost_ns=cost,
                label=step.label,
            )


def word(dtype: str, value: Number) -> int:
    """A scalar argument as the 64 bits that the kernel reads."""
    kind = dt.named(dtype)
    return dt.to_bits(kind, float(value)) if kind.is_float else int(value)
