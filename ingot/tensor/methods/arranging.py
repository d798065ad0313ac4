"""Methods: arranging. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import REQUIRED, given, one_of, unknown_argument, unset
from ingot.tensor.handle import Handle, build, spread

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Never, Self
    from ingot.ops.arranging import Repeats
    from ingot.ops.axis import Axes
    from ingot.ops.movement import Dim, Sizes


class ArrangingMethods(Handle):
    """Ops of ops/arranging.py as methods."""

    __slots__ = ()

    def repeat(
        self,
        repeats: Repeats,
        axis: int | None = unset(None),
        *,
        dim: int | None = unset(None),
        **unknown: Never,
    ) -> Self:
        """Every element that many times in a row; without an axis, of the elements in a row."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("repeat", "axis", axis, "dim", dim)
        return self.of(build["repeat"](self.uop, repeats=repeats, axis=axis))

    def tile(self, *repetitions: Dim | Sequence[Dim], **unknown: Never) -> Self:
        """The whole tensor that many times along each axis; missing axes are new ones in front."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["tile"](self.uop, repetitions=spread(repetitions)))

    def roll(self, shift: Repeats, axis: Axes = unset(None), *, dim: Axes = unset(None), **unknown: Never) -> Self:
        """Elements moved on along axes; those that leave the end come in at the start."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("roll", "axis", axis, "dim", dim)
        return self.of(build["roll"](self.uop, shift=shift, axis=axis))

    def rot90(
        self,
        k: int = 1,
        axes: Sequence[int] = unset((0, 1)),
        *,
        dims: Sequence[int] = unset((0, 1)),
        **unknown: Never,
    ) -> Self:
        """Turned by k quarter turns in the plane of two axes, from the first to the second."""
        if unknown:
            raise unknown_argument(unknown)
        axes = one_of("rot90", "axes", axes, "dims", dims)
        return self.of(build["rot90"](self.uop, k=k, axes=axes))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1, **unknown: Never) -> Self:
        """The elements whose places along two axes differ by `offset`, along a new last axis."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["diagonal"](self.uop, offset=offset, axis1=axis1, axis2=axis2))

    def diag(self, offset: int = 0, **unknown: Never) -> Self:
        """A matrix with x on its diagonal; of a matrix, its diagonal."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["diag"](self.uop, offset=offset))

    def tril(self, diagonal: int = unset(0), *, k: int = unset(0), **unknown: Never) -> Self:
        """The elements on and below a diagonal; 0 elsewhere."""
        if unknown:
            raise unknown_argument(unknown)
        diagonal = one_of("tril", "diagonal", diagonal, "k", k)
        return self.of(build["tril"](self.uop, diagonal=diagonal))

    def triu(self, diagonal: int = unset(0), *, k: int = unset(0), **unknown: Never) -> Self:
        """The elements on and above a diagonal; 0 elsewhere."""
        if unknown:
            raise unknown_argument(unknown)
        diagonal = one_of("triu", "diagonal", diagonal, "k", k)
        return self.of(build["triu"](self.uop, diagonal=diagonal))

    def moveaxis(self, source: int | Sequence[int], destination: int | Sequence[int], **unknown: Never) -> Self:
        """Axes at `source` moved to `destination`; the others keep their order."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["moveaxis"](self.uop, source=source, destination=destination))

    def unflatten(
        self,
        axis: int = REQUIRED,
        shape: Sizes = REQUIRED,
        *,
        dim: int = REQUIRED,
        **unknown: Never,
    ) -> Self:
        """One axis as several; one -1 is worked out."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("unflatten", "axis", axis, "dim", dim)
        shape = given("unflatten", "shape", shape)
        return self.of(build["unflatten"](self.uop, axis=axis, shape=shape))

    def narrow(
        self,
        axis: int = REQUIRED,
        start: int = REQUIRED,
        length: int = REQUIRED,
        *,
        dim: int = REQUIRED,
        **unknown: Never,
    ) -> Self:
        """`length` elements of an axis from `start` on."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("narrow", "axis", axis, "dim", dim)
        start = given("narrow", "start", start)
        length = given("narrow", "length", length)
        return self.of(build["narrow"](self.uop, axis=axis, start=start, length=length))

    def unfold(
        self,
        axis: int = REQUIRED,
        length: int = REQUIRED,
        step: int = 1,
        *,
        dim: int = REQUIRED,
        **unknown: Never,
    ) -> Self:
        """All runs of `length` along an axis, every `step`-th of them, along a new last axis."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("unfold", "axis", axis, "dim", dim)
        length = given("unfold", "length", length)
        return self.of(build["unfold"](self.uop, axis=axis, length=length, step=step))

    def ravel(self, **unknown: Never) -> Self:
        """All elements in a row."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["ravel"](self.uop))

    repeat_interleave = repeat
    movedim = moveaxis
