"""Binding: a recipe becomes a native program. In: a recipe, values of variables, members of families. Out: a Bound.

The program takes addresses: first of the inputs, then of the outputs, then of the arena that holds everything
between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ingot.pipeline.call import Address, Call
from ingot.pipeline.flatten import Flattening
from ingot.pipeline.here import Line
from ingot.pipeline.host import Number, evaluate
from ingot.pipeline.kinds import KINDS
from ingot.pipeline.member import Member
from ingot.pipeline.recipe import Recipe, Use
from ingot.runtime.pool import Pool
from ingot.runtime.program import Program

FindMember = Callable[[Use, str, Mapping[str, Number]], Member]


class Bound:
    """A program with its sizes, what to allocate for each output and for the arena, and a line for each kernel."""

    __slots__ = ("arena", "lines", "outputs", "program")

    def __init__(
        self,
        program: Program,
        outputs: tuple[int, ...],
        arena: int,
        lines: tuple[Line, ...],
    ) -> None:
        self.program = program
        self.outputs = outputs
        self.arena = arena
        self.lines = lines


def bind(
    recipe: Recipe,
    variables: Mapping[str, int],
    find: FindMember,
    address: Address,
    pool: Callable[[], Pool],
) -> Bound:
    """The program of a recipe for these values of its variables.

    All members are found before the first address or the pool is asked for: code is compiled meanwhile.
    """
    parts = list(_everywhere(recipe))
    members = {id(part): _members(part, variables, find) for part in parts}
    calls = {
        id(part): [
            Call(use, member, names, address, evaluate(use.cost, variables))
            for use, (member, names) in zip(
                part.uses, members[id(part)], strict=True
            )
        ]
        for part in parts
    }
    flat = Flattening(variables, calls, KINDS)
    places = [flat.builder.slot() for _ in (*recipe.inputs, *recipe.outputs)]
    flat.run(recipe, places, flat.builder.slot())
    return Bound(
        flat.builder.finish(pool()),
        tuple(flat.outputs(recipe)),
        flat.plan(recipe).size,
        tuple(flat.lines),
    )


def _everywhere(recipe: Recipe) -> Iterator[Recipe]:
    """A recipe and all bodies in it."""
    yield recipe
    for body in recipe.bodies:
        yield from _everywhere(body)


def _members(
    part: Recipe, variables: Mapping[str, int], find: FindMember
) -> list[tuple[Member, dict[str, Number]]]:
    """A member for every use, and its arguments."""
    labels = part.labels()
    names = [use.names(variables) for use in part.uses]
    return [
        (find(use, labels[number], names[number]), names[number])
        for number, use in enumerate(part.uses)
    ]
