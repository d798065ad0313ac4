"""Binding: a recipe becomes a native program. In: a recipe, values of variables, members of families. Out: a Bound.

The program takes addresses: first of the inputs, then of the outputs, then of the arena that holds everything
between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ingot.ir import dtype as dt
from ingot.pipeline.host import Number, evaluate
from ingot.pipeline.member import Launch, Member
from ingot.pipeline.recipe import Recipe, Use
from ingot.runtime.pool import Pool
from ingot.runtime.program import Operand, Program, ProgramBuilder
from ingot.schedule.memory import Interval, arrange

FindMember = Callable[[Use, str, Mapping[str, Number]], Member]
Address = Callable[[Launch], int]


class Bound:
    """A program with its sizes, and what to allocate for each output and for the arena."""

    __slots__ = ("arena", "outputs", "program")

    def __init__(
        self, program: Program, outputs: tuple[int, ...], arena: int
    ) -> None:
        self.program = program
        self.outputs = outputs
        self.arena = arena


class Call:
    """A member with its arguments: what all steps that use it so have in common."""

    __slots__ = ("cost", "launches", "member", "names", "words")

    def __init__(
        self,
        use: Use,
        member: Member,
        names: Mapping[str, Number],
        address: Address,
        cost: int,
    ) -> None:
        types = {value.name: value.dtype for value in use.values}
        self.member = member
        self.names = member.complete(names)
        self.words = [
            word(types.get(name, "index"), self.names[name])
            for name in member.arguments
        ]
        self.cost = cost
        self.launches = [
            self._launch(launch, address) for launch in member.launches
        ]

    def _launch(self, launch: Launch, address: Address) -> tuple[int, int, int]:
        """(function, chunks, bytes of scratch)"""
        return (
            address(launch),
            self._number(launch.chunks),
            self._number(launch.scratch),
        )

    def _number(self, text: str) -> int:
        return evaluate(text, self.names)

    def temporaries(self) -> list[int]:
        """Bytes of each."""
        return [
            width * self._number(count) for width, count in self.member.temporaries
        ]


def bind(
    recipe: Recipe,
    variables: Mapping[str, int],
    find: FindMember,
    address: Address,
    pool: Pool,
) -> Bound:
    """The program of a recipe for these values of its variables."""
    labels = {step.use: step.label for step in reversed(recipe.steps)}
    calls: list[Call] = []
    for number, use in enumerate(recipe.uses):
        names = use.names(variables)
        calls.append(
            Call(
                use,
                find(use, labels[number], names),
                names,
                address,
                evaluate(use.cost, variables),
            )
        )
    return _Binding(recipe, variables, calls).run(pool)


class _Binding:
    def __init__(
        self, recipe: Recipe, variables: Mapping[str, int], calls: Sequence[Call]
    ) -> None:
        self.recipe = recipe
        self.variables = variables
        self.calls = calls
        self.given = len(recipe.inputs) + len(recipe.outputs)

    def run(self, pool: Pool) -> Bound:
        builder = ProgramBuilder()
        slots = [builder.slot() for _ in range(self.given)]
        base = builder.slot()
        offsets, arena = self._arena()
        for number, step in enumerate(self.recipe.steps):
            call = self.calls[step.use]
            pointers = [
                slots[b] if b < self.given else base + offsets[b]
                for b in step.buffers
            ]
            pointers += [
                base + offsets[number, t]
                for t in range(len(call.member.temporaries))
            ]
            for kernel, chunks, scratch in call.launches:
                words: list[Operand] = [*pointers, *call.words]
                builder.run(
                    kernel,
                    words,
                    chunks=chunks,
                    scratch=scratch,
                    cost_ns=call.cost,
                    label=step.label,
                )
        outputs = tuple(
            evaluate(size, self.variables) for size in self.recipe.outputs
        )
        return Bound(builder.finish(pool), outputs, arena)

    def _arena(self) -> tuple[dict[object, int], int]:
        """Values between kernels, and temporaries inside them, share one block; what is dead makes room."""
        sizes = [evaluate(size, self.variables) for size in self.recipe.between]
        temporaries = [call.temporaries() for call in self.calls]
        lives: dict[object, Interval] = {}
        for number, step in enumerate(self.recipe.steps):
            for buffer in step.buffers:
                if buffer >= self.given:
                    first = lives[buffer].first if buffer in lives else number
                    lives[buffer] = Interval(
                        first, number, sizes[buffer - self.given]
                    )
            for slot, size in enumerate(temporaries[step.use]):
                lives[number, slot] = Interval(number, number, size)
        return arrange(lives)


def word(dtype: str, value: Number) -> int:
    """A scalar argument as the 64 bits that the kernel reads."""
    kind = dt.named(dtype)
    return dt.to_bits(kind, float(value)) if kind.is_float else int(value)
