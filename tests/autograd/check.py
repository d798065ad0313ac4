"""Gradients against finite differences. In: an op and a sample. Out: slopes along random directions, to be compared.

Where a function has a kink, its slopes before and behind differ, and the gradient has to lie between them; where it is
smooth they agree. So every sample is checked, and none has to be left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ingot.autograd.backward import gradients
from ingot.ir import dtype as dt
from ingot.ir.interpret import interpret
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.region import param, results
from ingot.ops import elementwise as ew
from ingot.ops.lower import lower, lower_all
from ingot.ops.op import Op
from ingot.ops.sample import Sample

STEP = 1e-4
Array = Any


class Function:
    """The weighted sum of some nodes as a function of float inputs, and the point where it is looked at."""

    def __init__(
        self,
        outputs: Sequence[UOp],
        values: Mapping[UOp, Array],
        wrt: Sequence[UOp],
        seed: int = 7,
    ) -> None:
        self.outputs = [y for y in outputs if y.dtype.is_float]
        self.values = dict(values)
        self.wrt = list(wrt)
        rng = np.random.default_rng(seed)
        at_point = self.run(self.outputs)
        self.weights = [rng.uniform(0.5, 1.5, y.shape) for y in at_point]
        # Slots far from those of functions, which have parameters of their own.
        self.seeds = [
            param(1000 + len(self.values) + i, y.dtype, w.shape)
            for i, (y, w) in enumerate(zip(self.outputs, self.weights, strict=True))
        ]
        self.values |= dict(zip(self.seeds, self.weights, strict=True))

    def run(
        self, roots: Sequence[UOp], at: Mapping[UOp, Array] | None = None
    ) -> list[Array]:
        """The values of these nodes."""
        sink = UOp(Ops.SINK, dt.void, tuple(roots))
        return list(interpret(lower_all(sink), at or self.values, lower=lower))

    def gradient(self) -> list[UOp]:
        """A gradient node for each input; zeros where nothing flows."""
        found = gradients(self.outputs, self.seeds, self.wrt)
        return [
            ew.constant(0.0, x.dtype, x.shape) if g is None else g
            for x, g in zip(self.wrt, found, strict=True)
        ]

    def total(self, at: Mapping[UOp, Array]) -> float:
        """The weighted sum."""
        made = self.run(self.outputs, at)
        return sum(
            float((y * w).sum()) for y, w in zip(made, self.weights, strict=True)
        )

    def slopes(self, direction: Sequence[Array]) -> tuple[Array, Array]:
        """The slopes before and behind the point along a direction, from wide and from near steps, to second order."""

        @cache
        def at(distance: float) -> float:
            moved = dict(self.values)
            for x, d in zip(self.wrt, direction, strict=True):
                moved[x] = self.values[x] + distance * d
            return self.total(moved)

        def slope(h: float) -> float:
            return (4 * at(h) - at(2 * h) - 3 * at(0.0)) / (2 * h)

        wide, near = STEP, STEP / 2
        return (
            np.array([slope(-wide), slope(wide)]),
            np.array([slope(-near), slope(near)]),
        )

    def is_finite(self) -> bool:
        """The point and the values have no NaN and no infinity."""
        found = [*self.values.values(), *self.run(self.outputs)]
        return all(np.isfinite(v).all() for v in found if v.dtype.kind == "f")


def function_of(op: Op, sample: Sample) -> Function | None:
    """A sample of an op in float64, as a function of its float inputs; None: there is nothing to differentiate."""
    values: dict[UOp, Array] = {}

    def operand(value: Any) -> Any:
        if not isinstance(value, np.ndarray | np.generic):
            return value
        array = np.asarray(value)
        made = param(len(values), dt.from_numpy(array.dtype), array.shape)
        values[made] = array
        return made

    outputs = outputs_of(
        op(*(operand(a) for a in sample.arguments()), **sample.attrs)
    )
    wrt = [x for x in values if x.dtype.is_float]
    if not wrt or not any(y.dtype.is_float for y in outputs):
        return None
    return Function(outputs, values, wrt)


def outputs_of(node: Any) -> list[UOp]:
    """Every result."""
    if isinstance(node, tuple | list):
        return list(node)
    return list(results(node)) if node.dtype is dt.void else [node]


def slope_of(function: Function, seed: int = 3) -> Function:
    """The gradient of a function, weighted: again a function of the same inputs."""
    return Function(function.gradient(), function.values, function.wrt, seed)


def check(function: Function, tolerance: float = 1e-6, directions: int = 2) -> None:
    """The gradient, along random directions, lies between the slopes before and behind the point."""
    found = function.run(function.gradient())
    for x, g in zip(function.wrt, found, strict=True):
        assert g.shape == function.values[x].shape
        assert g.dtype == function.values[x].dtype
    if not function.is_finite():
        return
    rng = np.random.default_rng(5)
    for _ in range(directions):
        direction = [_direction(function.values[x], rng) for x in function.wrt]
        got = sum(
            float((g * d).sum()) for g, d in zip(found, direction, strict=True)
        )
        wide, near = function.slopes(direction)
        if not np.isfinite([wide, near]).all():
            continue  # the end of what the function is defined for
        low, high = sorted(near)
        # What half the step changes says how good the difference is: little, or everything where the function jumps.
        doubt = 2 * float(np.abs(wide - near).max())
        room = doubt + tolerance * max(1.0, abs(low), abs(high), _size(found))
        assert low - room <= got <= high + room, f"{low} <= {got} <= {high}"


def _direction(point: Array, rng: np.random.Generator) -> Array:
    """A random direction; small numbers move less, so that they keep their sign."""
    size = np.where(point == 0, 1.0, np.minimum(np.abs(point), 1.0))
    return np.asarray(rng.standard_normal(point.shape) * size)


def _size(arrays: Sequence[Array]) -> float:
    return max((float(np.abs(a).max()) for a in arrays if a.size), default=0.0)
