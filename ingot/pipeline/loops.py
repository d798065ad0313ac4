"""Loops. In: a step of a recipe at its place. Out: its commands, and the room that it needs for itself.

while   the state goes back and forth between two rooms; afterwards it is copied to where its readers look
scan    slices and stacked results are pointers that move by a stride. A carry goes back and forth between its
        result and one room, so that the last turn writes the result. A carry that is stacked too lives there.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.pipeline.ahead import still
from ingot.pipeline.flatten import Flattening
from ingot.pipeline.here import Here, Rooms
from ingot.pipeline.recipe import UNREAD, Recipe, Scan, While
from ingot.runtime.program import Cell, Operand


def _ahead_rooms(
    flat: Flattening, name: str, body: Recipe, still: frozenset[int]
) -> Rooms:
    return {
        f"{name}{one.step}.{t}": size
        for one in flat.ahead(body, still)
        for t, size in one.temporaries.items()
    }


def while_rooms(flat: Flattening, recipe: Recipe, step: While) -> Rooms:
    test, body = recipe.bodies[step.test], recipe.bodies[step.body]
    sizes = flat.outputs(body)
    fixed = still(len(step.state), step.changed)
    rooms = {"body": max(flat.plan(test).size, flat.plan(body).size), "test": 1}
    rooms |= _ahead_rooms(flat, "test", test, fixed)
    rooms |= _ahead_rooms(flat, "body", body, fixed)
    for n, output in enumerate(body.roots):
        rooms[f"a{n}"] = rooms[f"b{n}"] = sizes[output]
    return rooms


def while_(here: Here, step: While) -> None:
    builder = here.builder
    test, body = here.recipe.bodies[step.test], here.recipe.bodies[step.body]
    state = [here.at(buffer) for buffer in step.state]
    moving = [_Turning(here, n, state[k]) for n, k in enumerate(step.changed)]
    for n, k in enumerate(step.changed):
        moving[n].start(here.room(f"a{n}"), here.room(f"b{n}"))
        state[k] = moving[n].now
    holds, turns = builder.cell(), here.counter()
    again, end = builder.label(), builder.label()
    fixed = still(len(state), step.changed)
    name = f"{step.label}.test"
    tested = here.start_ahead("test", test, state, fixed, name)
    done = here.start_ahead("body", body, state, fixed, step.label)
    builder.place(again)
    here.enter(test, state, [here.room("test")], name, turns, tested)
    builder.read(holds, here.room("test"), nbytes=1)
    builder.branch_if_zero(holds, end)
    builder.add(turns, 1)
    here.enter(body, state, [m.next for m in moving], step.label, turns, done)
    for one in moving:
        one.turn()
    builder.jump(again)
    builder.place(end)
    sizes = here.flat.outputs(body)
    for one, output, result in zip(moving, body.roots, step.results, strict=True):
        if result != UNREAD:
            builder.copy(here.at(result), one.now, sizes[output])


class _Turning:
    """A value that each turn reads here and writes there."""

    def __init__(self, here: Here, number: int, initial: Operand) -> None:
        self.builder = here.builder
        self.initial = initial
        self.now, self.next, self.spare = (here.builder.cell() for _ in range(3))

    def start(self, first: Operand, second: Operand) -> None:
        """The first turn writes to `first`, the next one to `second`, and so on."""
        self.builder.set(self.now, self.initial)
        self.builder.set(self.next, first)
        self.builder.set(self.spare, second)

    def turn(self) -> None:
        self.builder.set(self.now, self.next)
        self.builder.set(self.next, self.spare)
        self.builder.set(self.spare, self.now)


def scan_rooms(flat: Flattening, recipe: Recipe, step: Scan) -> Rooms:
    body = recipe.bodies[step.body]
    sizes = [flat.outputs(body)[output] for output in body.roots]
    rooms = {"body": flat.plan(body).size}
    fixed = still(len(step.carry), step.changed)
    rooms |= _ahead_rooms(flat, "body", body, fixed)
    for n, result in enumerate(step.results[: len(step.changed)]):
        rooms[f"b{n}"] = sizes[n]
        if result == UNREAD:
            rooms[f"a{n}"] = sizes[n]
    return rooms


def scan(here: Here, step: Scan) -> None:
    _Scanning(here, step).emit()


class _Scanning:
    """The commands of one scan."""

    def __init__(self, here: Here, step: Scan) -> None:
        self.here = here
        self.step = step
        self.builder = here.builder
        self.body = here.recipe.bodies[step.body]
        self.length = here.flat.number(step.length)
        outputs = here.flat.outputs(self.body)
        self.sizes = [outputs[output] for output in self.body.roots]
        self.carries = len(step.changed)
        self.given = [here.at(buffer) for buffer in step.carry]

    def emit(self) -> None:
        if self.length == 0:
            self._nothing()
            return
        step = self.step
        strides = [self.here.flat.number(size) for size in step.strides]
        xs = [
            self._moving(self.here.at(buffer), stride)
            for buffer, stride in zip(step.xs, strides, strict=True)
        ]
        ys = [
            self._moving(self.here.at(buffer), stride)
            for buffer, stride in self._stacked()
        ]
        self._loop(xs, ys, strides)

    def _stacked(self) -> list[tuple[int, int]]:
        """(buffer, bytes of a slice) of every stacked result."""
        first = self.carries
        return list(zip(self.step.results[first:], self.sizes[first:], strict=True))

    def _loop(self, xs: list[Cell], ys: list[Cell], strides: Sequence[int]) -> None:
        builder = self.builder
        left, turns, again = builder.cell(), self.here.counter(), builder.label()
        carries = self._carries(ys)
        arguments: list[Operand] = [*self.given, *xs]
        for n, k in enumerate(self.step.changed):
            arguments[k] = carries[n].now
        builder.set(left, self.length)
        label = self.step.label
        fixed = still(len(self.step.carry), self.step.changed)
        done = self.here.start_ahead("body", self.body, arguments, fixed, label)
        builder.place(again)
        builder.add(turns, 1)
        results = [*(c.next for c in carries), *ys]
        self.here.enter(self.body, arguments, results, label, turns, done)
        for carry in carries:
            carry.turn()
        sign = -1 if self.step.reverse else 1
        for cell, stride in zip(xs, strides, strict=True):
            builder.add(cell, sign * stride)
        for cell, (_, stride) in zip(ys, self._stacked(), strict=True):
            builder.add(cell, sign * stride)
        builder.add(left, -1)
        builder.branch_if_nonzero(left, again)
        self._finish(carries)

    def _moving(self, start: Operand, stride: int) -> Cell:
        """A pointer to the first slice of the order."""
        cell = self.builder.cell()
        self.builder.set(cell, start)
        if self.step.reverse:
            self.builder.add(cell, (self.length - 1) * stride)
        return cell

    def _carries(self, ys: Sequence[Cell]) -> list[_Turning | _Stacked]:
        made: list[_Turning | _Stacked] = []
        for n, k in enumerate(self.step.changed):
            output = self.body.roots[n]
            twins = self.body.roots[self.carries :]
            if output in twins:
                place = ys[twins.index(output)]
                made.append(_Stacked(self.here, place, self.given[k]))
                continue
            carry = _Turning(self.here, n, self.given[k])
            result = self.here.at_or_room(self.step.results[n], f"a{n}")
            rooms = (result, self.here.room(f"b{n}"))
            # The last turn writes the result.
            carry.start(*(rooms if self.length % 2 else reversed(rooms)))
            made.append(carry)
        return made

    def _finish(self, carries: Sequence[_Turning | _Stacked]) -> None:
        """A carry that lives in what is stacked has its last value there."""
        for n, carry in enumerate(carries):
            result = self.step.results[n]
            if isinstance(carry, _Stacked) and result != UNREAD:
                self.builder.copy(self.here.at(result), carry.now, self.sizes[n])

    def _nothing(self) -> None:
        """No turn: what came in goes out."""
        for n, k in enumerate(self.step.changed):
            result = self.step.results[n]
            if result != UNREAD:
                self.builder.copy(
                    self.here.at(result), self.given[k], self.sizes[n]
                )


class _Stacked:
    """A carry whose value is one of the stacked results: the next turn reads it where this one wrote it."""

    def __init__(self, here: Here, place: Cell, initial: Operand) -> None:
        self.builder = here.builder
        self.now = here.builder.cell()
        self.next = place
        self.builder.set(self.now, initial)

    def turn(self) -> None:
        self.builder.set(self.now, self.next)
