"""Parts in one piece: read without a program, written without touching what others see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.ir.opcode import Ops
from ingot.tensor.rows import SMALL_PART


def _numbers() -> tuple[Any, ig.Tensor]:
    array = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    return array, ig.tensor(array).realize()


PIECES: list[Any] = [
    0,
    -1,
    (1, 2),
    (3, -3, 1),
    slice(1, 3),
    slice(None),
    slice(-2, None),
    slice(2, 99),
    (2, slice(1, None)),
    (2, 1, slice(0, 1)),
    (),
]
OTHERS: list[Any] = [
    slice(None, None, 2),
    (slice(None), 1),
    (..., 0),
    (None, 1),
    slice(3, 1),
    np.int64(2),
    True,
]


@pytest.mark.parametrize("index", PIECES, ids=str)
def test_a_piece_of_memory_is_read_as_it_lies(index: Any) -> None:
    array, x = _numbers()
    part = x[index]
    assert part.is_evaluated()
    assert part.shape == array[index].shape
    assert np.array_equal(part.numpy(), array[index])
    assert np.array_equal((part * 2).numpy(), array[index] * 2)


@pytest.mark.parametrize("index", OTHERS[:-1], ids=str)
def test_other_parts_are_computed(index: Any) -> None:
    array, x = _numbers()
    assert np.array_equal(x[index].numpy(), array[index])


def test_a_pending_tensor_is_not_computed_for_its_parts() -> None:
    _, x = _numbers()
    pending = x + 1
    part = pending[0]
    assert not part.is_evaluated()
    assert not pending.is_evaluated()
    assert part.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_rows_share_one_program() -> None:
    _, x = _numbers()
    nodes = [(row * 2).uop for row in x]
    assert {node.src[0].op for node in nodes} == {Ops.BUFFER}
    assert {node.src[0].shape for node in nodes} == {(3, 2)}
    assert [row.sum().item() for row in x] == [15, 51, 87, 123]
    assert [float(v) for v in ig.tensor([1.5, 2.5]).realize()] == [1.5, 2.5]


def test_a_part_outlives_its_tensor() -> None:
    part = (ig.arange(1000).float() + 1).realize()[10:20]
    others = [(ig.zeros(1000) + i).realize() for i in range(5)]
    assert part.tolist() == list(range(11, 21))
    assert len(others) == 5


def test_gradients_and_captures_see_how_parts_are_read() -> None:
    x = ig.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (x[1] * 2).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0, 0], [2, 2]]
    weights = ig.tensor([[1.0, 2.0], [3.0, 4.0]]).realize()
    first = ig.jit(lambda v: v + weights[0])
    one = ig.ones(2).realize()
    assert [first(one).tolist() for _ in range(3)] == [[2, 3]] * 3
    weights[0] = 10.0
    assert first(one).tolist() == [11, 11]


# --- writing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", PIECES, ids=str)
@pytest.mark.parametrize("value", [7.0, "row"])
def test_a_piece_is_written_as_numpy_does(index: Any, value: Any) -> None:
    array, x = _numbers()
    given = array[index] * 10 if value == "row" else value
    x[index] = given
    array[index] = given
    assert x.is_evaluated()
    assert np.array_equal(x.numpy(), array)


def test_memory_that_nobody_else_sees_is_written_in_place() -> None:
    x = ig.zeros(1000).realize()
    x[0] = 1.0
    assert x.buffer is not None
    address = x.buffer.address
    for i in range(100):
        x[i] = float(i)
    assert x.buffer.address == address
    assert x.buffer.version >= 100
    assert x.numpy()[:100].tolist() == list(range(100))


def test_whoever_saw_the_old_value_keeps_it() -> None:
    x = ig.zeros(8).realize()
    x[0] = 1.0  # from here on the memory is its own
    pending, part, copy = x * 2, x[:3], x.clone()
    array = x.numpy()
    x[1] = 5.0
    assert pending.tolist() == [2, 0, 0, 0, 0, 0, 0, 0]
    assert part.tolist() == [1, 0, 0]
    assert copy.tolist() == array.tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    assert x.tolist() == [1, 5, 0, 0, 0, 0, 0, 0]


def test_a_part_that_is_alone_left_keeps_its_value() -> None:
    x = ig.zeros(8).realize()
    x[0] = 1.0
    part = x[:3]
    for i in range(3):
        x[i] = 9.0
    assert part.tolist() == [1, 0, 0]


def test_borrowed_memory_is_never_written() -> None:
    array = np.zeros(8, np.float32)
    x = ig.from_numpy(array[:])
    x[0] = 1.0
    x[1] = 2.0
    assert array.tolist() == [0] * 8
    assert x.tolist() == [1, 2, 0, 0, 0, 0, 0, 0]


def test_a_part_of_borrowed_memory_is_taken_at_once() -> None:
    array = np.arange(8, dtype=np.float32)
    x = ig.from_numpy(array)
    part = x[2:4]
    array[:] = 0
    assert part.tolist() == [2, 3]
    assert x.tolist() == [0] * 8


def test_parts_of_parts() -> None:
    x = (ig.arange(24).float() * 1).realize().reshape(4, 6).realize()
    part = x[1:3][1][2:4]
    assert part.is_evaluated()
    assert part.tolist() == [14, 15]
    del x
    part[0] = 7.0
    assert part.tolist() == [7, 15]


def test_parts_that_are_no_pieces_leave_a_pending_tensor_pending() -> None:
    x = ig.ones((6, 6)) * 2
    parts = [x[:, i] for i in range(6)]
    assert not x.is_evaluated()
    assert [p.sum().item() for p in parts] == [12] * 6


def test_memory_handed_to_others_is_never_written() -> None:
    x = ig.zeros(8).realize()
    x[0] = 1.0
    handed: Any = x
    theirs = np.from_dlpack(handed)
    x[0] = 2.0
    assert theirs[0] == 1
    assert x[0].item() == 2


def test_a_large_part_stays_lazy() -> None:
    size = SMALL_PART // 4 + 1
    x = ig.zeros(2 * size).realize()
    x[:size] = 1.0
    assert not x.is_evaluated()
    assert x.sum().item() == size


def test_a_row_from_the_tensor_itself() -> None:
    array, x = _numbers()
    x[0], x[1] = x[1], x[0]
    array[[0, 1]] = array[[1, 0]]
    assert np.array_equal(x.numpy(), array)
    x[0] += x[1]
    array[0] += array[1]
    assert np.array_equal(x.numpy(), array)


def test_a_pending_tensor_that_is_read_part_by_part_is_computed_once() -> None:
    x = ig.arange(100).float() * 2
    first = [x[i] for i in range(3)]
    assert not x.is_evaluated()
    assert [float(v) for v in x] == [2.0 * i for i in range(100)]
    assert x.is_evaluated()
    assert [v.item() for v in first] == [0, 2, 4]
