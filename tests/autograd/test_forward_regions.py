"""Tangents through functions, branches and loops, and through reductions over several states: finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ingot.autograd.forward import forward
from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, PrefixArg, ResultArg
from ingot.ir.region import (
    call,
    extern,
    function,
    if_,
    param,
    scan,
    shallow,
    while_,
)
from ingot.ops.detach import detach
from ingot.ops.elementwise import add, exp, less, multiply, sin, where
from ingot.ops.matmul import matmul
from ingot.ops.op import REGISTRY, op
from ingot.ops.reduce import max_, prod, reduce_states, sum_
from ingot.ops.rules import same_type
from tests.ops.evaluate import Inputs

F64 = dt.float64
STEP = 1e-6
Build = Callable[..., Sequence[UOp]]
RNG = np.random.default_rng(3)


def floats(*shape: int) -> Any:
    return RNG.normal(size=shape)


def sink(nodes: Sequence[UOp]) -> UOp:
    return UOp(Ops.SINK, dt.void, tuple(nodes))


def agree(
    build: Build, arrays: Sequence[Any], still: Sequence[int] = ()
) -> list[UOp]:
    """Tangents along random directions are finite differences; `still` inputs do not move."""
    ways = [floats(*a.shape) * (k not in still) for k, a in enumerate(arrays)]

    def values(step: float) -> Any:
        inputs = Inputs()
        moved = [
            np.asarray(a + step * w) for a, w in zip(arrays, ways, strict=True)
        ]
        return inputs.run(sink(build(*map(inputs.node, moved))))

    inputs = Inputs()
    nodes = [inputs.node(a) for a in arrays]
    given = {
        n: inputs.node(np.asarray(w))
        for k, (n, w) in enumerate(zip(nodes, ways, strict=True))
        if k not in still
    }
    duals = forward(list(build(*nodes)), given)
    found = [d.tangent or multiply(d.primal, 0.0) for d in duals]
    changes = inputs.run(sink(found))
    primals = inputs.run(sink([d.primal for d in duals]))
    for a, b, c, primal, now in zip(
        values(STEP), values(-STEP), changes, primals, values(0.0), strict=True
    ):
        np.testing.assert_allclose(primal, now)
        np.testing.assert_allclose(c, (a - b) / (2 * STEP), rtol=1e-6, atol=1e-7)
    return [*found, *(d.primal for d in duals)]


@pytest.mark.parametrize("still", [(), (0,), (1,)])
def test_call(still: tuple[int, ...]) -> None:
    x, w = param(0, F64, (3,)), param(1, F64, (3, 3))
    inner = function("double", (x,), (add(x, sin(x)),))
    layer = function("layer", (x, w), (sin(matmul(w, call(inner, x)[0])), w))

    def build(a: UOp, b: UOp) -> Sequence[UOp]:
        first, same = call(layer, a, b)
        return call(layer, first, same)

    agree(build, [floats(3), floats(3, 3)], still)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_if(sign: float) -> None:
    """A branch whose result does not change has zeros where the other has a tangent."""
    x = param(0, F64, (3,))
    yes = function("yes", (x,), (sin(x), sum_(x)))
    no = function("no", (x,), (multiply(detach(x), 2.0), max_(x)))

    def build(a: UOp, b: UOp) -> Sequence[UOp]:
        return if_(less(sum_(a), 0.0), yes, no, b)

    start = np.full(3, sign)
    if sign < 0:
        agree(build, [start, floats(3)])
    else:
        inputs = Inputs()
        a, b, w = inputs.node(start), inputs.node(floats(3)), inputs.node(floats(3))
        first, second = forward(list(build(a, b)), {b: w})
        assert first.tangent is not None
        assert second.tangent is not None
        assert not inputs.run(first.tangent).any()


def test_while() -> None:
    """The second state moves only because the first does."""
    x, y, n = param(0, F64, ()), param(1, F64, (3,)), param(2, dt.int64, ())
    cond = function("cond", (x, y, n), (less(n, 4),))
    step = add(multiply(y, 0.5), where(less(x, 0.0), x, exp(x)))
    body = function("body", (x, y, n), (multiply(x, 1.1), step, add(n, 1)))

    def build(a: UOp) -> Sequence[UOp]:
        start = inputs_of_ones()
        return while_(cond, body, a, start, UOp.const(dt.int64, 0))[:2]

    agree(build, [floats()])


def inputs_of_ones() -> UOp:
    return UOp(Ops.EXPAND, F64, (_one_row(), UOp.const(dt.index, 3)))


def _one_row() -> UOp:
    return UOp(Ops.RESHAPE, F64, (UOp.const(F64, 1.0), UOp.const(dt.index, 1)))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("still", [(), (0,), (1,), (2,), (0, 2), (0, 1)])
def test_scan(still: tuple[int, ...], reverse: bool) -> None:
    total, factor, x = param(0, F64, (3,)), param(1, F64, ()), param(2, F64, (3,))
    step = add(multiply(total, factor), sin(multiply(x, total)))
    body = function("step", (total, factor, x), (step, factor, sum_(step), x))

    def build(a: UOp, f: UOp, xs: UOp) -> Sequence[UOp]:
        return scan(body, (a, f), (xs,), reverse=reverse)

    made = agree(build, [floats(3), floats(), floats(5, 3)], still)
    scans = [u for u in shallow(sink(made)) if u.op is Ops.SCAN]
    assert len(scans) == 1  # values and tangents in one loop


def test_host_code_is_refused() -> None:
    x, t = param(0, F64, (3,)), param(1, F64, (3,))
    (y,) = extern("anything", (x,), (("float64", (3,)),))
    with pytest.raises(ArgumentError, match="EXTERN has no derivative"):
        forward([y], {x: t})


def test_a_product_with_zeros() -> None:
    x = np.array([2.0, 0.0, 3.0])
    agree(lambda a: [prod(a)], [x])
    agree(lambda a: [prod(a)], [np.array([0.0, 0.0, 3.0])])


def test_states_that_carry_their_tangents() -> None:
    """log(sum(exp(x))) by the online rule, and where the maximum lies."""

    def build(a: UOp) -> Sequence[UOp]:
        def combine(left: Sequence[UOp], right: Sequence[UOp]) -> Sequence[UOp]:
            top = left[0].maximum(right[0])
            return [
                top,
                left[1] * (left[0] - top).alu(Ops.EXP)
                + right[1] * (right[0] - top).alu(Ops.EXP),
            ]

        ones = a * UOp(Ops.EXPAND, F64, (_ones(a), *_sizes(a)))
        pair = reduce_states([a, ones], [-1e300, 0.0], combine, (1,))
        return [UOp(Ops.RESULT, F64, (pair,), ResultArg(1))]

    agree(build, [floats(2, 5)])


def _ones(a: UOp) -> UOp:
    ones = [UOp.const(dt.index, 1)] * len(a.shape)
    return UOp(Ops.RESHAPE, F64, (UOp.const(F64, 1.0), *ones))


def _sizes(a: UOp) -> list[UOp]:
    return [UOp.const(dt.index, n) for n in a.shape if isinstance(n, int)]


@pytest.mark.parametrize("step", [Ops.ADD, Ops.MUL])
def test_prefix(step: Ops) -> None:
    def build(a: UOp) -> Sequence[UOp]:
        start = UOp.const(F64, 0.0 if step is Ops.ADD else 1.0)
        joined = UOp.state(F64, 0).alu(step, UOp.state(F64, 1))
        return [UOp(Ops.PREFIX, F64, (a, start, joined), PrefixArg(1, 1, False))]

    agree(build, [floats(2, 5)])


def test_the_rule_of_a_users_op_is_its_derivative() -> None:
    """Declared outside, with a gradient that is not that of its lowering: mixing along the rows, and a factor 3."""

    def grad(node: UOp, cotangents: Any) -> Any:
        (g,) = cotangents
        return (add(multiply(g, 3.0), sum_(g, 0, keepdims=True)),)

    mixed = op(
        "test_mixed",
        types=same_type,
        lower=lambda x: add(x, sum_(x, 0, keepdims=True)),
        ref=lambda x: x + x.sum(0, keepdims=True),
        grad=grad,
        public=False,
    )
    try:
        inputs = Inputs()
        x, w = inputs.node(floats(4, 2)), inputs.node(floats(4, 2))
        (dual,) = forward([mixed(x)], {x: w})
        assert dual.tangent is not None
        way = inputs.values[w]
        np.testing.assert_allclose(inputs.run(dual.tangent), 3 * way + way.sum(0))
    finally:
        del REGISTRY["test_mixed"]


def test_what_does_not_move_has_no_tangent() -> None:
    x, w, t = param(0, F64, (3,)), param(1, F64, (3,)), param(2, F64, (3,))
    steady = sin(w)
    found = forward([add(x, steady), steady, detach(x), less(x, 0.0)], {x: t})
    assert [d.tangent is None for d in found] == [False, True, True, True]
    assert found[1].primal is steady
