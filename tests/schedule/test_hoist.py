"""Work that leaves a loop: what moves, what stays, and that the meaning is the same."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir.interpret import interpret
from ingot.ir.node import UOp
from ingot.ir.opcode import AxesArg, FunctionArg, Ops, ParamArg
from ingot.ir.region import function, param, results, scan, shallow
from ingot.ir.spec import PRIMITIVE, verify
from ingot.ops.elementwise import add, exp, multiply
from ingot.ops.lower import lower, lower_all
from ingot.ops.matmul import matmul
from ingot.ops.movement import flip, pad, permute, reshape, shrink
from ingot.ops.reduce import max_, sum_
from ingot.schedule.hoist import hoisted
from ingot.schedule.relay import relaid, traced

RNG = np.random.default_rng(0)
CARRY = param(0, dt.float32, (3, 4))
WEIGHT = param(1, dt.float32, (4, 5))
SLICE = param(2, dt.float32, (3, 5))
PRODUCT = matmul(SLICE, permute(WEIGHT, (1, 0)))

# What a body makes of a slice and of a matrix that stays, and whether it leaves the loop.
VALUES: dict[str, tuple[UOp, bool]] = {
    "a product": (PRODUCT, True),
    "what follows a product": (exp(add(PRODUCT, PRODUCT)), True),
    "a view of a product": (flip(PRODUCT, 0), True),
    "a reduction": (add(CARRY, reshape(max_(SLICE, axis=1), (3, 1))), True),
    "padding, cut and turned": (
        matmul(
            shrink(pad(SLICE, ((0, 0), (1, 1))), ((0, 3), (1, 6))),
            permute(multiply(WEIGHT, WEIGHT), (1, 0)),
        ),
        True,
    ),
    "no reduction": (add(CARRY, shrink(SLICE, ((0, 3), (0, 4)))), False),
    "a product of the carry": (
        add(CARRY, reshape(sum_(matmul(CARRY, WEIGHT), axis=1), (3, 1))),
        False,
    ),
    "a sum that keeps its axis": (
        add(CARRY, sum_(SLICE, axis=1, keepdims=True)),
        True,
    ),
}


def loop(value: UOp) -> UOp:
    body = function(
        "step", (CARRY, WEIGHT, SLICE), (add(CARRY, value), WEIGHT, value)
    )
    starts = [param(0, dt.float32, (3, 4)), param(1, dt.float32, (4, 5))]
    made = scan(body, starts, [param(2, dt.float32, (6, 3, 5))])
    return lower_all(made[0]).src[0]


def values_of(node: UOp) -> list[Any]:
    given = {
        u: RNG_VALUES[cast(ParamArg, u.arg).slot]
        for u in shallow(node)
        if u.op is Ops.PARAM
    }
    sink = UOp(Ops.SINK, dt.void, results(node))
    return list(interpret(sink, given, lower=lower))


RNG_VALUES = [
    RNG.normal(size=shape).astype(np.float32)
    for shape in ((3, 4), (4, 5), (6, 3, 5))
]


@pytest.mark.parametrize("name", VALUES)
def test_what_leaves_the_loop(name: str) -> None:
    value, leaves = VALUES[name]
    before = loop(value)
    after = hoisted(before)
    assert (after is not before) is leaves
    verify(after, PRIMITIVE)
    for old, new in zip(values_of(before), values_of(after), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-5, atol=1e-6)


def test_a_product_becomes_one_large_one() -> None:
    after = hoisted(loop(VALUES["a product"][0]))
    assert cast(FunctionArg, after.src[0].arg).n_params == 4
    assert after.src[-1].shape == (6, 3, 4)
    assert not any(u.op is Ops.REDUCE for u in shallow(after.src[0]))


def test_what_would_grow_too_much_stays() -> None:
    """A thousand products of a number are not stored."""
    number = param(2, dt.float32, (1,))
    row = param(1, dt.float32, (1, 1000))
    carry = param(0, dt.float32, (1000,))
    body = function(
        "step", (carry, row, number), (add(carry, matmul(number, row)), row)
    )
    made = scan(
        body,
        [param(0, dt.float32, (1000,)), param(1, dt.float32, (1, 1000))],
        [param(2, dt.float32, (6, 1))],
    )
    before = lower_all(made[0]).src[0]
    assert hoisted(before) is before


# --- matrices the other way round -------------------------------------------------------------------------------------


def recurrent(turned: bool) -> UOp:
    """carry @ w.T of a matrix that no turn changes, or carry @ w."""
    carry, weight = param(0, dt.float32, (3, 4)), param(1, dt.float32, (4, 4))
    row = param(2, dt.float32, (3, 4))
    other = permute(weight, (1, 0)) if turned else weight
    body = function(
        "step",
        (carry, weight, row),
        (add(matmul(carry, other), row), weight, weight),
    )
    starts = [param(0, dt.float32, (3, 4)), param(1, dt.float32, (4, 4))]
    made = scan(body, starts, [param(2, dt.float32, (6, 3, 4))])
    return lower_all(made[0]).src[0]


def test_a_matrix_that_is_read_across_is_turned_once() -> None:
    before = recurrent(turned=True)
    after = relaid(before)
    assert after.src[2].op is Ops.CONTIGUOUS
    assert after.src[2].src[0].arg == AxesArg((1, 0))
    verify(after, PRIMITIVE)
    given = [
        RNG.normal(size=s).astype(np.float32) for s in ((3, 4), (4, 4), (6, 3, 4))
    ]
    for node in (before, after):
        leaves = {
            u: given[u.arg.slot]
            for u in shallow(node)
            if isinstance(u.arg, ParamArg)
        }
        made, stacked = (
            interpret(results(node)[n], leaves, lower=lower) for n in (0, 2)
        )
        np.testing.assert_array_equal(stacked[3], given[1])
        carry = given[0]
        for row in given[2]:
            carry = carry @ given[1].T + row
        np.testing.assert_allclose(made, carry, rtol=1e-4, atol=1e-4)


def test_a_matrix_that_is_read_along_stays() -> None:
    before = recurrent(turned=False)
    assert relaid(before) is before


def test_axes_under_views() -> None:
    x = param(0, dt.float32, (4, 5))
    view = reshape(permute(x, (1, 0)), (1, 5, 4))
    assert traced(view, 2) == (x, 0)
    assert traced(view, 1) == (x, 1)
    assert traced(reshape(x, (20,)), 0) is None
