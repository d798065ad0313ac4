"""Functions: movement. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import REQUIRED, one_of, unknown_argument, unset
from ingot.tensor.handle import Value, build, node
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Never
    from ingot.ops.axis import Axes
    from ingot.ops.movement import Ranges, Sizes


def reshape(x: Value, shape: Sizes, copy: bool | None = None, **unknown: Never) -> Tensor:
    """The same elements in the same order under another shape; one -1 is worked out."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["reshape"](node(x), shape=shape, copy=copy))


def flatten(x: Value, start: int = 1, end: int = -1, **unknown: Never) -> Tensor:
    """Axes start..end as one axis."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["flatten"](node(x), start=start, end=end))


def squeeze(x: Value, axis: Axes = unset(None), *, dim: Axes = unset(None), **unknown: Never) -> Tensor:
    """Without the axes of size 1: all of them, or those named."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("squeeze", "axis", axis, "dim", dim)
    return Tensor.of(build["squeeze"](node(x), axis=axis))


def unsqueeze(x: Value, axis: int = unset(0), *, dim: int = unset(0), **unknown: Never) -> Tensor:
    """With a new axis of size 1 at `axis`."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("unsqueeze", "axis", axis, "dim", dim)
    return Tensor.of(build["unsqueeze"](node(x), axis=axis))


def expand(x: Value, shape: Sizes, **unknown: Never) -> Tensor:
    """Axes of size 1 repeated to `shape`; -1 keeps a size."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["expand"](node(x), shape=shape))


def permute(x: Value, axes: Sequence[int] = REQUIRED, *, dims: Sequence[int] = REQUIRED, **unknown: Never) -> Tensor:
    """Axes in another order."""
    if unknown:
        raise unknown_argument(unknown)
    axes = one_of("permute", "axes", axes, "dims", dims)
    return Tensor.of(build["permute"](node(x), axes=axes))


def transpose(x: Value, first: int = -2, second: int = -1, **unknown: Never) -> Tensor:
    """Two axes exchanged."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["transpose"](node(x), first=first, second=second))


def shrink(x: Value, ranges: Ranges, **unknown: Never) -> Tensor:
    """Elements start..end-1 of each axis; None keeps an axis whole."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["shrink"](node(x), ranges=ranges))


def flip(x: Value, axis: Axes = unset(None), *, dim: Axes = unset(None), **unknown: Never) -> Tensor:
    """Elements in reverse order along the axes; None is all of them."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("flip", "axis", axis, "dim", dim)
    return Tensor.of(build["flip"](node(x), axis=axis))


def contiguous(x: Value, **unknown: Never) -> Tensor:
    """The same value, stored in memory in its own order."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["contiguous"](node(x)))


view = reshape
expand_dims = unsqueeze
broadcast_to = expand
permute_dims = permute
matrix_transpose = transpose
swapaxes = transpose
swapdims = transpose
