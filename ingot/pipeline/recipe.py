"""Recipes: a schedule as text. In: what fusion chose. Out: kernels in order, their arguments and memory; no node.

A recipe knows no buffer and no address. Buffers have numbers: first the inputs, then the outputs, then what lies
between kernels. Sizes are Python source over the program's variables. So a recipe is kept on disk, and a program that
was scheduled once, in any process, is not lowered or fused again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

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


class Step(NamedTuple):
    """One kernel: a use of a family over these buffers."""

    label: str
    use: int
    buffers: tuple[int, ...]


class Recipe(NamedTuple):
    """Kernels in running order, and the memory that they need."""

    inputs: tuple[int, ...]  # the leaves that are read
    outputs: tuple[str, ...]  # bytes of each
    between: tuple[str, ...]  # bytes of each
    roots: tuple[int, ...]  # which output each root is
    uses: tuple[Use, ...]
    steps: tuple[Step, ...]

    def text(self) -> str:
        return json.dumps(self)


def recipe_from_text(text: str) -> Recipe:
    """The inverse of `Recipe.text`."""
    inputs, outputs, between, roots, uses, steps = json.loads(text)
    return Recipe(
        tuple(inputs),
        tuple(outputs),
        tuple(between),
        tuple(roots),
        tuple(_use(*use) for use in uses),
        tuple(Step(label, use, tuple(buffers)) for label, use, buffers in steps),
    )


def _use(
    family: str,
    values: list[tuple[str, str, int | float | str]],
    cost: str,
    flops: str,
    nbytes: str,
) -> Use:
    return Use(
        family, tuple(Value(*value) for value in values), cost, flops, nbytes
    )
