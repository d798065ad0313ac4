"""NaN, infinities, -0.0, overflow, division by zero and empty reductions: the same as in NumPy, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.errors import IngotError

NAN, INF = np.nan, np.inf
FLOATS = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, INF, -INF, NAN], np.float32)
LEFT, RIGHT = (grid.reshape(-1) for grid in np.meshgrid(FLOATS, FLOATS))
SMALL = np.array([0, 1, -1, 127, -128, 100], np.int8)
SMALL_LEFT, SMALL_RIGHT = (grid.reshape(-1) for grid in np.meshgrid(SMALL, SMALL))


def same(got: Any, want: Any) -> bool:
    """Equal, NaN where NaN is wanted, and zeros of the same sign."""
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype.kind != "f":
        return np.array_equal(got, want)
    numbers = ~np.isnan(want)
    equal = np.array_equal(got, want, equal_nan=True)
    return equal and np.array_equal(
        np.signbit(got[numbers]), np.signbit(want[numbers])
    )


BINARY = [
    *(
        "add",
        "subtract",
        "multiply",
        "divide",
        "maximum",
        "minimum",
        "fmax",
        "fmin",
    ),
    *("copysign", "remainder", "floor_divide", "less", "less_equal", "equal"),
    *("not_equal", "logical_and", "logical_or", "logical_xor"),
]


@pytest.mark.parametrize("name", BINARY)
def test_two_floats(name: str) -> None:
    with np.errstate(all="ignore"):
        want = getattr(np, name)(LEFT, RIGHT)
    got = getattr(ig, name)(ig.tensor(LEFT), ig.tensor(RIGHT)).numpy()
    if name in (
        "maximum",
        "minimum",
        "fmax",
        "fmin",
    ):  # of 0.0 and -0.0 either is right
        want, got = want + np.float32(0), got + np.float32(0)
    if (
        name == "floor_divide"
    ):  # NumPy has NaN for an infinite dividend, and so have we
        assert np.array_equal(got, want, equal_nan=True)
    else:
        assert same(got, want), (got, want)


UNARY = [
    *("abs", "negative", "sign", "floor", "ceil", "trunc", "round", "square"),
    *("isnan", "isinf", "isfinite", "signbit", "logical_not", "reciprocal", "sqrt"),
]


@pytest.mark.parametrize("name", UNARY)
def test_one_float(name: str) -> None:
    with np.errstate(all="ignore"):
        want = getattr(np, name)(FLOATS)
    assert same(getattr(ig, name)(ig.tensor(FLOATS)).numpy(), want)


@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "floor_divide", "remainder", "maximum"]
)
def test_integers_wrap_and_division_by_zero_is_zero(name: str) -> None:
    with np.errstate(all="ignore"):
        want = getattr(np, name)(SMALL_LEFT, SMALL_RIGHT)
    got = getattr(ig, name)(ig.tensor(SMALL_LEFT), ig.tensor(SMALL_RIGHT)).numpy()
    assert got.dtype == np.int8
    assert np.array_equal(got, want)


@pytest.mark.parametrize("name", ["abs", "negative", "square"])
def test_the_least_integer_wraps(name: str) -> None:
    with np.errstate(all="ignore"):
        want = getattr(np, name)(SMALL)
    assert np.array_equal(getattr(ig, name)(ig.tensor(SMALL)).numpy(), want)


EMPTY: list[tuple[str, Any]] = [
    *(("sum", 0.0), ("prod", 1.0), ("any", False), ("all", True), ("mean", NAN)),
    *(("var", NAN), ("std", NAN), ("count_nonzero", 0), ("nansum", 0.0)),
]


@pytest.mark.parametrize(("name", "want"), EMPTY)
def test_reductions_of_nothing(name: str, want: Any) -> None:
    got = getattr(ig, name)(ig.zeros((0, 2)), axis=0).numpy()
    assert got.shape == (2,)
    assert np.array_equal(got, np.full(2, want), equal_nan=got.dtype.kind == "f")


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "ptp"])
def test_nothing_has_no_largest(name: str) -> None:
    with pytest.raises(IngotError, match="is empty"):
        getattr(ig, name)(ig.zeros((0, 2)), axis=0)


REDUCTIONS: list[tuple[str, Callable[..., Any]]] = [
    *(("sum", np.sum), ("prod", np.prod), ("max", np.max), ("min", np.min)),
    *(("mean", np.mean), ("argmax", np.argmax), ("argmin", np.argmin)),
    *(("nansum", np.nansum), ("nanmax", np.nanmax), ("nanmin", np.nanmin)),
]


@pytest.mark.parametrize(("name", "reference"), REDUCTIONS)
@pytest.mark.parametrize(
    "row", [[1.0, NAN, 3.0], [INF, -INF], [-INF, 2.0], [-0.0, -0.0]], ids=str
)
def test_reductions_with_special_values(
    name: str, reference: Callable[..., Any], row: list[float]
) -> None:
    x = np.array(row, np.float32)
    with np.errstate(all="ignore"):
        want = reference(x)
    assert np.array_equal(
        getattr(ig, name)(ig.tensor(x)).numpy(), want, equal_nan=True
    )


CASTS = [("int32", [NAN, INF, -INF, 3e9, -3.9]), ("uint8", [NAN, -1.0, 300.0, 2.9])]


@pytest.mark.parametrize(("dtype", "values"), CASTS)
def test_floats_to_integers_saturate(dtype: str, values: list[float]) -> None:
    got = ig.tensor(values).astype(dtype).numpy()
    limits = np.iinfo(dtype)
    want = np.clip(np.nan_to_num(np.trunc(values)), limits.min, limits.max)
    assert np.array_equal(got, want.astype(dtype))
