"""Elementary functions on the CPU: within 2 ulp in float32, the nearest or its neighbour in 16 bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ingot as ig

MOST_ULP, COUNT = 2.0, 1 << 14
Function = Callable[[Any], Any]
FUNCTIONS: dict[str, tuple[Function, float, float]] = {
    "exp": (np.exp, -100, 88),
    "exp2": (np.exp2, -140, 127),
    "expm1": (np.expm1, -20, 88),
    "log": (np.log, 1e-30, 1e30),
    "log2": (np.log2, 1e-30, 1e30),
    "log10": (np.log10, 1e-30, 1e30),
    "log1p": (np.log1p, -0.99, 1e10),
    "sin": (np.sin, -1e4, 1e4),
    "cos": (np.cos, -1e4, 1e4),
    "tan": (np.tan, -1e4, 1e4),
    "asin": (np.arcsin, -1, 1),
    "acos": (np.arccos, -1, 1),
    "atan": (np.arctan, -1e3, 1e3),
    "sinh": (np.sinh, -88, 88),
    "cosh": (np.cosh, -88, 88),
    "tanh": (np.tanh, -10, 10),
    "asinh": (np.arcsinh, -1e10, 1e10),
    "acosh": (np.arccosh, 1, 1e10),
    "atanh": (np.arctanh, -0.999, 0.999),
    "erf": (np.vectorize(math.erf), -5, 5),
    "erfc": (np.vectorize(math.erfc), -5, 9),
    "sqrt": (np.sqrt, 0, 1e30),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-30, 1e30),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), -80, 80),
}


def spread(low: float, high: float) -> Any:
    """Evenly, and dense near 0 and near the ends."""
    rng = np.random.default_rng(3)
    even = rng.uniform(low, high, COUNT)
    near = rng.uniform(max(low, -2.0), min(high, 2.0), COUNT)
    small = 10.0 ** rng.uniform(-20, 0, COUNT)
    inside = np.concatenate([even, near, small[(small >= low) & (small <= high)]])
    return inside.astype(np.float32)


def ulps(got: Any, want: Any, unit: Any) -> float:
    finite = np.isfinite(got)
    distance = np.abs(got[finite].astype(np.float64) - want[finite])
    return float((distance / unit[finite]).max())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_is_within_two_units(name: str) -> None:
    function, low, high = FUNCTIONS[name]
    x = spread(low, high)
    with np.errstate(all="ignore"):
        want = function(x.astype(np.float64))
        unit = np.abs(np.spacing(want.astype(np.float32))).astype(np.float64)
    got = getattr(ig, name)(ig.tensor(x)).numpy()
    assert ulps(got, want, unit) <= MOST_ULP


@pytest.mark.parametrize(
    "name", ["exp", "log", "sin", "cos", "tanh", "atan", "sinh", "log10"]
)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sixteen_bits_are_within_one_unit(name: str, dtype: str) -> None:
    """Every number of the type, where the result is a normal number."""
    function = FUNCTIONS[name][0]
    every = ig.tensor(np.arange(1 << 16, dtype=np.uint16)).bitcast(dtype)
    with np.errstate(invalid="ignore"):  # signalling NaN are among them
        x = every.astype("float32").numpy().astype(np.float64)
    got = getattr(ig, name)(every).astype("float32").numpy()
    digits, least = (10, 2.0**-14) if dtype == "float16" else (7, 2.0**-126)
    with np.errstate(all="ignore"):
        want = function(x)
        unit = 2.0 ** (np.floor(np.log2(np.abs(want))) - digits)
    plain = (
        np.isfinite(want)
        & np.isfinite(got)
        & (np.abs(want) >= least)
        & np.isfinite(x)
    )
    assert plain.sum() > 1000
    assert ulps(got[plain], want[plain], unit[plain]) <= 1.0
