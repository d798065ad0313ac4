"""Gradients of calls, branches and loops against finite differences, and against the same thing written out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ingot.autograd.backward import gradients
from ingot.ir import dtype as dt
from ingot.ir.interpret import interpret
from ingot.ir.merge import merged
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, ScanArg
from ingot.ir.region import call, function, if_, param, scan
from ingot.ir.spec import PROGRAM, verify
from ingot.ops import elementwise as ew
from ingot.ops.lower import lower, lower_all
from ingot.ops.matmul import linear, matmul
from ingot.ops.reduce import sum_
from tests.autograd.check import Array, Function, check, slope_of

RNG = np.random.default_rng(3)
F64 = dt.float64
ONE = UOp.const(F64, 1.0)


def outer(slot: int, *shape: int) -> UOp:
    """A leaf of the program, far from the slots of functions."""
    return param(100 + slot, F64, shape)


def checked(
    outputs: Sequence[UOp], values: dict[UOp, Array], wrt: Sequence[UOp]
) -> Function:
    """First and second derivatives by finite differences."""
    made = Function(outputs, values, wrt)
    check(made)
    check(slope_of(made), tolerance=1e-5)
    for g in made.gradient():
        verify(g, PROGRAM)
    return made


def layer() -> UOp:
    x, w = param(0, F64, (2, 3)), param(1, F64, (3, 3))
    return function("layer", (x, w), (ew.tanh(matmul(x, w)), sum_(x)))


def test_a_call_is_differentiated() -> None:
    x, w = outer(0, 2, 3), outer(1, 3, 3)
    values = {x: RNG.standard_normal((2, 3)), w: RNG.standard_normal((3, 3))}
    first, total = call(layer(), x, w)
    second, _ = call(layer(), first, w)
    checked([second, total], values, [x, w])


def test_the_gradient_of_a_call_is_one_call() -> None:
    x, w = outer(0, 2, 3), outer(1, 3, 3)
    first, _ = call(layer(), x, w)
    second, _ = call(layer(), first, w)
    (g,) = gradients([sum_(second)], [ONE], [w])
    assert g is not None
    functions = {u for u in g.toposort() if u.op is Ops.FUNCTION}
    calls = [u for u in g.toposort() if u.op is Ops.CALL]
    assert (
        len(calls) == 3
    )  # one forward, for the input of the second layer, and two back
    assert (
        len(functions) == 3
    )  # the layer; back for both inputs; back for the weight alone


@pytest.mark.parametrize("choice", [True, False])
def test_a_branch_is_differentiated(choice: bool) -> None:
    a, b = param(0, F64, (3,)), param(1, F64, (3,))
    then = function("then", (a, b), (ew.multiply(ew.sin(a), b),))
    otherwise = function("otherwise", (a, b), (ew.exp(a),))
    question, x, y = param(99, dt.boolean), outer(0, 3), outer(1, 3)
    values = {x: RNG.standard_normal(3), y: RNG.standard_normal(3)}
    values[question] = np.array(choice)
    checked(if_(question, then, otherwise, x, y), values, [x, y])


def cell(hidden: int = 3, inputs: int = 2) -> UOp:
    """(h, w, steps; x) -> h' = tanh(w h + x), w handed on, a counter, and what is stacked."""
    h, w = param(0, F64, (2, hidden)), param(1, F64, (hidden, hidden))
    steps, x = param(2, dt.int64), param(3, F64, (2, inputs))
    more = param(4, F64, (2, hidden))
    new = ew.tanh(ew.add(linear(h, w), more))
    stacked = ew.multiply(sum_(new, 1, keepdims=True), x)
    twice = ew.multiply(stacked, 2.0)
    return function(
        "cell", (h, w, steps, x, more), (new, w, ew.add(steps, 1), twice, stacked)
    )


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_is_differentiated(reverse: bool) -> None:
    h, w, x, more = (
        outer(0, 2, 3),
        outer(1, 3, 3),
        outer(2, 5, 2, 2),
        outer(3, 5, 2, 3),
    )
    values = {u: RNG.standard_normal(u.shape) for u in (h, w, x, more)}  # type: ignore[arg-type]
    start = UOp.const(dt.int64, 0)
    last, kept, _, _, ys = scan(cell(), (h, w, start), (x, more), reverse=reverse)
    checked([last, kept, ys], values, [h, w, x, more])


def test_only_the_last_state_is_asked_for() -> None:
    h, w, x, more = (
        outer(0, 2, 3),
        outer(1, 3, 3),
        outer(2, 5, 2, 2),
        outer(3, 5, 2, 3),
    )
    values = {u: RNG.standard_normal(u.shape) for u in (h, w, x, more)}  # type: ignore[arg-type]
    found = scan(cell(), (h, w, UOp.const(dt.int64, 0)), (x, more))
    checked([found[0]], values, [w])


def test_a_weight_is_not_stacked_and_its_gradient_is_one_product() -> None:
    h, w, x, more = (
        outer(0, 2, 3),
        outer(1, 3, 3),
        outer(2, 5, 2, 2),
        outer(3, 5, 2, 3),
    )
    found = scan(cell(), (h, w, UOp.const(dt.int64, 0)), (x, more))
    (g,) = gradients([sum_(found[0])], [ONE], [w])
    assert g is not None
    loops = [u for u in g.toposort() if u.op is Ops.SCAN]
    stacks = [shape for u in loops for _, shape in _stacked(u)]
    assert stacks
    assert (5, 3, 3) not in stacks
    assert g.arg is not None
    assert g.op is Ops.OP  # the product itself, after the loop


def _stacked(loop: UOp) -> tuple[tuple[dt.DType, tuple[int | UOp, ...]], ...]:
    assert isinstance(loop.arg, ScanArg)
    return loop.results[loop.arg.n_carry :]


def test_results_and_gradients_run_the_loop_forward_once() -> None:
    h, w, x, more = (
        outer(0, 2, 3),
        outer(1, 3, 3),
        outer(2, 5, 2, 2),
        outer(3, 5, 2, 3),
    )
    values = {u: RNG.standard_normal(u.shape) for u in (h, w, x, more)}  # type: ignore[arg-type]
    below = scan(cell(), (h, w, UOp.const(dt.int64, 0)), (x, more))
    above = scan(
        cell(), (below[0], w, UOp.const(dt.int64, 0)), (below[4] + below[3], more)
    )
    loss = sum_(above[4])
    found = gradients([loss], [ONE], [h, w, x])
    program = loss.sink(*[g for g in found if g is not None])
    shorter = merged(program)
    counts = [
        sum(u.op is Ops.SCAN for u in root.toposort())
        for root in (program, shorter)
    ]
    assert counts == [6, 4]
    before, after = (
        interpret(lower_all(root), values, lower=lower)
        for root in (program, shorter)
    )
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_scan_in_a_scan() -> None:
    c, x = param(0, F64, (2,)), param(1, F64, (2,))
    inner = function("inner", (c, x), (ew.sin(ew.add(c, x)), ew.multiply(c, x)))
    row, state = param(1, F64, (3, 2)), param(0, F64, (2,))
    last, ys = scan(inner, (state,), (row,))
    nested = function("nested", (state, row), (last, sum_(ys, 0)))
    start, rows = outer(0, 2), outer(1, 4, 3, 2)
    values = {start: RNG.standard_normal(2), rows: RNG.standard_normal((4, 3, 2))}
    checked(scan(nested, (start,), (rows,)), values, [start, rows])


def test_a_call_in_a_branch_in_a_scan() -> None:
    a = param(0, F64, (3,))
    cube = function("cube", (a,), (a * a * a,))
    (cubed,) = call(cube, a)
    then = function("then", (a,), (cubed,))
    otherwise = function("otherwise", (a,), (ew.sin(a),))
    x = param(1, F64, (3,))
    (chosen,) = if_(sum_(x) < 0.0, then, otherwise, ew.add(a, x))
    body = function("body", (a, x), (chosen, chosen))
    start, xs = outer(0, 3), outer(1, 4, 3)
    values = {
        start: 0.3 * RNG.standard_normal(3),
        xs: 0.3 * RNG.standard_normal((4, 3)),
    }
    checked(scan(body, (start,), (xs,)), values, [start, xs])
