"""Methods: joining. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import nodes, one_of, unknown_argument, unset
from ingot.tensor.handle import Handle, Value, build, optional

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Never, Self


class JoiningMethods(Handle):
    """Ops of ops/joining.py as methods."""

    __slots__ = ()

    def concat(
        self,
        *tensors: Value,
        axis: int | None = unset(0),
        dim: int | None = unset(0),
        **unknown: Never,
    ) -> Self:
        """The tensors one after the other along an axis; None joins their elements in a row."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("concat", "axis", axis, "dim", dim)
        return self.of(build["concat"](self.uop, *nodes(tensors), axis=axis))

    def stack(self, *tensors: Value, axis: int = unset(0), dim: int = unset(0), **unknown: Never) -> Self:
        """The tensors along a new axis; they have one shape."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("stack", "axis", axis, "dim", dim)
        return self.of(build["stack"](self.uop, *nodes(tensors), axis=axis))

    def hstack(self, *tensors: Value, **unknown: Never) -> Self:
        """The tensors side by side: along axis 1, or axis 0 of vectors."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["hstack"](self.uop, *nodes(tensors)))

    def vstack(self, *tensors: Value, **unknown: Never) -> Self:
        """The tensors below each other: along axis 0, vectors as rows."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["vstack"](self.uop, *nodes(tensors)))

    def split(
        self,
        sections: int | Sequence[int],
        axis: int = unset(0),
        *,
        dim: int = unset(0),
        **unknown: Never,
    ) -> tuple[Self, ...]:
        """Parts along an axis: that many of equal length, or cut before the given places."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("split", "axis", axis, "dim", dim)
        return tuple(map(self.of, build["split"](self.uop, sections=sections, axis=axis)))

    def chunk(self, chunks: int, axis: int = unset(0), *, dim: int = unset(0), **unknown: Never) -> tuple[Self, ...]:
        """At most that many parts along an axis; the last may be shorter."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("chunk", "axis", axis, "dim", dim)
        return tuple(map(self.of, build["chunk"](self.uop, chunks=chunks, axis=axis)))

    def unstack(self, axis: int = unset(0), *, dim: int = unset(0), **unknown: Never) -> tuple[Self, ...]:
        """The slices along an axis, without it."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("unstack", "axis", axis, "dim", dim)
        return tuple(map(self.of, build["unstack"](self.uop, axis=axis)))

    def atleast_1d(self, **unknown: Never) -> Self:
        """With one axis at least."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["atleast_1d"](self.uop))

    def atleast_2d(self, **unknown: Never) -> Self:
        """With two axes at least: a vector is a row."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["atleast_2d"](self.uop))

    def atleast_3d(self, **unknown: Never) -> Self:
        """With three axes at least: a vector is in the middle, a matrix in front."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["atleast_3d"](self.uop))

    def diff(
        self,
        prepend: Value | None = None,
        append: Value | None = None,
        axis: int = unset(-1),
        n: int = 1,
        *,
        dim: int = unset(-1),
        **unknown: Never,
    ) -> Self:
        """What each element adds to the one before it, n times over."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("diff", "axis", axis, "dim", dim)
        return self.of(build["diff"](self.uop, optional(prepend), optional(append), axis=axis, n=n))

    def flipud(self, **unknown: Never) -> Self:
        """Elements in reverse order along axis 0."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["flipud"](self.uop))

    def fliplr(self, **unknown: Never) -> Self:
        """Elements in reverse order along axis 1."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["fliplr"](self.uop))

    cat = concat
    unbind = unstack
