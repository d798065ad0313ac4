"""Methods: gather. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import REQUIRED, given, one_of, unknown_argument, unset
from ingot.tensor.handle import Handle, Value, build, node

if TYPE_CHECKING:
    from typing import Never, Self


class GatherMethods(Handle):
    """Ops of ops/gather.py as methods."""

    __slots__ = ()

    def take(
        self,
        indices: Value,
        axis: int | None = unset(None),
        *,
        dim: int | None = unset(None),
        **unknown: Never,
    ) -> Self:
        """The elements of x at `indices` along an axis; without one, x has to have a single axis."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("take", "axis", axis, "dim", dim)
        return self.of(build["take"](self.uop, node(indices), axis=axis))

    def index_select(
        self,
        dim: int = REQUIRED,
        index: Value = REQUIRED,
        *,
        axis: int = REQUIRED,
        **unknown: Never,
    ) -> Self:
        """The slices of x at `index`, a row of numbers, along an axis."""
        if unknown:
            raise unknown_argument(unknown)
        dim = one_of("index_select", "dim", dim, "axis", axis)
        index = given("index_select", "index", index)
        return self.of(build["index_select"](self.uop, dim, node(index)))

    def take_along_axis(self, indices: Value, axis: int = unset(-1), *, dim: int = unset(-1), **unknown: Never) -> Self:
        """x[.., indices[.., j, ..], ..]: along one axis each row has its own indices. Other axes broadcast."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("take_along_axis", "axis", axis, "dim", dim)
        return self.of(build["take_along_axis"](self.uop, node(indices), axis=axis))

    def gather(self, dim: int = REQUIRED, index: Value = REQUIRED, *, axis: int = REQUIRED, **unknown: Never) -> Self:
        """x[.., index[.., j, ..], ..] along one axis; index may be smaller than x along the others."""
        if unknown:
            raise unknown_argument(unknown)
        dim = one_of("gather", "dim", dim, "axis", axis)
        index = given("gather", "index", index)
        return self.of(build["gather"](self.uop, dim, node(index)))

    def embedding(self, indices: Value, **unknown: Never) -> Self:
        """The rows of a table."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["embedding"](self.uop, node(indices)))

    def one_hot(self, num_classes: int = -1, **unknown: Never) -> Self:
        """1 at each index, 0 elsewhere, along a new last axis."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["one_hot"](self.uop, num_classes=num_classes))

