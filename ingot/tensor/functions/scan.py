"""Functions: scan. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import REQUIRED, one_of, unknown_argument, unset
from ingot.tensor.handle import Value, build, node
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never
    from ingot.ir.dtype import DType


def cumsum(x: Value, axis: int = REQUIRED, *, dim: int = REQUIRED, **unknown: Never) -> Tensor:
    """The sum of all elements up to each, along an axis."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("cumsum", "axis", axis, "dim", dim)
    return Tensor.of(build["cumsum"](node(x), axis=axis))


def cumprod(x: Value, axis: int = REQUIRED, *, dim: int = REQUIRED, **unknown: Never) -> Tensor:
    """The product of all elements up to each, along an axis."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("cumprod", "axis", axis, "dim", dim)
    return Tensor.of(build["cumprod"](node(x), axis=axis))


def cummax(x: Value, axis: int = REQUIRED, *, dim: int = REQUIRED, **unknown: Never) -> tuple[Tensor, ...]:
    """The largest element up to each, and its place; NaN once there is one."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("cummax", "axis", axis, "dim", dim)
    return tuple(map(Tensor.of, build["cummax"](node(x), axis=axis)))


def cummin(x: Value, axis: int = REQUIRED, *, dim: int = REQUIRED, **unknown: Never) -> tuple[Tensor, ...]:
    """The smallest element up to each, and its place; NaN once there is one."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("cummin", "axis", axis, "dim", dim)
    return tuple(map(Tensor.of, build["cummin"](node(x), axis=axis)))


def logcumsumexp(x: Value, axis: int = REQUIRED, *, dim: int = REQUIRED, **unknown: Never) -> Tensor:
    """log of the sum of exp of all elements up to each, along an axis."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("logcumsumexp", "axis", axis, "dim", dim)
    return Tensor.of(build["logcumsumexp"](node(x), axis=axis))


def cumulative_sum(
    x: Value,
    axis: int | None = unset(None),
    dtype: DType | str | None = None,
    include_initial: bool = False,
    *,
    dim: int | None = unset(None),
    **unknown: Never,
) -> Tensor:
    """The sum of all elements up to each, along an axis; with `include_initial`, 0 comes first."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("cumulative_sum", "axis", axis, "dim", dim)
    return Tensor.of(build["cumulative_sum"](node(x), axis=axis, dtype=dtype, include_initial=include_initial))


def cumulative_prod(
    x: Value,
    axis: int | None = unset(None),
    dtype: DType | str | None = None,
    include_initial: bool = False,
    *,
    dim: int | None = unset(None),
    **unknown: Never,
) -> Tensor:
    """The product of all elements up to each, along an axis; with `include_initial`, 1 comes first."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("cumulative_prod", "axis", axis, "dim", dim)
    return Tensor.of(build["cumulative_prod"](node(x), axis=axis, dtype=dtype, include_initial=include_initial))


