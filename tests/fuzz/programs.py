"""Random programs over every op. In: a source of choices. Out: programs as data, their values, their scripts.

A step is one op with one of its samples. Where the sample wants floats, the step reads an earlier result, moved into the
shape that the sample has; so any op may follow any other. What steps back from a jump (floor, argmax, ==) reads fresh
numbers only: near a jump, results of different roundings differ for good reasons.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ingot.ops import movement
from ingot.ops.elementwise import multiply, tanh
from ingot.ops.op import REGISTRY, Op
from ingot.ops.sample import Recipe
from ingot.tensor.tensor import Tensor

Array = np.ndarray[Any, Any]
JUMPS = frozenset(
    "floor ceil round trunc sign floor_divide remainder fmod rest_of heaviside nextafter copysign frac signbit "
    "random_uniform random_normal random_truncated random_integers random_bits custom_gradient input bitcast "
    "digamma tan lgamma erfinv pow reciprocal divide float_power".split()
)
LARGEST = 30.0


@dataclass(frozen=True)
class Leaf:
    """Fresh numbers."""

    recipe: Recipe
    seed: int

    def array(self) -> Array:
        return np.asarray(self.recipe.array(np.random.default_rng(self.seed)))


@dataclass(frozen=True)
class Earlier:
    """The result of an earlier step, moved into a shape."""

    step: int
    shape: tuple[int, ...]


Input = Leaf | Earlier | float | int | bool | str | None


@dataclass(frozen=True)
class Step:
    """One op; several results count as the first that is a float, or the first."""

    op: str
    sample: int
    inputs: tuple[Input, ...]


@dataclass(frozen=True)
class Program:
    """Steps, and which of them are asked for."""

    steps: tuple[Step, ...]
    roots: tuple[int, ...]


# --- making -----------------------------------------------------------------------------------------------------------


@cache
def usable() -> tuple[tuple[str, int], ...]:
    """Every op with every sample that can be built."""
    made = []
    for op in REGISTRY.values():
        if not op.public or op.name == "bitcast":
            continue  # the bits of a float32 are not those of a float64
        for number, sample in enumerate(op.samples):
            if not any(isinstance(i, str) for i in sample.inputs):
                made.append((op.name, number))
    return tuple(made)


def random_program(choose: random.Random, length: int) -> Program:
    """A program of some steps."""
    steps: list[Step] = []
    shapes: list[tuple[bool, int]] = []  # result is a float, elements
    while len(steps) < length:
        name, number = choose.choice(usable())
        step = Step(name, number, _inputs(name, number, choose, shapes))
        try:
            value = _reference(Program((*steps, step), (len(steps),)))[-1]
        except (ValueError, TypeError, IndexError, KeyError, np.linalg.LinAlgError):
            continue  # the reference itself refuses these inputs
        if value.dtype.kind not in "fiub":
            continue
        steps.append(step)
        is_float = value.dtype.kind == "f" and not _is_open(name, number)
        shapes.append((is_float, value.size))
    last = len(steps) - 1
    others = [n for n in range(last) if choose.random() < 0.2]
    return Program(tuple(steps), (*others, last))


def _inputs(
    name: str,
    number: int,
    choose: random.Random,
    shapes: Sequence[tuple[bool, int]],
) -> tuple[Input, ...]:
    sample = REGISTRY[name].samples[number]
    made: list[Input] = []
    for given in sample.inputs:
        if not isinstance(given, Recipe):
            made.append(given)
            continue
        usable_steps = [
            n for n, (is_float, size) in enumerate(shapes) if is_float and size
        ]
        plain = given.dtype == "float64" and not given.items and not _jumps(name)
        if plain and usable_steps and choose.random() < 0.7:
            made.append(Earlier(choose.choice(usable_steps), given.shape))
        else:
            made.append(Leaf(given, choose.randrange(1 << 30)))
    return tuple(made)


@cache
def _jumps(name: str) -> bool:
    """Two results that are nearly equal may follow from inputs that are."""
    op = REGISTRY[name]
    if name in JUMPS or name.startswith("linalg"):
        return True
    for sample in op.samples:
        if any(
            isinstance(i, Recipe) and i.dtype == "float64" for i in sample.inputs
        ):
            nodes = _built(op, sample.attrs, [_node(i) for i in sample.inputs])
            if any(not u.dtype.is_float for u in nodes):
                return True
    return False


@cache
def _is_open(name: str, number: int) -> bool:
    """The size of the result follows from values."""
    op = REGISTRY[name]
    sample = op.samples[number]
    nodes = _built(op, sample.attrs, [_node(i) for i in sample.inputs])
    return any(not isinstance(n, int) for u in nodes for n in u.shape)


def _node(given: Any) -> Any:
    if not isinstance(given, Recipe):
        return given
    return Tensor(Leaf(given, 0).array()).uop


def _built(op: Op, attrs: Any, inputs: Sequence[Any]) -> tuple[Any, ...]:
    return op.results(*inputs, **attrs)


# --- meaning ----------------------------------------------------------------------------------------------------------


def reference(program: Program) -> list[Array]:
    """What the roots are in float64, by the ops' own references."""
    values = _reference(program)
    return [values[n] for n in program.roots]


def _reference(program: Program) -> list[Array]:
    values: list[Array] = []
    with np.errstate(all="ignore"):
        for step in program.steps:
            op = REGISTRY[step.op]
            attrs = op.samples[step.sample].attrs
            found = op.ref(*(_array(i, values) for i in step.inputs), **attrs)
            values.append(_tamed(_first(found)))
    return values


def _first(found: Any) -> Array:
    several = found if isinstance(found, tuple | list) else (found,)
    arrays = [np.asarray(part) for part in several]
    return next((a for a in arrays if a.dtype.kind == "f"), arrays[0])


def _array(given: Input, values: Sequence[Array]) -> Any:
    if isinstance(given, Leaf):
        array = given.array()
        return (
            array.astype(np.float32).astype(np.float64)
            if array.dtype.kind == "f"
            else array
        )
    if not isinstance(given, Earlier):
        return given
    flat = values[given.step].reshape(-1)
    count = int(np.prod(given.shape))
    copies = -(-count // flat.size)
    return np.tile(flat, copies)[:count].reshape(given.shape)


def _tamed(value: Array) -> Array:
    """Large values would drown what comes after; those that are not numbers stay."""
    return 3 * np.tanh(value) if is_wild(value) else value


def is_wild(value: Array) -> bool:
    if value.dtype.kind != "f":
        return False
    known = value[~np.isnan(value)]
    return bool(np.max(np.abs(known), initial=0) > LARGEST)


def tensors(program: Program) -> list[Tensor]:
    """The roots, to be evaluated."""
    values = _reference(program)
    nodes: list[Any] = []
    for number, step in enumerate(program.steps):
        op = REGISTRY[step.op]
        attrs = op.samples[step.sample].attrs
        found = _built(op, attrs, [_operand(i, nodes) for i in step.inputs])
        node = next((u for u in found if u.dtype.is_float), found[0])
        raw = _first_raw(program, number, values)
        nodes.append(multiply(tanh(node), 3.0) if raw else node)
    return [Tensor.of(nodes[n]) for n in program.roots]


def _first_raw(program: Program, number: int, values: Sequence[Array]) -> bool:
    """The step's result was tamed."""
    step = program.steps[number]
    op = REGISTRY[step.op]
    with np.errstate(all="ignore"):
        found = op.ref(
            *(_array(i, values) for i in step.inputs),
            **op.samples[step.sample].attrs,
        )
    return is_wild(_first(found))


def _operand(given: Input, nodes: Sequence[Any]) -> Any:
    if isinstance(given, Leaf):
        array = given.array()
        return Tensor(
            array.astype(np.float32) if array.dtype.kind == "f" else array
        ).uop
    if not isinstance(given, Earlier):
        return given
    node = nodes[given.step]
    count = int(np.prod(given.shape))
    size = int(np.prod(node.shape))
    copies = max(1, -(-count // size))
    row = movement.reshape(node, (1, size))
    many = movement.expand(row, (copies, size))
    flat = movement.reshape(many, (copies * size,))
    cut = movement.shrink(flat, [(0, count)])
    return movement.reshape(cut, given.shape)


# --- smaller programs with the same fault -----------------------------------------------------------------------------


def smaller(program: Program) -> list[Program]:
    """Programs with one thing less."""
    made = [
        replace(program, roots=(r,))
        for r in program.roots
        if len(program.roots) > 1
    ]
    for number in range(len(program.steps)):
        made += _without(program, number)
    for number, step in enumerate(program.steps):
        for place, given in enumerate(step.inputs):
            if isinstance(given, Earlier):
                recipe = Recipe("float64", given.shape, -2.0, 2.0)
                inputs = (
                    *step.inputs[:place],
                    Leaf(recipe, 7),
                    *step.inputs[place + 1 :],
                )
                steps = list(program.steps)
                steps[number] = replace(step, inputs=inputs)
                made.append(replace(program, steps=tuple(steps)))
    return made


def _without(program: Program, number: int) -> list[Program]:
    """The program without a step that nobody reads, unless it is all there is."""
    read = {
        i.step for s in program.steps for i in s.inputs if isinstance(i, Earlier)
    }
    if number in read or program.roots == (number,):
        return []
    shift = {old: old - (old > number) for old in range(len(program.steps))}
    steps = [
        replace(
            s,
            inputs=tuple(
                replace(i, step=shift[i.step]) if isinstance(i, Earlier) else i
                for i in s.inputs
            ),
        )
        for n, s in enumerate(program.steps)
        if n != number
    ]
    roots = tuple(shift[r] for r in program.roots if r != number)
    return [Program(tuple(steps), roots)]
