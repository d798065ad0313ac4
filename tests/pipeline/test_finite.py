"""DEBUG_NAN=1: the first NaN or infinity is an error that names the operation, its inputs and the line."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import ingot as ig
from ingot.errors import NotFiniteError
from ingot.settings import settings

INF, NAN = float("inf"), float("nan")


@pytest.fixture(autouse=True)
def debug_nan() -> Iterator[None]:
    with settings.override(debug_nan=True):
        yield


def told(function: Callable[[], object]) -> list[str]:
    with pytest.raises(NotFiniteError) as caught:
        function()
    return str(caught.value).splitlines()


def test_the_first_nan_is_named_not_the_last() -> None:
    def loss() -> float:
        x = ig.tensor([1.0, -2.0, 3.0])
        y = x * 2.0
        z = y.log()  # here
        return float((z + 1.0).exp().sum().item())

    lines = told(loss)
    assert lines[0] == "log gave NaN in 1 of 3 values, first at [1]"
    assert lines[1] == "  input 1, f32[3]: finite, from -4 to 6"
    assert lines[2].endswith("z = y.log()  # here")
    assert lines[3].startswith("  computed at ")


def test_an_infinity_made_of_finite_numbers() -> None:
    x = ig.tensor([4.0, 0.0])
    assert told(lambda: (1.0 / x).numpy())[0] == (
        "div gave an infinity in 1 of 2 values, first at [1]"
    )
    assert told(lambda: (ig.tensor([1e30]) * 1e30).item())[0].startswith(
        "mul gave an infinity"
    )


def test_a_nan_in_the_data() -> None:
    lines = told(lambda: (ig.tensor([1.0, NAN]) * 2.0).sum().item())
    assert (
        lines[0]
        == "input 1 of mul, f32[2], holds NaN in 1 of 2 values, first at [1]"
    )


def test_infinities_that_are_meant_pass() -> None:
    x = ig.tensor([[1.0, 2.0], [3.0, 4.0]])
    masked = ig.where(x > 1.5, x, -INF)
    np.testing.assert_allclose(ig.softmax(masked, axis=-1).numpy()[0], [0, 1])
    mask = ig.tensor([[0.0, -INF]])
    assert np.isfinite(ig.softmax(x + mask, axis=-1).numpy()).all()


def test_infinity_minus_infinity_is_found() -> None:
    x = ig.tensor([INF])
    assert told(lambda: (x - x).item())[0].startswith("sub gave NaN")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_every_float_is_looked_at(dtype: str) -> None:
    x = ig.tensor([-1.0, 4.0]).astype(dtype)
    assert "gave NaN in 1 of 2 values" in told(lambda: x.sqrt().numpy())[0]


def test_reductions_and_named_operations() -> None:
    x = ig.tensor([3e38, 3e38])
    assert told(lambda: x.sum().item())[0].startswith("sum gave an infinity")
    x = ig.tensor(np.full((2, 2), 1e30, np.float32))
    assert told(lambda: (x @ x).numpy())[0].startswith("matmul gave an infinity")
    assert ig.tensor([1.0, 2.0]).max().item() == 2


def test_replays_are_looked_at() -> None:
    root = ig.jit(lambda x: x.sqrt() + 1.0)
    assert root(ig.tensor([4.0])).item() == 3
    assert told(lambda: root(ig.tensor([-4.0])))[0].startswith("sqrt gave NaN")


def test_on_the_interpreter_too() -> None:
    with settings.override(device="PYTHON"):
        x = ig.tensor([-1.0])
        assert told(lambda: x.log().item())[0].startswith("log gave NaN")


def test_finite_programs_are_unchanged() -> None:
    x = ig.tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    found = (ig.softmax(x, axis=-1) @ x.T).numpy()
    with settings.override(debug_nan=False):
        np.testing.assert_array_equal(found, (ig.softmax(x, axis=-1) @ x.T).numpy())
