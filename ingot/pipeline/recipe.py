"""Recipes: a schedule as text. In: what fusion chose. Out: steps in order, their arguments and memory; no node.

A recipe knows no buffer and no address. Buffers have numbers: first the inputs, then the outputs, then what lies
between steps. Sizes are Python source over the program's variables. A step is a kernel, or a check, host code, a
branch or a loop; the bodies of those are recipes too, whose inputs are the parameters of a function. So a recipe is
kept on disk, and a program that was scheduled once, in any process, is not lowered or fused again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ingot.pipeline.host import Number, evaluate


class Value(NamedTuple):
    """A scalar argument of a family, here: a number, or Python source over the program's variables."""

    name: str
    dtype: str
    value: int | float | str

    def number(self, variables: Mapping[str, Number]) -> Number:
        return (
            evaluate(self.value, variables)
            if isinstance(self.value, str)
            else self.value
        )


class Use(NamedTuple):
    """A family with arguments. The last three are estimates: nanoseconds of one thread, operations, bytes moved."""

    family: str  # digest of the family's structure
    values: tuple[Value, ...]
    cost: str
    flops: str
    nbytes: str

    def names(self, variables: Mapping[str, Number]) -> dict[str, Number]:
        """The family's sizes and scalars for these values of the program's variables."""
        return {value.name: value.number(variables) for value in self.values}


# --- steps: what is done, in order ------------------------------------------------------------------------------------

UNREAD = -1  # in place of a buffer: nobody reads this result


class Step(NamedTuple):
    """One kernel: a use of a family over these buffers."""

    label: str
    use: int
    buffers: tuple[int, ...]


class Check(NamedTuple):
    """An error unless the condition holds: its class, its message, and the numbers in it as (buffer, dtype)."""

    label: str
    condition: int
    details: tuple[tuple[int, str], ...]
    error: str
    message: str


class Array(NamedTuple):
    """A buffer as host code sees it."""

    buffer: int
    dtype: str
    shape: tuple[str, ...]


class Host(NamedTuple):
    """Host code by name."""

    label: str
    name: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


class Enter(NamedTuple):
    """One body, once. `results` are in the order of the body's roots."""

    label: str
    body: int
    arguments: tuple[int, ...]
    results: tuple[int, ...]


class Branch(NamedTuple):
    """One of two bodies."""

    label: str
    condition: int
    bodies: tuple[int, int]
    arguments: tuple[int, ...]
    results: tuple[int, ...]


class While(NamedTuple):
    """A body as long as another holds; `changed` says which part of the state each root of the body is."""

    label: str
    test: int
    body: int
    state: tuple[int, ...]
    changed: tuple[int, ...]
    results: tuple[int, ...]


class Scan(NamedTuple):
    """A body for every slice. Its roots are the changed carries, then what is stacked; `strides` are bytes of slices."""

    label: str
    body: int
    carry: tuple[int, ...]
    xs: tuple[int, ...]
    changed: tuple[int, ...]
    results: tuple[int, ...]
    length: str
    strides: tuple[str, ...]
    reverse: bool


AnyStep = Step | Check | Host | Enter | Branch | While | Scan
_STEPS: dict[str, type[AnyStep]] = {
    kind.__name__: kind for kind in (Step, Check, Host, Enter, Branch, While, Scan)
}


class Recipe(NamedTuple):
    """Steps in running order, and the memory that they need. A body's inputs are its parameters."""

    inputs: tuple[int, ...]  # the leaves that are read
    outputs: tuple[str, ...]  # bytes of each
    between: tuple[str, ...]  # bytes of each
    roots: tuple[int, ...]  # which output each root is
    uses: tuple[Use, ...]
    steps: tuple[AnyStep, ...]
    bodies: tuple[Recipe, ...] = ()

    def text(self) -> str:
        return json.dumps(self._plain())

    def _plain(self) -> tuple[object, ...]:
        steps = [(type(step).__name__, *step) for step in self.steps]
        bodies = [body._plain() for body in self.bodies]
        return (*self[:-2], steps, bodies)

    def kernels(self) -> int:
        """How many there are, here and in the bodies."""
        own = sum(isinstance(step, Step) for step in self.steps)
        return own + sum(body.kernels() for body in self.bodies)

    def labels(self) -> dict[int, str]:
        """A name for each use: that of the first step that has it."""
        kernels = [step for step in self.steps if isinstance(step, Step)]
        return {step.use: step.label for step in reversed(kernels)}


# --- reading ----------------------------------------------------------------------------------------------------------


def recipe_from_text(text: str) -> Recipe:
    """The inverse of `Recipe.text`."""
    return _recipe(*_tuples(json.loads(text)))


def _tuples(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    if isinstance(value, list):
        return tuple([_tuples(item) for item in value])
    return value


def _recipe(
    inputs: tuple[int, ...],
    outputs: tuple[str, ...],
    between: tuple[str, ...],
    roots: tuple[int, ...],
    uses: Any,
    steps: Any,
    bodies: Any,
) -> Recipe:
    return Recipe(
        inputs,
        outputs,
        between,
        roots,
        tuple(
            Use(use[0], tuple(Value(*v) for v in use[1]), *use[2:]) for use in uses
        ),
        tuple(_step(*step) for step in steps),
        tuple(_recipe(*body) for body in bodies),
    )


def _step(kind: str, *fields: Any) -> AnyStep:
    made = _STEPS[kind](*fields)
    if isinstance(made, Host):
        arrays = [tuple(Array(*a) for a in side) for side in made[2:]]
        return Host(made.label, made.name, arrays[0], arrays[1])
    return made
