"""Tensor: creation, operators, values, Python's protocols, evaluation."""

from __future__ import annotations

import copy
import gc
import pickle
import time
from typing import Any

import numpy as np
import pytest

from ingot import pipeline
from ingot.errors import ArgumentError, AxisError, DTypeError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp, live_nodes
from ingot.ir.opcode import Ops
from ingot.tensor import namespace as ig
from ingot.tensor.creation import (
    arange,
    eye,
    from_numpy,
    full,
    full_like,
    ones,
    tensor,
    zeros,
    zeros_like,
)
from ingot.tensor.evaluate import evaluate
from ingot.tensor.tensor import Tensor

# --- making ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        ([1.5, 2], "float32", (2,)),
        ([[1, 2], [3, 4]], "int64", (2, 2)),
        ([True, False], "bool", (2,)),
        (3, "int64", ()),
        (2.5, "float32", ()),
        ([], "float32", (0,)),
        (np.zeros(3), "float64", (3,)),
        (np.float64(1), "float64", ()),
        (np.ones((2, 1), np.int8), "int8", (2, 1)),
        ((1, (2)), "int64", (2,)),
    ],
)
def test_data_has_its_own_type(
    data: Any, dtype: str, shape: tuple[int, ...]
) -> None:
    made = tensor(data)
    assert (made.dtype.name, made.shape) == (dtype, shape)
    assert np.array_equal(made.numpy(), np.asarray(data))


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float64", "int8", "bool"]
)
def test_a_type_can_be_asked_for(dtype: str) -> None:
    made = Tensor([1, 0, 2.5], dtype)
    assert made.dtype is dt.named(dtype)
    want = {"bool": [True, False, True], "int8": [1, 0, 2]}.get(dtype, [1, 0, 2.5])
    assert made.tolist() == want


def test_tensor_copies_and_from_numpy_borrows() -> None:
    array = np.arange(4.0)
    copied, borrowed = tensor(array), from_numpy(array)
    array[0] = 9
    assert copied.tolist() == [0, 1, 2, 3]
    assert borrowed.tolist() == [9, 1, 2, 3]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3).T,
        np.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(10.0)[::2],
        np.arange(10.0)[::-1],
        np.broadcast_to(np.arange(3.0), (2, 3)),
        np.array(2.0),
        np.zeros((0, 3)),
    ],
)
def test_strided_arrays_keep_their_values(array: Any) -> None:
    assert np.array_equal(from_numpy(array).numpy(), array)
    assert np.array_equal(tensor(array).numpy(), array)


def test_a_transposed_array_is_borrowed_as_it_lies() -> None:
    array = np.zeros((2, 3))
    made = from_numpy(array.T)
    array[1, 2] = 7
    assert made.tolist()[2][1] == 7


def test_creation() -> None:
    assert zeros((2, 2)).tolist() == [[0, 0], [0, 0]]
    assert ones(3).tolist() == [1, 1, 1]
    assert ones(3).dtype is zeros(2).dtype is dt.float32
    assert full((2,), 7).dtype is dt.int64
    assert full_like(ones(2), 3).dtype is dt.float32
    assert zeros_like(tensor([1, 2])).dtype is dt.int64
    assert arange(4).tolist() == [0, 1, 2, 3]
    assert arange(1, 2, 0.5).tolist() == [1, 1.5]
    assert eye(2).tolist() == [[1, 0], [0, 1]]
    assert zeros((2, 0)).numpy().shape == (2, 0)
    assert zeros([np.int64(2), 1]).reshape(np.int64(-1)).shape == (2,)  # type: ignore[list-item, arg-type]


def test_data_that_is_no_data_is_named() -> None:
    with pytest.raises(ShapeError, match="lists have different lengths"):
        tensor([[1, 2], [3]])
    with pytest.raises(DTypeError, match="'abc' is no number"):
        tensor("abc")
    with pytest.raises(DTypeError, match="from_numpy: list is no NumPy array"):
        from_numpy([1, 2])  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="unknown dtype 'float31'"):
        tensor([1], "float31")


# --- operators ------------------------------------------------------------------------------------------------------

A, B = (
    np.array([[1.0, -2.0], [3.5, 4.0]], np.float32),
    np.array([2.0, -3.0], np.float32),
)
BINARY = [
    "a + b",
    "a - b",
    "a * b",
    "a / b",
    "a // b",
    "a % b",
    "a ** 2",
    "2.0 ** a",
    "a @ b",
    "a < b",
    "a <= b",
]
BINARY += [
    "a > b",
    "a >= b",
    "a == b",
    "a != b",
    "1 + a",
    "1 - a",
    "2 * a",
    "1 / a",
    "7 // a",
    "7 % a",
    "-a",
    "+a",
    "abs(a)",
]
BITS = [
    "a & b",
    "a | b",
    "a ^ b",
    "a << b",
    "a >> b",
    "~a",
    "6 & a",
    "6 | a",
    "6 ^ a",
    "1 << b",
    "64 >> b",
]


@pytest.mark.parametrize("expression", BINARY)
def test_operators_are_those_of_numpy(expression: str) -> None:
    got = eval(expression, {"a": tensor(A), "b": tensor(B)})
    want = eval(expression, {"a": A, "b": B})
    assert got.numpy().dtype == want.dtype
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)


@pytest.mark.parametrize("expression", BITS)
def test_bits_are_those_of_numpy(expression: str) -> None:
    a, b = np.array([5, 12, -7]), np.array([1, 2, 3])
    got = eval(expression, {"a": tensor(a), "b": tensor(b)})
    assert np.array_equal(got.numpy(), eval(expression, {"a": a, "b": b}))


@pytest.mark.parametrize(
    "expression",
    ["a + b", "b + a", "a * s", "s * a", "s + a", "b @ a", "a == b", "s < a"],
)
def test_arrays_and_numpy_scalars_stand_on_either_side(expression: str) -> None:
    names = {"a": tensor(A), "b": A, "s": np.float64(1.5)}
    got = eval(expression, names)
    assert isinstance(got, Tensor)
    assert got.dtype in (dt.float32, dt.boolean)


def test_wrong_operands_are_named() -> None:
    with pytest.raises(
        DTypeError, match="add: an operand is str; wanted a tensor or a number"
    ):
        tensor([1]) + "a"  # type: ignore[operator]
    with pytest.raises(
        ShapeError, match=r"add: shapes \(2, 2\) and \(3,\) do not broadcast"
    ):
        tensor(A) + ones(3)
    assert (tensor([1]) == None) is False  # noqa: E711  # what Python says of None everywhere
    assert tensor([1]) != "word"


def test_attributes() -> None:
    x = zeros((2, 3, 4))
    assert (x.ndim, x.size, x.T.shape, x.mT.shape) == (3, 24, (4, 3, 2), (2, 4, 3))
    assert (
        x.reshape(6, 4).shape
        == x.reshape((6, 4)).shape
        == x.reshape([6, -1]).shape
        == (6, 4)
    )
    assert x.permute(2, 0, 1).shape == x.permute((2, 0, 1)).shape == (4, 2, 3)
    assert ones((2, 1)).expand(2, 5).shape == (2, 5)


def test_methods_follow_torch_where_they_differ() -> None:
    x = tensor([[1.0, 2.0], [3.0, 5.0]])
    assert x.var().item() == pytest.approx(np.var([1, 2, 3, 5], ddof=1))
    assert ig.var(x).item() == pytest.approx(np.var([1, 2, 3, 5]))
    assert x.flatten().shape == (4,)
    assert ig.flatten(x).shape == (2, 2)


def test_indexing() -> None:
    array = np.arange(24.0).reshape(2, 3, 4)
    x = tensor(array)
    for index in (
        0,
        -1,
        (1, 2),
        (slice(None), 1),
        (..., 0),
        (None, 0),
        (slice(None), slice(2, None, -1), slice(1, 4, 2)),
    ):
        assert np.array_equal(x[index].numpy(), array[index])
    with pytest.raises(AxisError, match="index: 2 is outside axis 0"):
        x[2]


# --- values ---------------------------------------------------------------------------------------------------------


def test_printing_shows_values() -> None:
    assert (
        str(tensor([[1, 2], [3, 4]]))
        == "Tensor([[1, 2],\n        [3, 4]], dtype=int64)"
    )
    assert repr(tensor(2.5) * 2) == "Tensor(5., dtype=float32)"
    assert f"{tensor(1.23456):.2f} {tensor([1])}" == "1.23 Tensor([1], dtype=int64)"


def test_python_protocols() -> None:
    x = tensor([[1.0, 2.0], [3.0, 4.0]])
    assert len(x) == 2
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert float(x[1, 1]) == 4
    assert int(x[1, 1]) == 4
    assert [10, 20, 30][tensor(1)] == 20
    assert bool(x.sum() > 1)
    assert np.mean(np.asarray(x)) == 2.5
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    assert {x: 1}[x] == 1
    assert copy.deepcopy(x).tolist() == x.tolist()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_pickle(dtype: str) -> None:
    x = Tensor([1, 2, 3], dtype) * 2
    again = pickle.loads(pickle.dumps(x))
    assert again.dtype is x.dtype
    assert again.tolist() == [2, 4, 6]


def test_questions_without_an_answer() -> None:
    with pytest.raises(
        ArgumentError, match=r"a tensor of \(2,\) is neither true nor false"
    ):
        bool(tensor([1, 2]))
    with pytest.raises(ShapeError, match="wanted exactly one element"):
        tensor([1, 2]).item()
    with pytest.raises(ShapeError, match="the tensor has no axes"):
        len(tensor(1))
    with pytest.raises(DTypeError, match="wanted a whole number"):
        [1, 2][tensor(1.0)]


def test_what_numpy_gave_out_belongs_to_the_user() -> None:
    x = tensor([1.0, 2.0])
    given = x.numpy()
    given[0] = 9
    assert x.tolist() == [1, 2]


# --- evaluation -----------------------------------------------------------------------------------------------------


@pytest.fixture
def realized(monkeypatch: pytest.MonkeyPatch) -> list[list[UOp]]:
    """Every list of roots that the pipeline was asked for."""
    asked: list[list[UOp]] = []
    real = pipeline.realize

    def realize(roots: Any) -> Any:
        asked.append(list(roots))
        return real(roots)

    monkeypatch.setattr(pipeline, "realize", realize)
    return asked


def test_nothing_is_computed_before_somebody_looks(
    realized: list[list[UOp]],
) -> None:
    x = (tensor([1.0, 2.0]) + 1).exp()
    assert not realized
    assert not x.is_evaluated()
    x.realize()
    assert x.is_evaluated()
    assert x.uop.op is Ops.BUFFER
    x.numpy()
    assert len(realized) == 1


def test_many_results_are_asked_for_at_once(realized: list[list[UOp]]) -> None:
    x = tensor([1.0, 2.0])
    a, b, same = x + 1, x * 2, x + 1
    evaluate(a, [b, (same,)], x)
    assert [len(roots) for roots in realized] == [2]
    assert (a.tolist(), b.tolist(), same.tolist()) == ([2, 3], [2, 4], [2, 3])


def test_a_pending_consumer_reads_what_was_computed(
    realized: list[list[UOp]],
) -> None:
    x = tensor([1.0, 2.0])
    shared = (x + 1).exp()
    later = shared * 2
    shared.realize()
    later.realize()
    (program,) = realized[-1]
    assert Ops.EXP not in {u.op for u in program.toposort()}
    np.testing.assert_allclose(later.numpy(), np.exp([2, 3]) * 2, rtol=1e-6)


def test_what_nobody_holds_is_freed() -> None:
    gc.collect()
    before = live_nodes()
    x = tensor(np.ones(100))
    y = x * 3
    z = (y + 2).realize()
    z.numpy()
    del x, y, z
    gc.collect()
    assert live_nodes() == before


def test_a_loop_of_evaluations_does_not_grow() -> None:
    x = tensor(np.zeros(4))
    sizes = []
    for _ in range(50):
        x = (x + 1).realize()
        sizes.append(live_nodes())
    assert sizes[-1] <= sizes[5]
    assert x.tolist() == [50] * 4


def test_building_is_cheap() -> None:
    """A few microseconds a node; the bound is loose, for machines that are busy."""
    x, y = tensor(np.ones(8)), tensor(np.ones(8))
    start = time.process_time()
    for _ in range(10_000):
        x = x + y
    assert time.process_time() - start < 0.4
