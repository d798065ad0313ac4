"""jit over everything that a program may hold: a replay equals the plain function, for inputs that it has not seen."""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.ir.node import live_nodes
from tests.jit.arrays import floats

Function = Callable[..., Any]
W = ig.tensor(floats(4, 4))


def written(x: ig.Tensor) -> ig.Tensor:
    y = ig.zeros((4, 4))
    y[1] = x
    y[:, 2] += 1.0
    return y


def added_up(x: ig.Tensor) -> ig.Tensor:
    total = ig.zeros((4,))
    for row in x:
        total = total + row * 2.0
    return total


def scanned(x: ig.Tensor) -> Any:
    return ig.scan(lambda c, v: (c @ W + v, c.sum()), ig.zeros((4,)), x)


def chosen(x: ig.Tensor) -> Any:
    return ig.cond(x.sum() > 0.0, lambda v: v @ W, lambda v: -v, x)


def grown(x: ig.Tensor) -> Any:
    return ig.while_loop(lambda v: (v * v).sum() < 100.0, lambda v: v * 2.0, x)


def recomputed(x: ig.Tensor) -> Any:
    inner = ig.checkpoint(lambda u: ig.tanh(u @ W))
    return ig.grad(lambda v: inner(v).sum())(x)


PROGRAMS: dict[str, tuple[Function, tuple[int, ...]]] = {
    "scan": (scanned, (5, 4)),
    "cond": (chosen, (4,)),
    "while": (grown, (4,)),
    "function": (lambda x: ig.function(lambda v: v @ W)(x) + 1.0, (4, 4)),
    "vmap": (lambda x: ig.vmap(lambda v: v @ W)(x), (3, 4)),
    "checkpoint": (recomputed, (4,)),
    "grad": (lambda x: ig.grad(lambda v: ((v @ W) ** 2).sum())(x), (4,)),
    "setitem": (written, (4,)),
    "rows": (added_up, (3, 4)),
    "sort": (lambda x: ig.sort(x), (9,)),
    "topk": (lambda x: ig.topk(x, 2), (9,)),
    "gather": (lambda x: W[ig.argsort(x)], (4,)),
    "nonzero": (lambda x: ig.nonzero(x > 0.0), (9,)),
    "array": (lambda x: x + np.arange(4, dtype=np.float32), (4,)),
    "data": (lambda x: x + ig.tensor([1.0, 2.0, 3.0, 4.0]), (4,)),
    "views": (lambda x: (x.T, x[::2], x.reshape(-1)), (4, 4)),
    "lengths": (lambda x: x.reshape(x.shape[0] * 2, -1) / len(x), (4, 4)),
    "number": (lambda x: x * 2.0, ()),
    "empty": (lambda x: x * 2.0, (0, 3)),
    "constant": (lambda x: ig.arange(3), (2,)),
}


def arrays(result: Any) -> list[Any]:
    parts = [result] if isinstance(result, ig.Tensor) else result
    return [part.numpy() for part in parts]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_replay_equals_the_function(name: str) -> None:
    function, shape = PROGRAMS[name]
    captured = ig.jit(function)
    for _ in range(3):
        x = ig.tensor(floats(*shape))
        found = zip(arrays(captured(x)), arrays(function(x)), strict=True)
        for got, want in found:
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    assert captured.captures == 1


def test_outside_tensors_in_bodies_are_read_anew() -> None:
    weight = ig.tensor([2.0])
    body = ig.jit(lambda x: ig.function(lambda v: v * weight)(x))
    assert body(ig.tensor([3.0])).item() == 6
    weight += 1.0
    assert body(ig.tensor([3.0])).item() == 9
    assert body.captures == 1


def test_replays_and_dropped_captures_leave_nothing_behind() -> None:
    def round_trip() -> None:
        f = ig.jit(lambda x, n: (x * n).relu() + 1.0)
        x = ig.tensor(floats(16))
        for n in (1.0, 2.0):
            for _ in range(50):
                f(x, n)

    round_trip()
    gc.collect()
    before = live_nodes()
    for _ in range(3):
        round_trip()
    gc.collect()
    assert live_nodes() <= before
