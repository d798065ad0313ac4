"""Transformed programs as kernels: the compiled value is the interpreter's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.settings import settings

Case = Callable[[Any], ig.Tensor]


class Draws:
    """Tensors that are the same each time a case is run."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(11)

    def __call__(self, *shape: int) -> ig.Tensor:
        return ig.tensor(self.rng.normal(size=shape))


def looped(rows: ig.Tensor) -> Any:
    start = ig.zeros(3, dtype="float64")
    last, made = ig.scan(lambda c, r: (ig.tanh(c * 0.5 + r), c * r), start, rows)
    return last.sum() + made.sum()


def turned(a: ig.Tensor) -> Any:
    return ig.while_loop(lambda c: c < 20.0, lambda c: c * 1.7, a)


def chosen(a: ig.Tensor) -> Any:
    return ig.cond(a.sum() > 0, lambda c: c * 2, lambda c: c - 1, a)


def layer(w: ig.Tensor) -> Callable[[ig.Tensor], ig.Tensor]:
    return lambda a: ig.tanh(a @ w)


def energy(w: ig.Tensor) -> Callable[[ig.Tensor], ig.Tensor]:
    return lambda a: (ig.softmax(a @ w) ** 2).sum()


CASES: dict[str, Case] = {
    "vmap of a layer": lambda f: ig.vmap(layer(f(3, 4)))(f(5, 3)),
    "vmap of filters": lambda f: ig.vmap(lambda a, k: ig.conv2d(a, k, padding=1))(
        f(2, 1, 3, 6, 6), f(2, 4, 3, 3, 3)
    ),
    "vmap of attention": lambda f: ig.vmap(
        lambda q: ig.scaled_dot_product_attention(q, q, q)
    )(f(2, 3, 4, 8)),
    "vmap of a scan": lambda f: ig.vmap(looped)(f(4, 6, 3)),
    "vmap of a while loop": lambda f: ig.vmap(turned)(ig.abs(f(4)) + 0.1),
    "vmap of a branch": lambda f: ig.vmap(chosen)(f(4, 3)),
    "vmap of a sort": lambda f: ig.vmap(ig.sort)(f(4, 6)),
    "vmap of a look-up": lambda f: ig.vmap(lambda a, i: a[i])(
        f(4, 6), ig.tensor([1, 2, 0, 5])
    ),
    "vmap of an inverse": lambda f: ig.vmap(ig.linalg.inv)(
        f(3, 2, 2) + ig.eye(2, dtype="float64") * 4
    ),
    "gradients of examples": lambda f: ig.vmap(
        ig.grad(lambda w, a: (ig.tanh(a @ w) ** 2).sum()), (None, 0)
    )(f(3, 4), f(5, 3)),
    "jvp of a layer": lambda f: ig.jvp(layer(f(3, 4)), (f(2, 3),), (f(2, 3),))[1],
    "jvp of a softmax": lambda f: ig.jvp(
        lambda a: ig.softmax(a @ f(3, 4)), (f(2, 3),), (f(2, 3),)
    )[1],
    "jvp of a scan": lambda f: ig.jvp(looped, (f(6, 3),), (f(6, 3),))[1],
    "jvp of a while loop": lambda f: ig.jvp(turned, (ig.abs(f()) + 0.1,), (f(),))[
        1
    ],
    "jvp of a branch": lambda f: ig.jvp(chosen, (f(3),), (f(3),))[1],
    "jvp of a product": lambda f: ig.jvp(lambda a: a.prod(), (f(5),), (f(5),))[1],
    "jvp of running products": lambda f: ig.jvp(
        lambda a: ig.cumprod(a, axis=0), (f(5),), (f(5),)
    )[1],
    "jvp of a sort": lambda f: ig.jvp(ig.sort, (f(6),), (f(6),))[1],
    "jacfwd": lambda f: ig.jacfwd(layer(f(3, 4)))(f(2, 3)),
    "jacrev": lambda f: ig.jacrev(layer(f(3, 4)))(f(2, 3)),
    "hessian": lambda f: ig.hessian(energy(f(3, 4)))(f(2, 3)),
    "hvp": lambda f: ig.hvp(energy(f(3, 4)), f(2, 3), f(2, 3)),
    "hvp of a scan": lambda f: ig.hvp(looped, f(6, 3), f(6, 3)),
    "jit of a hessian": lambda f: ig.jit(ig.hessian(energy(f(3, 4))))(f(2, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_compiled_is_interpreted(name: str) -> None:
    with settings.override(device="PYTHON"):
        wanted = CASES[name](Draws()).numpy()
    with settings.override(device="CPU"):
        found = CASES[name](Draws()).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
