"""Functions: joining. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import nodes, one_of, unknown_argument, unset
from ingot.tensor.handle import Value, build, node, optional
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Never


def concat(
    tensors: Sequence[Value],
    axis: int | None = unset(0),
    *,
    dim: int | None = unset(0),
    **unknown: Never,
) -> Tensor:
    """The tensors one after the other along an axis; None joins their elements in a row."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("concat", "axis", axis, "dim", dim)
    return Tensor.of(build["concat"](*nodes(tensors), axis=axis))


def stack(tensors: Sequence[Value], axis: int = unset(0), *, dim: int = unset(0), **unknown: Never) -> Tensor:
    """The tensors along a new axis; they have one shape."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("stack", "axis", axis, "dim", dim)
    return Tensor.of(build["stack"](*nodes(tensors), axis=axis))


def hstack(tensors: Sequence[Value], **unknown: Never) -> Tensor:
    """The tensors side by side: along axis 1, or axis 0 of vectors."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["hstack"](*nodes(tensors)))


def vstack(tensors: Sequence[Value], **unknown: Never) -> Tensor:
    """The tensors below each other: along axis 0, vectors as rows."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["vstack"](*nodes(tensors)))


def split(
    x: Value,
    sections: int | Sequence[int],
    axis: int = unset(0),
    *,
    dim: int = unset(0),
    **unknown: Never,
) -> tuple[Tensor, ...]:
    """Parts along an axis: that many of equal length, or cut before the given places."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("split", "axis", axis, "dim", dim)
    return tuple(map(Tensor.of, build["split"](node(x), sections=sections, axis=axis)))


def chunk(x: Value, chunks: int, axis: int = unset(0), *, dim: int = unset(0), **unknown: Never) -> tuple[Tensor, ...]:
    """At most that many parts along an axis; the last may be shorter."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("chunk", "axis", axis, "dim", dim)
    return tuple(map(Tensor.of, build["chunk"](node(x), chunks=chunks, axis=axis)))


def unstack(x: Value, axis: int = unset(0), *, dim: int = unset(0), **unknown: Never) -> tuple[Tensor, ...]:
    """The slices along an axis, without it."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("unstack", "axis", axis, "dim", dim)
    return tuple(map(Tensor.of, build["unstack"](node(x), axis=axis)))


def broadcast_arrays(*arrays: Value, **unknown: Never) -> list[Tensor]:
    """Every tensor repeated to the shape in which all meet."""
    if unknown:
        raise unknown_argument(unknown)
    return list(map(Tensor.of, build["broadcast_arrays"](*nodes(arrays))))


def meshgrid(*arrays: Value, indexing: str = "xy", **unknown: Never) -> list[Tensor]:
    """Coordinates of a grid from those along its axes; "xy" has the first run along axis 1, "ij" along axis 0."""
    if unknown:
        raise unknown_argument(unknown)
    return list(map(Tensor.of, build["meshgrid"](*nodes(arrays), indexing=indexing)))


def atleast_1d(x: Value, **unknown: Never) -> Tensor:
    """With one axis at least."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["atleast_1d"](node(x)))


def atleast_2d(x: Value, **unknown: Never) -> Tensor:
    """With two axes at least: a vector is a row."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["atleast_2d"](node(x)))


def atleast_3d(x: Value, **unknown: Never) -> Tensor:
    """With three axes at least: a vector is in the middle, a matrix in front."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["atleast_3d"](node(x)))


def diff(
    x: Value,
    prepend: Value | None = None,
    append: Value | None = None,
    axis: int = unset(-1),
    n: int = 1,
    *,
    dim: int = unset(-1),
    **unknown: Never,
) -> Tensor:
    """What each element adds to the one before it, n times over."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("diff", "axis", axis, "dim", dim)
    return Tensor.of(build["diff"](node(x), optional(prepend), optional(append), axis=axis, n=n))


def flipud(x: Value, **unknown: Never) -> Tensor:
    """Elements in reverse order along axis 0."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["flipud"](node(x)))


def fliplr(x: Value, **unknown: Never) -> Tensor:
    """Elements in reverse order along axis 1."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["fliplr"](node(x)))


cat = concat
unbind = unstack
