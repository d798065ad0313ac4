"""Functions: sort. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Value, build, node, optional
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never
    from ingot.ops.axis import Axes


def sort(
    x: Value,
    axis: int = unset(-1),
    descending: bool = False,
    stable: bool = True,
    *,
    dim: int = unset(-1),
    **unknown: Never,
) -> Tensor:
    """The elements along an axis, smallest first; NaN last."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("sort", "axis", axis, "dim", dim)
    return Tensor.of(build["sort"](node(x), axis=axis, descending=descending, stable=stable))


def argsort(
    x: Value,
    axis: int = unset(-1),
    descending: bool = False,
    stable: bool = True,
    *,
    dim: int = unset(-1),
    **unknown: Never,
) -> Tensor:
    """The places of the elements along an axis, smallest first; equal ones as they come, NaN last."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("argsort", "axis", axis, "dim", dim)
    return Tensor.of(build["argsort"](node(x), axis=axis, descending=descending, stable=stable))


def topk(
    x: Value,
    k: int,
    axis: int = unset(-1),
    largest: bool = True,
    sorted: bool = True,
    *,
    dim: int = unset(-1),
    **unknown: Never,
) -> tuple[Tensor, ...]:
    """The k largest elements along an axis in order, and their places; of equals the first; NaN counts as largest."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("topk", "axis", axis, "dim", dim)
    return tuple(map(Tensor.of, build["topk"](node(x), k=k, axis=axis, largest=largest, sorted=sorted)))


def kthvalue(
    x: Value,
    k: int,
    axis: int = unset(-1),
    keepdims: bool = unset(False),
    *,
    dim: int = unset(-1),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> tuple[Tensor, ...]:
    """The k-th smallest element along an axis, counted from 1, and its place."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("kthvalue", "axis", axis, "dim", dim)
    keepdims = one_of("kthvalue", "keepdims", keepdims, "keepdim", keepdim)
    return tuple(map(Tensor.of, build["kthvalue"](node(x), k=k, axis=axis, keepdims=keepdims)))


def median(
    x: Value,
    axis: Axes = unset(None),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """The middle element along axes, or the mean of both middle ones. NaN if there is one."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("median", "axis", axis, "dim", dim)
    keepdims = one_of("median", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["median"](node(x), axis=axis, keepdims=keepdims))


def quantile(
    x: Value,
    q: float,
    axis: Axes = unset(None),
    keepdims: bool = unset(False),
    *,
    dim: Axes = unset(None),
    keepdim: bool = unset(False),
    **unknown: Never,
) -> Tensor:
    """The value below which a part `q` of the elements lies; between two elements, a straight line. NaN if there is one."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("quantile", "axis", axis, "dim", dim)
    keepdims = one_of("quantile", "keepdims", keepdims, "keepdim", keepdim)
    return Tensor.of(build["quantile"](node(x), q=q, axis=axis, keepdims=keepdims))


def searchsorted(x: Value, values: Value, side: str = "left", sorter: Value | None = None, **unknown: Never) -> Tensor:
    """Where values would go into a sorted row, before equal elements or, with side="right", after them."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["searchsorted"](node(x), node(values), side, optional(sorter)))


def isin(x: Value, test: Value, invert: bool = False, **unknown: Never) -> Tensor:
    """Whether each element is among those of `test`."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["isin"](node(x), node(test), invert=invert))


