"""Methods: scatter. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import REQUIRED, given, one_of, unknown_argument
from ingot.tensor.handle import Handle, Value, build, node

if TYPE_CHECKING:
    from typing import Never, Self


class ScatterMethods(Handle):
    """Ops of ops/scatter.py as methods."""

    __slots__ = ()

    def scatter(
        self,
        dim: int = REQUIRED,
        index: Value = REQUIRED,
        src: Value = REQUIRED,
        *,
        axis: int = REQUIRED,
        **unknown: Never,
    ) -> Self:
        """x with the elements of src at `index` along an axis."""
        if unknown:
            raise unknown_argument(unknown)
        dim = one_of("scatter", "dim", dim, "axis", axis)
        index = given("scatter", "index", index)
        src = given("scatter", "src", src)
        return self.of(build["scatter"](self.uop, dim, node(index), node(src)))

    def scatter_add(
        self,
        dim: int = REQUIRED,
        index: Value = REQUIRED,
        src: Value = REQUIRED,
        *,
        axis: int = REQUIRED,
        **unknown: Never,
    ) -> Self:
        """x with the elements of src added at `index` along an axis."""
        if unknown:
            raise unknown_argument(unknown)
        dim = one_of("scatter_add", "dim", dim, "axis", axis)
        index = given("scatter_add", "index", index)
        src = given("scatter_add", "src", src)
        return self.of(build["scatter_add"](self.uop, dim, node(index), node(src)))

    def scatter_reduce(
        self,
        dim: int = REQUIRED,
        index: Value = REQUIRED,
        src: Value = REQUIRED,
        reduce: str = REQUIRED,
        include_self: bool = True,
        *,
        axis: int = REQUIRED,
        **unknown: Never,
    ) -> Self:
        """x reduced with the elements of src at `index` along an axis: sum, prod, mean, amax or amin."""
        if unknown:
            raise unknown_argument(unknown)
        dim = one_of("scatter_reduce", "dim", dim, "axis", axis)
        index = given("scatter_reduce", "index", index)
        src = given("scatter_reduce", "src", src)
        reduce = given("scatter_reduce", "reduce", reduce)
        return self.of(build["scatter_reduce"](
            self.uop,
            dim,
            node(index),
            node(src),
            reduce=reduce,
            include_self=include_self,
        ))

    def index_add(
        self,
        dim: int = REQUIRED,
        index: Value = REQUIRED,
        source: Value = REQUIRED,
        *,
        axis: int = REQUIRED,
        **unknown: Never,
    ) -> Self:
        """x with slices of source added at `index`, a row of numbers, along an axis."""
        if unknown:
            raise unknown_argument(unknown)
        dim = one_of("index_add", "dim", dim, "axis", axis)
        index = given("index_add", "index", index)
        source = given("index_add", "source", source)
        return self.of(build["index_add"](self.uop, dim, node(index), node(source)))

    def index_copy(
        self,
        dim: int = REQUIRED,
        index: Value = REQUIRED,
        source: Value = REQUIRED,
        *,
        axis: int = REQUIRED,
        **unknown: Never,
    ) -> Self:
        """x with slices of source at `index`, a row of numbers, along an axis."""
        if unknown:
            raise unknown_argument(unknown)
        dim = one_of("index_copy", "dim", dim, "axis", axis)
        index = given("index_copy", "index", index)
        source = given("index_copy", "source", source)
        return self.of(build["index_copy"](self.uop, dim, node(index), node(source)))

