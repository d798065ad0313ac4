"""Programs as people write them: each one small, whole, and checked against NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.errors import ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.pattern import PatternMatcher, UPat
from ingot.ir.rewrite import graph_rewrite
from ingot.settings import settings


@pytest.fixture(autouse=True)
def compiled(interpreter: None) -> Iterator[None]:
    with settings.override(device="CPU"):
        ig.manual_seed(0)
        yield


# --- nothing runs until somebody looks ------------------------------------------------------------------------------


def test_a_graph_is_built_and_computed_by_one_call() -> None:
    a, b = ig.randn([40, 30]), ig.randn([30, 20])
    total = ig.relu(a @ b).sum()
    assert ig.is_lazy(total)
    assert not total.is_evaluated()
    ig.eval(total)
    assert total.is_evaluated()
    assert not ig.is_lazy(total)
    want = np.maximum(a.numpy() @ b.numpy(), 0).sum()
    assert total.item() == pytest.approx(want, rel=1e-5)


def test_many_results_share_their_work() -> None:
    x = ig.randn([50])
    shared = ig.exp(x)
    mean, most = shared.mean(), shared.max()
    ig.eval(mean, [most, {"sum": shared.sum()}["sum"]])
    want = np.exp(x.numpy())
    assert mean.item() == pytest.approx(want.mean(), rel=1e-5)
    assert most.item() == pytest.approx(want.max(), rel=1e-5)


def test_values_are_looked_at_in_every_way(
    capsys: pytest.CaptureFixture[str],
) -> None:
    x = ig.tensor([[1.5, 2.5], [3.5, 4.5]]) * 2
    assert x.numpy().tolist() == x.tolist() == [[3, 5], [7, 9]]
    assert bytes(x.data()) == x.numpy().tobytes()
    assert x.data().readonly
    print(x)
    assert capsys.readouterr().out.startswith("Tensor([[3., 5.],")
    assert f"{x.sum():.1f} {x.mean():8.3f}" == "24.0    6.000"


def test_large_and_empty_tensors_are_shown_by_their_corners() -> None:
    text = repr(ig.zeros([100, 100]))
    assert "..." in text
    assert text.endswith("shape=(100, 100), dtype=float32)")
    assert len(text) < 1000
    assert repr(ig.zeros(0)) == "Tensor([], shape=(0,), dtype=float32)"


# --- loops over batches ---------------------------------------------------------------------------------------------


def test_weights_are_made_once_and_used_many_times() -> None:
    weights, bias = ig.randn([16, 4]), ig.zeros([4])
    for batch in [ig.randn([n, 16]) for n in (3, 5, 8)]:
        output = batch @ weights + bias
        want = batch.numpy() @ weights.numpy()
        np.testing.assert_allclose(output.numpy(), want, rtol=1e-4, atol=1e-5)


def test_results_leave_a_function_as_arrays() -> None:
    def processed(batch: ig.Tensor) -> Any:
        value = ig.sigmoid(ig.relu(batch)).sum()
        ig.eval(value)
        return value.numpy()

    made = [processed(ig.zeros([n, 2])) for n in (1, 2)]
    assert [m.item() for m in made] == [1.0, 2.0]


def test_arrays_go_in_and_come_out() -> None:
    data = np.random.default_rng(0).standard_normal((6, 8)).astype(np.float32)
    results = []
    for row in data:
        y = ig.relu(ig.from_numpy(row))
        ig.eval(y)
        results.append(y.numpy())
    np.testing.assert_array_equal(np.stack(results), np.maximum(data, 0))
    fixed = np.ascontiguousarray(data.T, dtype=np.float32)
    np.testing.assert_array_equal(ig.from_numpy(fixed).numpy(), data.T)


def test_numpy_in_the_middle() -> None:
    x, w = ig.rand([4, 6]), ig.rand([6, 3])
    middle = ig.relu(x).numpy()
    output = ig.softmax(ig.from_numpy(np.sqrt(middle)) @ w, dim=1)
    np.testing.assert_allclose(output.numpy().sum(1), 1, rtol=1e-5)


def test_minibatches_are_slices() -> None:
    data = ig.arange(100).float().reshape(50, 2).realize()
    total = 0.0
    for start in range(0, len(data), 8):
        total += data[start : start + 8].sum().item()
    assert total == 99 * 100 / 2


def test_an_element_at_a_time_works_too() -> None:
    x, y = ig.rand([30]), ig.rand([30])
    result = ig.zeros([30])
    for i in range(30):
        result[i] = x[i] + y[i]
    np.testing.assert_array_equal(result.numpy(), (x + y).numpy())


def test_two_layers_over_pending_random_numbers() -> None:
    """Long kernels are cut where nothing is computed twice, and never inside a reduction."""
    x = ig.randn([20, 24])
    w1, b1, w2, b2 = (ig.randn(s) for s in ([24, 24], [24], [24, 24], [24]))
    hidden = ig.relu(x @ w1 + b1)
    output = ig.softmax(ig.relu(hidden @ w2 + b2), dim=1)
    ig.eval(output)
    values = np.maximum(x.numpy() @ w1.numpy() + b1.numpy(), 0)
    values = np.maximum(values @ w2.numpy() + b2.numpy(), 0)
    values = np.exp(values - values.max(1, keepdims=True))
    want = values / values.sum(1, keepdims=True)
    np.testing.assert_allclose(output.numpy(), want, rtol=1e-3, atol=1e-6)


# --- numbers --------------------------------------------------------------------------------------------------------


def test_numerically_careful_programs() -> None:
    logs = ig.randn([20]) * 0.1
    assert ig.exp(logs).prod().item() == pytest.approx(
        np.exp(logs.sum().item()), rel=1e-4
    )
    x = ig.rand([4, 5])
    normalised = x / (x.sum(dim=1, keepdim=True) + 1e-8)
    np.testing.assert_allclose(normalised.sum(dim=1).numpy(), 1, rtol=1e-5)
    logits = ig.randn([4, 5])
    np.testing.assert_allclose(
        ig.log(ig.softmax(logits, dim=1)).numpy(),
        ig.log_softmax(logits, dim=1).numpy(),
        rtol=1e-4,
        atol=1e-6,
    )


def test_attention_by_hand() -> None:
    query, key = ig.randn([2, 5, 8]), ig.randn([2, 6, 8])
    scale = 1.0 / np.sqrt(int(query.shape[-1]))  # type: ignore[arg-type]
    scores = (query @ key.transpose(-2, -1)) * scale
    weights = ig.softmax(scores, dim=-1)
    assert scores.dtype is ig.float32
    assert weights.shape == (2, 5, 6)
    np.testing.assert_allclose(weights.sum(dim=-1).numpy(), 1, rtol=1e-5)
    turned = query.transpose(0, 1)
    np.testing.assert_array_equal(turned.numpy(), query.numpy().transpose(1, 0, 2))


def test_types_are_asked_for_by_keyword() -> None:
    assert ig.randn([3, 3]).dtype is ig.float32
    assert ig.randn([3, 3], dtype=ig.float32).dtype is ig.float32
    assert ig.randn([30, 30], dtype=ig.float16).numpy().dtype == np.float16
    doubles = np.linspace(0, 1, 5)
    assert ig.from_numpy(doubles.astype(np.float32)).dtype is ig.float32
    assert ig.from_numpy(doubles).dtype is ig.float64


def test_shapes_are_checked_where_they_meet() -> None:
    a, b = ig.randn([10, 5]), ig.randn([6, 7])
    with pytest.raises(ShapeError, match=r"\(10, 5\).*\(6, 7\)"):
        a @ b
    c = a @ ig.randn([5, 7])
    assert c.shape == (10, 7)
    assert f"{c.shape}" == "(10, 7)"


def test_a_result_is_compared_with_numpy() -> None:
    rng = np.random.default_rng(42)
    data, weights = (rng.standard_normal((20, 20)).astype("f4") for _ in range(2))
    want = np.maximum(0, data @ weights)
    got = ig.relu(ig.from_numpy(data) @ ig.from_numpy(weights))
    ig.eval(got)
    np.testing.assert_allclose(want, got.numpy(), rtol=1e-4, atol=1e-5)
    assert np.abs(want - got.numpy()).max() < 1e-4
    assert not np.isnan(got.numpy()).any()


def test_a_graph_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    z = ig.relu(ig.randn([4, 4]) @ ig.ones([4, 4]) + 1).sum()
    ig.print_graph(z)
    text = capsys.readouterr().out
    assert "matmul" in text
    assert not z.is_evaluated()


# --- Python's protocols ---------------------------------------------------------------------------------------------


def test_python_asks_for_numbers() -> None:
    loss = ig.tensor([0.5, 0.25]).sum()
    assert loss > 0.1
    assert not loss > 1
    assert (int(loss), float(loss), complex(loss)) == (0, 0.75, 0.75 + 0j)
    assert bool(ig.tensor([[0.0]])) is False
    assert [10, 20, 30][ig.tensor(1)] == 20
    assert list(range(ig.tensor(3))) == [0, 1, 2]
    assert round(ig.tensor(2.567), 1).item() == pytest.approx(2.6)
    assert [v.item() for v in divmod(ig.tensor(7), 3)] == [2, 1]


def test_python_walks_over_tensors() -> None:
    x = ig.tensor([[1, 2], [3, 4], [5, 6]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4], [5, 6]]
    assert [row.tolist() for row in reversed(x)] == [[5, 6], [3, 4], [1, 2]]
    assert (len(x), 4 in x, 7 in x) == (3, True, False)
    first, *others = x
    assert (first.tolist(), len(others)) == ([1, 2], 2)
    assert float(sum(ig.tensor([1.0, 2.0, 3.0]))) == 6
    assert max(ig.tensor([1.0, 3.0, 2.0])).item() == 3


def test_tensors_are_keys_by_identity_and_compare_by_element() -> None:
    x, y = ig.tensor([1, 2]), ig.tensor([1, 2])
    names = {x: "x", y: "y"}
    assert names[x] == "x"
    assert names[y] == "y"
    assert (x == y).tolist() == [True, True]


def test_sizes_of_a_tensor() -> None:
    x = ig.zeros([2, 3], dtype=ig.float64)
    assert (x.ndim, x.dim(), x.size, x.numel()) == (2, 2, 6, 6)
    assert (x.itemsize, x.element_size(), x.nbytes) == (8, 8, 48)
    assert x.device == "CPU"
    assert x.cpu() is x
    assert x.to("cpu") is x
    assert x.to(ig.float16).dtype is x.half().dtype is ig.float16
    assert x.to("int32").dtype is x.int().dtype is ig.int32
    assert x.to(ig.ones(1)).dtype is x.float().dtype is ig.float32
    assert (x.long().dtype, x.bool().dtype) == (ig.int64, ig.bool)
    assert (x.double() is x, x.type(ig.int8).dtype) == (True, ig.int8)


def test_creation_as_class_methods() -> None:
    made = [
        ig.Tensor.zeros(2, 3),
        ig.Tensor.ones([2, 3]),
        ig.Tensor.full((2, 3), 7.0),
        ig.Tensor.rand(2, 3),
        ig.Tensor.empty(2, 3),
        ig.Tensor.ones_like(ig.zeros((2, 3))),
        ig.Tensor.arange(6).reshape(2, 3),
        ig.Tensor.eye(2, 3),
        ig.Tensor.linspace(0, 1, 6).reshape(2, 3),
    ]
    assert {m.shape for m in made} == {(2, 3)}
    assert {type(m) for m in made} == {ig.Tensor}
    ig.Tensor.manual_seed(3)
    first = ig.Tensor.randn(4).tolist()
    ig.Tensor.manual_seed(3)
    assert ig.randn(4).tolist() == first


# --- the graph beneath ----------------------------------------------------------------------------------------------


def test_rewriting_by_patterns() -> None:
    three = UOp.const(dt.int32, 3)
    doubles = PatternMatcher(
        [(UPat(Ops.ADD, src=(UPat.cvar("c"), UPat.cvar("c"))), lambda c: c * 2)]
    )
    made = graph_rewrite(three + three, doubles)
    assert (made.op, made.src[1].value) == (Ops.MUL, 2)


def test_a_rewrite_may_say_nothing() -> None:
    def changed(ctx: dict[str, int], x: UOp) -> UOp | None:
        ctx["seen"] = ctx.get("seen", 0) + 1
        return x.replace(arg=UOp.const(dt.int32, 9).arg) if x.value == 3 else None

    seen: dict[str, int] = {}
    matcher = PatternMatcher([(UPat(Ops.CONST, name="x"), changed)])
    made = graph_rewrite(UOp.const(dt.int32, 3) + 4, matcher, ctx=seen)
    assert [s.value for s in made.src] == [9, 4]
    assert seen["seen"] >= 2


def test_variables_and_symbolic_shapes() -> None:
    n = ig.Variable("n", 1, 10)
    bound = n.bind(3)
    assert (n + 1).variables() == [n]
    assert bound.unbind() == (n, 3)
    part = ig.arange(10)[:bound]
    assert not isinstance(part.shape[0], int)
    assert part.tolist() == [0, 1, 2]
    stores = [u for u in part.uop.toposort() if u.op is Ops.AFTER]
    assert stores == []
