"""Sample inputs, as recipes. In: shapes and ranges, beside each op. Out: arrays, made when a test asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
Number = bool | int | float


class Recipe(NamedTuple):
    """An array to be made: these items in one row, or a shape filled with numbers low <= n < high."""

    dtype: str
    shape: tuple[int, ...] = ()
    low: float = 0
    high: float = 2
    items: tuple[float, ...] = ()

    def array(self, rng: np.random.Generator) -> Array:
        if self.items:
            return np.array(self.items, self.dtype)
        drawn = rng.uniform(self.low, self.high, self.shape)
        whole = drawn if self.dtype == "float64" else np.floor(drawn)
        return np.asarray(whole).astype(self.dtype)

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.items or self.shape)}"


Input = Recipe | Number | str | None


class Sample(NamedTuple):
    """One call: inputs by position, attributes by keyword."""

    inputs: tuple[Input, ...]
    attrs: Mapping[str, Any]

    def arguments(self, seed: int = 0) -> list[Array | Number | str | None]:
        """The inputs; the same seed gives the same numbers."""
        rng = np.random.default_rng(seed)
        return [r.array(rng) if isinstance(r, Recipe) else r for r in self.inputs]

    def __str__(self) -> str:
        words = [str(r) for r in self.inputs]
        words += [f"{name}={value!r}" for name, value in self.attrs.items()]
        return ", ".join(words)


def sample(*inputs: Input, **attrs: Any) -> Sample:
    """A call to try."""
    return Sample(inputs, attrs)


def floats(*shape: int, low: float = -3.0, high: float = 3.0) -> Recipe:
    return Recipe("float64", shape, low, high)


def ints(
    *shape: int, low: int = -9, high: int = 10, dtype: str = "int64"
) -> Recipe:
    return Recipe(dtype, shape, low, high)


def bools(*shape: int) -> Recipe:
    return Recipe("bool", shape)


def values(*items: float) -> Recipe:
    """The places where functions go wrong."""
    return Recipe("float64", items=items)


NAN, INF = float("nan"), float("inf")
SPECIAL = values(0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, 1e30, INF, -INF, NAN)
