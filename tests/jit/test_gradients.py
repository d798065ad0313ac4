"""jit and gradients: a whole training step is one program; where gradients leave the function, it runs as it is."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ingot as ig
from tests.jit.arrays import floats

X = floats(32, 8)
Y = floats(32, 1)


class Net:
    def __init__(self) -> None:
        self.w = ig.tensor(np.zeros((8, 1), np.float32), requires_grad=True)
        self.b = ig.tensor(np.zeros((1,), np.float32), requires_grad=True)

    def __call__(self, x: ig.Tensor) -> ig.Tensor:
        return x @ self.w + self.b


def losses(
    wrap: Callable[..., Any], clear: bool, steps: int = 5
) -> tuple[list[float], Net, Any]:
    net = Net()

    def step(x: ig.Tensor, y: ig.Tensor) -> ig.Tensor:
        loss = ((net(x) - y) * (net(x) - y)).mean()
        loss.backward()
        with ig.no_grad():
            for p in (net.w, net.b):
                assert p.grad is not None
                p -= 0.1 * p.grad
                if clear:
                    p.grad = None
        return loss

    run = wrap(step)
    found = [float(run(ig.tensor(X), ig.tensor(Y)).item()) for _ in range(steps)]
    return found, net, run


@pytest.mark.parametrize(("clear", "captures"), [(True, 1), (False, 2)])
def test_a_training_step_is_one_program(clear: bool, captures: int) -> None:
    plain, net, _ = losses(lambda f: f, clear)
    found, other, run = losses(ig.jit, clear)
    np.testing.assert_allclose(found, plain, rtol=1e-4)
    np.testing.assert_allclose(other.w.numpy(), net.w.numpy(), rtol=1e-4, atol=1e-6)
    assert run.captures == captures
    assert other.w.requires_grad
    assert (other.w.grad is None) == clear
    if not clear:
        assert net.w.grad is not None
        assert other.w.grad is not None
        np.testing.assert_allclose(
            other.w.grad.numpy(), net.w.grad.numpy(), rtol=1e-3, atol=1e-5
        )


def test_a_gradient_of_a_function_inside() -> None:
    slope = ig.jit(lambda x: ig.grad(lambda v: (v * v * v).sum())(x))
    for _ in range(3):
        a = floats(5)
        np.testing.assert_allclose(slope(ig.tensor(a)).numpy(), 3 * a**2, rtol=1e-5)
    assert slope.captures == 1


def test_gradients_through_a_captured_function_are_not_lost() -> None:
    net = Net()
    forward = ig.jit(lambda x: net(x))
    x = ig.tensor(X)
    for _ in range(2):
        net.w.grad = None
        forward(x).sum().backward()
        assert net.w.grad is not None
        np.testing.assert_allclose(
            net.w.grad.numpy(), X.sum(axis=0)[:, None], rtol=1e-4, atol=1e-5
        )
    with ig.no_grad():
        before = forward(x)
        assert not before.requires_grad
        net.w += 1.0
        np.testing.assert_allclose(
            forward(x).numpy(), X.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-5
        )


def test_gradients_through_an_argument_are_not_lost() -> None:
    double = ig.jit(lambda x: x * 2.0)
    double(ig.tensor([1.0]))
    w = ig.tensor([3.0], requires_grad=True)
    (double(w) * 5.0).sum().backward()
    assert w.grad is not None
    assert w.grad.item() == 10
    w.grad = None
    (double(w * 4.0)).sum().backward()
    assert w.grad is not None
    assert w.grad.item() == 8


def test_a_leaf_as_an_argument_gathers_its_gradient() -> None:
    @ig.jit
    def step(w: ig.Tensor, x: ig.Tensor) -> ig.Tensor:
        loss = (w * x).sum()
        loss.backward()
        with ig.no_grad():
            assert w.grad is not None
            w -= w.grad
            w.grad = None
        return loss

    one = ig.tensor([1.0, 1.0], requires_grad=True)
    two = ig.tensor([5.0, 5.0], requires_grad=True)
    x = ig.tensor([1.0, 2.0])
    assert [step(w, x).item() for w in (one, two, one)] == [3, 15, -2]
    np.testing.assert_array_equal(one.numpy(), [-1, -3])
    np.testing.assert_array_equal(two.numpy(), [4, 3])
    assert step.captures == 1


def test_momentum_is_state() -> None:
    class Momentum:
        def __init__(self, p: ig.Tensor) -> None:
            self.p = p
            self.v = ig.zeros_like(p)

        def step(self, gradient: ig.Tensor) -> None:
            self.v = self.v * 0.9 + gradient
            self.p -= self.v * 0.1

    def run(wrap: Callable[..., Any]) -> list[float]:
        optimiser = Momentum(ig.tensor([1.0, 2.0]))
        step = wrap(lambda g: optimiser.step(g))
        for _ in range(6):
            step(ig.tensor([1.0, -1.0]))
        return list(optimiser.p.tolist())

    np.testing.assert_allclose(run(ig.jit), run(lambda f: f), rtol=1e-6)


def test_dropout_draws_anew_in_every_step() -> None:
    keep = ig.jit(lambda x: x * (ig.rand(64) > 0.5))
    x = ig.tensor(np.ones(64, np.float32))
    masks = {tuple(keep(x).tolist()) for _ in range(4)}
    assert len(masks) == 4
    assert keep.captures == 1
