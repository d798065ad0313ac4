"""Every op of the registry has a gradient that finite differences confirm, or says why it has none."""

from __future__ import annotations

import pytest

from ingot.ops.op import REGISTRY, Op
from ingot.ops.sample import Sample
from tests.autograd.check import check, function_of, slope_of

CASES = [
    pytest.param(op, s, id=f"{op.name}-{i}")
    for op in REGISTRY.values()
    for i, s in enumerate(op.samples)
    if not op.no_grad_reason
]
FIRST = [
    pytest.param(op, op.samples[0], id=op.name)
    for op in REGISTRY.values()
    if op.samples and not op.no_grad_reason
]
NOT_TWICE = frozenset({"detach"})


@pytest.mark.parametrize(("op", "sample"), CASES)
def test_the_gradient_is_the_slope(op: Op, sample: Sample) -> None:
    function = function_of(op, sample)
    if function is not None and op.name not in NOT_TWICE:
        check(function)


@pytest.mark.parametrize(("op", "sample"), FIRST)
def test_the_second_derivative_is_the_slope_of_the_first(
    op: Op, sample: Sample
) -> None:
    function = function_of(op, sample)
    if function is None or op.name in NOT_TWICE:
        return
    check(slope_of(function), tolerance=1e-5, directions=1)
