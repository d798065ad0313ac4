"""jit: the same results as without it, for every form of arguments and results, and clear errors."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ingot as ig
from ingot.errors import ArgumentError

RNG = np.random.default_rng(3)


def floats(*shape: int) -> NDArray[np.float32]:
    return RNG.standard_normal(shape, dtype=np.float32)


@pytest.fixture
def calls() -> list[int]:
    return []


def test_replays_without_running_the_function(calls: list[int]) -> None:
    @ig.jit
    def add(x: ig.Tensor, y: ig.Tensor) -> ig.Tensor:
        calls.append(1)
        return x + y

    for _ in range(5):
        a, b = floats(8), floats(8)
        result = add(ig.from_numpy(a), ig.from_numpy(b))
        np.testing.assert_array_equal(result.numpy(), a + b)
    assert len(calls) == 1


def test_results_do_not_share_memory() -> None:
    double = ig.jit(lambda x: x * 2.0)
    a, b = floats(16), floats(16)
    first = double(ig.from_numpy(a))
    second = double(ig.from_numpy(b))
    np.testing.assert_array_equal(first.numpy(), a * 2)
    np.testing.assert_array_equal(second.numpy(), b * 2)


def test_other_shapes_and_numbers_are_other_captures(calls: list[int]) -> None:
    def scale(x: ig.Tensor, by: float) -> ig.Tensor:
        calls.append(1)
        return x * by

    captured = ig.jit(scale)
    for size, by in ((4, 2.0), (5, 2.0), (4, 3.0), (4, 2.0)):
        a = floats(size)
        np.testing.assert_array_equal(
            captured(ig.from_numpy(a), by).numpy(), a * np.float32(by)
        )
    assert len(calls) == 3


def test_order_of_use_does_not_matter() -> None:
    subtract = ig.jit(lambda x, y: y - x)
    a, b = floats(7), floats(7)
    for _ in range(2):
        np.testing.assert_array_equal(
            subtract(ig.from_numpy(a), ig.from_numpy(b)).numpy(), b - a
        )


def test_several_results_and_keywords() -> None:
    @ig.jit
    def parts(x: ig.Tensor, *, y: ig.Tensor) -> dict[str, Any]:
        return {"sum": x + y, "both": (x, y * 2.0)}

    a, b = floats(3, 4), floats(3, 4)
    for _ in range(2):
        found = parts(ig.from_numpy(a), y=ig.from_numpy(b))
        np.testing.assert_array_equal(found["sum"].numpy(), a + b)
        np.testing.assert_array_equal(found["both"][0].numpy(), a)
        np.testing.assert_array_equal(found["both"][1].numpy(), b * 2)


def test_a_result_is_an_argument_again() -> None:
    step = ig.jit(lambda x: x * 0.5 + 1.0)
    x, want = ig.from_numpy(floats(9)), None
    want = x.numpy()
    for _ in range(6):
        x = step(x)
        want = want * np.float32(0.5) + np.float32(1.0)
    np.testing.assert_array_equal(x.numpy(), want)
    np.testing.assert_array_equal((x + x).numpy(), want + want)


def test_arguments_may_be_pending() -> None:
    f = ig.jit(lambda x: x + 1.0)
    a = floats(5)
    np.testing.assert_array_equal(f(ig.from_numpy(a) * 2.0).numpy(), a * 2 + 1)


def test_looking_at_a_value_inside_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="captured argument"):
        ig.jit(lambda x: x * x.sum().item())(ig.from_numpy(floats(4)))


def test_a_list_argument_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="one by one"):
        ig.jit(lambda xs: xs[0])([ig.from_numpy(floats(4))])
