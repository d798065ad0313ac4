"""An op declared outside of the package: it takes tensors, is differentiated by its rule or without one, and is compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.errors import ArgumentError, DTypeError
from ingot.ir.node import UOp
from ingot.ir.shape import Type
from ingot.ops import elementwise as ew
from ingot.ops.gradient import Cotangents, Gradients
from ingot.ops.op import REGISTRY
from ingot.ops.rules import same_type

X = np.array([0.5, -1.0, 2.0], np.float32)


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    """What a test declares is gone after it."""
    before = set(dict.keys(REGISTRY))
    yield
    for name in set(dict.keys(REGISTRY)) - before:
        del REGISTRY[name]


def _pair(x: UOp, *, k: float = 2.0) -> tuple[UOp, UOp]:
    """k x and x squared."""
    return ew.multiply(x, k), ew.multiply(x, x)


def _pair_type(x: UOp, *, k: float) -> tuple[Type, Type]:
    return (x.dtype, x.shape), (x.dtype, x.shape)


def test_a_rule_is_used_and_a_result_that_nobody_read_is_none() -> None:
    seen: list[Cotangents] = []

    def rule(node: UOp, cotangents: Cotangents) -> Gradients:
        seen.append(cotangents)
        first = cotangents[0]
        assert first is not None
        return (ew.multiply(first, 100.0),)

    pair: Any = ig.ops.op(
        "own_pair", types=_pair_type, lower=_pair, ref=lambda x, k=2.0: x, grad=rule
    )
    x = ig.tensor(X, requires_grad=True)
    scaled, squared = pair(x, k=3.0)
    np.testing.assert_allclose(scaled.numpy(), 3 * X)
    np.testing.assert_allclose(squared.numpy(), X * X)
    scaled.sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), np.full(3, 100.0))
    assert [g is None for g in seen[0]] == [False, True]


def test_without_a_rule_what_it_is_made_of_is_differentiated() -> None:
    pair: Any = ig.ops.op(
        "own_pair", types=_pair_type, lower=_pair, ref=lambda x: x
    )
    x = ig.tensor(X, requires_grad=True)
    scaled, squared = pair(x)
    (scaled.sum() + squared.sum()).backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 2 + 2 * X)


def test_a_reason_is_told() -> None:
    op: Any = ig.ops.op(
        "own_flat",
        types=same_type,
        lower=lambda x: x,
        ref=lambda x: x,
        no_grad_reason="it counts stars",
    )
    x = ig.tensor(X, requires_grad=True)
    with pytest.raises(ArgumentError, match="own_flat has none: it counts stars"):
        op(x).sum().backward()


def test_names_are_unique_and_inputs_are_checked() -> None:
    with pytest.raises(ArgumentError, match="the op 'softmax' is declared already"):
        ig.ops.op("softmax", types=same_type, lower=lambda x: x, ref=lambda x: x)
    op: Any = ig.ops.op("own", types=same_type, lower=lambda x: x, ref=lambda x: x)
    with pytest.raises(DTypeError, match="own: x is str; wanted a tensor"):
        op("a")
