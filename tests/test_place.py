"""The user's line: found from anywhere, told once, and free while nothing fails."""

import contextlib
import linecache
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.errors import ArgumentError, ShapeError
from ingot.place import Place, is_ours
from ingot.settings import child_environment
from tests.architecture.sources import ROOT


def line_of(function: Callable[[], Any]) -> str:
    with pytest.raises(ig.errors.IngotError) as caught:
        function()
    place = caught.value.place
    assert place is not None
    assert str(caught.value).count(place.where) == 1
    return place.text


def mismatch() -> ig.Tensor:
    return ig.ones((2, 3)) @ ig.ones((2, 3))  # here


def test_operators_functions_and_methods() -> None:
    x = ig.ones((2, 3))
    assert line_of(mismatch) == "return ig.ones((2, 3)) @ ig.ones((2, 3))  # here"
    assert "x.reshape(5)" in line_of(lambda: x.reshape(5))
    assert "ig.softmax(x, axis=9)" in line_of(lambda: ig.softmax(x, axis=9))


def test_through_the_standard_library() -> None:
    @contextlib.contextmanager
    def inside() -> Iterator[None]:
        yield
        ig.ones((2,)).reshape(3)  # in a generator that contextlib runs

    def leave() -> None:
        with inside():
            pass

    assert line_of(leave).endswith("# in a generator that contextlib runs")


def test_through_numpy() -> None:
    x = ig.ones((2, 3))
    assert "np.mean(x, axis=7)" in line_of(lambda: np.mean(x, axis=7))


def test_code_that_has_no_file() -> None:
    source = "y = x @ x"
    with pytest.raises(ShapeError, match=r"\n  at <generated>:1$"):
        exec(compile(source, "<generated>", "exec"), {"x": ig.ones((2, 3))})
    linecache.cache["<generated>"] = (len(source), None, [source], "<generated>")
    with pytest.raises(ShapeError, match=r"\n  at <generated>:1, y = x @ x$"):
        exec(compile(source, "<generated>", "exec"), {"x": ig.ones((2, 3))})


def test_a_notebook_has_cells() -> None:
    file = "/anywhere/ipykernel_" + "123/456.py"
    assert str(Place(file, 3, "y = x @ w")) == "at notebook cell, line 3, y = x @ w"


def test_long_lines_are_cut() -> None:
    assert len(str(Place("train.py", 1, "x" * 500))) < 130


def test_an_error_of_the_users_own_has_no_line() -> None:
    error = ShapeError("mine")
    assert error.place is None
    assert str(error) == "mine"


def test_an_error_in_another_error_is_not_doubled() -> None:
    with pytest.raises(ShapeError) as caught:
        mismatch()
    outer = ArgumentError(f"layer 3: {caught.value}")
    outer.place = caught.value.place
    assert str(outer).count("# here") == 1


def test_a_line_crosses_processes() -> None:
    with pytest.raises(ShapeError) as caught:
        mismatch()
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.place == caught.value.place


def test_the_command_line_blames_no_line_of_ours() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ingot", "show", "ig.ones((2, 3)).reshape(5)"],
        cwd=ROOT,
        env=child_environment(PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.endswith("at <string>:1\n")
    done = subprocess.run(
        [sys.executable, "-m", "ingot", "show", "3"],
        cwd=ROOT,
        env=child_environment(PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
    )
    assert "  at " not in done.stderr


def test_whose_code_it_is() -> None:
    assert is_ours(ig.__file__)
    assert is_ours(contextlib.__file__)
    assert is_ours(np.ma.__file__)
    assert not is_ours(__file__)
    assert not is_ours("<stdin>")
    assert not is_ours(pytest.__file__)


def test_a_node_knows_its_line_from_the_first_time() -> None:
    x = ig.tensor([1.0, 2.0])
    y = -(x + 1.0)  # built here
    again = -(x + 1.0)
    assert again.uop is y.uop
    assert y.uop.spot is not None
    assert Place.of(y.uop.spot).text.endswith("# built here")


def test_ten_thousand_ops_are_built_at_once() -> None:
    x = ig.tensor([1.0])
    y = x
    started = time.thread_time()  # of this thread alone: the machine may be busy
    for _ in range(10_000):
        y = y + x
    assert time.thread_time() - started < 2
    assert y.uop.spot is not None
