"""Lowering: the named and the hand-written form are one graph, names survive beside it, depth does not matter."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir.node import UOp, live_nodes
from ingot.ir.opcode import Ops
from ingot.ir.region import param
from ingot.ops import elementwise as ew
from ingot.ops.activation import log_softmax, sigmoid, softmax
from ingot.ops.attention import scaled_dot_product_attention
from ingot.ops.creation import counter, iota
from ingot.ops.loss import cross_entropy
from ingot.ops.lower import describe, lower, lower_all, origin
from ingot.ops.matmul import linear, matmul
from ingot.ops.movement import permute, reshape, transpose
from ingot.ops.norm import layer_norm, rms_norm
from ingot.ops.numeric import rsqrt, square
from ingot.ops.op import REGISTRY, Op, op, result
from ingot.ops.reduce import better, max_, mean, reduce_states, sum_, var
from ingot.ops.rules import same_type
from tests.ops.evaluate import Inputs, names_of

X = param(0, dt.float32, (4, 6))
W = param(1, dt.float32, (5, 6))
B = param(2, dt.float32, (5,))


def ops_of(node: UOp) -> list[Ops]:
    """The opcodes that compute, in order."""
    silent = {Ops.CONST, Ops.PARAM, Ops.RESHAPE, Ops.EXPAND, Ops.PERMUTE, Ops.STATE}
    return [
        u.op
        for u in lower_all(node).toposort()
        if u.op not in silent and not _inside_reduce(u)
    ]


def _inside_reduce(node: UOp) -> bool:
    return any(s.op is Ops.STATE for s in node.src)


# --- names do not matter to the graph -------------------------------------------------------------------------------


def softmax_by_hand(x: UOp) -> UOp:
    powers = ew.exp(ew.subtract(x, max_(x, -1, keepdims=True)))
    return ew.divide(powers, sum_(powers, -1, keepdims=True))


def layer_norm_by_hand(x: UOp) -> UOp:
    centred = ew.subtract(x, ew.divide(sum_(x, -1, keepdims=True), 6.0))
    power = ew.divide(sum_(square(centred), -1, keepdims=True), 6.0)
    return ew.multiply(centred, rsqrt(ew.add(power, 1e-5)))


def matmul_by_hand(x: UOp, w: UOp) -> UOp:
    return sum_(ew.multiply(reshape(x, (4, 1, 6)), reshape(w, (1, 5, 6))), -1)


def attention_by_hand(q: UOp, k: UOp, v: UOp) -> UOp:
    return matmul(softmax_by_hand(ew.multiply(matmul(q, transpose(k)), 6**-0.5)), v)


@pytest.mark.parametrize(
    ("named", "by_hand"),
    [
        (softmax(X, axis=-1), softmax_by_hand(X)),
        (layer_norm(X), layer_norm_by_hand(X)),
        (linear(X, W), matmul_by_hand(X, W)),
        (linear(X, W, B), ew.add(matmul(X, transpose(W)), B)),
        (mean(X, axis=0), ew.divide(sum_(X, 0), 4.0)),
        (scaled_dot_product_attention(X, X, X), attention_by_hand(X, X, X)),
    ],
    ids=["softmax", "layer_norm", "linear", "linear_bias", "mean", "attention"],
)
def test_the_hand_written_form_is_the_same_node(named: UOp, by_hand: UOp) -> None:
    assert lower_all(named) is lower_all(by_hand)


def test_axes_have_one_normal_form() -> None:
    assert softmax(X, axis=-1) is softmax(X, axis=1) is softmax(X)
    assert mean(X, axis=(1, 0)) is mean(X)


def test_softmax_is_max_sub_exp_sum_div() -> None:
    assert ops_of(softmax(X)) == [
        Ops.REDUCE,
        Ops.SUB,
        Ops.EXP,
        Ops.REDUCE,
        Ops.FDIV,
    ]


def test_matmul_is_a_product_and_a_sum() -> None:
    lowered = lower_all(matmul(X, transpose(W)))
    assert ops_of(lowered) == [Ops.MUL, Ops.REDUCE]
    assert not [u for u in lowered.toposort() if u.op is Ops.PERMUTE], (
        "the two transposes cancel"
    )


# --- going down -----------------------------------------------------------------------------------------------------


def test_one_level_at_a_time() -> None:
    attention = scaled_dot_product_attention(X, X, X)
    assert names_of(lower(attention)) == {"matmul", "softmax"}
    assert lower(X) is X


def test_iota_stays_for_kernels_and_still_has_a_meaning() -> None:
    counted = iota(5)
    assert lower_all(counted) is counted
    assert lower(counted) is not counted
    assert Inputs().run(counted).tolist() == [0, 1, 2, 3, 4]
    assert Inputs().run(counter((2, 3), 1)).tolist() == [[0, 1, 2], [0, 1, 2]]


def test_shared_work_is_lowered_once() -> None:
    shared = softmax(X)
    both = lower_all(ew.add(shared, shared).sink(ew.exp(shared)))
    assert both.src[0].src[0] is both.src[1].src[0] is lower_all(shared)


@pytest.mark.parametrize(
    "make", [lambda x: ew.add(x, 1), sigmoid, lambda x: softmax(x)]
)
def test_depth_meets_no_recursion_limit(make: Op) -> None:
    node = X
    for _ in range(3000):
        node = make(node)
    assert lower_all(node).shape == (4, 6)


# --- provenance -----------------------------------------------------------------------------------------------------


def find(root: UOp, op: Ops) -> UOp:
    return next(u for u in root.toposort() if u.op is op)


def test_a_lowered_node_says_where_it_came_from() -> None:
    x = param(3, dt.float32, (7, 9))
    lowered = lower_all(scaled_dot_product_attention(x, x, x))
    assert (
        describe(find(lowered, Ops.EXP))
        == "scaled_dot_product_attention > softmax > exp"
    )
    assert (
        describe(find(lowered, Ops.MUL))
        == "scaled_dot_product_attention > matmul > mul"
    )
    assert describe(softmax(x)) == "softmax"


def test_inputs_do_not_come_from_the_op() -> None:
    x = ew.sqrt(param(4, dt.float32, (7, 9)))
    lower_all(softmax(x))
    assert origin(x) == ()


def test_names_survive_below_a_lowered_input() -> None:
    x = param(5, dt.float32, (3, 9))
    lowered = lower_all(log_softmax(layer_norm(x)))
    assert describe(find(lowered, Ops.SQRT)) == "layer_norm > sqrt"
    assert describe(find(lowered, Ops.LOG)) == "log_softmax > log"


def test_names_do_not_keep_nodes_alive() -> None:
    gc.collect()
    before = live_nodes()
    lower_all(softmax(param(6, dt.float32, (11, 13))))
    gc.collect()
    assert live_nodes() == before


# --- accumulators ---------------------------------------------------------------------------------------------------

HALF = param(0, dt.float16, (4, 6))


@pytest.mark.parametrize(
    "x", [HALF, param(0, dt.bfloat16, (4, 6))], ids=["float16", "bfloat16"]
)
@pytest.mark.parametrize(
    "make",
    [
        sum_,
        mean,
        var,
        softmax,
        layer_norm,
        rms_norm,
        lambda x: matmul(x, transpose(x)),
    ],
    ids=["sum", "mean", "var", "softmax", "layer_norm", "rms_norm", "matmul"],
)
def test_small_floats_are_summed_in_float32(make: Op, x: UOp) -> None:
    lowered = lower_all(make(x))
    sums = [
        u
        for u in lowered.toposort()
        if u.op is Ops.REDUCE and u.src[-1].op is Ops.ADD
    ]
    assert sums
    assert {u.dtype for u in sums} == {dt.float32}
    assert lowered.dtype is x.dtype


def test_a_sum_of_halves_does_not_stick() -> None:
    inputs = Inputs()
    x = inputs.node(np.full(5000, 1, np.float16))
    assert inputs.run(sum_(x)) == 5000
    assert inputs.run(mean(x)) == 1


def test_float32_is_summed_in_float32() -> None:
    lowered = lower_all(sum_(X))
    assert lowered.op is Ops.REDUCE
    assert lowered.dtype is dt.float32


def test_a_wrong_target_costs_infinity() -> None:
    inputs = Inputs()
    logits = inputs.node(np.zeros((2, 3)))
    target = inputs.node(np.array([1, 7]))
    losses = inputs.run(cross_entropy(logits, target, reduction="none"))
    assert np.isfinite(losses).tolist() == [True, False]


# --- order ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "row", [[1, np.nan, 3, np.nan], [2, 5, 5, 1], [-np.inf, -np.inf], [np.nan, 4]]
)
@pytest.mark.parametrize("op", [Ops.MAX, Ops.MIN])
def test_argmax_does_not_depend_on_the_order_of_combining(
    op: Ops, row: list[float]
) -> None:
    """Lanes and threads combine in orders of their own: which side is called left must not matter."""
    inputs = Inputs()
    parts = (inputs.node(np.array(row, np.float64)), counter((len(row),), 0))
    starts = (-np.inf if op is Ops.MAX else np.inf, 2**63 - 1)
    combine = better(op)
    found = [
        reduce_states(parts, starts, order, (0,))
        for order in (combine, lambda a, b: combine(b, a))
    ]
    places = [int(inputs.run(result(node, 1))) for node in found]
    assert (
        places[0]
        == places[1]
        == (np.argmax(row) if op is Ops.MAX else np.argmin(row))
    )


# --- ops from outside -----------------------------------------------------------------------------------------------


@pytest.fixture
def swiglu() -> Iterator[Op]:
    """A user's own op, declared as Ingot's own are."""
    made = op(
        "test_swiglu",
        types=lambda x, gate: same_type(x),
        lower=lambda x, gate: ew.multiply(x, ew.multiply(gate, sigmoid(gate))),
        ref=lambda x, gate: x * gate / (1 + np.exp(-gate)),
    )
    yield made
    del REGISTRY["test_swiglu"]


def test_a_users_op_is_lowered_and_described(swiglu: Op) -> None:
    inputs = Inputs()
    x, gate = np.linspace(-1, 1, 5), np.linspace(2, -2, 5)
    node = swiglu(inputs.node(x), inputs.node(gate))
    assert describe(find(lower_all(node), Ops.EXP)) == "test_swiglu > sigmoid > exp"
    np.testing.assert_allclose(inputs.run(node), swiglu.ref(x, gate), rtol=1e-14)


def test_an_op_with_two_results() -> None:
    halves = op(
        "test_mean_and_max",
        types=lambda x: ((x.dtype, ()), (x.dtype, (x.shape[0],))),
        lower=lambda x: (mean(x), max_(x, 1)),
        ref=lambda x: (x.mean(), x.max(1)),
    )
    try:
        inputs = Inputs()
        x = np.arange(6.0).reshape(2, 3)
        first, second = halves.results(inputs.node(x))
        assert inputs.run(first) == 2.5
        assert inputs.run(second).tolist() == [2, 5]
        assert inputs.run(ew.add(first, second)).tolist() == [4.5, 7.5]
    finally:
        del REGISTRY["test_mean_and_max"]


def test_permutes_join() -> None:
    x = param(0, dt.float32, (2, 3, 4))
    assert permute(permute(x, (2, 0, 1)), (1, 2, 0)) is x
