"""Functions: statistics. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Value, build, node
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never
    from ingot.ops.axis import Axes


def count_nonzero(
    x: Value,
    axis: Axes = unset(None),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """How many elements differ from 0."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("count_nonzero", "axis", axis, "dim", dim)
    keepdims = one_of("count_nonzero", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["count_nonzero"](node(x), axis=axis, keepdims=keepdims))


def allclose(
    a: Value,
    b: Value,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
    **unknown: Never,
) -> Tensor:
    """Whether all elements are close: |a - b| <= atol + rtol * |b|."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["allclose"](node(a), node(b), rtol=rtol, atol=atol, equal_nan=equal_nan))


def nansum(
    x: Value,
    axis: Axes = unset(None),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """The sum of what is not NaN."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("nansum", "axis", axis, "dim", dim)
    keepdims = one_of("nansum", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["nansum"](node(x), axis=axis, keepdims=keepdims))


def nanmean(
    x: Value,
    axis: Axes = unset(None),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """The mean of what is not NaN."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("nanmean", "axis", axis, "dim", dim)
    keepdims = one_of("nanmean", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["nanmean"](node(x), axis=axis, keepdims=keepdims))


def nanmax(
    x: Value,
    axis: Axes = unset(None),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """The largest element that is not NaN; NaN if there is none."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("nanmax", "axis", axis, "dim", dim)
    keepdims = one_of("nanmax", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["nanmax"](node(x), axis=axis, keepdims=keepdims))


def nanmin(
    x: Value,
    axis: Axes = unset(None),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """The smallest element that is not NaN; NaN if there is none."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("nanmin", "axis", axis, "dim", dim)
    keepdims = one_of("nanmin", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["nanmin"](node(x), axis=axis, keepdims=keepdims))


def var_mean(
    x: Value,
    axis: Axes = unset(None),
    correction: float = unset(0),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    ddof: float = unset(0),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> tuple[Tensor, ...]:
    """The variance and the mean."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("var_mean", "axis", axis, "dim", dim)
    correction = one_of("var_mean", "correction", correction, "ddof", ddof)
    keepdims = one_of("var_mean", "keepdims", keepdims, "keepdim", keepdim)
    return tuple(map(Tensor.of, build["var_mean"](node(x), axis=axis, correction=correction, keepdims=keepdims)))


def std_mean(
    x: Value,
    axis: Axes = unset(None),
    correction: float = unset(0),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    ddof: float = unset(0),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> tuple[Tensor, ...]:
    """The standard deviation and the mean."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("std_mean", "axis", axis, "dim", dim)
    correction = one_of("std_mean", "correction", correction, "ddof", ddof)
    keepdims = one_of("std_mean", "keepdims", keepdims, "keepdim", keepdim)
    return tuple(map(Tensor.of, build["std_mean"](node(x), axis=axis, correction=correction, keepdims=keepdims)))


def norm(
    x: Value,
    p: float = 2,
    axis: Axes = unset(None),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """The p-norm of the elements along axes: sum(|x|**p)**(1/p); inf and -inf are the largest and smallest |x|."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("norm", "axis", axis, "dim", dim)
    keepdims = one_of("norm", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["norm"](node(x), p=p, axis=axis, keepdims=keepdims))


def normalize(
    x: Value,
    p: float = 2,
    axis: int = unset(1),
    eps: float = 1e-12,
    *,
    dim: int = unset(1),
    **unknown: Never,
) -> Tensor:
    """x over its p-norm along an axis, which is taken as `eps` where it is less."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("normalize", "axis", axis, "dim", dim)
    return Tensor.of(build["normalize"](node(x), p=p, axis=axis, eps=eps))


def ptp(
    x: Value,
    axis: Axes = unset(None),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """The distance from the smallest to the largest element."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("ptp", "axis", axis, "dim", dim)
    keepdims = one_of("ptp", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["ptp"](node(x), axis=axis, keepdims=keepdims))


