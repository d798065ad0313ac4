"""Recipes as one list of commands. In: a recipe with bodies in it, and members for its kernels. Out: a native program.

Nothing is called while the program runs: a body stands where it is used. A loop is a jump back; the pointers that a
turn moves are cells. Values between steps, room inside them and whole bodies share one arena; what is dead makes room.
What each kind of step does stands in steps.py and loops.py; kinds.py is the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ingot.pipeline.ahead import NOTHING, Ahead, Done, launches_ahead
from ingot.pipeline.call import Call
from ingot.pipeline.here import Here, Line, Rooms
from ingot.pipeline.host import evaluate
from ingot.pipeline.recipe import UNREAD, Recipe, Step
from ingot.runtime.program import Cell, Operand, ProgramBuilder, Slot
from ingot.schedule.memory import Interval, arrange


class Kind(NamedTuple):
    """What a kind of step needs and does: buffers that it touches, room for itself, commands."""

    touches: Callable[..., Sequence[int]]
    rooms: Callable[..., Rooms]
    emit: Callable[..., None]


class Plan(NamedTuple):
    """Where the arena of a recipe has what: buffers by number, rooms by (step, name)."""

    offsets: dict[object, int]
    size: int


class Flattening:
    """Writes the commands of a recipe, and of the bodies in it."""

    def __init__(
        self,
        variables: Mapping[str, int],
        calls: Mapping[int, Sequence[Call]],
        kinds: Mapping[type, Kind],
    ) -> None:
        self.kinds = kinds
        self.builder = ProgramBuilder()
        self.variables = variables
        self.calls = calls
        self.plans: dict[int, Plan] = {}
        self.lines: list[Line] = []
        self.early: dict[tuple[int, frozenset[int]], list[Ahead]] = {}

    def number(self, size: str) -> int:
        return evaluate(size, self.variables)

    def outputs(self, body: Recipe) -> list[int]:
        """Bytes of each output."""
        return [self.number(size) for size in body.outputs]

    # --- memory ---------------------------------------------------------------------------------------------------

    def plan(self, recipe: Recipe) -> Plan:
        """The arena of a recipe; the same body has one plan wherever it stands."""
        found = self.plans.get(id(recipe))
        if found is None:
            found = self.plans[id(recipe)] = self._plan(recipe)
        return found

    def _plan(self, recipe: Recipe) -> Plan:
        given = len(recipe.inputs) + len(recipe.outputs)
        sizes = [self.number(size) for size in recipe.between]
        lives: dict[object, Interval] = {}
        for number, step in enumerate(recipe.steps):
            kind = self.kinds[type(step)]
            for buffer in kind.touches(step):
                if buffer != UNREAD and buffer >= given:
                    first = lives[buffer].first if buffer in lives else number
                    lives[buffer] = Interval(first, number, sizes[buffer - given])
            for name, size in kind.rooms(self, recipe, step).items():
                lives[number, name] = Interval(number, number, size)
        return Plan(*arrange(lives))

    def ahead(self, body: Recipe, still: frozenset[int]) -> list[Ahead]:
        """What of a loop's body can run before the loop, where the parameters `still` never change."""
        found = self.early.get((id(body), still))
        if found is None:
            buffers = {n for n, slot in enumerate(body.inputs) if slot in still}
            each = (
                launches_ahead(n, step, self.calls[id(body)][step.use], buffers)
                for n, step in enumerate(body.steps)
                if isinstance(step, Step)
            )
            found = [one for one in each if one.launches]
            self.early[id(body), still] = found
        return found

    # --- commands -------------------------------------------------------------------------------------------------

    def run(
        self,
        recipe: Recipe,
        places: Sequence[Operand],
        base: Slot,
        path: str = "",
        turns: Cell | None = None,
        done: Mapping[int, Done] | None = None,
    ) -> None:
        """The steps of a recipe; `places` are its inputs, then its outputs, and its arena begins at `base`."""
        offsets = self.plan(recipe).offsets
        for number, step in enumerate(recipe.steps):
            before = (done or {}).get(number, NOTHING)
            here = Here(
                self, recipe, number, places, base, offsets, path, turns, before
            )
            self.kinds[type(step)].emit(here, step)
