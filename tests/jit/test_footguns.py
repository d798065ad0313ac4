"""What a captured function gets wrong elsewhere: here each is right, or an error that names the line."""

import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.errors import ArgumentError, CaptureWarning
from ingot.tensor.tensor import Tensor
from tests.jit import arrays
from tests.jit.arrays import floats

scale = 2.0
weights = ig.tensor([1.0, 2.0, 3.0])


def ones(n: int = 3) -> ig.Tensor:
    return ig.tensor(np.ones(n, np.float32))


def same(got: Any, wanted: object) -> None:
    np.testing.assert_array_equal(got.numpy(), np.asarray(wanted, np.float32))


# --- memory ---


def test_a_result_is_not_overwritten_by_the_next_call() -> None:
    double = ig.jit(lambda x: x * 2.0)
    kept = [double(ig.tensor([float(n)])) for n in range(5)]
    assert [k.item() for k in kept] == [0, 2, 4, 6, 8]


def test_two_results_that_are_one_value_share_no_memory() -> None:
    @ig.jit
    def twice(x: ig.Tensor) -> tuple[ig.Tensor, ig.Tensor]:
        y = x + 1.0
        return y, y

    first, second = twice(ones())
    assert first.buffer is not None
    assert second.buffer is not None
    assert first.buffer.address != second.buffer.address
    same(first, [2, 2, 2])
    same(second, [2, 2, 2])


def test_a_returned_argument_is_a_copy() -> None:
    array = floats(4)
    x = ig.from_numpy(array)
    result = ig.jit(lambda x: x)(x)
    before = array.copy()
    array[:] = 0
    np.testing.assert_array_equal(result.numpy(), before)


def test_a_result_may_be_an_argument_again() -> None:
    step = ig.jit(lambda x, y: (y, x + y))
    a, b = ones(1), ones(1)
    for _ in range(10):
        a, b = step(a, b)
    assert (a.item(), b.item()) == (89, 144)


# --- Python values ---


def test_a_number_is_not_frozen() -> None:
    times = ig.jit(lambda x, n: x * n)
    assert [times(ones(1), n).item() for n in (1, 2, 3, 1)] == [1, 2, 3, 1]
    assert times.captures == 3


def test_equal_numbers_of_other_types_are_not_mixed_up() -> None:
    power = ig.jit(lambda x, n: x / n)
    x = ones(1)
    assert math.copysign(1, power(x, math.inf).item()) == 1
    assert power(x, 0.0).item() == math.inf
    assert power(x, -0.0).item() == -math.inf
    assert power(x, True).item() == 1
    assert power.captures == 4


def test_a_global_number_is_not_frozen() -> None:
    global scale
    times = ig.jit(lambda x: x * scale)
    assert times(ones(1)).item() == 2
    scale = 5.0
    assert times(ones(1)).item() == 5
    scale = 2.0
    assert times(ones(1)).item() == 2
    assert times.captures == 2


def test_a_closure_variable_is_not_frozen() -> None:
    factor = 1.0
    times = ig.jit(lambda x: x * factor)
    for factor in (1.0, 3.0, 1.0):
        assert times(ones(1)).item() == factor


def test_a_flag_of_a_helper_is_not_frozen() -> None:
    flags = {"negate": False}

    def helper(x: ig.Tensor) -> ig.Tensor:
        return -x if flags["negate"] else x

    f = ig.jit(lambda x: helper(x) + 0.0)
    assert f(ones(1)).item() == 1
    flags["negate"] = True
    assert f(ones(1)).item() == -1


def test_a_number_of_a_class_is_not_frozen() -> None:
    class Scaled:
        by = 2.0

        @ig.jit
        def run(self, x: ig.Tensor) -> ig.Tensor:
            return x * self.by

    scaled = Scaled()
    assert scaled.run(ones(1)).item() == 2
    Scaled.by = 7.0
    assert scaled.run(ones(1)).item() == 7


def test_a_number_of_a_module_is_not_frozen() -> None:
    times = ig.jit(lambda x: x * arrays.FACTOR)
    assert times(ones(1)).item() == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "FACTOR", 4.0)
        assert times(ones(1)).item() == 4
    assert times(ones(1)).item() == 1
    assert times.captures == 2


def test_a_branch_on_a_value_names_its_line() -> None:
    @ig.jit
    def positive(x: ig.Tensor) -> ig.Tensor:
        if x.sum() > 0:
            return x
        return -x

    with pytest.raises(
        ArgumentError,
        match=r"ig\.where.*\n.*test_footguns.py:\d+, if x.sum\(\) > 0",
    ):
        positive(ones())


@pytest.mark.parametrize(
    "look",
    [
        lambda x: print(x),
        lambda x: x.item(),
        lambda x: x.numpy(),
        lambda x: x.tolist(),
        lambda x: float(x),
        lambda x: f"{x:.2f}",
    ],
)
def test_looking_at_a_value_is_an_error(look: Any) -> None:
    @ig.jit
    def f(x: ig.Tensor) -> ig.Tensor:
        look(x.sum())
        return x

    with pytest.raises(ArgumentError, match="was asked for while f is captured"):
        f(ones())


def test_looking_at_state_is_an_error_too() -> None:
    counter = ig.tensor(0.0)

    @ig.jit
    def f(x: ig.Tensor) -> ig.Tensor:
        return x * counter.item()

    with pytest.raises(ArgumentError, match="a replay would not ask again"):
        f(ones())


def test_constants_may_be_looked_at() -> None:
    f = ig.jit(lambda x: x * ig.arange(4).sum().item())
    same(f(ones()), [6, 6, 6])


# --- tensors from elsewhere ---


def test_a_list_of_tensors_is_not_baked_in() -> None:
    total = ig.jit(lambda xs: xs[0] + xs[1])
    assert total([ones(1), ones(1)]).item() == 2
    assert total([ones(1) * 4.0, ones(1)]).item() == 5
    assert total.captures == 1


def test_one_tensor_twice_is_not_confused_with_two() -> None:
    f = ig.jit(lambda x, y: x - y)
    x = ones(1)
    assert f(x, x).item() == 0
    assert f(x, x + 1.0).item() == -1


def test_a_global_tensor_is_read_anew() -> None:
    global weights
    f = ig.jit(lambda x: x * weights)
    same(f(ones()), [1, 2, 3])
    weights += 1.0
    same(f(ones()), [2, 3, 4])
    weights = ig.tensor([0.0, 0.0, 7.0])
    same(f(ones()), [0, 0, 7])
    assert f.captures == 1
    weights = ig.tensor([1.0])
    same(f(ones()), [1, 1, 1])
    assert f.captures == 2


def test_a_pending_tensor_from_outside_is_read_anew() -> None:
    held = [ig.tensor([1.0]) * 3.0]
    f = ig.jit(lambda x: x * held[0])
    assert f(ones(1)).item() == 3
    held[0] += 1.0
    assert f(ones(1)).item() == 4


def test_random_numbers_are_fresh_in_every_replay() -> None:
    noise = ig.jit(lambda x: x + ig.rand(3))
    draws = [tuple(noise(ones()).tolist()) for _ in range(4)]
    assert len(set(draws)) == 4


def test_a_seed_repeats_what_replays_draw() -> None:
    noise = ig.jit(lambda x: x + ig.rand(3))
    noise(ones())
    found = []
    for _ in range(2):
        ig.manual_seed(7)
        found.append([noise(ones()).tolist() for _ in range(3)])
    assert found[0] == found[1]


# --- state ---


class Counter:
    """Two kinds of change: a tensor in place, and another tensor under the same name."""

    def __init__(self) -> None:
        self.in_place = ig.tensor([0.0])
        self.replaced = ig.tensor([0.0])
        self.calls = 0

    @ig.jit
    def add(self, x: ig.Tensor) -> ig.Tensor:
        self.in_place += x
        self.replaced = self.replaced + x
        return self.in_place + self.replaced


def test_state_goes_in_and_out() -> None:
    counter = Counter()
    results = [counter.add(ones(1)).item() for _ in range(5)]
    assert results == [2, 4, 6, 8, 10]
    assert counter.in_place.item() == counter.replaced.item() == 5
    assert counter.add.captures == 1


def test_a_method_is_captured_for_each_object() -> None:
    one, two = Counter(), Counter()
    one.add(ones(1))
    two.add(ones(1) * 5.0)
    one.add(ones(1))
    assert (one.in_place.item(), two.in_place.item()) == (2, 5)


def test_a_copied_object_has_state_of_its_own() -> None:
    one = Counter()
    one.add(ones(1))
    two = copy.deepcopy(one)
    three = pickle.loads(pickle.dumps(one))
    two.add(ones(1))
    assert [c.in_place.item() for c in (one, two, three)] == [1, 2, 1]


def test_a_number_that_the_function_counts_is_counted() -> None:
    class Steps:
        count = 0

        def __init__(self) -> None:
            self.count = 0

        @ig.jit
        def step(self, x: ig.Tensor) -> ig.Tensor:
            self.count += 1
            return x * self.count

    steps = Steps()
    assert [steps.step(ones(1)).item() for _ in range(3)] == [1, 2, 3]
    assert steps.count == 3


def test_what_is_made_at_the_first_call_stays() -> None:
    class Cache:
        @ig.jit
        def get(self, x: ig.Tensor) -> ig.Tensor:
            if not hasattr(self, "sums"):
                self.sums = ig.zeros((1,))
            self.sums += x
            return self.sums * 1.0

    cache = Cache()
    assert [cache.get(ones(1)).item() for _ in range(4)] == [1, 2, 3, 4]


def test_an_argument_may_be_changed_in_place() -> None:
    @ig.jit
    def bump(x: ig.Tensor) -> None:
        x += 1.0

    x = ones(2)
    for _ in range(3):
        bump(x)
    same(x, [4, 4])


def test_changing_a_list_that_is_an_argument_is_an_error() -> None:
    @ig.jit
    def push(xs: list[ig.Tensor]) -> None:
        xs.append(xs[0] + 1.0)

    with pytest.raises(ArgumentError, match="changes a list or dictionary"):
        push([ones()])


def test_a_failing_function_leaves_everything_as_it_was() -> None:
    counter = Counter()

    @ig.jit
    def broken(x: ig.Tensor) -> ig.Tensor:
        counter.in_place += x
        counter.replaced = x
        counter.calls = 9
        return x @ ones(7)

    with pytest.raises(ig.errors.ShapeError):
        broken(ones())
    assert counter.in_place.item() == counter.replaced.item() == counter.calls == 0
    assert broken.captures == 0
    same(ones() + counter.in_place, [1, 1, 1])


# --- calls in calls, threads ---


def test_a_jit_inside_a_jit_is_part_of_it() -> None:
    inner = ig.jit(lambda x: x * 3.0)
    outer = ig.jit(lambda x: inner(x) + 1.0)
    assert [outer(ones(1) * n).item() for n in (1.0, 2.0)] == [4, 7]
    assert inner(ones(1)).item() == 3


def test_recursion_over_a_python_number() -> None:
    @ig.jit
    def power(x: ig.Tensor, n: int) -> ig.Tensor:
        return x if n == 1 else x * power(x, n - 1)

    assert power(ones(1) * 2.0, 5).item() == 32


def test_threads_share_a_jit() -> None:
    f = ig.jit(lambda x, y: x * 2.0 + y)

    def work(n: int) -> bool:
        x = ig.tensor([float(n)] * 16)
        return all(
            (f(x, x + float(k)).numpy() == 3 * n + k).all() for k in range(20)
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))
    assert f.captures == 1


def test_threads_lose_no_update_of_state() -> None:
    counter = Counter()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: counter.add(ones(1)), range(40)))
    assert counter.in_place.item() == 40


def test_threads_trace_and_evaluate_at_once() -> None:
    def work(n: int) -> bool:
        total = ig.jit(
            lambda x: ig.scan(lambda c, v: (c + v, c * 1.0), x[0] * 0.0, x)
        )
        x = ig.tensor(np.full((4, 2), float(n), np.float32))
        last, _ = total(x)
        plain = (ig.vmap(lambda v: v * 2.0)(x) + float(n)).sum().item()
        return bool(last.sum().item() == 8 * n and plain == 24 * n)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(32)))
    assert Tensor.journal is None


def test_realize_inside_is_no_error() -> None:
    f = ig.jit(lambda x: (x + 1.0).realize() * 2.0)
    same(f(ones()), [4, 4, 4])


def test_too_many_captures_are_told_once() -> None:
    f = ig.jit(lambda x, n: x * n)
    found = [f(ones(1), float(n)).item() for n in range(64)]
    with pytest.warns(CaptureWarning, match=r"n is 64\.0, was 63\.0") as told:
        found.append(f(ones(1), 64.0).item())
    assert told[0].filename == __file__
    found += [f(ones(1), float(n)).item() for n in range(65, 70)]  # not told again
    assert found == list(range(70))
    assert f.captures == 64
