"""vmap, jvp, Jacobians and Hessians as users call them; derivatives against torch.func."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.errors import ArgumentError, AxisError, DTypeError, ShapeError
from ingot.tensor.handle import Handle

# torch.func.jacfwd itself uses what torch has deprecated.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*torch.jit.script:DeprecationWarning"
)
RNG = np.random.default_rng(5)


def floats(*shape: int) -> Any:
    return RNG.normal(size=shape)


def same(found: ig.Tensor, wanted: Any, tolerance: float = 1e-12) -> None:
    array = found.numpy()
    assert array.shape == np.shape(wanted)
    np.testing.assert_allclose(array, wanted, rtol=tolerance, atol=tolerance)


# --- vmap -------------------------------------------------------------------------------------------------------------


def test_vmap_is_a_loop_over_rows() -> None:
    x, w = floats(5, 3), floats(3, 4)
    mapped = ig.vmap(lambda a, b: ig.softmax(a @ b) + a.sum(), in_axes=(0, None))
    logits = x @ w
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    wanted = powers / powers.sum(-1, keepdims=True) + x.sum(-1, keepdims=True)
    same(mapped(ig.tensor(x), ig.tensor(w)), wanted)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_in_axes_names_the_axis_of_the_examples(axis: int) -> None:
    x = floats(2, 3, 4)
    found = ig.vmap(lambda a: a.sum(axis=0), in_axes=axis)(ig.tensor(x))
    same(found, np.moveaxis(x, axis, 0).sum(1))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_out_axes_places_the_examples(axis: int) -> None:
    x = floats(5, 3)
    found = ig.vmap(lambda a: a * 2, out_axes=axis)(ig.tensor(x))
    same(found, np.moveaxis(2 * x, 0, axis))


def test_arguments_and_results_are_trees() -> None:
    @dataclass
    class Point:
        x: Any
        y: Any

    def function(p: Point, table: dict[str, Any]) -> Any:
        return {"sum": p.x + table["a"], "rest": [p.y * table["b"], 3]}

    p = Point(ig.tensor(floats(4)), ig.tensor(floats(2)))
    table = {"a": ig.tensor(floats(4)), "b": ig.tensor(floats(2, 4))}
    axes = (Point(0, None), {"a": 0, "b": 1})
    found = ig.vmap(function, in_axes=axes)(p, table)
    same(found["sum"], p.x.numpy() + table["a"].numpy())
    same(found["rest"][0], p.y.numpy() * table["b"].numpy().T)
    assert found["rest"][1] == 3


def test_keywords_are_mapped_along_their_first_axis() -> None:
    x, y = floats(4, 3), floats(4)
    found = ig.vmap(lambda a, *, b: a * b)(ig.tensor(x), b=ig.tensor(y))
    same(found, x * y[:, None])


def test_numbers_and_arrays_as_arguments() -> None:
    x = floats(4, 3)
    same(ig.vmap(lambda a, b: a * b)(x, 2.0), 2 * x)


def test_nested_vmap_is_an_outer_product() -> None:
    x, y = floats(3), floats(4)
    inner = ig.vmap(lambda a, b: a * b, in_axes=(None, 0))
    same(
        ig.vmap(inner, in_axes=(0, None))(ig.tensor(x), ig.tensor(y)),
        np.outer(x, y),
    )


def test_tensors_from_outside_are_the_same_for_every_example() -> None:
    w, x = ig.tensor(floats(3)), floats(5, 3)
    found = ig.vmap(lambda a: (a * w, w + 1), out_axes=(0, None))(ig.tensor(x))
    same(found[0], x * w.numpy())
    same(found[1], w.numpy() + 1)


def test_a_result_without_the_batch_is_repeated() -> None:
    w = ig.tensor(floats(3))
    found = ig.vmap(lambda a: w)(ig.tensor(floats(5)))
    same(found, np.stack([w.numpy()] * 5))


def test_vmap_keeps_the_type() -> None:
    x = ig.tensor(np.ones((3, 2), np.float32))
    assert ig.vmap(lambda a: a * 2 + np.float64(1))(x).dtype is ig.float32


def test_jit_under_vmap() -> None:
    x = floats(5, 3)
    same(ig.vmap(ig.jit(lambda a: a * 2))(ig.tensor(x)), 2 * x)


def test_vmap_under_jit() -> None:
    x = floats(5, 3)
    same(ig.jit(ig.vmap(lambda a: a.sum()))(ig.tensor(x)), x.sum(1))


MISTAKES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: ig.vmap(lambda a: a)(ig.tensor(1.0)),
        AxisError,
        "a tensor with no axes",
    ),
    (lambda: ig.vmap(lambda a: a, in_axes=2)(ig.ones((2, 3))), AxisError, "axis 2"),
    (
        lambda: ig.vmap(lambda a, b: a)(ig.ones((2, 3)), ig.ones((4,))),
        ShapeError,
        "4 examples along axis 0 of one argument, 2 in another",
    ),
    (
        lambda: ig.vmap(lambda a, b: a, in_axes=(0,))(ig.ones(2), ig.ones(2)),
        ArgumentError,
        "in_axes has 1 entries for 2 arguments",
    ),
    (lambda: ig.vmap(lambda a: a, None)(ig.ones(2)), ArgumentError, "is mapped"),
    (
        lambda: ig.vmap(lambda a: a, out_axes=None)(ig.ones(2)),
        ArgumentError,
        "out_axes is None for a result that differs",
    ),
    (lambda: ig.vmap(lambda a: float(a))(ig.ones(2)), ArgumentError, "value"),
    (lambda: ig.jvp(ig.sin, ig.ones(2), ig.ones(2)), ArgumentError, "write (x,)"),
    (
        lambda: ig.jvp(ig.sin, (ig.ones(2),), (ig.ones(3),)),
        ShapeError,
        "a tangent is (3,) for a primal of (2,)",
    ),
    (
        lambda: ig.jvp(ig.add, (ig.ones(2), ig.ones(2)), (ig.ones(2),)),
        ArgumentError,
        "1 tangents for 2 primals",
    ),
    (lambda: ig.jacrev(ig.sin)(ig.arange(3)), DTypeError, "int64"),
    (
        lambda: ig.hvp(ig.sin, ig.ones(3), ig.ones(3)),
        ShapeError,
        "more than one number",
    ),
]


@pytest.mark.parametrize(("call", "error", "words"), MISTAKES)
def test_mistakes_are_named(
    call: Callable[[], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


def test_a_function_that_writes_outside_is_refused_and_undone() -> None:
    total = ig.zeros(3)

    def function(a: ig.Tensor) -> ig.Tensor:
        nonlocal total
        total += a
        return a * 2

    with pytest.raises(ArgumentError, match="changes a tensor from outside"):
        ig.vmap(function)(ig.ones((2, 3)))
    same(total, np.zeros(3))


def test_a_function_that_fails_leaves_nothing_changed() -> None:
    total = ig.zeros(3)

    def function(a: ig.Tensor) -> ig.Tensor:
        nonlocal total
        total += a
        raise KeyError("a mistake of the user")

    with pytest.raises(KeyError, match="a mistake of the user"):
        ig.vmap(function)(ig.ones((2, 3)))
    same(total, np.zeros(3))
    assert Handle.journal is None


def test_a_function_may_write_to_its_own_tensors() -> None:
    def function(a: ig.Tensor) -> ig.Tensor:
        total = ig.zeros(3, dtype="float64")
        for _ in range(3):
            total += a
        return total

    x = floats(2, 3)
    same(ig.vmap(function)(ig.tensor(x)), 3 * x)


def test_an_error_at_evaluation_names_the_line_inside() -> None:
    def function(a: ig.Tensor, i: ig.Tensor) -> ig.Tensor:
        return a[i.reshape(1)] * 2  # the line to be named

    found = ig.vmap(function)(ig.ones((2, 3)), ig.tensor([1, 7]))
    with pytest.raises(IndexError, match="the line to be named"):
        found.numpy()


def test_threads_trace_at_once() -> None:
    """The first to begin ends first: nothing of either is left behind."""
    begun, may_end = threading.Event(), threading.Event()
    found: list[Any] = []

    def slow(a: ig.Tensor) -> ig.Tensor:
        begun.set()
        may_end.wait(10)
        return a * 2

    x = ig.tensor(floats(4))
    thread = threading.Thread(target=lambda: found.append(ig.vmap(slow)(x).numpy()))
    thread.start()
    begun.wait(10)

    def quick(a: ig.Tensor) -> ig.Tensor:
        may_end.set()
        thread.join(10)
        return a + 1

    same(ig.vmap(quick)(x), x.numpy() + 1)
    np.testing.assert_array_equal(found[0], 2 * x.numpy())
    assert Handle.journal is None


def test_random_numbers_go_on_after_vmap() -> None:
    ig.manual_seed(3)
    inside = ig.vmap(lambda a: a + ig.rand(3))(ig.zeros((2, 3))).numpy()
    after = ig.rand(3).numpy()
    ig.manual_seed(3)
    first, second = ig.rand(3).numpy(), ig.rand(3).numpy()
    np.testing.assert_array_equal(inside[0], first)
    np.testing.assert_array_equal(after, second)


# --- jvp --------------------------------------------------------------------------------------------------------------


def test_jvp_is_the_change_along_a_direction() -> None:
    x, v = floats(3, 4), floats(3, 4)
    y, dy = ig.jvp(ig.sin, (ig.tensor(x),), (ig.tensor(v),))
    same(y, np.sin(x))
    same(dy, np.cos(x) * v)


def test_jvp_of_trees_and_constants() -> None:
    def function(pair: Any, n: Any) -> Any:
        return {"product": pair[0] * pair[1], "count": n, "one": 1.0}

    x, y = floats(3), floats(3)
    v, w = floats(3), floats(3)
    primals = ((ig.tensor(x), ig.tensor(y)), ig.arange(2))
    value, change = ig.jvp(function, primals, ((v, w), None))
    same(value["product"], x * y)
    same(change["product"], x * w + v * y)
    same(change["count"], np.zeros(2))
    assert change["one"].item() == 0


@pytest.mark.parametrize("transform", [ig.jacfwd, ig.jacrev])
def test_derivatives_of_what_is_written_in_place(transform: Any) -> None:
    def function(a: ig.Tensor) -> ig.Tensor:
        z = ig.zeros(3, dtype="float64")
        z[1] = a[0] * 2
        z += a
        return z

    x = ig.tensor(floats(3))
    wanted = np.eye(3) + np.array([[0, 0, 0], [2, 0, 0], [0, 0, 0]])
    same(transform(function)(x), wanted)


def test_the_function_may_look_at_values() -> None:
    def function(a: ig.Tensor) -> ig.Tensor:
        y = (a * 2).realize()
        return y * a if float(y.sum()) > 0 else a

    x = ig.tensor([1.0, 2.0])
    same(ig.jvp(function, (x,), (ig.ones(2),))[1], [4.0, 8.0], 1e-6)


def test_a_gradient_of_its_own_stays_one() -> None:
    @ig.custom_gradient
    def tripled(a: ig.Tensor) -> Any:
        return a * 1.0, lambda g: g * 3

    x = ig.tensor(floats(2, 3))
    same(ig.jvp(tripled, (x,), (ig.ones_like(x),))[1], np.full((2, 3), 3.0))
    same(ig.vmap(ig.grad(lambda a: tripled(a).sum()))(x), np.full((2, 3), 3.0))
    slope = ig.grad(lambda a: ig.vmap(tripled)(a).sum())
    same(slope(x), np.full((2, 3), 3.0))


def test_random_numbers_are_the_same_for_every_example() -> None:
    found = ig.vmap(lambda a: a + ig.rand(3))(ig.zeros((4, 3))).numpy()
    assert (found == found[0]).all()


def test_a_mask_for_all_examples_selects_from_each() -> None:
    x, mask = floats(3, 5), np.array([True, False, True, True, False])
    chosen = ig.tensor(mask)
    same(ig.vmap(lambda a: ig.masked_select(a, chosen))(ig.tensor(x)), x[:, mask])


def test_gradients_reach_leaves_through_vmap() -> None:
    w = ig.Tensor(np.ones((3, 2)), requires_grad=True)
    x = floats(4, 3)
    ig.vmap(lambda a: (a @ w).sum())(ig.tensor(x)).sum().backward()
    assert w.grad is not None
    same(w.grad, np.repeat(x.sum(0)[:, None], 2, 1))


def test_control_flow_under_transforms() -> None:
    def looped(a: ig.Tensor) -> Any:
        total, rows = ig.scan(
            lambda c, r: (ig.tanh(c * 0.5 + r), c * r),
            ig.zeros(2, dtype="float64"),
            a,
        )
        return total.sum() + rows.sum()

    def turned(a: ig.Tensor) -> Any:
        return ig.while_loop(lambda c: c < 20.0, lambda c: c * 1.7, a)

    def chosen(a: ig.Tensor) -> Any:
        return ig.cond(a.sum() > 0, lambda c: c * 2, lambda c: c - 1, a)

    x = ig.tensor(floats(4, 5, 2))
    singles = [looped(x[i]).item() for i in range(4)]
    same(ig.vmap(looped)(x), singles)
    starts = ig.tensor(np.array([0.1, 3.0, 30.0]))
    same(ig.vmap(turned)(starts), [turned(s).item() for s in starts])
    rows = ig.tensor(floats(6, 3))
    same(ig.vmap(chosen)(rows), [chosen(r).tolist() for r in rows])
    one = ig.tensor(floats(5, 2))
    way = ig.tensor(floats(5, 2))
    slope = (ig.grad(looped)(one) * way).sum().item()
    same(ig.jvp(looped, (one,), (way,))[1], slope)


def test_linearize_traces_once() -> None:
    calls = []

    def function(a: ig.Tensor) -> ig.Tensor:
        calls.append(1)
        return ig.exp(a)

    x = floats(4)
    y, change = ig.linearize(function, ig.tensor(x))
    same(y, np.exp(x))
    for _ in range(3):
        v = floats(4)
        same(change(ig.tensor(v)), np.exp(x) * v)
    assert len(calls) == 1


def test_jvp_of_jvp_is_a_second_derivative() -> None:
    x, one = ig.tensor(floats(3)), ig.ones(3, dtype="float64")
    _, second = ig.jvp(lambda a: ig.jvp(ig.sin, (a,), (one,))[1], (x,), (one,))
    same(second, -np.sin(x.numpy()))


def test_vmap_of_jvp_and_jvp_of_vmap_agree() -> None:
    x, v, w = (ig.tensor(floats(4, 3)) for _ in range(3))

    def function(a: ig.Tensor) -> ig.Tensor:
        return (ig.tanh(a) * a).sum()

    inside = ig.vmap(lambda a, d: ig.jvp(function, (a,), (d,))[1])(x, v)
    outside = ig.jvp(ig.vmap(function), (x,), (v,))[1]
    same(inside, outside.numpy())
    assert w.shape == x.shape


# --- against torch ------------------------------------------------------------------------------------------------------


def layer(ops: Any, x: Any, w: Any) -> Any:
    return ops.tanh(x @ w) * ops.sin(x).sum()


def scalar(ops: Any, x: Any, w: Any) -> Any:
    return (ops.softmax(x @ w, -1) * ops.exp(x @ w)).sum()


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("transform", ["jacfwd", "jacrev"])
@pytest.mark.parametrize("function", [layer, scalar])
def test_jacobians_are_those_of_torch(
    function: Callable[..., Any], transform: str, number: int
) -> None:
    torch = pytest.importorskip("torch")
    x, w = floats(2, 3), floats(3, 4)
    found = getattr(ig, transform)(lambda a, b: function(ig, a, b), number)
    there = getattr(torch.func, transform)(
        lambda a, b: function(torch, a, b), number
    )
    wanted = there(torch.tensor(x), torch.tensor(w)).numpy()
    same(found(ig.tensor(x), ig.tensor(w)), wanted, 1e-10)


def test_hessian_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch")
    x, w = floats(2, 3), floats(3, 4)
    found = ig.hessian(lambda a: scalar(ig, a, ig.tensor(w)))(ig.tensor(x))
    there = torch.func.hessian(lambda a: scalar(torch, a, torch.tensor(w)))
    same(found, there(torch.tensor(x)).numpy(), 1e-10)


def test_hessian_for_several_arguments() -> None:
    torch = pytest.importorskip("torch")
    x, w = floats(2, 3), floats(3, 2)
    found = ig.hessian(lambda a, b: scalar(ig, a, b), (0, 1))(
        ig.tensor(x), ig.tensor(w)
    )
    there = torch.func.hessian(lambda a, b: scalar(torch, a, b), (0, 1))
    wanted = there(torch.tensor(x), torch.tensor(w))
    for row, right in zip(found, wanted, strict=True):
        for block, block_right in zip(row, right, strict=True):
            same(block, block_right.numpy(), 1e-10)


def test_hvp_is_the_hessian_times_a_vector() -> None:
    x, w, v = floats(2, 3), floats(3, 4), floats(2, 3)

    def function(a: ig.Tensor) -> ig.Tensor:
        return scalar(ig, a, ig.tensor(w))  # type: ignore[no-any-return]

    whole = ig.hessian(function)(ig.tensor(x)).numpy()
    same(
        ig.hvp(function, ig.tensor(x), v), np.einsum("abcd,cd->ab", whole, v), 1e-10
    )


def test_hvp_for_several_arguments() -> None:
    torch = pytest.importorskip("torch")
    x, w = floats(2, 3), floats(3, 4)
    v, u = floats(2, 3), floats(3, 4)
    found = ig.hvp(
        lambda a, b: scalar(ig, a, b), (ig.tensor(x), ig.tensor(w)), (v, u)
    )
    function = lambda a, b: scalar(torch, a, b)  # noqa: E731
    args = (torch.tensor(x), torch.tensor(w))
    ways = (torch.tensor(v), torch.tensor(u))
    _, wanted = torch.autograd.functional.hvp(function, args, ways)
    for mine, right in zip(found, wanted, strict=True):
        same(mine, right.numpy(), 1e-10)


def test_per_example_gradients() -> None:
    torch = pytest.importorskip("torch")
    x, w = floats(5, 3), floats(3, 4)
    found = ig.vmap(ig.jacrev(lambda b, a: scalar(ig, a, b)), (None, 0))
    there = torch.vmap(
        torch.func.grad(lambda b, a: scalar(torch, a, b)), in_dims=(None, 0)
    )
    wanted = there(torch.tensor(w), torch.tensor(x)).numpy()
    same(found(ig.tensor(w), ig.tensor(x)), wanted, 1e-10)
