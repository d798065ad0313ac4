"""The different values of a tensor, with names for each result. In: a tensor. Out: named tuples, as the array API has them."""

from __future__ import annotations

from typing import NamedTuple

from ingot.tensor.handle import Value, build, node
from ingot.tensor.tensor import Tensor

__all__ = ["unique_all", "unique_counts", "unique_inverse"]


class UniqueAll(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Value) -> UniqueAll:
    """The different values, where each is first, where each element is among them, and how often each is there."""
    return UniqueAll(*map(Tensor.of, build["unique_all"](node(x))))


def unique_counts(x: Value) -> UniqueCounts:
    """The different values, and how often each is there."""
    return UniqueCounts(*map(Tensor.of, build["unique_counts"](node(x))))


def unique_inverse(x: Value) -> UniqueInverse:
    """The different values, and where each element is among them."""
    return UniqueInverse(*map(Tensor.of, build["unique_inverse"](node(x))))
