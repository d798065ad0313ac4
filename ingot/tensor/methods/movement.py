"""Methods: movement. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Handle, build, spread

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Never, Self
    from ingot.ops.axis import Axes
    from ingot.ops.movement import Dim, Ranges


class MovementMethods(Handle):
    """Ops of ops/movement.py as methods."""

    __slots__ = ()

    def reshape(self, *shape: Dim | Sequence[Dim], copy: bool | None = None, **unknown: Never) -> Self:
        """The same elements in the same order under another shape; one -1 is worked out."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["reshape"](self.uop, shape=spread(shape), copy=copy))

    def flatten(self, start: int = 0, end: int = -1, **unknown: Never) -> Self:
        """Axes start..end as one axis."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["flatten"](self.uop, start=start, end=end))

    def squeeze(self, axis: Axes = unset(None), *, dim: Axes = unset(None), **unknown: Never) -> Self:
        """Without the axes of size 1: all of them, or those named."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("squeeze", "axis", axis, "dim", dim)
        return self.of(build["squeeze"](self.uop, axis=axis))

    def unsqueeze(self, axis: int = unset(0), *, dim: int = unset(0), **unknown: Never) -> Self:
        """With a new axis of size 1 at `axis`."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("unsqueeze", "axis", axis, "dim", dim)
        return self.of(build["unsqueeze"](self.uop, axis=axis))

    def expand(self, *shape: Dim | Sequence[Dim], **unknown: Never) -> Self:
        """Axes of size 1 repeated to `shape`; -1 keeps a size."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["expand"](self.uop, shape=spread(shape)))

    def permute(self, *axes: int | Sequence[int], **unknown: Never) -> Self:
        """Axes in another order."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["permute"](self.uop, axes=spread(axes)))

    def transpose(self, first: int = -2, second: int = -1, **unknown: Never) -> Self:
        """Two axes exchanged."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["transpose"](self.uop, first=first, second=second))

    def shrink(self, ranges: Ranges, **unknown: Never) -> Self:
        """Elements start..end-1 of each axis; None keeps an axis whole."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["shrink"](self.uop, ranges=ranges))

    def flip(self, axis: Axes = unset(None), *, dim: Axes = unset(None), **unknown: Never) -> Self:
        """Elements in reverse order along the axes; None is all of them."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("flip", "axis", axis, "dim", dim)
        return self.of(build["flip"](self.uop, axis=axis))

    def contiguous(self, **unknown: Never) -> Self:
        """The same value, stored in memory in its own order."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["contiguous"](self.uop))

    view = reshape
    expand_dims = unsqueeze
    broadcast_to = expand
    permute_dims = permute
    matrix_transpose = transpose
    swapaxes = transpose
    swapdims = transpose
