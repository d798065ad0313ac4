"""Methods: reduce. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Handle, build

if TYPE_CHECKING:
    from typing import Never, Self
    from ingot.ir.dtype import DType
    from ingot.ops.axis import Axes


class ReduceMethods(Handle):
    """Ops of ops/reduce.py as methods."""

    __slots__ = ()

    def sum(
        self,
        axis: Axes = unset(None),
        keepdims: bool = unset(False),
        dtype: DType | str | None = None,
        *,
        dim: Axes = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """The sum; integers are summed in 64 bits, or in `dtype`."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("sum", "axis", axis, "dim", dim)
        keepdims = one_of("sum", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["sum"](self.uop, axis=axis, keepdims=keepdims, dtype=dtype))

    def prod(
        self,
        axis: Axes = unset(None),
        keepdims: bool = unset(False),
        dtype: DType | str | None = None,
        *,
        dim: Axes = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """The product; integers are multiplied in 64 bits, or in `dtype`."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("prod", "axis", axis, "dim", dim)
        keepdims = one_of("prod", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["prod"](self.uop, axis=axis, keepdims=keepdims, dtype=dtype))

    def max(
        self,
        axis: Axes = unset(None),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """The largest element; NaN if there is one."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("max", "axis", axis, "dim", dim)
        keepdims = one_of("max", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["max"](self.uop, axis=axis, keepdims=keepdims))

    def min(
        self,
        axis: Axes = unset(None),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """The smallest element; NaN if there is one."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("min", "axis", axis, "dim", dim)
        keepdims = one_of("min", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["min"](self.uop, axis=axis, keepdims=keepdims))

    def any(
        self,
        axis: Axes = unset(None),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """Whether an element differs from 0."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("any", "axis", axis, "dim", dim)
        keepdims = one_of("any", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["any"](self.uop, axis=axis, keepdims=keepdims))

    def all(
        self,
        axis: Axes = unset(None),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """Whether every element differs from 0."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("all", "axis", axis, "dim", dim)
        keepdims = one_of("all", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["all"](self.uop, axis=axis, keepdims=keepdims))

    def mean(
        self,
        axis: Axes = unset(None),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """The arithmetic mean."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("mean", "axis", axis, "dim", dim)
        keepdims = one_of("mean", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["mean"](self.uop, axis=axis, keepdims=keepdims))

    def var(
        self,
        axis: Axes = unset(None),
        correction: float = unset(1),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        ddof: float = unset(1),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """The variance: the mean square distance from the mean, over n - correction."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("var", "axis", axis, "dim", dim)
        correction = one_of("var", "correction", correction, "ddof", ddof)
        keepdims = one_of("var", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["var"](self.uop, axis=axis, correction=correction, keepdims=keepdims))

    def std(
        self,
        axis: Axes = unset(None),
        correction: float = unset(1),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        ddof: float = unset(1),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """The standard deviation, over n - correction."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("std", "axis", axis, "dim", dim)
        correction = one_of("std", "correction", correction, "ddof", ddof)
        keepdims = one_of("std", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["std"](self.uop, axis=axis, correction=correction, keepdims=keepdims))

    def logsumexp(
        self,
        axis: Axes = unset(None),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """log(sum(exp(x))) without overflow."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("logsumexp", "axis", axis, "dim", dim)
        keepdims = one_of("logsumexp", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["logsumexp"](self.uop, axis=axis, keepdims=keepdims))

    def argmax(
        self,
        axis: int | None = unset(None),
        keepdims: bool = unset(False),
        *,
        dim: int | None = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """The place of the largest element, the first of equals."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("argmax", "axis", axis, "dim", dim)
        keepdims = one_of("argmax", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["argmax"](self.uop, axis=axis, keepdims=keepdims))

    def argmin(
        self,
        axis: int | None = unset(None),
        keepdims: bool = unset(False),
        *,
        dim: int | None = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """The place of the smallest element, the first of equals."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("argmin", "axis", axis, "dim", dim)
        keepdims = one_of("argmin", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["argmin"](self.uop, axis=axis, keepdims=keepdims))

