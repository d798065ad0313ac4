"""Functions: reduce. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Value, build, node
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never
    from ingot.ir.dtype import DType
    from ingot.ops.axis import Axes


def sum(
    x: Value,
    axis: Axes = unset(None),
    keepdims: bool = unset(False),
    dtype: DType | str | None = None,
    *,
    dim: Axes = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """The sum; integers are summed in 64 bits, or in `dtype`."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("sum", "axis", axis, "dim", dim)
    keepdims = one_of("sum", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["sum"](node(x), axis=axis, keepdims=keepdims, dtype=dtype))


def prod(
    x: Value,
    axis: Axes = unset(None),
    keepdims: bool = unset(False),
    dtype: DType | str | None = None,
    *,
    dim: Axes = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """The product; integers are multiplied in 64 bits, or in `dtype`."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("prod", "axis", axis, "dim", dim)
    keepdims = one_of("prod", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["prod"](node(x), axis=axis, keepdims=keepdims, dtype=dtype))


def max(
    x: Value,
    axis: Axes = unset(None),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """The largest element; NaN if there is one."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("max", "axis", axis, "dim", dim)
    keepdims = one_of("max", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["max"](node(x), axis=axis, keepdims=keepdims))


def min(
    x: Value,
    axis: Axes = unset(None),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """The smallest element; NaN if there is one."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("min", "axis", axis, "dim", dim)
    keepdims = one_of("min", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["min"](node(x), axis=axis, keepdims=keepdims))


def any(
    x: Value,
    axis: Axes = unset(None),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """Whether an element differs from 0."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("any", "axis", axis, "dim", dim)
    keepdims = one_of("any", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["any"](node(x), axis=axis, keepdims=keepdims))


def all(
    x: Value,
    axis: Axes = unset(None),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """Whether every element differs from 0."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("all", "axis", axis, "dim", dim)
    keepdims = one_of("all", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["all"](node(x), axis=axis, keepdims=keepdims))


def mean(
    x: Value,
    axis: Axes = unset(None),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """The arithmetic mean."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("mean", "axis", axis, "dim", dim)
    keepdims = one_of("mean", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["mean"](node(x), axis=axis, keepdims=keepdims))


def var(
    x: Value,
    axis: Axes = unset(None),
    correction: float = unset(0),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    ddof: float = unset(0),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """The variance: the mean square distance from the mean, over n - correction."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("var", "axis", axis, "dim", dim)
    correction = one_of("var", "correction", correction, "ddof", ddof)
    keepdims = one_of("var", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["var"](node(x), axis=axis, correction=correction, keepdims=keepdims))


def std(
    x: Value,
    axis: Axes = unset(None),
    correction: float = unset(0),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    ddof: float = unset(0),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """The standard deviation, over n - correction."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("std", "axis", axis, "dim", dim)
    correction = one_of("std", "correction", correction, "ddof", ddof)
    keepdims = one_of("std", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["std"](node(x), axis=axis, correction=correction, keepdims=keepdims))


def logsumexp(
    x: Value,
    axis: Axes = unset(None),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """log(sum(exp(x))) without overflow."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("logsumexp", "axis", axis, "dim", dim)
    keepdims = one_of("logsumexp", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["logsumexp"](node(x), axis=axis, keepdims=keepdims))


def argmax(
    x: Value,
    axis: int | None = unset(None),
    keepdims: bool = unset(False),
    *,
    dim: int | None = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """The place of the largest element, the first of equals."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("argmax", "axis", axis, "dim", dim)
    keepdims = one_of("argmax", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["argmax"](node(x), axis=axis, keepdims=keepdims))


def argmin(
    x: Value,
    axis: int | None = unset(None),
    keepdims: bool = unset(False),
    *,
    dim: int | None = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """The place of the smallest element, the first of equals."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("argmin", "axis", axis, "dim", dim)
    keepdims = one_of("argmin", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["argmin"](node(x), axis=axis, keepdims=keepdims))


