"""Forward derivatives: against finite differences in float64, and against the gradients, for every op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ingot.autograd.backward import gradients
from ingot.autograd.forward import forward
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ops.gradient import stop
from ingot.ops.op import REGISTRY, Op
from ingot.ops.sample import Recipe, Sample
from tests.autograd.test_batch import outcomes
from tests.ops.evaluate import Inputs

STEP = 1e-6
CORNERS = (
    "float64[5, 1], axis=1",
)  # of one element the deviation is 0, where a root has no slope


def is_smooth(op: Op, sample: Sample) -> bool:
    """Random floats lie beside the places where a function has no derivative; the listed values are such places."""
    recipes = [r for r in sample.inputs if isinstance(r, Recipe)]
    moving = [r for r in recipes if r.dtype == "float64"]
    listed = any(r.items for r in recipes)
    refused = op.no_grad_reason or op.grad is stop
    return (
        bool(moving) and not listed and not refused and str(sample) not in CORNERS
    )


def floats_of(nodes: Sequence[UOp]) -> list[UOp]:
    return [n for n in nodes if n.dtype.is_float]


CASES = [
    pytest.param(op, sample, id=f"{op.name}({sample})")
    for op in REGISTRY.values()
    for sample in op.samples
    if is_smooth(op, sample)
]


class Case:
    """One call with floats to move, and directions for them."""

    def __init__(self, op: Op, sample: Sample) -> None:
        self.op, self.attrs = op, sample.attrs
        self.arguments: list[Any] = list(sample.arguments(3))
        rng = np.random.default_rng(1)
        self.ways = {
            place: np.asarray(rng.normal(size=a.shape))
            for place, a in enumerate(self.arguments)
            if isinstance(a, np.ndarray) and a.dtype == np.float64
        }

    def values(self, step: float) -> list[Any]:
        """The float results after a small step."""
        moved = [
            np.asarray(a + step * self.ways[place]) if place in self.ways else a
            for place, a in enumerate(self.arguments)
        ]
        inputs = Inputs()
        made = outcomes(self.op, [inputs.operand(a) for a in moved], self.attrs)
        return self._run(inputs, floats_of(made))

    def _run(self, inputs: Inputs, nodes: Sequence[UOp]) -> list[Any]:
        return list(inputs.run(UOp(Ops.SINK, dt.void, tuple(nodes))))

    def tangents(self) -> list[Any]:
        inputs = Inputs()
        nodes = [inputs.operand(a) for a in self.arguments]
        ways = {nodes[place]: inputs.node(way) for place, way in self.ways.items()}
        made = floats_of(outcomes(self.op, nodes, self.attrs))
        duals = forward(made, ways)
        found = self._run(
            inputs, [d.primal if d.tangent is None else d.tangent for d in duals]
        )
        return [
            np.zeros_like(value) if dual.tangent is None else value
            for value, dual in zip(found, duals, strict=True)
        ]

    def gradients(self, cotangents: Sequence[Any]) -> list[Any]:
        """For each float input."""
        inputs = Inputs()
        nodes = [inputs.operand(a) for a in self.arguments]
        wrt = [nodes[place] for place in self.ways]
        made = floats_of(outcomes(self.op, nodes, self.attrs))
        found = gradients(made, [inputs.node(c) for c in cotangents], wrt)
        values = self._run(
            inputs, [w if f is None else f for w, f in zip(wrt, found, strict=True)]
        )
        return [
            np.zeros_like(v) if f is None else v
            for v, f in zip(values, found, strict=True)
        ]


@pytest.mark.parametrize(("op", "sample"), CASES)
def test_tangents_are_slopes_and_the_transpose_of_gradients(
    op: Op, sample: Sample
) -> None:
    """J t is a finite difference, and <c, J t> = <J^T c, t>."""
    case = Case(op, sample)
    tangents = case.tangents()
    ahead, behind = case.values(STEP), case.values(-STEP)
    for found, a, b in zip(tangents, ahead, behind, strict=True):
        assert found.shape == a.shape
        slope = (a - b) / (2 * STEP)
        inside = np.isfinite(slope)  # of the function's domain
        np.testing.assert_allclose(
            found[inside], slope[inside], rtol=2e-6, atol=2e-7
        )
    rng = np.random.default_rng(2)
    cotangents = [np.asarray(rng.normal(size=t.shape)) for t in tangents]
    forwards = sum(np.sum(c * t) for c, t in zip(cotangents, tangents, strict=True))
    shares = case.gradients(cotangents) if tangents else []
    backwards = sum(
        np.sum(g * t) for g, t in zip(shares, case.ways.values(), strict=False)
    )
    np.testing.assert_allclose(forwards, backwards, rtol=1e-9, atol=1e-12)
