"""Functions: arranging. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import REQUIRED, given, one_of, unknown_argument, unset
from ingot.tensor.handle import Value, build, node
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Never
    from ingot.ops.arranging import Repeats
    from ingot.ops.axis import Axes
    from ingot.ops.movement import Sizes


def repeat(
    x: Value,
    repeats: Repeats,
    axis: int | None = unset(None),
    *,
    dim: int | None = unset(None),
    **unknown: Never,
) -> Tensor:
    """Every element that many times in a row; without an axis, of the elements in a row."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("repeat", "axis", axis, "dim", dim)
    return Tensor.of(build["repeat"](node(x), repeats=repeats, axis=axis))


def tile(x: Value, repetitions: Sizes, **unknown: Never) -> Tensor:
    """The whole tensor that many times along each axis; missing axes are new ones in front."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["tile"](node(x), repetitions=repetitions))


def roll(x: Value, shift: Repeats, axis: Axes = unset(None), *, dim: Axes = unset(None), **unknown: Never) -> Tensor:
    """Elements moved on along axes; those that leave the end come in at the start."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("roll", "axis", axis, "dim", dim)
    return Tensor.of(build["roll"](node(x), shift=shift, axis=axis))


def rot90(
    x: Value,
    k: int = 1,
    axes: Sequence[int] = unset((0, 1)),
    *,
    dims: Sequence[int] = unset((0, 1)),
    **unknown: Never,
) -> Tensor:
    """Turned by k quarter turns in the plane of two axes, from the first to the second."""
    if unknown:
        raise unknown_argument(unknown)
    axes = one_of("rot90", "axes", axes, "dims", dims)
    return Tensor.of(build["rot90"](node(x), k=k, axes=axes))


def diagonal(x: Value, offset: int = 0, axis1: int = 0, axis2: int = 1, **unknown: Never) -> Tensor:
    """The elements whose places along two axes differ by `offset`, along a new last axis."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["diagonal"](node(x), offset=offset, axis1=axis1, axis2=axis2))


def diag(x: Value, offset: int = 0, **unknown: Never) -> Tensor:
    """A matrix with x on its diagonal; of a matrix, its diagonal."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["diag"](node(x), offset=offset))


def tril(x: Value, diagonal: int = unset(0), *, k: int = unset(0), **unknown: Never) -> Tensor:
    """The elements on and below a diagonal; 0 elsewhere."""
    if unknown:
        raise unknown_argument(unknown)
    diagonal = one_of("tril", "diagonal", diagonal, "k", k)
    return Tensor.of(build["tril"](node(x), diagonal=diagonal))


def triu(x: Value, diagonal: int = unset(0), *, k: int = unset(0), **unknown: Never) -> Tensor:
    """The elements on and above a diagonal; 0 elsewhere."""
    if unknown:
        raise unknown_argument(unknown)
    diagonal = one_of("triu", "diagonal", diagonal, "k", k)
    return Tensor.of(build["triu"](node(x), diagonal=diagonal))


def moveaxis(x: Value, source: int | Sequence[int], destination: int | Sequence[int], **unknown: Never) -> Tensor:
    """Axes at `source` moved to `destination`; the others keep their order."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["moveaxis"](node(x), source=source, destination=destination))


def unflatten(
    x: Value,
    axis: int = REQUIRED,
    shape: Sizes = REQUIRED,
    *,
    dim: int = REQUIRED,
    **unknown: Never,
) -> Tensor:
    """One axis as several; one -1 is worked out."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("unflatten", "axis", axis, "dim", dim)
    shape = given("unflatten", "shape", shape)
    return Tensor.of(build["unflatten"](node(x), axis=axis, shape=shape))


def narrow(
    x: Value,
    axis: int = REQUIRED,
    start: int = REQUIRED,
    length: int = REQUIRED,
    *,
    dim: int = REQUIRED,
    **unknown: Never,
) -> Tensor:
    """`length` elements of an axis from `start` on."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("narrow", "axis", axis, "dim", dim)
    start = given("narrow", "start", start)
    length = given("narrow", "length", length)
    return Tensor.of(build["narrow"](node(x), axis=axis, start=start, length=length))


def unfold(
    x: Value,
    axis: int = REQUIRED,
    length: int = REQUIRED,
    step: int = 1,
    *,
    dim: int = REQUIRED,
    **unknown: Never,
) -> Tensor:
    """All runs of `length` along an axis, every `step`-th of them, along a new last axis."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("unfold", "axis", axis, "dim", dim)
    length = given("unfold", "length", length)
    return Tensor.of(build["unfold"](node(x), axis=axis, length=length, step=step))


def ravel(x: Value, **unknown: Never) -> Tensor:
    """All elements in a row."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["ravel"](node(x)))


repeat_interleave = repeat
movedim = moveaxis
