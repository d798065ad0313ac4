"""Methods: scan. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import REQUIRED, one_of, unknown_argument, unset
from ingot.tensor.handle import Handle, build

if TYPE_CHECKING:
    from typing import Never, Self
    from ingot.ir.dtype import DType


class ScanMethods(Handle):
    """Ops of ops/scan.py as methods."""

    __slots__ = ()

    def cumsum(self, axis: int = REQUIRED, *, dim: int = REQUIRED, **unknown: Never) -> Self:
        """The sum of all elements up to each, along an axis."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("cumsum", "axis", axis, "dim", dim)
        return self.of(build["cumsum"](self.uop, axis=axis))

    def cumprod(self, axis: int = REQUIRED, *, dim: int = REQUIRED, **unknown: Never) -> Self:
        """The product of all elements up to each, along an axis."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("cumprod", "axis", axis, "dim", dim)
        return self.of(build["cumprod"](self.uop, axis=axis))

    def cummax(self, axis: int = REQUIRED, *, dim: int = REQUIRED, **unknown: Never) -> tuple[Self, ...]:
        """The largest element up to each, and its place; NaN once there is one."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("cummax", "axis", axis, "dim", dim)
        return tuple(map(self.of, build["cummax"](self.uop, axis=axis)))

    def cummin(self, axis: int = REQUIRED, *, dim: int = REQUIRED, **unknown: Never) -> tuple[Self, ...]:
        """The smallest element up to each, and its place; NaN once there is one."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("cummin", "axis", axis, "dim", dim)
        return tuple(map(self.of, build["cummin"](self.uop, axis=axis)))

    def logcumsumexp(self, axis: int = REQUIRED, *, dim: int = REQUIRED, **unknown: Never) -> Self:
        """log of the sum of exp of all elements up to each, along an axis."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("logcumsumexp", "axis", axis, "dim", dim)
        return self.of(build["logcumsumexp"](self.uop, axis=axis))

    def cumulative_sum(
        self,
        axis: int | None = unset(None),
        dtype: DType | str | None = None,
        include_initial: bool = False,
        *,
        dim: int | None = unset(None),
        **unknown: Never,
    ) -> Self:
        """The sum of all elements up to each, along an axis; with `include_initial`, 0 comes first."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("cumulative_sum", "axis", axis, "dim", dim)
        return self.of(build["cumulative_sum"](self.uop, axis=axis, dtype=dtype, include_initial=include_initial))

    def cumulative_prod(
        self,
        axis: int | None = unset(None),
        dtype: DType | str | None = None,
        include_initial: bool = False,
        *,
        dim: int | None = unset(None),
        **unknown: Never,
    ) -> Self:
        """The product of all elements up to each, along an axis; with `include_initial`, 1 comes first."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("cumulative_prod", "axis", axis, "dim", dim)
        return self.of(build["cumulative_prod"](self.uop, axis=axis, dtype=dtype, include_initial=include_initial))

