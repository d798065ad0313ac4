"""Changes in place: the handle gets another value, what was built before keeps the old one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.errors import AxisError, DTypeError, IngotError, ShapeError
from ingot.settings import settings
from ingot.tensor.dirty import MOST_CHANGES, any_dirty
from ingot.tensor.handle import Handle, Journal
from ingot.tensor.leaves import leaves

# --- operators ------------------------------------------------------------------------------------------------------

FLOATS = ["+=", "-=", "*=", "/=", "//=", "%=", "**="]
BITS = ["&=", "|=", "^=", "<<=", ">>="]


@pytest.mark.parametrize("operator", FLOATS)
@pytest.mark.parametrize("right", ["2.5", "b"])
def test_operators_change_the_tensor_as_numpy_does(
    operator: str, right: str
) -> None:
    a, b = np.array([1.0, 4.0, 9.0], np.float32), np.array([2, 3, 0.5], np.float32)
    x, want = ig.tensor(a), a.copy()
    same = x
    exec(f"x {operator} {right}", {}, {"x": want, "b": b})
    names: dict[str, Any] = {"x": x, "b": ig.tensor(b)}
    exec(f"x {operator} {right}", {}, names)
    assert names["x"] is same
    np.testing.assert_allclose(same.numpy(), want, rtol=1e-6)


@pytest.mark.parametrize("operator", BITS)
def test_bits_change_too(operator: str) -> None:
    want, names = np.array([5, 12, 7]), {"x": ig.tensor([5, 12, 7])}
    exec(f"x {operator} 2", {}, {"x": want})
    exec(f"x {operator} 2", {}, names)
    assert names["x"].tolist() == want.tolist()


def test_a_matrix_product_in_place() -> None:
    x = ig.tensor([[1.0, 2.0], [3.0, 4.0]])
    x @= ig.tensor([[0.0, 1.0], [1.0, 0.0]])
    assert x.tolist() == [[2, 1], [4, 3]]


def test_what_was_built_before_keeps_the_old_value() -> None:
    x = ig.tensor([1.0, 2.0])
    double, view = x * 2, x[0]
    copy = x.clone()
    x += 10
    assert x.tolist() == [11, 12]
    assert double.tolist() == [2, 4]
    assert view.tolist() == 1
    assert copy.tolist() == [1, 2]


def test_views_do_not_alias() -> None:
    x = ig.zeros((2, 2))
    row = x[0]
    row += 1
    assert x.tolist() == [[0, 0], [0, 0]]
    x[0] += 1
    assert x.tolist() == [[1, 1], [0, 0]]


def test_an_array_that_was_handed_out_never_changes() -> None:
    x = ig.tensor([1.0, 2.0])
    before = x.numpy()
    x += 1
    after = x.numpy()
    assert before.tolist() == [1, 2]
    after[0] = 99
    assert x.tolist() == [2, 3]


METHODS: list[tuple[str, tuple[float, ...], Callable[[Any], Any]]] = [
    ("add_", (2.0,), lambda a: a + 2),
    ("sub_", (2.0,), lambda a: a - 2),
    ("mul_", (2.0,), lambda a: a * 2),
    ("div_", (2.0,), lambda a: a / 2),
    ("pow_", (2.0,), lambda a: a**2),
    ("clamp_", (0.0, 1.5), lambda a: a.clip(0, 1.5)),
    ("neg_", (), lambda a: -a),
    ("sqrt_", (), np.sqrt),
    ("relu_", (), lambda a: np.maximum(a, 0)),
    ("zero_", (), np.zeros_like),
    ("fill_", (3.0,), lambda a: np.full_like(a, 3)),
    ("copy_", (4,), lambda a: np.full_like(a, 4)),
    ("assign", (5,), lambda a: np.full_like(a, 5)),
]


@pytest.mark.parametrize(("name", "arguments", "meaning"), METHODS)
def test_methods_with_an_underscore(
    name: str, arguments: tuple[float, ...], meaning: Callable[[Any], Any]
) -> None:
    a = np.array([0.25, 1.0, 4.0], np.float32)
    x = ig.tensor(a)
    assert getattr(x, name)(*arguments) is x
    np.testing.assert_allclose(x.numpy(), meaning(a), rtol=1e-6)
    assert x.dtype is ig.float32


# --- what does not fit ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ("i += 1.5", DTypeError, r"\+=: the value is float32, the tensor is int8"),
        ("i /= 2", DTypeError, "/=: the value is float32, the tensor is int8"),
        ("b += 1", DTypeError, "the tensor is bool and stays so"),
        ("u += i", DTypeError, "the value is int16, the tensor is uint8"),
        (
            "x += ig.ones((2, 3))",
            ShapeError,
            r"the value is \(2, 3\), the tensor is",
        ),
        ("i.assign(1.5)", DTypeError, "assign: 1.5 is no value of int8"),
        ("i.fill_(300)", DTypeError, "300 is no value of int8"),
        ("x.copy_(ig.ones(4))", ShapeError, "copy_: the value is"),
        ("i[0] = 0.5", DTypeError, "0.5 is no value of int8"),
        ("i[0] = x[0]", DTypeError, "the value is float32, the tensor is int8"),
        ("x[0] = ig.ones(2)", ShapeError, r"v is \(2,\), the part is \(\)"),
        ("x[3] = 1", AxisError, "index: 3 is outside axis 0"),
        (
            "x[ig.tensor([True])] = 1",
            ShapeError,
            r"the mask is \(1,\), x is \(3,\)",
        ),
    ],
)
def test_what_does_not_fit_is_an_error_and_changes_nothing(
    change: str, error: type[IngotError], text: str
) -> None:
    names: dict[str, Any] = {
        "ig": ig,
        "x": ig.tensor([1.0, 2.0, 3.0]),
        "i": ig.tensor([1, 2], "int8"),
        "u": ig.tensor([1, 2], "uint8"),
        "b": ig.tensor([True, False]),
    }
    before = {n: v.tolist() for n, v in names.items() if isinstance(v, ig.Tensor)}
    with pytest.raises(error, match=text):
        exec(change, names)
    for name, values in before.items():
        assert names[name].tolist() == values


def test_the_type_is_kept() -> None:
    x = ig.tensor([1.0, 2.0], "float16")
    x += ig.tensor([1.0, 1.0])
    x[0] = 7
    assert x.dtype is ig.float16
    assert x.tolist() == [7, 3]
    i = ig.tensor([1, 2], "int8")
    i[0] = 5.0
    i += True
    assert i.dtype is ig.int8
    assert i.tolist() == [6, 3]


# --- x[...] = v -----------------------------------------------------------------------------------------------------

PARTS: list[tuple[Any, Any]] = [
    (1, 5.0),
    (-1, [1.0, 2.0, 3.0, 4.0, 5.0]),
    ((slice(1, 3), -1), [1.0, 2.0]),
    ((slice(None), slice(1, None)), np.arange(4.0)),
    ((slice(None, None, -2), slice(0, 5, 3)), np.arange(4.0).reshape(2, 2)),
    ((..., None, 2), np.arange(4.0).reshape(4, 1)),
    ((None, ..., None, 2), np.arange(4.0).reshape(1, 4, 1)),
    (slice(3, 1), 9.0),
    (slice(1, 1), np.zeros((0, 5))),
    (..., 7.0),
    ((), 7.0),
    ((2, 3), 8.0),
    ((slice(None, None, 3),), np.arange(10.0).reshape(2, 5)),
    (slice(-1, -5, -1), np.arange(4.0).reshape(4, 1)),
]


@pytest.mark.parametrize(("index", "value"), PARTS, ids=str)
def test_parts_are_replaced_as_in_numpy(index: Any, value: Any) -> None:
    want = np.arange(20, dtype=np.float32).reshape(4, 5)
    x = ig.tensor(want)
    want[index] = value
    x[index] = value
    assert x.numpy().tolist() == want.tolist()


def test_a_part_may_come_from_the_tensor_itself() -> None:
    x = ig.arange(6)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    x[::2], x[1::2] = x[1::2], x[::2]
    assert x.tolist() == [0, 0, 2, 1, 4, 3]


def test_masks() -> None:
    a = np.array([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]], np.float32)
    x = ig.tensor(a)
    x[x < 0] = 0
    assert x.tolist() == np.where(a < 0, 0, a).tolist()
    x[[True, False]] = [7.0, 8.0, 9.0]
    assert x.tolist() == [[7, 8, 9], [0, 5, 0]]
    x[np.array([False, True])] += 1
    assert x.tolist() == [[7, 8, 9], [1, 6, 1]]


def test_a_loop_of_single_elements() -> None:
    x, y, result = ig.rand(20), ig.rand(20), ig.zeros(20)
    for i in range(20):
        result[i] = x[i] + y[i]
    assert np.array_equal(result.numpy(), (x + y).numpy())


# --- the handle -----------------------------------------------------------------------------------------------------


def test_whatever_is_evaluated_stores_the_updates_on_its_way() -> None:
    w = ig.tensor([1.0, 2.0])
    w *= 3
    assert not w.is_evaluated()
    loss = (w * w).sum()
    assert loss.item() == 45
    assert w.is_evaluated()
    assert not any_dirty()


def test_updates_that_need_the_same_work_are_taken_along() -> None:
    x, running, other = ig.tensor([1.0, 2.0]), ig.zeros(()), ig.zeros(())
    loss = (x * x).sum()
    running += loss * 0.5
    other += x.sum()
    assert loss.item() == 5
    assert running.is_evaluated()
    assert not other.is_evaluated()
    assert (running.item(), other.item()) == (2.5, 3)


def test_updates_of_another_thread_are_left_to_it() -> None:
    x, theirs = ig.tensor([1.0, 2.0]), ig.zeros(())
    loss = (x * x).sum()

    def change() -> None:
        nonlocal theirs
        theirs += loss

    other = threading.Thread(target=change)
    other.start()
    other.join()
    assert loss.item() == 5
    assert not theirs.is_evaluated()
    assert theirs.item() == 5


def test_updates_inside_a_traced_function_wait() -> None:
    def traced(v: ig.Tensor) -> ig.Tensor:
        inside = v * 1
        inside += 1
        assert ig.tensor([3.0]).sum().item() == 3
        return inside

    assert ig.vmap(traced)(ig.zeros((2, 3))).tolist() == [[1] * 3] * 2


def test_updates_beside_the_way_stay_pending() -> None:
    w, v = ig.tensor([1.0]), ig.tensor([2.0])
    w += 1
    v += 1
    assert (w * 2).tolist() == [4]
    assert w.is_evaluated()
    assert not v.is_evaluated()
    assert v.tolist() == [3]


def test_many_updates_are_stored_before_they_pile_up() -> None:
    x = ig.zeros(2)
    deepest = 0
    for _ in range(MOST_CHANGES * 3 + 1):
        x += 1
        deepest = max(deepest, len(x.uop.toposort()))
    assert deepest < MOST_CHANGES + 20
    assert x.tolist() == [MOST_CHANGES * 3 + 1] * 2


def test_a_dropped_tensor_is_not_kept_by_its_updates() -> None:
    x = ig.zeros(2)
    x += 1
    assert any_dirty()
    del x
    assert not any_dirty()


def test_a_journal_hears_of_every_change_once() -> None:
    x, y = ig.tensor([1.0]), ig.tensor([2.0])
    before = x.uop
    journal = Handle.journal = Journal()
    try:
        x += 1
        x += 1
        _ = y + x
    finally:
        Handle.journal = None
    assert list(journal.before.values()) == [(x, before)]


def test_leaves_follow_their_tensor() -> None:
    x = ig.tensor([1.0, 2.0], requires_grad=True)
    first = x.uop
    assert leaves[first]() is x
    with ig.no_grad():
        x *= 2
    pending = x.uop
    assert leaves[pending]() is x
    x.realize()
    assert leaves[x.uop]() is x
    assert leaves[pending]() is x
    x.requires_grad = False
    assert x.uop not in leaves


def test_two_leaves_never_share_a_node() -> None:
    x = ig.tensor([1.0], requires_grad=True)
    y = ig.Tensor(x, requires_grad=True)
    z = ig.zeros(1, requires_grad=True)
    assert len({x.uop, y.uop, z.uop, ig.zeros(1, requires_grad=True).uop}) == 4
    assert y.tolist() == [1]


def test_only_floats_have_gradients() -> None:
    with pytest.raises(DTypeError, match="requires_grad: the tensor is int64"):
        ig.tensor([1, 2], requires_grad=True)


def test_marks() -> None:
    x = ig.Tensor([1.0], name="weight")
    assert (x.name, x.requires_grad, x.grad) == ("weight", False, None)
    x.grad = ig.ones(1)
    assert x.grad.tolist() == [1]
    assert x.requires_grad_() is x
    assert x.requires_grad
    assert ig.ones(1).marks is None


# --- borrowed memory ------------------------------------------------------------------------------------------------


def test_a_borrowed_array_that_changes_is_seen_by_later_evaluations_only() -> None:
    array = np.array([1.0, 2.0], np.float32)
    x = ig.from_numpy(array)
    before = (x * 10).realize()
    pending = x * 100
    array[0] = 5
    assert before.tolist() == [10, 20]
    assert pending.tolist() == [500, 200]
    assert x.tolist() == [5, 2]


def test_an_update_leaves_the_borrowed_array_alone() -> None:
    array = np.array([1.0, 2.0], np.float32)
    x = ig.from_numpy(array)
    x += 1
    assert x.tolist() == [2, 3]
    assert array.tolist() == [1, 2]
    array[0] = 50
    assert x.tolist() == [2, 3]


# --- looking at values does not cut gradients -----------------------------------------------------------------------


def test_an_evaluated_value_keeps_its_way_back_to_a_leaf() -> None:
    x = ig.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    node = y.uop
    assert y.tolist() == [3, 6]
    assert y.uop is node
    assert y.is_evaluated()
    assert (y + 1).tolist() == [4, 7]
    z = ig.tensor([1.0]) * 3
    z.realize()
    assert z.uop.op.name == "BUFFER"


# --- places in tensors ----------------------------------------------------------------------------------------------

ADVANCED: list[tuple[Any, Any]] = [
    ([0, 2], 5.0),
    (np.array([3, -1, 0]), np.arange(15.0).reshape(3, 5)),
    (([0, 1, 2], [4, 3, 2]), [1.0, 2.0, 3.0]),
    ((slice(1, 3), [0, 4]), 9.0),
    (([[0], [2]], [1, 3]), np.arange(4.0).reshape(2, 2)),
    (([1, 1, 1],), np.arange(15.0).reshape(3, 5)),
    ((np.array([True, False, True, False]), 2), [1.0, 2.0]),
    (np.array([True, False, True, False]), np.arange(10.0).reshape(2, 5)),
    ((..., np.array([0, 2])), 4.0),
]


@pytest.mark.parametrize("device", ["PYTHON", "CPU"])
@pytest.mark.parametrize(("index", "value"), ADVANCED, ids=str)
def test_places_in_arrays_and_lists(device: str, index: Any, value: Any) -> None:
    want = np.arange(20, dtype=np.float32).reshape(4, 5)
    with settings.override(device=device):
        x = ig.tensor(want)
        x[index] = value
        want[index] = value
        assert x.tolist() == want.tolist()
        assert np.array_equal(x[index].numpy(), want[index])


def test_places_in_tensors() -> None:
    x = ig.zeros((3, 4))
    rows = ig.tensor([2, 0])
    x[rows] = ig.tensor([[1.0], [2.0]])
    x[rows, 1] += 10
    assert x.tolist() == [[2, 12, 2, 2], [0, 0, 0, 0], [1, 11, 1, 1]]
    x[x > 5] = 0
    assert x.sum().item() == 9
    x[ig.tensor(1)] = 7.0
    assert x[1].tolist() == [7, 7, 7, 7]
