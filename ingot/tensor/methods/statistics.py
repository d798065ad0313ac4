"""Methods: statistics. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Handle, Value, build, node

if TYPE_CHECKING:
    from typing import Never, Self
    from ingot.ops.axis import Axes


class StatisticsMethods(Handle):
    """Ops of ops/statistics.py as methods."""

    __slots__ = ()

    def count_nonzero(
        self,
        axis: Axes = unset(None),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """How many elements differ from 0."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("count_nonzero", "axis", axis, "dim", dim)
        keepdims = one_of("count_nonzero", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["count_nonzero"](self.uop, axis=axis, keepdims=keepdims))

    def allclose(
        self,
        b: Value,
        rtol: float = 1e-05,
        atol: float = 1e-08,
        equal_nan: bool = False,
        **unknown: Never,
    ) -> Self:
        """Whether all elements are close: |a - b| <= atol + rtol * |b|."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["allclose"](self.uop, node(b), rtol=rtol, atol=atol, equal_nan=equal_nan))

    def nansum(
        self,
        axis: Axes = unset(None),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """The sum of what is not NaN."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("nansum", "axis", axis, "dim", dim)
        keepdims = one_of("nansum", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["nansum"](self.uop, axis=axis, keepdims=keepdims))

    def nanmean(
        self,
        axis: Axes = unset(None),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """The mean of what is not NaN."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("nanmean", "axis", axis, "dim", dim)
        keepdims = one_of("nanmean", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["nanmean"](self.uop, axis=axis, keepdims=keepdims))

    def nanmax(
        self,
        axis: Axes = unset(None),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """The largest element that is not NaN; NaN if there is none."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("nanmax", "axis", axis, "dim", dim)
        keepdims = one_of("nanmax", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["nanmax"](self.uop, axis=axis, keepdims=keepdims))

    def nanmin(
        self,
        axis: Axes = unset(None),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """The smallest element that is not NaN; NaN if there is none."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("nanmin", "axis", axis, "dim", dim)
        keepdims = one_of("nanmin", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["nanmin"](self.uop, axis=axis, keepdims=keepdims))

    def var_mean(
        self,
        axis: Axes = unset(None),
        correction: float = unset(1),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        ddof: float = unset(1),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> tuple[Self, ...]:
        """The variance and the mean."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("var_mean", "axis", axis, "dim", dim)
        correction = one_of("var_mean", "correction", correction, "ddof", ddof)
        keepdims = one_of("var_mean", "keepdims", keepdims, "keepdim", keepdim)
        return tuple(map(self.of, build["var_mean"](self.uop, axis=axis, correction=correction, keepdims=keepdims)))

    def std_mean(
        self,
        axis: Axes = unset(None),
        correction: float = unset(1),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        ddof: float = unset(1),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> tuple[Self, ...]:
        """The standard deviation and the mean."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("std_mean", "axis", axis, "dim", dim)
        correction = one_of("std_mean", "correction", correction, "ddof", ddof)
        keepdims = one_of("std_mean", "keepdims", keepdims, "keepdim", keepdim)
        return tuple(map(self.of, build["std_mean"](self.uop, axis=axis, correction=correction, keepdims=keepdims)))

    def norm(
        self,
        p: float = 2,
        axis: Axes = unset(None),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """The p-norm of the elements along axes: sum(|x|**p)**(1/p); inf and -inf are the largest and smallest |x|."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("norm", "axis", axis, "dim", dim)
        keepdims = one_of("norm", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["norm"](self.uop, p=p, axis=axis, keepdims=keepdims))

    def normalize(
        self,
        p: float = 2,
        axis: int = unset(1),
        eps: float = 1e-12,
        *,
        dim: int = unset(1),
        **unknown: Never,
    ) -> Self:
        """x over its p-norm along an axis, which is taken as `eps` where it is less."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("normalize", "axis", axis, "dim", dim)
        return self.of(build["normalize"](self.uop, p=p, axis=axis, eps=eps))

    def ptp(
        self,
        axis: Axes = unset(None),
        keepdims: bool = unset(False),
        *,
        dim: Axes = unset(None),
        keepdim: bool = unset(False),
        **unknown: Never,
    ) -> Self:
        """The distance from the smallest to the largest element."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("ptp", "axis", axis, "dim", dim)
        keepdims = one_of("ptp", "keepdims", keepdims, "keepdim", keepdim)
        return self.of(build["ptp"](self.uop, axis=axis, keepdims=keepdims))

