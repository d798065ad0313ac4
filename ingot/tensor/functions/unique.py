"""Functions: unique. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Value, build, node, optional
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never


def unique_values(x: Value, **unknown: Never) -> Tensor:
    """The different values, in order."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["unique_values"](node(x)))


def unique_counts(x: Value, **unknown: Never) -> tuple[Tensor, ...]:
    """The different values, in order, and how often each occurs."""
    if unknown:
        raise unknown_argument(unknown)
    return tuple(map(Tensor.of, build["unique_counts"](node(x))))


def unique_inverse(x: Value, **unknown: Never) -> tuple[Tensor, ...]:
    """The different values, in order, and for every element which of them it is."""
    if unknown:
        raise unknown_argument(unknown)
    return tuple(map(Tensor.of, build["unique_inverse"](node(x))))


def unique_all(x: Value, **unknown: Never) -> tuple[Tensor, ...]:
    """The different values, in order; where each occurs first; for every element which it is; how often each occurs."""
    if unknown:
        raise unknown_argument(unknown)
    return tuple(map(Tensor.of, build["unique_all"](node(x))))


def bincount(x: Value, weights: Value | None = None, minlength: int = 0, **unknown: Never) -> Tensor:
    """How often each of 0, 1, .. minlength - 1 occurs, or the sum of its weights."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["bincount"](node(x), optional(weights), minlength=minlength))


def histogram(
    x: Value,
    bins: int = 10,
    low: float | None = None,
    high: float | None = None,
    **unknown: Never,
) -> tuple[Tensor, ...]:
    """How many elements fall into each of `bins` equal steps from low to high, and the ends of the steps."""
    if unknown:
        raise unknown_argument(unknown)
    return tuple(map(Tensor.of, build["histogram"](node(x), bins=bins, low=low, high=high)))


