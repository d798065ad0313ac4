"""The generated files are current, and say the same as the registry."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingot.errors import ArgumentError
from ingot.ops.op import Op, public_ops
from ingot.ops.sample import Recipe, Sample
from ingot.tensor import generate, methods, namespace
from ingot.tensor.arguments import SECOND_NAMES
from ingot.tensor.creation import tensor
from ingot.tensor.differing import Differing
from ingot.tensor.tensor import Tensor
from tests.ops.evaluate import error_in_ulp, wanted_results

OPS = list(public_ops())
DIFFERENT = set(vars(Differing))


FILES = generate.files()


@pytest.mark.parametrize(
    "path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_generated_files_are_current(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == FILES[path], (
        "run: python -m ingot.tensor.generate"
    )


@pytest.mark.parametrize("folder", ["methods", "functions"])
def test_no_file_of_a_family_that_is_gone(folder: str) -> None:
    found = (generate.HERE / folder).glob("*.py")
    assert {path for path in found if path.stem != "__init__"} <= set(FILES)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_public_op_is_a_method_and_a_function(op: Op) -> None:
    for name in (op.name, *op.aliases):
        assert inspect.isfunction(getattr(namespace, name))
        if generate.has_method(op):
            assert inspect.isfunction(getattr(methods.Methods, name))


def _values(sample: Sample) -> list[object]:
    return [
        tensor(a) if isinstance(a, np.ndarray | np.generic) else a
        for a in sample.arguments()
    ]


def _check(op: Op, got: object, sample: Sample, attrs: dict[str, Any]) -> None:
    parts = got if isinstance(got, tuple | list) else (got,)
    wants = wanted_results(op, sample.arguments(), attrs)
    for part, want in zip(parts, wants, strict=True):
        assert isinstance(part, Tensor)
        assert error_in_ulp(part.numpy(), want, op.normwise) <= op.ulp + 0.5


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_functions_pass_their_arguments_on(op: Op) -> None:
    sample = op.samples[-1]
    values, named = _arguments(op, sample)
    got = getattr(namespace, op.name)(*values, **named)
    _check(op, got, sample, dict(sample.attrs))


# Where a method means something else than the function, it has tests of its own.
METHODS = [op for op in OPS if generate.has_method(op) and op.name not in DIFFERENT]


@pytest.mark.parametrize("op", METHODS, ids=lambda op: op.name)
def test_methods_pass_their_arguments_on(op: Op) -> None:
    sample = next(s for s in op.samples if isinstance(s.inputs[0], Recipe))
    (first, *rest), named = _values(sample), dict(sample.attrs)
    assert isinstance(first, Tensor)
    if not op.takes_any_number:
        rest, named = (
            [],
            dict(list(_by_name(op, (first, *rest), named).items())[1:]),
        )
    spread = named.pop(op.spread, ())
    got = getattr(first, op.name)(*rest, *spread, **named)
    _check(op, got, sample, {**op.method_defaults, **sample.attrs})


# --- two names for one argument ---

TWICE = [
    pytest.param(op, name, id=f"{op.name}-{name}")
    for op in OPS
    for name in op.signature.parameters
    if name in SECOND_NAMES and name != op.spread
]


@pytest.mark.parametrize(("op", "name"), TWICE)
def test_both_names_of_an_argument_are_understood_one_at_a_time(
    op: Op, name: str
) -> None:
    calls = [(s, _arguments(op, s)) for s in op.samples]
    found = next(((s, given) for s, given in calls if name in given[1]), None)
    assert found is not None, f"{op.name} has no sample with {name}"
    sample, (values, named) = found
    function = getattr(namespace, op.name)
    second = {SECOND_NAMES[name]: named[name]}
    rest = {key: value for key, value in named.items() if key != name}
    _check(op, function(*values, **rest, **second), sample, dict(sample.attrs))
    with pytest.raises(ArgumentError, match=f"{name} and {SECOND_NAMES[name]} are"):
        function(*values, **named, **second)


def _arguments(op: Op, sample: Sample) -> tuple[list[Any], dict[str, Any]]:
    """The call by name, as far as arguments have names."""
    values = _values(sample)
    if op.takes_any_number:
        return ([values] if op.bundled else values), dict(sample.attrs)
    return [], _by_name(op, values, sample.attrs)


def _by_name(op: Op, values: Sequence[Any], attrs: Any) -> dict[str, Any]:
    """Every argument by its name, those of `**names` too."""
    bound = op.signature.bind(*values, **attrs).arguments
    kinds = {name: p.kind for name, p in op.signature.parameters.items()}
    open_ones = [n for n in bound if kinds[n] is inspect.Parameter.VAR_KEYWORD]
    plain = {name: value for name, value in bound.items() if name not in open_ones}
    return plain | {k: v for name in open_ones for k, v in bound[name].items()}


def test_an_argument_that_has_to_be_given() -> None:
    with pytest.raises(ArgumentError, match="permute: axes is missing"):
        namespace.permute(tensor([1.0]))


def test_a_signature_shows_its_defaults() -> None:
    assert "keepdims: 'bool' = False" in str(inspect.signature(namespace.sum))
