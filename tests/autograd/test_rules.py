"""The table of rules is whole; gradients add up, go far, keep symbolic sizes, and refuse what has none."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pytest

from ingot.autograd.backward import gradients
from ingot.autograd.rules import FLAT, REFUSED, RULES, STRUCTURAL
from ingot.errors import ArgumentError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.interpret import interpret
from ingot.ir.node import UOp
from ingot.ir.opcode import OpArg, Ops, ReduceArg
from ingot.ir.region import extern, function, param, results, while_
from ingot.ops import elementwise as ew
from ingot.ops.lower import lower, lower_all
from ingot.ops.movement import broadcast_to, reshape, shrink
from ingot.ops.op import REGISTRY, Op, op
from ingot.ops.reduce import max_, reduce_states, sum_
from ingot.ops.rules import same_type
from tests.autograd.check import Array, Function, check, function_of

ONE = UOp.const(dt.float64, 1.0)
X = param(0, dt.float64, (3, 4))
VALUE = np.random.default_rng(0).standard_normal((3, 4))


def test_every_opcode_of_a_program_stands_in_one_table() -> None:
    program = {op for op in Ops if op < Ops.KERNEL}
    tables = [set(RULES), set(FLAT), set(REFUSED), set(STRUCTURAL)]
    assert set().union(*tables) == program
    assert sum(len(table) for table in tables) == len(program)


@pytest.mark.parametrize("op", REGISTRY.values(), ids=lambda op: op.name)
def test_an_op_has_a_gradient_or_a_reason(op: Op) -> None:
    """A rule, or one derived from what it is made of; else it says why. Ops that give no floats need neither."""
    if op.grad is not None:
        assert not op.no_grad_reason
        return
    for sample in op.samples:
        made = function_of(op, sample)
        if made is not None and not op.no_grad_reason:
            made.gradient()


def value_of(node: UOp | None) -> Array:
    assert node is not None
    return interpret(lower_all(node), {X: VALUE}, lower=lower)


def gradient(y: UOp) -> UOp | None:
    return gradients([y], [ONE], [X])[0]


def test_uses_add_up() -> None:
    twice = ew.add(ew.multiply(X, X), ew.multiply(X, 3.0))
    np.testing.assert_allclose(value_of(gradient(sum_(twice))), 2 * VALUE + 3)


def test_a_source_that_stands_twice_counts_twice() -> None:
    np.testing.assert_allclose(value_of(gradient(sum_(X * X))), 2 * VALUE)


def test_several_outputs_add_up() -> None:
    a, b = sum_(ew.exp(X)), sum_(X)
    (g,) = gradients([a, b], [ONE, UOp.const(dt.float64, 2.0)], [X])
    np.testing.assert_allclose(value_of(g), np.exp(VALUE) + 2)


def test_inner_nodes_have_gradients_too() -> None:
    inner = ew.exp(X)
    to_inner, to_x = gradients([sum_(inner * inner)], [ONE], [inner, X])
    np.testing.assert_allclose(value_of(to_inner), 2 * np.exp(VALUE))
    np.testing.assert_allclose(value_of(to_x), 2 * np.exp(2 * VALUE))


def test_where_no_path_leads_there_is_nothing() -> None:
    other = param(1, dt.float64, (2,))
    assert gradients([sum_(X)], [ONE], [other]) == (None,)
    whole = X.cast(dt.int64).cast(dt.float64)
    assert gradients([sum_(whole)], [ONE], [X]) == (None,)


def test_only_paths_that_lead_there_are_differentiated() -> None:
    """What lies beside the path may have no gradient at all."""
    other = param(1, dt.float64, (3, 4))
    (wild,) = extern("wild", (other,), (("float64", (3, 4)),))
    found = gradient(sum_(ew.multiply(X, wild)))
    assert found is not None
    assert wild in found.toposort()


def test_a_stop_is_not_passed() -> None:
    inner = ew.exp(X)
    to_inner, to_x = gradients([sum_(inner)], [ONE], [inner, X], stops=[inner])
    assert to_inner is not None
    assert to_x is None


def test_a_hundred_thousand_nodes() -> None:
    node = X
    for i in range(50_000):
        node = ew.tanh(node) if i % 2 else ew.add(node, X)
    start = time.perf_counter()
    found = gradient(sum_(node))
    assert found is not None
    assert len(found.toposort()) > 100_000
    assert time.perf_counter() - start < 30


def test_ties_of_a_maximum_share_evenly() -> None:
    tied = param(2, dt.float64, (4,))
    (g,) = gradients([max_(tied)], [ONE], [tied])
    assert g is not None
    found = interpret(
        lower_all(g), {tied: np.array([1.0, 2.0, 2.0, 0.0])}, lower=lower
    )
    assert found.tolist() == [0.0, 0.5, 0.5, 0.0]


@pytest.mark.parametrize("op", [Ops.MAX, Ops.MIN])
def test_equal_operands_get_half_each(op: Ops) -> None:
    a, b = param(2, dt.float64, (3,)), param(3, dt.float64, (3,))
    found = gradients([sum_(a.alu(op, b))], [ONE], [a, b])
    values = {a: np.array([1.0, 2.0, 3.0]), b: np.array([1.0, 3.0, 2.0])}
    to_a, to_b = (
        interpret(lower_all(g), values, lower=lower) for g in found if g is not None
    )
    larger = [0.5, 0.0, 1.0] if op is Ops.MAX else [0.5, 1.0, 0.0]
    assert to_a.tolist() == larger
    assert (to_a + to_b).tolist() == [1.0, 1.0, 1.0]


def test_symbolic_sizes_are_kept() -> None:
    n = UOp.variable("n", 1, 64)
    x = param(0, dt.float64, (n, 4))
    row = shrink(x, ((1, n), (0, 3)))
    y = sum_(ew.exp(reshape(row, (row.shape[0], 3, 1))) * 2.0)
    (g,) = gradients([y], [ONE], [x])
    assert g is not None
    assert g.shape == (n, 4)
    data = np.random.default_rng(0).standard_normal((5, 4))
    want = np.zeros((5, 4))
    want[1:, :3] = 2 * np.exp(data[1:, :3])
    got = interpret(lower_all(g), {x: data}, sizes={"n": 5}, lower=lower)
    np.testing.assert_allclose(got, want)


# --- reductions of any form -----------------------------------------------------------------------------------------


def _log_sum_exp() -> tuple[UOp, ...]:
    """(maximum, sum of exp below it), joined pair by pair."""

    def combine(left: Sequence[UOp], right: Sequence[UOp]) -> Sequence[UOp]:
        (m, s), (n, t) = left, right
        top = m.maximum(n)
        return top, s * (m - top).alu(Ops.EXP) + t * (n - top).alu(Ops.EXP)

    ones = ew.constant(1.0, dt.float64, X.shape)
    return results(reduce_states([X, ones], [-1e300, 0.0], combine, (1,)))


def test_any_combination_of_states_is_differentiated() -> None:
    top, total = _log_sum_exp()
    assert isinstance(top.src[0].arg, ReduceArg)
    check(Function([ew.add(top, ew.log(total))], {X: VALUE}, [X]))


# --- refusals -------------------------------------------------------------------------------------------------------


def test_a_while_loop_refuses() -> None:
    state = param(0, dt.float64)
    cond = function("small", (state,), (state < 10.0,))
    body = function("twice", (state,), (state * 2.0,))
    x = param(1, dt.float64)
    (y,) = while_(cond, body, x)
    with pytest.raises(
        ArgumentError, match="a while loop does not keep the states"
    ):
        gradients([y], [ONE], [x])


def test_host_code_refuses_by_name() -> None:
    (y,) = extern("wild", (X,), (("float64", ()),))
    with pytest.raises(
        ArgumentError, match="extern 'wild': host code has no gradient"
    ):
        gradients([y], [ONE], [X])


def test_an_op_without_gradient_tells_its_reason() -> None:
    declared = REGISTRY["nextafter"]
    y = declared(X, X)
    with pytest.raises(
        ArgumentError, match=f"nextafter has none: {declared.no_grad_reason}"
    ):
        gradients([sum_(y)], [ONE], [X])


def test_a_gradient_of_the_wrong_shape_is_an_error() -> None:
    name = "wrong_gradient_for_test"
    made = op(
        name,
        types=same_type,
        lower=lambda x: x,
        ref=lambda x: x,
        grad=lambda node, cotangents: (sum_(cotangents[0]),),
        public=False,
    )
    try:
        with pytest.raises(
            ShapeError, match=r"gradient: a rule gave \(\) for a value of \(3, 4\)"
        ):
            gradients([sum_(made(X))], [ONE], [X])
    finally:
        del REGISTRY[name]


def test_broadcasting_is_summed() -> None:
    row = param(1, dt.float64, (4,))
    values = {X: VALUE, row: np.arange(4.0)}
    check(Function([ew.exp(ew.multiply(X, row))], values, [X, row]))


def test_a_view_of_a_view() -> None:
    wide = broadcast_to(reshape(X, (3, 1, 4)), (3, 2, 4))
    part = shrink(reshape(wide, (6, 4)), ((2, 5), (1, 2)))
    check(Function([ew.sin(part)], {X: VALUE}, [X]))


def test_names_in_a_gradient_are_those_of_program_ops() -> None:
    """Gradients are programs: composites keep their names until they are lowered."""
    w = param(1, dt.float64, (4, 2))
    (g,) = gradients(
        [sum_(REGISTRY["softmax"](REGISTRY["matmul"](X, w), axis=1))], [ONE], [w]
    )
    assert g is not None
    names = {u.arg.name for u in g.toposort() if isinstance(u.arg, OpArg)}
    assert {"softmax", "matmul"} <= names
