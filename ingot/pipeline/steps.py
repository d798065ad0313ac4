"""Steps without loops. In: a step of a recipe at its place. Out: its commands, and the room that it needs for itself."""

from __future__ import annotations

from ingot.errors import ArgumentError
from ingot.ir.region import EXTERNS
from ingot.pipeline.extern import checker, host_call, size_in_bytes
from ingot.pipeline.flatten import Flattening
from ingot.pipeline.here import Here, Line, Rooms, launch
from ingot.pipeline.recipe import (
    UNREAD,
    AnyStep,
    Branch,
    Check,
    Enter,
    Host,
    Recipe,
    Step,
)

# --- kernels, checks, host code ---------------------------------------------------------------------------------------


def kernel_rooms(flat: Flattening, recipe: Recipe, step: Step) -> Rooms:
    call = flat.calls[id(recipe)][step.use]
    return {f"t{n}": size for n, size in enumerate(call.temporaries())}


def kernel(here: Here, step: Step) -> None:
    done = here.done
    call = here.flat.calls[id(here.recipe)][step.use]
    pointers = [here.at(buffer) for buffer in step.buffers]
    pointers += [
        done.rooms.get(n) or here.room(f"t{n}")
        for n in range(len(call.member.temporaries))
    ]
    label = here.path + step.label
    launch(here, call, pointers, label, lambda n: n not in done.launches)
    use = here.recipe.uses[step.use]
    here.flat.lines.append(Line(label, use.flops, use.nbytes, here.turns))


def no_rooms(flat: Flattening, recipe: Recipe, step: AnyStep) -> Rooms:
    return {}


def check(here: Here, step: Check) -> None:
    holds, end = here.builder.cell(), here.builder.label()
    here.builder.read(holds, here.at(step.condition), nbytes=1)
    here.builder.branch_if_nonzero(holds, end)
    details = [here.at(buffer) for buffer, _ in step.details]
    here.builder.host(checker(step), details, label=here.path + step.label)
    here.builder.place(end)


def host_rooms(flat: Flattening, recipe: Recipe, step: Host) -> Rooms:
    return {
        f"out{n}": flat.number(size_in_bytes(array))
        for n, array in enumerate(step.outputs)
        if array.buffer == UNREAD
    }


def host(here: Here, step: Host) -> None:
    if step.name not in EXTERNS:
        raise ArgumentError(
            f"there is no host code called {step.name!r}",
            fix="register it with ig.extern in this process too",
        )
    places = [here.at(array.buffer) for array in step.inputs]
    places += [
        here.at_or_room(array.buffer, f"out{n}")
        for n, array in enumerate(step.outputs)
    ]
    call = host_call(step, here.flat.variables)
    here.builder.host(call, places, label=here.path + step.label)


# --- calls and branches -----------------------------------------------------------------------------------------------


def enter_rooms(flat: Flattening, recipe: Recipe, step: Enter) -> Rooms:
    return {"body": flat.plan(recipe.bodies[step.body]).size}


def enter(here: Here, step: Enter) -> None:
    arguments = [here.at(buffer) for buffer in step.arguments]
    results = [here.at(buffer) for buffer in step.results]
    body = here.recipe.bodies[step.body]
    here.enter(body, arguments, results, step.label, here.turns)


def branch_rooms(flat: Flattening, recipe: Recipe, step: Branch) -> Rooms:
    return {"body": max(flat.plan(recipe.bodies[n]).size for n in step.bodies)}


def branch(here: Here, step: Branch) -> None:
    builder = here.builder
    arguments = [here.at(buffer) for buffer in step.arguments]
    results = [here.at(buffer) for buffer in step.results]
    taken, otherwise, end = builder.cell(), builder.label(), builder.label()
    builder.read(taken, here.at(step.condition), nbytes=1)
    builder.branch_if_zero(taken, otherwise)
    for number, name in zip(step.bodies, ("then", "else"), strict=True):
        turns = here.counter()
        builder.add(turns, 1)
        body = here.recipe.bodies[number]
        here.enter(body, arguments, results, f"{step.label}.{name}", turns)
        if name == "then":
            builder.jump(end)
            builder.place(otherwise)
    builder.place(end)
