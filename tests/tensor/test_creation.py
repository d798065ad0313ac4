"""Tensors out of nothing: shapes in every form, types, ends, devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.errors import ArgumentError, DeviceError, DTypeError, IngotError
from ingot.tensor.handle import Handle


@pytest.mark.parametrize("make", [ig.zeros, ig.ones, ig.empty, ig.rand, ig.randn])
def test_shapes_in_every_form(make: Callable[..., ig.Tensor]) -> None:
    for shape in ((2, 3), [2, 3], (np.int64(2), 3)):
        assert make(shape).shape == (2, 3)
    assert make(2, 3).shape == (2, 3)
    assert make(3).shape == make([3]).shape == (3,)
    assert make(()).shape == ()
    assert make(ig.tensor(2), 3).shape == (2, 3)
    assert make(0).tolist() == []


def test_types_by_object_name_and_numpy() -> None:
    for dtype in (ig.float16, "float16", np.float16, np.dtype("float16")):
        assert ig.ones(2, dtype=dtype).dtype is ig.float16  # type: ignore[arg-type]
    assert ig.zeros(2, dtype="int").dtype is ig.int32
    with pytest.raises(DTypeError, match="is no type"):
        ig.zeros(2, dtype=object())  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="unknown dtype 'float31'"):
        ig.zeros(2, dtype="float31")


def test_nothing_is_computed() -> None:
    made = [ig.zeros(9), ig.eye(3), ig.arange(9), ig.linspace(0, 1, 9), ig.rand(9)]
    assert all(ig.is_lazy(m) for m in made)


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 50, 1000])
@pytest.mark.parametrize("ends", [(0, 1), (-3.5, 7.25), (5, -5), (2, 2)])
def test_equal_distances(ends: Any, count: int, endpoint: bool) -> None:
    start, stop = ends
    got = ig.linspace(start, stop, count, endpoint=endpoint).numpy()
    want = np.linspace(start, stop, count, endpoint=endpoint)
    np.testing.assert_allclose(got, want, rtol=3e-6, atol=1e-6)
    if endpoint and count > 1:
        assert got[0] == ends[0]
        assert got[-1] == np.float32(ends[1])


def test_powers_at_equal_distances() -> None:
    got = ig.logspace(0, 3, 4).numpy()
    np.testing.assert_allclose(got, [1, 10, 100, 1000], rtol=1e-5)
    np.testing.assert_allclose(
        ig.logspace(0, 4, steps=5, base=2.0).numpy(), [1, 2, 4, 8, 16], rtol=1e-6
    )


@pytest.mark.parametrize(
    "arguments",
    [(5,), (2, 9), (2, 9, 3), (9, 2, -2), (0.5, 3), (0, 1, 0.25), (3, 3), (5, 2)],
)
def test_counting(arguments: Any) -> None:
    got = ig.arange(*arguments)
    want = np.arange(*arguments)
    assert got.tolist() == want.tolist()
    assert got.dtype is (ig.float32 if want.dtype.kind == "f" else ig.int64)


def test_counting_by_fractions_into_whole_numbers() -> None:
    assert ig.arange(0, 2, 0.5, dtype=ig.int64).tolist() == [0, 0, 1, 1]
    assert ig.arange(3, dtype=ig.float16).dtype is ig.float16


def test_the_identity_and_its_neighbours() -> None:
    assert ig.eye(2).tolist() == [[1, 0], [0, 1]]
    assert ig.eye(2, 3, k=1).tolist() == np.eye(2, 3, k=1).tolist()
    assert ig.eye(3, 2, k=-1).tolist() == np.eye(3, 2, k=-1).tolist()


def test_the_like_of_another() -> None:
    x = ig.zeros((2, 3), dtype=ig.int8)
    for made in (ig.ones_like(x), ig.full_like(x, 3), ig.empty_like(x)):
        assert (made.shape, made.dtype) == ((2, 3), ig.int8)
    assert ig.zeros_like(x, dtype=ig.float64).dtype is ig.float64
    assert ig.ones_like(np.zeros(3)).tolist() == [1, 1, 1]
    assert ig.full((2,), ig.tensor(4.0)).tolist() == [4, 4]


def test_devices() -> None:
    assert ig.zeros(2, device="python").device == "PYTHON"
    assert ig.tensor([1], device="PYTHON").to("python").device == "PYTHON"
    calls: list[Callable[[], object]] = [
        lambda: ig.zeros(2, device="cuda"),
        lambda: ig.tensor([1], device="gpu:0"),
        lambda: ig.zeros(2).to("cuda:1"),
        lambda: ig.zeros(2).cuda(),
    ]
    for call in calls:
        with pytest.raises(DeviceError, match="live on PYTHON"):
            call()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: ig.zeros(-1), ArgumentError, r"-1 in shape \(-1,\)"),
        (lambda: ig.ones(2, "float32"), ArgumentError, "write dtype=float32"),  # type: ignore[arg-type]
        (lambda: ig.zeros("ab"), IngotError, "zeros"),  # type: ignore[arg-type]
        (lambda: ig.zeros(2.5), IngotError, "2.5"),  # type: ignore[arg-type]
        (lambda: ig.arange(0, 5, 0), ArgumentError, "step is 0"),
        (lambda: ig.zeros(2).to("gpuu"), DTypeError, "unknown dtype 'gpuu'"),
    ],
)
def test_what_makes_no_sense_is_named(
    call: Callable[[], object], error: type[IngotError], text: str
) -> None:
    with pytest.raises(error, match=text):
        call()


def test_data_without_copies() -> None:
    array = np.array([1.0, 2.0])
    shared = ig.as_tensor(array)
    array[0] = 5
    assert shared.tolist() == [5, 2]
    assert ig.as_tensor(shared) is shared
    assert ig.as_tensor([1, 2], dtype=ig.float32).dtype is ig.float32
    assert ig.is_tensor(shared)
    assert not ig.is_tensor(array)
    assert not ig.is_tensor(Handle.of(shared.uop))
