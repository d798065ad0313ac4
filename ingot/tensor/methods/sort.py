"""Methods: sort. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Handle, Value, build, node, optional

if TYPE_CHECKING:
    from typing import Never, Self
    from ingot.ops.axis import Axes


class SortMethods(Handle):
    """Ops of ops/sort.py as methods."""

    __slots__ = ()

    def sort(
        self,
        axis: int = unset(-1),
        descending: bool = False,
        stable: bool = True,
        *,
        dim: int = unset(-1),
        **unknown: Never,
    ) -> Self:
        """The elements along an axis, smallest first; NaN last."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("sort", "axis", axis, "dim", dim)
        return self.of(build["sort"](self.uop, axis=axis, descending=descending, stable=stable))

    def argsort(
        self,
        axis: int = unset(-1),
        descending: bool = False,
        stable: bool = True,
        *,
        dim: int = unset(-1),
        **unknown: Never,
    ) -> Self:
        """The places of the elements along an axis, smallest first; equal ones as they come, NaN last."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("argsort", "axis", axis, "dim", dim)
        return self.of(build["argsort"](self.uop, axis=axis, descending=descending, stable=stable))

    def topk(
        self,
        k: int,
        axis: int = unset(-1),
        largest: bool = True,
        sorted: bool = True,
        *,
        dim: int = unset(-1),
        **unknown: Never,
    ) -> tuple[Self, ...]:
        """The k largest elements along an axis in order, and their places; of equals the first; NaN counts as largest."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("topk", "axis", axis, "dim", dim)
        return tuple(map(self.of, build["topk"](self.uop, k=k, axis=axis, largest=largest, sorted=sorted)))

    def kthvalue(
        self,
        k: int,
        axis: int = unset(-1),
        keepdims: bool = unset(False),
        *,
        dim: int = unset(-1),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> tuple[Self, ...]:
        """The k-th smallest element along an axis, counted from 1, and its place."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("kthvalue", "axis", axis, "dim", dim)
        keepdims = one_of("kthvalue", "keepdims", keepdims, "keepdim", keepdim)
        return tuple(map(self.of, build["kthvalue"](self.uop, k=k, axis=axis, keepdims=keepdims)))

    def median(
        self,
        axis: Axes = unset(None),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """The middle element along axes, or the mean of both middle ones. NaN if there is one."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("median", "axis", axis, "dim", dim)
        keepdims = one_of("median", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["median"](self.uop, axis=axis, keepdims=keepdims))

    def quantile(
        self,
        q: float,
        axis: Axes = unset(None),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """The value below which a part `q` of the elements lies; between two elements, a straight line. NaN if there is one."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("quantile", "axis", axis, "dim", dim)
        keepdims = one_of("quantile", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["quantile"](self.uop, q=q, axis=axis, keepdims=keepdims))

    def searchsorted(self, values: Value, side: str = "left", sorter: Value | None = None, **unknown: Never) -> Self:
        """Where values would go into a sorted row, before equal elements or, with side="right", after them."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["searchsorted"](self.uop, node(values), side, optional(sorter)))

    def isin(self, test: Value, invert: bool = False, **unknown: Never) -> Self:
        """Whether each element is among those of `test`."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["isin"](self.uop, node(test), invert=invert))

