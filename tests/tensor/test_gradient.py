"""Gradients as users meet them: leaves, backward, grad of functions, no_grad, changes in place, and errors to read."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.errors import ArgumentError, DTypeError, ShapeError

X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]], np.float32)


def leaf(data: Any = X) -> ig.Tensor:
    return ig.tensor(np.asarray(data, np.float32), requires_grad=True)


def close(got: Any, want: Any) -> None:
    assert got is not None
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-6)


# --- leaves and backward --------------------------------------------------------------------------------------------


def test_backward_fills_grad_and_adds_to_it() -> None:
    x = leaf()
    assert x.grad is None
    loss = (x * x).sum()
    loss.backward()
    close(x.grad, 2 * X)
    loss.backward()
    close(x.grad, 4 * X)
    x.grad = None
    (x * 3).sum().backward()
    close(x.grad, np.full_like(X, 3))


def test_grad_is_a_constant_unless_a_graph_is_wanted() -> None:
    x = leaf()
    (x**3).sum().backward()
    assert x.grad is not None
    assert not x.grad.requires_grad
    x.grad = None
    (x**3).sum().backward(create_graph=True)
    first: Any = x.grad
    assert first.requires_grad
    x.grad = None
    first.sum().backward()
    close(x.grad, 6 * X)


def test_requires_grad_follows_what_is_computed() -> None:
    x, y = leaf(), ig.tensor(X)
    assert x.requires_grad
    assert x.is_leaf
    assert (x + y).requires_grad
    assert not (x + y).is_leaf
    assert not (y * 2).requires_grad
    assert not (x > 0).requires_grad
    assert not x.detach().requires_grad
    assert y.requires_grad_().requires_grad
    y.requires_grad = False
    assert not (y + 1).requires_grad


def test_what_was_computed_before_is_not_followed() -> None:
    x = ig.tensor(X)
    before = x * 2
    x.requires_grad_()
    assert not before.requires_grad
    assert (x * 2).requires_grad


def test_equal_tensors_are_two_leaves() -> None:
    a, b = leaf(), leaf()
    c = ig.tensor(a, requires_grad=True)
    (a * 2 + b * 3 + c * 4).sum().backward()
    close(a.grad, np.full_like(X, 2))
    close(b.grad, np.full_like(X, 3))
    close(c.grad, np.full_like(X, 4))


def test_looking_at_a_value_does_not_end_its_history() -> None:
    x = leaf()
    inner = x * x
    assert inner.numpy().shape == (2, 3)
    loss = inner.sum()
    assert loss.item() == pytest.approx(float((X * X).sum()))
    assert f"{loss:.1f}"
    loss.backward()
    close(x.grad, 2 * X)


def test_backward_takes_weights() -> None:
    x = leaf()
    weights = np.arange(6, dtype=np.float32).reshape(2, 3)
    (x * x).backward(gradient=ig.tensor(weights))
    close(x.grad, 2 * X * weights)


def test_backward_for_some_inputs_only() -> None:
    x, y = leaf(), leaf()
    (x * y).sum().backward(inputs=[y])
    assert x.grad is None
    close(y.grad, X)


def test_an_inner_value_keeps_its_gradient_on_request() -> None:
    x = leaf()
    inner = x * 2
    inner.retain_grad()
    (inner * inner).sum().backward()
    close(inner.grad, 4 * X)
    close(x.grad, 8 * X)


def test_a_leaf_that_is_used_but_flat_has_zeros() -> None:
    x = leaf()
    x.floor().sum().backward()
    close(x.grad, np.zeros_like(X))


def test_fan_out_views_and_broadcasting() -> None:
    x = leaf()
    row = x[0]
    y = (row + x).exp() * x.T.reshape(2, 3) + x.mean()
    y.sum().backward()
    torch = pytest.importorskip("torch")
    t = torch.tensor(X, requires_grad=True)
    ((t[0] + t).exp() * t.T.reshape(2, 3) + t.mean()).sum().backward()
    close(x.grad, t.grad.numpy())


# --- changes in place -----------------------------------------------------------------------------------------------


def test_a_step_of_training() -> None:
    w = leaf()
    for _ in range(3):
        (w * w).sum().backward()
        with ig.no_grad():
            assert w.grad is not None
            w -= 0.1 * w.grad
            w.grad = None
    assert w.requires_grad
    assert w.is_leaf
    close(w, X * 0.8**3)


def test_a_leaf_is_not_changed_where_gradients_are_followed() -> None:
    x = leaf()
    with pytest.raises(
        ArgumentError, match="a tensor with requires_grad is changed in place"
    ):
        x += 1
    with pytest.raises(ArgumentError, match=r"with ig\.no_grad"):
        x[0] = 1.0
    close(x, X)


def test_an_inner_value_changed_in_place_is_followed() -> None:
    x = leaf()
    y = x * 2
    y *= x
    y[0] = 5.0
    y += x
    y.sum().backward()
    want = 4 * X + 1
    want[0] = 1
    close(x.grad, want)


def test_two_leaves_set_to_the_same_value_stay_two() -> None:
    a, b = leaf(), leaf()
    with ig.no_grad():
        a.zero_()
        b.zero_()
    (a * 2 + b * 3).sum().backward()
    close(a.grad, np.full_like(X, 2))
    close(b.grad, np.full_like(X, 3))


def test_a_value_copied_into_a_leaf_does_not_become_one() -> None:
    a, source = leaf(), ig.zeros(2, 3)
    with ig.no_grad():
        a.copy_(source)
    assert not (source * 2).requires_grad
    assert (a * 2).requires_grad


def test_a_loss_from_before_the_step_still_finds_its_leaf() -> None:
    w = leaf()
    loss = (w * w).sum()
    with ig.no_grad():
        w -= 1.0
    loss.backward()
    close(w.grad, 2 * X)


# --- no_grad and detach ---------------------------------------------------------------------------------------------


def test_no_grad_in_its_three_forms() -> None:
    x = leaf()
    with ig.no_grad():
        assert not ig.is_grad_enabled()
        inside = x * 2
        with ig.enable_grad():
            assert (x * 2).requires_grad

    @ig.no_grad()
    def once(t: ig.Tensor) -> ig.Tensor:
        return t * 2

    @ig.no_grad
    def bare(t: ig.Tensor) -> ig.Tensor:
        """What it does."""
        return t * 2

    assert ig.is_grad_enabled()
    assert not inside.requires_grad
    assert not once(x).requires_grad
    assert not bare(x).requires_grad
    assert bare.__doc__ == "What it does."
    with ig.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    (inside * x).sum().backward()
    close(x.grad, 2 * X)


def test_no_grad_is_left_by_an_error_too() -> None:
    with pytest.raises(ZeroDivisionError), ig.no_grad():
        raise ZeroDivisionError
    assert ig.is_grad_enabled()


def test_no_grad_holds_for_one_thread() -> None:
    seen: list[bool] = []
    with ig.no_grad():
        thread = threading.Thread(target=lambda: seen.append(ig.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_detach_is_a_constant() -> None:
    x = leaf()
    (x * x.detach()).sum().backward()
    close(x.grad, X)
    close(x.detach(), X)


# --- gradients of functions -----------------------------------------------------------------------------------------


def test_grad_of_a_function() -> None:
    slope = ig.grad(lambda x, k: (x**2).sum() * k)
    close(slope(ig.tensor(X), 3.0), 6 * X)


def test_grad_for_several_arguments() -> None:
    a, b = ig.tensor(X), ig.tensor(X + 1)
    to_a, to_b = ig.grad(lambda p, q: (p * q).sum(), argnums=(0, 1))(a, b)
    close(to_a, X + 1)
    close(to_b, X)
    close(ig.grad(lambda p, q: (p * q).sum(), argnums=-1)(a, b), X)


def test_grad_of_trees() -> None:
    params = {"w": ig.tensor(X), "b": [ig.tensor(1.0)]}
    found = ig.grad(lambda p: (p["w"] * p["b"][0]).sum())(params)
    close(found["w"], np.ones_like(X))
    close(found["b"][0], X.sum())


def test_value_and_grad_with_more() -> None:
    def f(x: ig.Tensor) -> tuple[ig.Tensor, dict[str, ig.Tensor]]:
        return (x * x).sum(), {"mean": x.mean()}

    (value, more), slope = ig.value_and_grad(f, has_aux=True)(ig.tensor(X))
    close(value, (X * X).sum())
    close(more["mean"], X.mean())
    close(slope, 2 * X)
    found, again = ig.grad(f, has_aux=True)(ig.tensor(X))
    close(found, 2 * X)
    close(again["mean"], X.mean())


def test_grad_of_grad() -> None:
    third = ig.grad(ig.grad(ig.grad(lambda x: x**4)))
    assert third(ig.tensor(2.0)).item() == pytest.approx(48.0)


def test_an_inner_function_sees_the_outer_variable_as_a_constant() -> None:
    """d/da of (d/db of a b b at b = a) is that of 2 a a, and not of 2 a b + b b."""
    found = ig.grad(lambda a: ig.grad(lambda b: a * b * b)(a))(ig.tensor(3.0))
    assert found.item() == pytest.approx(12.0)
    x = ig.tensor(3.0)
    mixed = ig.grad(lambda a: ig.grad(lambda b: a * b * b)(x))(x)
    assert mixed.item() == pytest.approx(6.0)


def test_equal_arguments_are_two() -> None:
    x = ig.tensor(X)
    to_a, to_b = ig.grad(lambda a, b: (a * 2 + b * 3).sum(), argnums=(0, 1))(x, x)
    close(to_a, np.full_like(X, 2))
    close(to_b, np.full_like(X, 3))


def test_a_function_may_look_at_its_values() -> None:
    def f(x: ig.Tensor) -> ig.Tensor:
        y = x * x
        return y.sum() if y.sum().item() > 0 else x.sum()

    close(ig.grad(f)(ig.tensor(X)), 2 * X)


def test_a_function_may_change_tensors_from_outside() -> None:
    seen = ig.zeros(2, 3)

    def f(x: ig.Tensor) -> ig.Tensor:
        nonlocal seen
        seen += x
        return (x * x).sum()

    for _ in range(3):
        ig.grad(f)(ig.tensor(X))
    assert not seen.requires_grad
    close(seen, 3 * X)


def test_grad_works_inside_no_grad() -> None:
    with ig.no_grad():
        found = ig.grad(lambda x: (x * x).sum())(ig.tensor(X))
    close(found, 2 * X)


def test_leaves_inside_a_function_are_left_alone() -> None:
    w = leaf()
    close(ig.grad(lambda x: (x * w).sum())(ig.tensor(X)), X)
    assert w.grad is None


def test_vjp() -> None:
    def f(a: ig.Tensor, b: ig.Tensor) -> tuple[ig.Tensor, ig.Tensor]:
        return a * b, a.sum()

    (product, total), pull = ig.vjp(f, ig.tensor(X), ig.tensor(X + 1))
    close(product, X * (X + 1))
    close(total, X.sum())
    to_a, to_b = pull((ig.ones(2, 3), ig.tensor(2.0)))
    close(to_a, X + 1 + 2)
    close(to_b, X)


def test_gradient_of_a_tensor_for_others() -> None:
    x, y = ig.tensor(X), ig.tensor(X)
    z = x * x
    loss = z.sum()
    to_x, to_z = loss.gradient(x, z)
    close(to_x, 2 * X)
    close(to_z, np.ones_like(X))
    (nothing,) = loss.gradient(y, materialize_grads=True)
    close(nothing, np.zeros_like(X))


def test_grad_of_tensors() -> None:
    x, y, unused = leaf(), leaf(), leaf()
    to_x, to_y = ig.grad((x * y).sum(), [x, y])
    close(to_x, X)
    close(to_y, X)
    assert x.grad is None
    found = ig.grad([(x * x).sum(), y.sum()], [x, unused], allow_unused=True)
    close(found[0], 2 * X)
    assert found[1] is None
    (first,) = ig.grad((x**3).sum(), x)
    assert first is not None
    (second,) = ig.grad(first.sum(), x)
    close(second, 6 * X)


# --- functions with a gradient of their own -------------------------------------------------------------------------


def test_custom_gradient() -> None:
    @ig.custom_gradient
    def clipped(x: ig.Tensor) -> Any:
        return x, lambda g: g.clip(-1, 1)

    x = leaf()
    (clipped(x) * ig.tensor(X)).sum().backward()
    close(x.grad, np.clip(X, -1, 1))


def test_custom_gradient_of_several() -> None:
    @ig.custom_gradient
    def both(a: ig.Tensor, b: ig.Tensor, n: ig.Tensor) -> Any:
        product = a * b
        return (product, a + b), lambda g, h: (g * b + h, 10 * g, None)

    a, b = leaf(), leaf(X + 1)
    product, total = both(a, b, ig.tensor(3))
    (product * 2 + total).sum().backward()
    close(a.grad, 2 * (X + 1) + 1)
    close(b.grad, np.full_like(X, 20))


def test_custom_gradient_twice_and_with_different_rules() -> None:
    def scaled(k: float) -> Any:
        return ig.custom_gradient(lambda x: (x, lambda g: g * k))

    x = leaf()
    (scaled(2.0)(x) + scaled(3.0)(x)).sum().backward()
    close(x.grad, np.full_like(X, 5))

    @ig.custom_gradient
    def cube(x: ig.Tensor) -> Any:
        return x**3, lambda g: g * 3 * x * x

    assert ig.grad(ig.grad(cube))(ig.tensor(2.0)).item() == pytest.approx(12.0)


def test_custom_gradient_says_what_is_wrong() -> None:
    x = leaf()
    with pytest.raises(ArgumentError, match="wanted a pair: "):
        ig.custom_gradient(lambda x: x)(x)
    with pytest.raises(ShapeError, match=r"gives \(\) for an argument of \(2, 3\)"):
        ig.custom_gradient(lambda x: (x, lambda g: g.sum()))(x)
    with pytest.raises(ArgumentError, match="gives 2 gradients: wanted 1"):
        ig.custom_gradient(lambda x: (x, lambda g: (g, g)))(x)


def test_checkpoint_gives_the_same_gradient() -> None:
    def block(x: ig.Tensor, w: ig.Tensor) -> ig.Tensor:
        return (x @ w).tanh() @ w.T

    grads = []
    for f in (block, ig.checkpoint(block)):
        x, w = leaf(), leaf(np.linspace(-1, 1, 12).reshape(3, 4))
        f(f(x, w), w).sum().backward()
        assert x.grad is not None
        assert w.grad is not None
        grads.append((x.grad.numpy(), w.grad.numpy()))
    for a, b in zip(*grads, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_control_flow_is_differentiated() -> None:
    w = leaf(np.eye(3) * 0.5)
    x = ig.tensor(X)

    def step(h: ig.Tensor, row: ig.Tensor) -> tuple[ig.Tensor, ig.Tensor]:
        new = (row + h @ w).tanh()
        return new, new

    last, rows = ig.scan(step, ig.zeros(3), x)
    chosen = ig.cond(last.sum() > 0, lambda t: t * w.sum(), lambda t: t * 3, last)
    total = chosen.sum() + rows.sum()
    total.backward()
    w2 = leaf(np.eye(3) * 0.5)
    h, plain = ig.zeros(3), ig.tensor(0.0)
    for i in range(2):
        h = (x[i] + h @ w2).tanh()
        plain = plain + h.sum()
    plain = plain + (h * w2.sum() if h.sum().item() > 0 else h * 3).sum()
    plain.backward()
    assert w2.grad is not None
    close(w.grad, w2.grad.numpy())


# --- errors ---------------------------------------------------------------------------------------------------------


def test_errors_say_what_was_given_wanted_and_how_to_mend_it() -> None:
    x = leaf()
    with pytest.raises(
        ShapeError, match=r"backward: the tensor is \(2, 3\): wanted one number"
    ):
        (x * 2).backward()
    with pytest.raises(
        DTypeError, match="backward: the tensor is int64, which has no gradient"
    ):
        ig.tensor([1, 2]).sum().backward()
    with pytest.raises(
        ArgumentError, match=r"backward: no gradient flows to this tensor"
    ):
        ig.tensor(X).sum().backward()
    with pytest.raises(
        ArgumentError, match=r"\.numpy\(\), \.item\(\), \.detach\(\), no_grad"
    ):
        ig.tensor((x * 2).numpy()).sum().backward()
    with pytest.raises(DTypeError, match="requires_grad: the tensor is int64"):
        ig.tensor([1, 2], requires_grad=True)
    with pytest.raises(DTypeError, match="grad: an argument is int64"):
        ig.grad(lambda t: t.sum())(ig.tensor([1, 2]))
    with pytest.raises(
        ShapeError,
        match=r"backward: the gradient is \(3,\), the tensor is \(2, 3\)",
    ):
        (x * 2).backward(ig.ones(3))
    with pytest.raises(
        ArgumentError, match="grad: the function gives float: wanted a tensor"
    ):
        ig.grad(lambda t: 1.0)(ig.tensor(X))
    with pytest.raises(
        ShapeError, match=r"grad: the tensor is \(2, 3\): wanted one number"
    ):
        ig.grad(lambda t: t * 2)(ig.tensor(X))
    with pytest.raises(
        ArgumentError, match="the result does not depend on tensor 0"
    ):
        x.sum().gradient(leaf())
    with pytest.raises(ShapeError, match="a gradient has the shape of its tensor"):
        x.grad = ig.ones(3)


def test_a_while_loop_says_what_to_use_instead() -> None:
    x = leaf()
    y = ig.while_loop(lambda t: t.sum() < 100, lambda t: t * 2, x)
    with pytest.raises(ArgumentError, match=r"use ig\.scan"):
        y.sum().backward()


# --- memory ---------------------------------------------------------------------------------------------------------


def test_a_dropped_loss_is_freed() -> None:
    x = leaf()
    loss = (x * x).exp().sum()
    loss.backward()
    node = weakref.ref(loss.uop)
    assert x.grad is not None
    x.grad.realize()
    del loss
    gc.collect()
    assert node() is None
