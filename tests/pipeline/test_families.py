"""Families: a structure is compiled once, and another shape compiles nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ingot as ig
from ingot.pipeline.session import Session

RNG = np.random.default_rng(5)
Array = NDArray[Any]
Program = Callable[..., ig.Tensor]
Shapes = list[tuple[int, ...]]


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape, dtype=np.float32)


def softmax(x: Array) -> Array:
    e: Array = np.exp(x - x.max(-1, keepdims=True))
    total: Array = e.sum(-1, keepdims=True)
    return e / total


def layer_norm(x: Array, w: Array, b: Array) -> Array:
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    result: Array = (x - mean) / np.sqrt(var + 1e-5) * w + b
    return result


def matrix(m: int, n: int) -> Shapes:
    return [(m, n)]


# name -> (program, the same in NumPy, shapes of its arguments from two sizes)
PROGRAMS: dict[
    str, tuple[Program, Callable[..., Array], Callable[[int, int], Shapes]]
] = {
    "chain": (
        lambda x, y: ig.tanh(x * 1.5 + y) * ig.sigmoid(x),
        lambda x, y: np.tanh(x * 1.5 + y) / (1 + np.exp(-x)),
        lambda m, n: [(m, n), (m, n)],
    ),
    "softmax": (lambda x: ig.softmax(x, axis=-1), softmax, matrix),
    "layer_norm": (ig.layer_norm, layer_norm, lambda m, n: [(m, n), (n,), (n,)]),
    "linear": (
        lambda x, w, b: ig.relu(x @ w + b),
        lambda x, w, b: np.maximum(x @ w + b, 0),
        lambda m, n: [(m, 37), (37, n), (n,)],
    ),
    "columns": (lambda x: x.sum(0), lambda x: x.sum(0), matrix),
}
FIRST = [(2, 2), (3, 33), (5, 20), (64, 40), (300, 64)]
LATER = [
    *(
        (2, 3),
        (3, 2),
        (7, 5),
        (4, 16),
        (9, 17),
        (16, 31),
        (2, 48),
        (31, 49),
        (12, 64),
        (65, 65),
    ),
    *(
        (0, 4),
        (4, 0),
        (100, 33),
        (33, 100),
        (128, 129),
        (257, 3),
        (3, 257),
        (1000, 41),
        (50, 1013),
        (512, 512),
    ),
]


def run(name: str, m: int, n: int) -> None:
    program, reference, shapes = PROGRAMS[name]
    arrays = [floats(*shape) for shape in shapes(m, n)]
    got = program(*(ig.from_numpy(a) for a in arrays)).numpy()
    if got.size:
        want = reference(*(a.astype(np.float64) for a in arrays))
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5)
    else:
        assert got.shape == tuple(n for n in got.shape)


@pytest.mark.parametrize("name", PROGRAMS)
def test_another_shape_compiles_nothing(name: str, session: Session) -> None:
    for m, n in FIRST:
        run(name, m, n)
    before = session.forge().compiled
    for m, n in LATER:
        run(name, m, n)
    assert session.forge().compiled == before


def test_few_rows_do_not_run_what_was_made_for_many(session: Session) -> None:
    run("linear", 300, 64)
    before = session.forge().compiled
    run("linear", 8, 64)
    assert session.forge().compiled == before + 1


def test_numbers_are_arguments(session: Session) -> None:
    x = ig.from_numpy(floats(10, 10))
    (x * 1.25 + 0.75).realize()
    before = session.forge().compiled
    np.testing.assert_allclose(
        (x * -3.5 + 2.25).numpy(), x.numpy() * np.float32(-3.5) + np.float32(2.25)
    )
    assert session.forge().compiled == before
