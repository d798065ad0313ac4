"""A step at its place in a native program. In: a recipe, the addresses of its buffers. Out: commands of that step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from ingot.pipeline.ahead import Done
from ingot.pipeline.call import Call
from ingot.pipeline.recipe import UNREAD, Recipe, Step
from ingot.runtime.program import Cell, Operand, Slot

if TYPE_CHECKING:
    from ingot.pipeline.flatten import Flattening

Rooms = dict[str, int]  # bytes that a step needs for itself, by name


class Line(NamedTuple):
    """A kernel as DEBUG=2 shows it: the estimates are of one turn; `turns` counts them, None says one."""

    label: str
    flops: str
    nbytes: str
    turns: Cell | None


class Here:
    """One step of one recipe at one place of the program."""

    def __init__(
        self,
        flat: Flattening,
        recipe: Recipe,
        number: int,
        places: Sequence[Operand],
        base: Slot,
        offsets: Mapping[object, int],
        path: str,
        turns: Cell | None,
        done: Done,
    ) -> None:
        self.flat = flat
        self.builder = flat.builder
        self.recipe = recipe
        self.number = number
        self.places = places
        self.base = base
        self.offsets = offsets
        self.path = path
        self.turns = turns
        self.done = done

    def at(self, buffer: int) -> Operand:
        """The address of a buffer."""
        if buffer < len(self.places):
            return self.places[buffer]
        return self.base + self.offsets[buffer]

    def room(self, name: str) -> Slot:
        return self.base + self.offsets[self.number, name]

    def at_or_room(self, buffer: int, name: str) -> Operand:
        return self.room(name) if buffer == UNREAD else self.at(buffer)

    def enter(
        self,
        body: Recipe,
        arguments: Sequence[Operand],
        results: Sequence[Operand],
        label: str,
        turns: Cell | None,
        done: Mapping[int, Done] | None = None,
    ) -> None:
        """A body here: its roots go to `results`; what is asked for twice is copied."""
        first: dict[int, Operand] = {}
        for output, place in zip(body.roots, results, strict=True):
            first.setdefault(output, place)
        places = [
            *(arguments[slot] for slot in body.inputs),
            *(first[output] for output in range(len(body.outputs))),
        ]
        inner = f"{self.path}{label}."
        self.flat.run(body, places, self.room("body"), inner, turns, done)
        sizes = self.flat.outputs(body)
        for output, place in zip(body.roots, results, strict=True):
            if place is not first[output]:
                self.builder.copy(place, first[output], sizes[output])

    def start_ahead(
        self,
        name: str,
        body: Recipe,
        arguments: Sequence[Operand],
        still: frozenset[int],
        label: str,
    ) -> dict[int, Done]:
        """Before a loop: launches of its body that are the same in every turn."""
        done: dict[int, Done] = {}
        given = [arguments[slot] for slot in body.inputs]
        for one in self.flat.ahead(body, still):
            rooms = {t: self.room(f"{name}{one.step}.{t}") for t in one.temporaries}
            done[one.step] = Done(one.launches, rooms)
            step = cast(Step, body.steps[one.step])
            call = self.flat.calls[id(body)][step.use]
            # Buffers that change are not touched by these launches: any address will do.
            pointers = [given[b] if b < len(given) else 0 for b in step.buffers]
            pointers += [
                rooms.get(t, 0) for t in range(len(call.member.temporaries))
            ]
            path = f"{self.path}{label}.{step.label}"
            launch(self, call, pointers, path, one.launches.__contains__)
        return done

    def counter(self) -> Cell:
        """Counts turns, for whoever looks at times; a fresh program begins with 0."""
        return self.builder.cell()


def launch(
    here: Here,
    call: Call,
    pointers: Sequence[Operand],
    label: str,
    wanted: Callable[[int], bool],
) -> None:
    """The wanted launches of a kernel."""
    for number, (kernel, chunks, scratch) in enumerate(call.launches):
        if wanted(number):
            here.builder.run(
                kernel,
                [*pointers, *call.words],
                chunks=chunks,
                scratch=scratch,
                cost_ns=call.cost,
                label=label,
            )
