"""Where a function and the method of the same name differ: every row of the table, and the corners of each method."""

from __future__ import annotations

import numpy as np
import pytest

import ingot as ig
from ingot.errors import ArgumentError, AxisError, ShapeError
from ingot.tensor.differing import DIFFERENCES, Difference


@pytest.mark.parametrize("row", DIFFERENCES, ids=lambda row: row.name)
def test_both_examples_hold(row: Difference) -> None:
    assert eval(row.function_example, {"ig": ig})
    assert eval(row.method_example, {"ig": ig})


X = np.array([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]], np.float32)


def test_max_of_everything_along_axes_and_of_two() -> None:
    x = ig.tensor(X)
    assert float(x.max()) == 6
    values, indices = x.max(1, keepdim=True)
    assert (values.tolist(), indices.tolist()) == ([[3.0], [6.0]], [[0], [1]])
    assert x.max(dim=(0, 1)).item() == 6
    assert x.max(ig.tensor(2.5)).tolist() == [[3.0, 2.5, 2.5], [4.0, 6.0, 5.0]]
    assert x.min(axis=0).indices.tolist() == [0, 0, 0]


def test_sort_and_median() -> None:
    x = ig.tensor(X)
    assert x.sort(dim=1, descending=True).values.tolist() == [[3, 2, 1], [6, 5, 4]]
    assert x.median().item() == 3
    values, indices = x.median(1)
    assert (values.tolist(), indices.tolist()) == ([2.0, 5.0], [2, 2])
    assert x.median(0, keepdim=True).values.shape == (1, 3)


def test_split_by_lengths() -> None:
    x = ig.tensor(X)
    assert [p.shape for p in x.split(2, dim=1)] == [(2, 2), (2, 1)]
    assert [p.shape for p in x.split([1, 2], 1)] == [(2, 1), (2, 2)]
    with pytest.raises(ArgumentError, match="do not fill an axis of 3"):
        x.split([1, 1], 1)


def test_squeeze_keeps_what_is_not_single() -> None:
    x = ig.ones((1, 3, 1))
    assert x.squeeze().shape == (3,)
    assert x.squeeze(0).shape == (3, 1)
    assert x.squeeze((0, 1)).shape == (3, 1)
    with pytest.raises(AxisError):
        x.squeeze(3)
    with pytest.raises(ShapeError):
        ig.squeeze(x, axis=1)


def test_pad_as_torch_writes_it() -> None:
    x = ig.tensor([[1.0, 2.0]])
    assert x.pad((1, 0, 0, 1)).tolist() == [[0, 1, 2], [0, 0, 0]]
    assert x.pad((1, 1), mode="replicate").tolist() == [[1, 1, 2, 2]]
    assert x.pad(((0, 0), (0, 1)), value=9).tolist() == [[1, 2, 9]]
    with pytest.raises(ArgumentError, match="are not pairs"):
        x.pad((1, 2, 3))


def test_round_to_decimals() -> None:
    assert ig.tensor([123.0, 151.0]).round(decimals=-1).tolist() == [120, 150]
