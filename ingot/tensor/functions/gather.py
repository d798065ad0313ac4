"""Functions: gather. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import REQUIRED, given, one_of, unknown_argument, unset
from ingot.tensor.handle import Value, build, node
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never


def take(
    x: Value,
    indices: Value,
    axis: int | None = unset(None),
    *,
    dim: int | None = unset(None),
    **unknown: Never,
) -> Tensor:
    """The elements of x at `indices` along an axis; without one, x has to have a single axis."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("take", "axis", axis, "dim", dim)
    return Tensor.of(build["take"](node(x), node(indices), axis=axis))


def index_select(
    x: Value,
    dim: int = REQUIRED,
    index: Value = REQUIRED,
    *,
    axis: int = REQUIRED,
    **unknown: Never,
) -> Tensor:
    """The slices of x at `index`, a row of numbers, along an axis."""
    if unknown:
        raise unknown_argument(unknown)
    dim = one_of("index_select", "dim", dim, "axis", axis)
    index = given("index_select", "index", index)
    return Tensor.of(build["index_select"](node(x), dim, node(index)))


def take_along_axis(
    x: Value,
    indices: Value,
    axis: int = unset(-1),
    *,
    dim: int = unset(-1),
    **unknown: Never,
) -> Tensor:
    """x[.., indices[.., j, ..], ..]: along one axis each row has its own indices. Other axes broadcast."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("take_along_axis", "axis", axis, "dim", dim)
    return Tensor.of(build["take_along_axis"](node(x), node(indices), axis=axis))


def gather(x: Value, dim: int = REQUIRED, index: Value = REQUIRED, *, axis: int = REQUIRED, **unknown: Never) -> Tensor:
    """x[.., index[.., j, ..], ..] along one axis; index may be smaller than x along the others."""
    if unknown:
        raise unknown_argument(unknown)
    dim = one_of("gather", "dim", dim, "axis", axis)
    index = given("gather", "index", index)
    return Tensor.of(build["gather"](node(x), dim, node(index)))


def embedding(weight: Value, indices: Value, **unknown: Never) -> Tensor:
    """The rows of a table."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["embedding"](node(weight), node(indices)))


def one_hot(indices: Value, num_classes: int = -1, **unknown: Never) -> Tensor:
    """1 at each index, 0 elsewhere, along a new last axis."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["one_hot"](node(indices), num_classes=num_classes))


