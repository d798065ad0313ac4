"""Batching equals a Python loop: for every sample of every op, whichever of its inputs are batched."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from ingot.autograd.batch import batch
from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ops.op import REGISTRY, Op
from ingot.ops.sample import Sample
from tests.ops.evaluate import Inputs, names_of

BATCH = 3
Arguments = list[Any]


def outcomes(op: Op, arguments: Arguments, attrs: Any) -> list[UOp]:
    """Every result of one call."""
    made: Any = (
        op.results(*arguments, **attrs) if op.is_named else op(*arguments, **attrs)
    )
    return list(made) if isinstance(made, tuple | list) else [made]


def looped(op: Op, examples: list[Arguments], attrs: Any) -> list[Any]:
    """The op on one example after the other."""
    rows = []
    for arguments in examples:
        inputs = Inputs()
        nodes = outcomes(op, [inputs.operand(a) for a in arguments], attrs)
        rows.append(inputs.run(nodes[0].sink(*nodes[1:])))
    return [np.stack(column) for column in zip(*rows, strict=True)]


def batched(op: Op, examples: list[Arguments], attrs: Any, which: Any) -> list[Any]:
    """The op once, over the batch."""
    inputs, given, arguments = Inputs(), {}, []
    for place, first in enumerate(examples[0]):
        argument = inputs.operand(first)
        if which[place]:
            stacked = np.stack([e[place] for e in examples])
            given[argument] = inputs.node(stacked)
        arguments.append(argument)
    lanes = batch(outcomes(op, arguments, attrs), given, BATCH)
    found = inputs.run(UOp(Ops.SINK, dt.void, tuple(lane.node for lane in lanes)))
    return [
        value if lane.batched else np.stack([value] * BATCH)
        for value, lane in zip(found, lanes, strict=True)
    ]


def choices(arguments: Arguments) -> list[tuple[bool, ...]]:
    """Ways to batch some of the arrays: each alone, all of them, and of two or three every choice."""
    free = [
        (False, True) if isinstance(a, np.ndarray) else (False,) for a in arguments
    ]
    found = [which for which in product(*free) if any(which)]
    most = max(map(sum, found), default=0)
    return found if most <= 3 else [w for w in found if sum(w) in (1, most)]


def examples_of(sample: Sample, which: tuple[bool, ...]) -> list[Arguments]:
    """Several calls that differ in the batched inputs alone."""
    seeds = [sample.arguments(seed) for seed in range(BATCH)]
    return [
        [
            a if varies else b
            for a, b, varies in zip(one, seeds[0], which, strict=True)
        ]
        for one in seeds
    ]


CASES = [
    pytest.param(op, sample, id=f"{op.name}({sample})")
    for op in REGISTRY.values()
    for sample in op.samples
]


def is_refused(op: Op, arguments: Arguments, attrs: Any, message: str) -> bool:
    """How large the results are depends on values of the batch: an error that says so."""
    inputs = Inputs()
    nodes = outcomes(op, [inputs.operand(a) for a in arguments], attrs)
    dims = [n for node in nodes for n in node.shape if isinstance(n, UOp)]
    computed = any(u.op is Ops.SIZE_OF for dim in dims for u in dim.toposort())
    return computed and "a size differs from example to example" in message


@pytest.mark.parametrize(("op", "sample"), CASES)
def test_a_batch_is_a_loop(op: Op, sample: Sample) -> None:
    for which in choices(sample.arguments()):
        examples = examples_of(sample, which)
        try:
            found = batched(op, examples, sample.attrs, which)
        except ArgumentError as error:
            if not is_refused(op, examples[0], sample.attrs, str(error)):
                raise
            continue
        wanted = looped(op, examples, sample.attrs)
        for a, b in zip(found, wanted, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


KEPT = (
    *("matmul", "linear", "softmax", "log_softmax", "mean", "logsumexp"),
    *("layer_norm", "rms_norm", "conv2d", "scaled_dot_product_attention"),
    *("relu", "gelu", "silu", "sigmoid", "mish", "abs", "log1p"),
)


@pytest.mark.parametrize("name", KEPT)
def test_ops_that_carry_a_batch_keep_their_name(name: str) -> None:
    op = REGISTRY[name]
    sample = op.samples[0]
    inputs, given = Inputs(), {}
    arguments = [inputs.operand(a) for a in sample.arguments()]
    first: Any = sample.arguments()[0]
    given[arguments[0]] = inputs.node(np.stack([first] * BATCH))
    (lane,) = batch([op(*arguments, **sample.attrs)], given, BATCH)
    assert names_of(lane.node) == {name}
