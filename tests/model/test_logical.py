"""Models: building, calling, composing, cutting, writing down."""

import numpy as np
import pytest

import ingot as ig
from ingot.errors import ArgumentError, DTypeError, ShapeError
from ingot.ir.text import expr_text
from ingot.model import Input, LogicalModel, Output, Parameter, State


def mlp() -> LogicalModel:
    with LogicalModel("mlp") as model:
        x = Input((None, 6), "input")
        w1, b1 = Parameter((6, 5), "w1"), Parameter((5,), "b1")
        hidden = ig.relu(x @ w1 + b1)
        w2 = Parameter((5, 3), "w2")
        Output(ig.softmax(hidden @ w2), "output")
    return model


def test_a_model_computes_what_its_block_says() -> None:
    model = mlp()
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    weights = {n: v.numpy() for n, v in model.init(1).items()}
    hidden = np.maximum(x @ weights["w1"] + weights["b1"], 0) @ weights["w2"]
    e = np.exp(hidden - hidden.max(1, keepdims=True))
    wanted = e / e.sum(1, keepdims=True)
    np.testing.assert_allclose(model(x, **weights).numpy(), wanted, rtol=1e-5)


def test_the_open_size_is_known_by_name() -> None:
    model = mlp()
    assert str(model) == "LogicalModel('mlp': input -> output)"
    assert [expr_text(v) for v in model.graph.variables] == ["batch"]
    assert model.with_shapes(input=(8, 6)).outputs["output"].shape == (8, 3)


def test_equal_models_have_equal_graphs() -> None:
    assert mlp().graph.version == mlp().graph.version
    assert mlp().graph.sink is mlp().graph.sink


def test_json_and_back() -> None:
    model = mlp()
    again = LogicalModel.from_json(model.to_json())
    assert again.graph == model.graph
    with pytest.raises(ArgumentError, match="no model of ours"):
        LogicalModel.from_json("{}")
    with pytest.raises(ArgumentError, match="is no JSON"):
        LogicalModel.from_json("{")


def test_constants_belong_to_the_model() -> None:
    table = ig.tensor(np.arange(4, dtype=np.float32))
    with LogicalModel("scaled") as model:
        Output(Input((2, 4), "x") * table, "y")
    x = np.ones((2, 4), np.float32)
    np.testing.assert_array_equal(model(x).numpy(), x * np.arange(4))
    again = LogicalModel.from_json(model.to_json())
    np.testing.assert_array_equal(again(x).numpy(), x * np.arange(4))


def test_state_goes_from_call_to_call() -> None:
    with LogicalModel("running") as model:
        x = Input((3,), "x")
        total = State((3,), "total")
        new = total + x
        total.update(new)
        Output(new * 2, "y")
    y, state = model(np.ones(3, np.float32))
    np.testing.assert_array_equal(y.numpy(), [2, 2, 2])
    y, state = model(np.ones(3, np.float32), **state)
    np.testing.assert_array_equal(y.numpy(), [4, 4, 4])
    np.testing.assert_array_equal(state["total"].numpy(), [2, 2, 2])


def test_models_one_after_the_other() -> None:
    with LogicalModel("head") as head:
        x = Input((None, 3), "x")
        Output(x @ Parameter((3, 2), "w1"), "y")
    chain = mlp() | head
    assert list(chain.parameters) == ["w1", "b1", "w2", "head.w1"]
    given = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    weights = chain.init(3)
    first = mlp()(given, **{n: weights[n] for n in ("w1", "b1", "w2")})
    wanted = head(first, w1=weights["head.w1"]).numpy()
    np.testing.assert_allclose(chain(given, **weights).numpy(), wanted, rtol=1e-6)


def test_parts_put_together_are_the_whole() -> None:
    with LogicalModel("net") as model:
        x = Input((None, 4), "input")
        h = ig.relu(x @ Parameter((4, 5), "w1"))
        h.named("hidden1")
        Output(ig.tanh(h @ Parameter((5, 2), "w2")) + h.sum(), "output")
    first = model.extract_subgraph(["input", "hidden1"])
    second = model.extract_subgraph(["hidden1", "output"])
    assert list(first.parameters) == ["w1"]
    assert list(second.parameters) == ["w2"]
    given = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    weights = model.init()
    between = first(given, w1=weights["w1"])
    whole = model(given, **weights).numpy()
    np.testing.assert_allclose(
        second(between, w2=weights["w2"]).numpy(), whole, rtol=1e-6
    )


def test_a_part_says_what_else_it_needs() -> None:
    with LogicalModel("two") as model:
        a, b = Input((2,), "a"), Input((2,), "b")
        Output(a + b, "y")
    with pytest.raises(ArgumentError, match="also depends on b"):
        model.extract_subgraph(["a", "y"])
    with pytest.raises(ArgumentError, match="no tensor called 'z'"):
        model.extract_subgraph(["a", "z"])


def test_a_model_inside_a_model_is_a_function_of_it() -> None:
    inner = mlp()
    with LogicalModel("outer") as outer:
        x = Input((None, 6), "x")
        Output(inner(x) + inner(x * 2), "y")
    assert "mlp.w1" in outer.parameters
    assert "mlp_2.w1" in outer.parameters
    given = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    weights = outer.init(5)
    one = {n.split(".")[1]: v for n, v in weights.items() if n.startswith("mlp.")}
    two = {n.split(".")[1]: v for n, v in weights.items() if n.startswith("mlp_2.")}
    wanted = inner(given, **one).numpy() + inner(given * 2, **two).numpy()
    np.testing.assert_allclose(outer(given, **weights).numpy(), wanted, rtol=1e-5)


def test_a_summary_counts_a_part_once_for_each_call() -> None:
    inner = mlp()
    with LogicalModel("outer") as outer:
        Output(inner(Input((8, 6), "x")), "y")
    alone = inner.with_shapes(input=(8, 6)).summary().splitlines()[-1]
    whole = outer.summary()
    assert whole.splitlines()[-1] == alone
    assert "mlp " in whole


def test_summary_counts() -> None:
    text = mlp().summary()
    assert "relu" in text
    assert "50 parameters" in text
    assert "batch*60" in text  # the first product: 2 * 6 * 5


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, ArgumentError, "parameter 'w' is missing"),
        ({"w": np.ones((3, 3), np.float32)}, ShapeError, "parameter 'w'"),
        ({"w": np.ones((2, 3), np.float32), "v": 1}, ArgumentError, "no port 'v'"),
        ({"w": ig.ones((2, 3), dtype="int32")}, DTypeError, "parameter 'w'"),
    ],
)
def test_wrong_arguments(
    given: dict[str, object], error: type[Exception], message: str
) -> None:
    with LogicalModel("m") as model:
        Output(Input((4, 2), "x") @ Parameter((2, 3), "w"), "y")
    with pytest.raises(error, match=message):
        model(np.ones((4, 2), np.float32), **given)


def test_wrong_blocks() -> None:
    with pytest.raises(ArgumentError, match="outside a model"):
        Input((2,), "x")
    with pytest.raises(ArgumentError, match="has no output"), LogicalModel("empty"):
        Input((2,), "x")
    with LogicalModel("twice"):
        Output(Input((2,), "x"), "y")
        with pytest.raises(ArgumentError, match="called 'x' already"):
            Parameter((2,), "x")
    with pytest.raises(ArgumentError, match="'a b'"):
        LogicalModel("a b")
    with pytest.raises(ArgumentError, match="never updated"), LogicalModel("still"):
        Output(State((2,), "s") + 1, "y")
    model = mlp()
    with pytest.raises(ArgumentError, match="entered before"), model:
        pass
    with LogicalModel("self") as model:
        Output(Input((2,), "x"), "y")
        with pytest.raises(ArgumentError, match="is not finished"):
            model(1)


def test_gradients_are_a_model_too() -> None:
    model = mlp()
    both = model.with_gradients()
    assert list(both.outputs) == ["output", "w1_grad", "b1_grad", "w2_grad"]
    given = np.random.default_rng(0).standard_normal((4, 6))
    weights = {n: v.numpy().astype(np.float64) for n, v in model.init(1).items()}

    def total(
        changed: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]],
    ) -> float:
        hidden = (
            np.maximum(given @ changed["w1"] + changed["b1"], 0) @ changed["w2"]
        )
        e = np.exp(hidden - hidden.max(1, keepdims=True))
        return float(((e / e.sum(1, keepdims=True)) ** 2).sum())

    with LogicalModel("squared") as squared:
        x = Input((None, 3), "x")
        Output((x * x).sum(), "loss")
    whole = (model | squared).with_gradients("loss")
    small = {n: v.astype(np.float32) for n, v in weights.items()}
    _, *found = whole(given.astype(np.float32), **small)
    for name, gradient in zip(("w1", "b1", "w2"), found, strict=True):
        place = (1,) * weights[name].ndim
        step = np.zeros_like(weights[name])
        step[place] = 1e-5
        up, down = (
            total({**weights, name: weights[name] + s * step}) for s in (1, -1)
        )
        assert gradient.numpy()[place] == pytest.approx(
            (up - down) / 2e-5, abs=1e-4
        )
