"""Every op against its own declaration: samples equal the reference, bad samples raise what they promise."""

from __future__ import annotations

import numpy as np
import pytest

from ingot.errors import IngotError
from ingot.ir import dtype as dt
from ingot.ir.opcode import OpArg, Ops
from ingot.ir.spec import PRIMITIVE, PROGRAM, verify
from ingot.ops.lower import lower_all
from ingot.ops.op import REGISTRY, Op
from ingot.ops.sample import Sample
from tests.ops.evaluate import (
    arrays_of,
    built,
    error_in_ulp,
    names_of,
    results_of,
    wanted,
    wanted_results,
)

GOOD = [
    pytest.param(op, s, id=f"{op.name}-{i}")
    for op in REGISTRY.values()
    for i, s in enumerate(op.samples)
]
BAD = [
    pytest.param(op, s, m, id=f"{op.name}-{i}")
    for op in REGISTRY.values()
    for i, (s, m) in enumerate(op.bad_samples)
]


@pytest.mark.parametrize(("op", "sample"), GOOD)
def test_float64_equals_the_reference(op: Op, sample: Sample) -> None:
    _check(op, sample, "float64")


# The bits of a float32 have no reference in float64.
NARROW = [case for case in GOOD if case.values[0] is not REGISTRY["bitcast"]]


@pytest.mark.parametrize(("op", "sample"), NARROW)
def test_float32_is_within_its_ulp_of_float64(op: Op, sample: Sample) -> None:
    _check(op, sample, "float32")


def _check(op: Op, sample: Sample, dtype: str) -> None:
    arguments = arrays_of(sample, dtype)
    nodes, inputs = results_of(op, arguments, sample.attrs)
    wants = wanted_results(op, arguments, sample.attrs)
    for node, want in zip(nodes, wants, strict=True):
        got = inputs.run(node)
        assert got.shape == want.shape
        known = [n for n in node.shape if isinstance(n, int)]  # others are computed
        assert all(n in got.shape for n in known)
        assert len(node.shape) == got.ndim
        assert got.dtype == dt.to_numpy(node.dtype)
        # Half an ulp is the rounding of the reference itself, which NumPy computes in float64 as well.
        assert error_in_ulp(got, want, op.normwise) <= op.ulp + 0.5


EXACT_ZEROS = [
    "abs",
    "negative",
    "sign",
    "floor",
    "trunc",
    "round",
    "ceil",
    "sqrt",
    "sin",
    "tanh",
    "erf",
    "log1p",
    "expm1",
]


@pytest.mark.parametrize("name", EXACT_ZEROS)
def test_zeros_keep_or_lose_their_sign_as_in_numpy(name: str) -> None:
    zeros = np.array([0.0, -0.0, 0.25, -0.25, 0.0, -0.0])
    node, inputs = built(REGISTRY[name], [zeros], {})
    got, want = inputs.run(node), wanted(REGISTRY[name], [zeros], {})
    nothing = want == 0
    assert np.array_equal(np.signbit(got[nothing]), np.signbit(want[nothing]))


def test_a_remainder_of_zero_has_the_sign_of_the_divisor() -> None:
    a, b = np.array([6.0, 6.0, -6.0, 0.0]), np.array([3.0, -3.0, -3.0, -3.0])
    node, inputs = built(REGISTRY["remainder"], [a, b], {})
    assert np.array_equal(
        np.signbit(inputs.run(node)), np.signbit(np.remainder(a, b))
    )


@pytest.mark.parametrize(("op", "sample"), GOOD)
def test_lowered_form_has_only_primitives(op: Op, sample: Sample) -> None:
    nodes, _ = results_of(op, arrays_of(sample), sample.attrs)
    basic = {name for name, known in REGISTRY.items() if known.basic}
    assert names_of(lower_all(nodes[0].sink(*nodes[1:]))) <= basic


@pytest.mark.parametrize(("op", "sample", "message"), BAD)
def test_bad_samples_say_what_is_wrong(
    op: Op, sample: Sample, message: str
) -> None:
    with pytest.raises(IngotError) as caught:
        built(op, arrays_of(sample), sample.attrs)
    assert message in str(caught.value)


@pytest.mark.parametrize("op", REGISTRY.values(), ids=lambda op: op.name)
def test_declarations_are_complete(op: Op) -> None:
    assert op.doc, f"{op.name} has no docstring"
    assert op.doc.endswith((".", ")")) or "." in op.doc
    # What a function with its own gradient computes, its user says.
    assert op.samples or op.basic or op.name == "custom_gradient"
    for alias in op.aliases:
        assert alias not in REGISTRY


@pytest.mark.parametrize(
    "op", [op for op in REGISTRY.values() if op.is_named], ids=lambda op: op.name
)
def test_named_ops_stay_nodes_of_the_program(op: Op) -> None:
    for sample in op.samples:
        node, _ = built(op, arrays_of(sample), sample.attrs)
        assert node.op is Ops.OP
        assert isinstance(node.arg, OpArg)
        assert node.arg.name == op.name


@pytest.mark.parametrize(("op", "sample"), GOOD)
def test_both_graphs_keep_the_rules_of_their_level(op: Op, sample: Sample) -> None:
    nodes, _ = results_of(op, arrays_of(sample), sample.attrs)
    node = nodes[0].sink(*nodes[1:])
    verify(node, PROGRAM)
    lowered = lower_all(node)
    verify(lowered, PRIMITIVE)
