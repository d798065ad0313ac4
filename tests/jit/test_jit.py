"""jit: the same results as without it, for every form of arguments and results, and clear errors."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import ingot as ig
from ingot.errors import ArgumentError, ShapeError
from tests.jit.arrays import floats


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


# --- trees ---


@dataclass(frozen=True)
class Pair:
    left: ig.Tensor
    right: ig.Tensor
    name: str = ""


class Point(NamedTuple):
    x: ig.Tensor
    y: ig.Tensor


class Plain:
    def __init__(self, value: ig.Tensor) -> None:
        self.value = value


def test_dataclasses_and_named_tuples() -> None:
    @ig.jit
    def swap(pair: Pair, point: Point) -> tuple[Pair, Point]:
        return Pair(pair.right * 1.0, pair.left + 0.0, pair.name), Point(
            point.y * 2.0, point.x * 3.0
        )

    for _ in range(2):
        a, b = floats(3), floats(3)
        x, y = ig.tensor(a), ig.tensor(b)
        pair, point = swap(Pair(x, y, "p"), Point(x, y))
        np.testing.assert_array_equal(pair.left.numpy(), b)
        np.testing.assert_array_equal(point.y.numpy(), a * 3)
        assert pair.name == "p"
    assert swap.captures == 1


def test_dictionaries_keep_their_kind_and_order() -> None:
    f = ig.jit(lambda d: OrderedDict((k, v + 1.0) for k, v in reversed(d.items())))
    found = f(OrderedDict(a=ig.tensor([1.0]), b=ig.tensor([2.0])))
    assert type(found) is OrderedDict
    assert {k: v.item() for k, v in found.items()} == {"b": 3, "a": 2}
    assert list(found) == ["b", "a"]


def test_an_object_as_argument_and_as_result() -> None:
    f = ig.jit(lambda p, x: Plain(p.value * x))
    plain = Plain(ig.tensor([2.0]))
    assert [f(plain, ig.tensor([n])).value.item() for n in (1.0, 4.0)] == [2, 8]
    plain.value = ig.tensor([10.0])
    assert f(plain, ig.tensor([3.0])).value.item() == 30
    assert f.captures == 1


def test_arrays_and_numpy_numbers_as_arguments() -> None:
    f = ig.jit(lambda x, n: x * n)
    for _ in range(3):
        a = floats(4)
        np.testing.assert_array_equal(f(a, np.float32(2)).numpy(), a * 2)
    assert f.captures == 1


def test_keywords_in_any_order_are_one_capture() -> None:
    f = ig.jit(lambda x, y: x - y)
    x, y = ig.tensor([5.0]), ig.tensor([3.0])
    assert f(x=x, y=y).item() == f(y=y, x=x).item() == 2
    assert f.captures == 1


def test_an_argument_that_cannot_be_compared_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="jit: argument x of <lambda> is a set"):
        ig.jit(lambda x: x)({1, 2})


def test_a_result_that_runs_only_once_is_an_error() -> None:
    def several(x: ig.Tensor) -> Any:
        yield x + 1.0

    with pytest.raises(ArgumentError, match="the result is a generator"):
        ig.jit(several)(ig.ones((2,)))
    with pytest.raises(ArgumentError, match="the result is a map"):
        ig.jit(lambda x: map(abs, [x]))(ig.ones((2,)))


# --- sizes ---


def test_any_size_is_one_capture_where_that_is_wanted(calls: list[int]) -> None:
    @ig.jit(dynamic={"x": {0: "n"}, "y": {0: "n"}})
    def loss(x: ig.Tensor, y: ig.Tensor) -> ig.Tensor:
        calls.append(1)
        return ((x - y) * (x - y)).sum(axis=1)

    for rows in (2, 7, 3, 7, 64):
        a, b = floats(rows, 5), floats(rows, 5)
        found = loss(ig.tensor(a), ig.tensor(b))
        assert found.shape == (rows,)
        np.testing.assert_allclose(
            found.numpy(), ((a - b) ** 2).sum(axis=1), rtol=1e-5
        )
    assert calls == [1]
    assert loss.captures == 1


def test_a_size_that_two_arguments_share_must_agree() -> None:
    f = ig.jit(dynamic={"x": {0: "n"}, "y": {0: "n"}})(lambda x, y: x + y)
    with pytest.raises(ShapeError, match="the size n is 3 and 4 in one call"):
        f(ig.ones((3,)), ig.ones((4,)))


def test_options_name_real_parameters() -> None:
    with pytest.raises(ArgumentError, match="dynamic names 'z'"):
        ig.jit(dynamic={"z": {0: "n"}})(lambda x: x)
    with pytest.raises(ArgumentError, match="donate names 'z'"):
        ig.jit(donate="z")(lambda x: x)


def test_variables_bind_and_do_not_compile(calls: list[int]) -> None:
    @ig.jit
    def total(x: ig.Tensor) -> ig.Tensor:
        calls.append(1)
        return (x * 2.0).sum()

    n = ig.Variable("n", 1, 16)
    x = ig.tensor(np.arange(16, dtype=np.float32)).realize()
    for size in (3, 5, 9, 3):
        part = x.shrink(((0, n.bind(size)),))
        assert total(part).item() == sum(range(size)) * 2
    assert calls == [1]


# --- donated ---


def test_a_donated_tensor_has_no_value_any_more() -> None:
    step = ig.jit(donate="x")(lambda x: x + 1.0)
    x = ig.tensor([1.0])
    y = step(x)
    assert y.item() == 2
    with pytest.raises(ArgumentError, match="x was donated to <lambda>"):
        x.numpy()
    with pytest.raises(ArgumentError, match="x was donated to <lambda>"):
        (x + y).numpy()


def test_donated_memory_is_used_again() -> None:
    step = ig.jit(donate="x")(lambda x: x + 1.0)
    x = step(ig.tensor(floats(1 << 20)))
    places = set()
    for _ in range(10):
        x = step(x)
        assert x.buffer is not None
        places.add(x.buffer.address)
    assert len(places) <= 2


# --- what people see ---


def test_captures_are_counted_and_cleared(calls: list[int]) -> None:
    def f(x: ig.Tensor) -> ig.Tensor:
        calls.append(1)
        return x + 1.0

    captured = ig.jit(f)
    captured(ig.ones((2,)))
    captured(ig.ones((3,)))
    assert captured.captures == 2
    captured.clear()
    assert captured.captures == 0
    captured(ig.ones((2,)))
    assert len(calls) == 3


def test_debug_tells_why_it_is_captured(capfd: pytest.CaptureFixture[str]) -> None:
    f = ig.jit(lambda x, n: x * n)
    with ig.settings.settings.override(debug=1):
        f(ig.ones((2,)), 2.0)
        f(ig.ones((2,)), 3.0)
        f(ig.ones((5,)), 3.0)
    told = [t for t in capfd.readouterr().err.splitlines() if "captured" in t]
    assert [t.rsplit(" | ", 1)[1] for t in told] == [
        "first call",
        "n is 3.0, was 2.0",
        "x is float32(5,), was float32(2,)",
    ]


def test_debug_times_replays(capfd: pytest.CaptureFixture[str]) -> None:
    f = ig.jit(lambda x: (x * 3.0).sum())
    x = ig.tensor(floats(1000))
    with ig.settings.settings.override(debug=2):
        f(x)
        capfd.readouterr()
        f(x)
    told = capfd.readouterr().err
    assert "us" in told
    assert "GFLOP/s" in told


# --- sizes that are computed ---


def test_a_result_whose_size_is_computed() -> None:
    positive = ig.jit(lambda x: x[x > 0.0] * 2.0)
    for given in ([1.0, -1.0, 2.0], [-1.0, -2.0, 5.0], [-1.0, -1.0, -1.0]):
        found = positive(ig.tensor(given))
        np.testing.assert_array_equal(
            found.numpy(), [2 * g for g in given if g > 0]
        )
        assert found.shape == (sum(g > 0 for g in given),)
    assert positive.captures == 1


def test_a_cache_that_is_filled_step_by_step() -> None:
    class Cache:
        def __init__(self) -> None:
            self.values = ig.zeros((8, 2)).realize()

        @ig.jit
        def put(self, row: ig.Tensor, at: ig.Tensor) -> ig.Tensor:
            self.values[at] = row
            return self.values.sum()

    cache = Cache()
    want = np.zeros((8, 2), np.float32)
    for n in range(6):
        row = floats(2)
        want[n] = row
        total = cache.put(ig.tensor(row), ig.tensor(n))
        np.testing.assert_allclose(total.item(), want.sum(), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(cache.values.numpy(), want)
    assert cache.put.captures == 1


# --- devices ---


def test_another_device_is_another_capture() -> None:
    f = ig.jit(lambda x: (x * 2.0).sum())
    x = ig.tensor([1.0, 2.0])
    assert f(x).item() == 6
    with ig.settings.settings.override(device="PYTHON"):
        assert f(x).item() == 6
    with ig.settings.settings.override(device="NULL"):
        assert f(x).shape == ()
    assert f(x).item() == 6
    assert f.captures == 3
