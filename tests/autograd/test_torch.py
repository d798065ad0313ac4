"""Gradients against PyTorch's: every op that it has too, at every sample, kinks included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.ops.op import REGISTRY, Op
from ingot.ops.sample import Sample
from tests.autograd.check import function_of

torch = pytest.importorskip("torch")
TORCH = pytest.importorskip("tests.autograd.torch_ops").TORCH

CASES = [
    pytest.param(op, s, id=f"{op.name}-{i}")
    for op in REGISTRY.values()
    if op.name in TORCH
    for i, s in enumerate(op.samples)
]
# Where the value itself is infinite or NaN, these differ: at a pole, or where an infinity reaches all other elements.
MIXED = frozenset({"cumprod", "digamma", "hypot"})


@pytest.mark.parametrize(("op", "sample"), CASES)
def test_the_gradient_is_that_of_torch(op: Op, sample: Sample) -> None:
    function = function_of(op, sample)
    if function is None or (op.name in MIXED and not function.is_finite()):
        return
    arguments = [_tensor(a) for a in sample.arguments()]
    floats = [a for a in arguments if _is_float(a)]
    output = TORCH[op.name](*arguments, **sample.attrs)
    total = (output * torch.as_tensor(function.weights[0])).sum()
    wanted = torch.autograd.grad(total, floats, allow_unused=True)
    found = function.run(function.gradient())
    for x, g, w in zip(floats, found, wanted, strict=True):
        want = np.zeros(x.shape) if w is None else w.numpy()
        fine = np.isfinite(want) & np.isfinite(x.detach().numpy())
        scale = np.abs(want[fine]).max() if fine.any() else 1.0
        np.testing.assert_allclose(
            g[fine], want[fine], rtol=1e-9, atol=1e-11 * scale
        )


def _tensor(value: Any) -> Any:
    if not isinstance(value, np.ndarray | np.generic):
        return value
    made = torch.tensor(np.asarray(value))
    return made.requires_grad_() if made.is_floating_point() else made


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()
