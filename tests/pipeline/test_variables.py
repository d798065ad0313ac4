"""Symbolic sizes end to end: another value of a variable finds the same schedule and compiles nothing."""

from __future__ import annotations

import numpy as np
import pytest

import ingot as ig
from ingot.errors import ArgumentError
from ingot.pipeline.session import Session
from ingot.settings import settings
from tests.pipeline.programs import array, softmax_wanted

n = ig.Variable("n", 1, 64)


def first_rows(x: ig.Tensor, count: int) -> ig.Tensor:
    return x.shrink(((0, n.bind(count)), None))


def test_another_value_compiles_nothing(
    session: Session, capfd: pytest.CaptureFixture[str]
) -> None:
    x = array(64, 8)
    counts = []
    for rows in (5, 64, 1, 33):
        with settings.override(debug=1):
            got = ig.softmax(first_rows(ig.tensor(x), rows), axis=-1).numpy()
        np.testing.assert_allclose(got, softmax_wanted(x[:rows]), rtol=1e-5)
        counts.append(session.forge().compiled)
    assert counts == [1, 1, 1, 1]
    lines = capfd.readouterr().err.splitlines()
    assert ["CACHE MISS" in line for line in lines] == [True, False, False, False]
    assert all("cache hit" in line for line in lines[1:])


def test_reductions_and_matmul_over_a_symbolic_size(session: Session) -> None:
    x, w = array(64, 8), array(8, 6, seed=1)
    for rows in (7, 40):
        part = first_rows(ig.tensor(x), rows)
        np.testing.assert_allclose(
            part.sum(axis=0).numpy(), x[:rows].sum(0), rtol=1e-4, atol=1e-4
        )
        np.testing.assert_allclose(
            (part @ ig.tensor(w)).numpy(), x[:rows] @ w, rtol=1e-4, atol=1e-5
        )


def test_a_reshape_to_a_symbolic_size(session: Session) -> None:
    x = array(64, 8)
    for rows in (3, 10):
        part = first_rows(ig.tensor(x), rows) + 1.0
        flat = part.reshape(n.bind(rows) * 8)
        assert flat.numpy().shape == (rows * 8,)
        np.testing.assert_allclose(flat.numpy(), (x[:rows] + 1.0).reshape(-1))


def test_an_evaluated_symbolic_tensor_can_be_used_on(session: Session) -> None:
    x = array(64, 8)
    for rows in (5, 9):
        part = (first_rows(ig.tensor(x), rows) * 2.0).realize()
        np.testing.assert_allclose((part + 1.0).numpy(), x[:rows] * 2.0 + 1.0)
    assert session.forge().compiled == 2


def test_the_interpreter_knows_bound_sizes(session: Session) -> None:
    x = array(64, 8)
    with settings.override(device="PYTHON"):
        got = (first_rows(ig.tensor(x), 6) * 2.0).numpy()
    np.testing.assert_allclose(got, x[:6] * 2.0)


def test_a_size_without_a_value_is_named(session: Session) -> None:
    x = ig.tensor(array(64, 8)).shrink(((0, n), None))
    with pytest.raises((ArgumentError, NameError), match="n"):
        x.numpy()
