"""Sample inputs, as recipes. In: shapes and ranges, beside each op. Out: arrays, made when a test asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Number = bool | int | float


@dataclass(frozen=True, slots=True)
class Floats:
    """Uniform numbers in low..high."""

    shape: tuple[int, ...]
    low: float
    high: float

    def array(self, rng: np.random.Generator) -> Array:
        return rng.uniform(self.low, self.high, self.shape)


@dataclass(frozen=True, slots=True)
class Ints:
    """Whole numbers, low <= n < high."""

    shape: tuple[int, ...]
    low: int
    high: int
    dtype: str

    def array(self, rng: np.random.Generator) -> Array:
        return rng.integers(self.low, self.high, self.shape).astype(self.dtype)


@dataclass(frozen=True, slots=True)
class Bools:
    """Coin tosses."""

    shape: tuple[int, ...]

    def array(self, rng: np.random.Generator) -> Array:
        return rng.random(self.shape) < 0.5


@dataclass(frozen=True, slots=True)
class Values:
    """Exactly these floats in one row: the places where functions go wrong."""

    items: tuple[float, ...]

    def array(self, rng: np.random.Generator) -> Array:
        return np.array(self.items, np.float64)


Recipe = Floats | Ints | Bools | Values | Number | None


@dataclass(frozen=True, slots=True)
class Sample:
    """One call: inputs by position, attributes by keyword."""

    inputs: tuple[Recipe, ...]
    attrs: Mapping[str, Any]

    def arguments(self, seed: int = 0) -> list[Array | Number | None]:
        """The inputs; the same seed gives the same numbers."""
        rng = np.random.default_rng(seed)
        return [r.array(rng) if isinstance(r, Floats | Ints | Bools | Values) else r for r in self.inputs]

    def __str__(self) -> str:
        words = [_word(r) for r in self.inputs]
        words += [f"{name}={value!r}" for name, value in self.attrs.items()]
        return ", ".join(words)


def _word(recipe: Recipe) -> str:
    if isinstance(recipe, Floats | Ints | Bools):
        return "x".join(str(n) for n in recipe.shape) or "scalar"
    return "values" if isinstance(recipe, Values) else repr(recipe)


def sample(*inputs: Recipe, **attrs: Any) -> Sample:
    """A call to try."""
    return Sample(inputs, attrs)


def floats(*shape: int, low: float = -3.0, high: float = 3.0) -> Floats:
    return Floats(shape, low, high)


def ints(*shape: int, low: int = -9, high: int = 10, dtype: str = "int64") -> Ints:
    return Ints(shape, low, high, dtype)


def bools(*shape: int) -> Bools:
    return Bools(shape)


def values(*items: float) -> Values:
    return Values(items)


NAN, INF = float("nan"), float("inf")
SPECIAL = values(0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, 1e30, INF, -INF, NAN)
