"""The smoke test: a few programs from end to end, in seconds."""

from __future__ import annotations

import numpy as np
import pytest

import ingot as ig
from ingot.settings import settings

rng = np.random.default_rng(0)
X = rng.standard_normal((7, 20)).astype(np.float32)
W = rng.standard_normal((20, 9)).astype(np.float32)


def test_add() -> None:
    np.testing.assert_array_equal((ig.tensor(X) + ig.tensor(X)).numpy(), X + X)


def test_matmul_and_relu() -> None:
    got = ig.relu(ig.from_numpy(X) @ ig.from_numpy(W)).numpy()
    np.testing.assert_allclose(got, np.maximum(X @ W, 0), rtol=1e-5, atol=1e-5)


def test_softmax() -> None:
    e = np.exp(X - X.max(1, keepdims=True))
    np.testing.assert_allclose(
        ig.softmax(ig.tensor(X), axis=-1).numpy(),
        e / e.sum(1, keepdims=True),
        rtol=1e-5,
    )


def test_sum() -> None:
    x = ig.tensor(X)
    np.testing.assert_allclose(x.sum().item(), X.sum(dtype=np.float64), rtol=1e-5)
    np.testing.assert_allclose(x.sum(axis=0).numpy(), X.sum(0), rtol=1e-5)


def test_print(capsys: pytest.CaptureFixture[str]) -> None:
    print(ig.tensor([[1.0, 2.0], [3.0, 4.0]]) * 2)
    assert (
        capsys.readouterr().out
        == "Tensor([[2., 4.],\n        [6., 8.]], dtype=float32)\n"
    )


def test_the_interpreter_agrees() -> None:
    def program() -> ig.Tensor:
        x, w = ig.tensor(X), ig.tensor(W)
        return ig.softmax(
            ig.gelu(x @ w) * 0.5 - (x @ w).mean(axis=1, keepdims=True), axis=-1
        )

    on_cpu = program().numpy()
    with settings.override(device="PYTHON"):
        np.testing.assert_allclose(on_cpu, program().numpy(), rtol=1e-5, atol=1e-6)


def test_a_captured_function() -> None:
    layer = ig.jit(lambda x, w: ig.relu(x @ w))
    x, w = ig.tensor(X), ig.tensor(W)
    np.testing.assert_array_equal(layer(x, w).numpy(), layer(x, w).numpy())


def test_another_size_compiles_nothing() -> None:
    for rows in (3, 4, 5):
        np.testing.assert_allclose(
            ig.exp(ig.tensor(X[:rows])).numpy(), np.exp(X[:rows]), rtol=1e-6
        )
