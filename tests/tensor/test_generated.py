"""The generated files are current, and say the same as the registry."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

from ingot.ops.op import Op, public_ops
from ingot.ops.sample import Sample
from ingot.tensor import generate, methods, namespace
from ingot.tensor.creation import tensor
from ingot.tensor.tensor import Tensor
from tests.ops.evaluate import error_in_ulp, wanted

OPS = list(public_ops())


@pytest.mark.parametrize("module", ["methods", "namespace"])
def test_generated_files_are_current(module: str) -> None:
    path = Path(generate.__file__).with_name(f"{module}.py")
    text = getattr(generate, module)()
    assert path.read_text(encoding="utf-8") == text, (
        "run: python -m ingot.tensor.generate"
    )


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_public_op_is_a_method_and_a_function(op: Op) -> None:
    for name in (op.name, *op.aliases):
        assert inspect.isfunction(getattr(namespace, name))
        assert inspect.isfunction(getattr(methods.Methods, name))


def _values(sample: Sample) -> list[object]:
    return [
        tensor(a) if isinstance(a, np.ndarray | np.generic) else a
        for a in sample.arguments()
    ]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_functions_pass_their_arguments_on(op: Op) -> None:
    sample = op.samples[-1]
    got = getattr(namespace, op.name)(*_values(sample), **sample.attrs)
    assert (
        error_in_ulp(
            got.numpy(), wanted(op, sample.arguments(), sample.attrs), op.normwise
        )
        <= op.ulp + 0.5
    )


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_methods_pass_their_arguments_on(op: Op) -> None:
    sample = op.samples[0]
    first, *rest = _values(sample)
    assert isinstance(first, Tensor)
    attrs = {**op.method_defaults, **sample.attrs}
    named = {
        name: value for name, value in sample.attrs.items() if name != op.spread
    }
    spread = sample.attrs.get(op.spread, ())
    got = getattr(first, op.name)(*rest, *spread, **named)
    assert (
        error_in_ulp(
            got.numpy(), wanted(op, sample.arguments(), attrs), op.normwise
        )
        <= op.ulp + 0.5
    )
