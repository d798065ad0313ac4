"""Tensors put together and taken apart along an axis: concat, stack, split, unstack, ... In: tensors. Out: tensors.

A joined tensor is one choice per element among its parts, each read where the element lies in it: one pass over every
part, and whatever is done to the parts or the result is done in that pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, cast

import numpy as np

from ingot.errors import ArgumentError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.shape import Shape, Type, same
from ingot.ops import elementwise as ew
from ingot.ops.axis import normal_axis, whole_number
from ingot.ops.creation import counter
from ingot.ops.gradient import Cotangents, Gradients, attrs, only
from ingot.ops.matmul import promoted
from ingot.ops.movement import (
    Dim,
    broadcast_shape,
    broadcast_to,
    flip,
    pad_zeros,
    reshape,
    show,
    shrink,
    size,
    unsqueeze,
)
from ingot.ops.op import Accepted, op, primitive
from ingot.ops.sample import bools, floats, ints, sample

# --- together -----------------------------------------------------------------------------------------------------


def _accept_concat(*tensors: UOp, axis: int | None) -> Accepted:
    if not tensors:
        raise ArgumentError("concat: no tensors are given", fix="give at least one")
    given, _ = promoted(*tensors)
    parts = cast("tuple[UOp, ...]", given)
    if axis is None:
        flat = tuple(reshape(x, (-1,)) for x in parts)
        return flat, {"axis": 0}
    at = normal_axis("concat", axis, len(parts[0].shape))
    return parts, {"axis": at}


def _concat_type(*tensors: UOp, axis: int) -> Type:
    first = tensors[0]
    for x in tensors[1:]:
        others = x.shape[:axis], x.shape[axis + 1 :]
        wanted = first.shape[:axis], first.shape[axis + 1 :]
        fits = len(x.shape) == len(first.shape)
        if not fits or not all(map(same, others, wanted)):
            raise ShapeError(
                f"concat: shapes {show(first.shape)} and {show(x.shape)} differ outside axis {axis}",
                fix="all sizes but that of the joined axis have to be equal",
            )
    total = sum((x.shape[axis] for x in tensors[1:]), start=first.shape[axis])
    return first.dtype, (*first.shape[:axis], total, *first.shape[axis + 1 :])


def _concat(*tensors: UOp, axis: int | None = 0) -> UOp:
    """The tensors one after the other along an axis; None joins their elements in a row."""
    at = cast(int, axis)
    parts = [x for x in tensors if not _is_empty(x.shape[at])] or [tensors[0]]
    _, shape = _concat_type(*parts, axis=at)
    ends = list(accumulate((x.shape[at] for x in parts), lambda a, b: a + b))
    place = counter(shape, at)
    joined: UOp | None = None
    for x, end in reversed(list(zip(parts, ends, strict=True))):
        widths: list[tuple[Dim, Dim]] = [(0, 0)] * len(shape)
        widths[at] = (end - x.shape[at], shape[at] - end)
        spread = pad_zeros(x, widths)
        if joined is None:
            joined = spread
            continue
        limit = broadcast_to(size(end).cast(dt.int64), shape)
        joined = (place < limit).where(spread, joined)
    return cast(UOp, joined)


def _is_empty(n: Dim) -> bool:
    return isinstance(n, int) and n == 0


def _concat_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    axis = cast(int, attrs(node)["axis"])
    lengths = [x.shape[axis] for x in node.src]
    return _pieces(only(cotangents), lengths, axis)


def _concat_ref(*tensors: Any, axis: int | None = 0) -> Any:
    return np.concatenate(tensors, axis)


concat = op(
    "concat",
    types=_concat_type,
    accept=_accept_concat,
    lower=_concat,
    ref=_concat_ref,
    samples=(
        sample(floats(2, 3), floats(4, 3)),
        sample(floats(2, 3), floats(2, 1), floats(2, 2), axis=-1),
        sample(ints(2), floats(3), axis=0),
        sample(floats(2, 3), floats(4), axis=None),
        sample(floats(0, 3), floats(2, 3)),
        sample(bools(3), bools(2)),
        sample(floats(2, 2, 3), axis=1),
    ),
    bad_samples=(
        (
            sample(floats(2, 3), floats(2, 4)),
            "concat: shapes (2, 3) and (2, 4) differ outside axis 0",
        ),
        (sample(), "concat: no tensors are given"),
        (sample(floats(3), floats(3), axis=1), "concat: axis 1 is outside -1..0"),
    ),
    grad=_concat_grad,
    aliases=("cat",),
    bundled=True,
    ulp=0,
)


def stack(tensors: Sequence[UOp], axis: int = 0) -> UOp:
    """The tensors along a new axis; they have one shape."""
    if not tensors:
        raise ArgumentError("stack: no tensors are given", fix="give at least one")
    for x in tensors[1:]:
        if not same(x.shape, tensors[0].shape):
            raise ShapeError(
                f"stack: shapes {show(tensors[0].shape)} and {show(x.shape)} differ",
                fix="all tensors have to have one shape",
            )
    at = normal_axis("stack", axis, len(tensors[0].shape) + 1)
    return concat(*(unsqueeze(x, at) for x in tensors), axis=at)


def _stack(*tensors: UOp, axis: int = 0) -> UOp:
    """The tensors along a new axis; they have one shape."""
    return stack(tensors, axis)


def _hstack(*tensors: UOp) -> UOp:
    """The tensors side by side: along axis 1, or axis 0 of vectors."""
    parts = [reshape(x, (1,)) if not x.shape else x for x in tensors]
    return concat(*parts, axis=1 if len(parts[0].shape) > 1 else 0)


def _vstack(*tensors: UOp) -> UOp:
    """The tensors below each other: along axis 0, vectors as rows."""
    return concat(*(atleast_2d(x) for x in tensors), axis=0)


primitive(
    "stack",
    _stack,
    ref=lambda *tensors, axis=0: np.stack(tensors, axis),
    samples=(
        sample(floats(2, 3), floats(2, 3)),
        sample(floats(2, 3), ints(2, 3), axis=-1),
        sample(floats(), floats()),
    ),
    bad_samples=(
        (sample(floats(2), floats(3)), "stack: shapes (2,) and (3,) differ"),
        (sample(floats(2), axis=2), "stack: axis 2 is outside -2..1"),
    ),
    bundled=True,
    ulp=0,
)
primitive(
    "hstack",
    _hstack,
    ref=lambda *tensors: np.hstack(tensors),
    samples=(sample(floats(2), floats(3)), sample(floats(2, 3), floats(2, 1))),
    bundled=True,
    ulp=0,
)
primitive(
    "vstack",
    _vstack,
    ref=lambda *tensors: np.vstack(tensors),
    samples=(sample(floats(3), floats(3)), sample(floats(2, 3), floats(1, 3))),
    bundled=True,
    ulp=0,
)


# --- apart --------------------------------------------------------------------------------------------------------


def _pieces(x: UOp, lengths: Sequence[Dim], axis: int) -> tuple[UOp, ...]:
    """Neighbouring parts of the given lengths."""
    found = []
    start: Dim = 0
    for length in lengths:
        ranges: list[tuple[Dim, Dim] | None] = [None] * len(x.shape)
        ranges[axis] = (start, start + length)
        found.append(shrink(x, ranges))
        start = start + length
    return tuple(found)


def known_size(name: str, x: UOp, axis: int) -> int:
    """The size of an axis, which may not be symbolic here."""
    n = x.shape[axis]
    if not isinstance(n, int):
        raise ShapeError(
            f"{name}: axis {axis} of {show(x.shape)} has a symbolic size; wanted a known one"
        )
    return n


def split_sizes(x: UOp, lengths: Sequence[int], axis: int = 0) -> tuple[UOp, ...]:
    """Neighbouring parts of the given lengths along an axis."""
    at = normal_axis("split", axis, len(x.shape))
    n = known_size("split", x, at)
    whole = [whole_number("split", "a length", length) for length in lengths]
    if sum(whole) != n or min(whole, default=0) < 0:
        raise ShapeError(
            f"split: lengths {tuple(whole)} do not fill axis {at} of {show(x.shape)}",
            fix=f"their sum has to be {n}",
        )
    return _pieces(x, whole, at)


def split(x: UOp, sections: int | Sequence[int], axis: int = 0) -> tuple[UOp, ...]:
    """Parts along an axis: that many of equal length, or cut before the given places."""
    at = normal_axis("split", axis, len(x.shape))
    n = known_size("split", x, at)
    if isinstance(sections, Sequence):
        places = [min(max(p + n if p < 0 else p, 0), n) for p in sections]
        return tuple(
            _pieces(x, (start, max(end - start, 0)), at)[1]
            for start, end in pairwise((0, *places, n))
        )
    count = whole_number("split", "sections", sections)
    if count < 1 or n % count:
        raise ShapeError(
            f"split: axis {at} of {show(x.shape)} does not split into {count} equal parts",
            fix="use chunk(...), whose last part may be shorter, or give the places to cut",
        )
    return _pieces(x, [n // count] * count, at)


def chunk(x: UOp, chunks: int, axis: int = 0) -> tuple[UOp, ...]:
    """At most that many parts along an axis; the last may be shorter."""
    at = normal_axis("chunk", axis, len(x.shape))
    count = whole_number("chunk", "chunks", chunks)
    if count < 1:
        raise ArgumentError(f"chunk: chunks is {count}; wanted 1 or more")
    n = known_size("chunk", x, at)
    length = max(1, -(-n // count))
    starts = range(0, max(n, 1), length)
    return _pieces(x, [min(length, n - start) for start in starts], at)


def unstack(x: UOp, axis: int = 0) -> tuple[UOp, ...]:
    """The slices along an axis, without it."""
    at = normal_axis("unstack", axis, len(x.shape))
    n = known_size("unstack", x, at)
    rest = (*x.shape[:at], *x.shape[at + 1 :])
    return tuple(reshape(part, rest) for part in _pieces(x, [1] * n, at))


def _split_ref(x: Any, sections: Any, axis: int = 0) -> Any:
    return np.split(x, sections, axis)


def _chunk_ref(x: Any, chunks: int, axis: int = 0) -> Any:
    length = -(-x.shape[axis] // chunks)
    return np.split(x, range(length, x.shape[axis], length), axis)


def _unstack_ref(x: Any, axis: int = 0) -> Any:
    return tuple(np.moveaxis(x, axis, 0))


primitive(
    "split",
    split,
    ref=_split_ref,
    samples=(
        sample(floats(6, 2), sections=3),
        sample(floats(2, 5), sections=(1, 3), axis=1),
    ),
    bad_samples=(
        (
            sample(floats(5), sections=2),
            "split: axis 0 of (5,) does not split into 2 equal parts",
        ),
    ),
    ulp=0,
)
primitive(
    "chunk",
    chunk,
    ref=_chunk_ref,
    samples=(
        sample(floats(5, 2), chunks=3),
        sample(floats(2, 7), chunks=2, axis=-1),
    ),
    bad_samples=((sample(floats(5), chunks=0), "chunk: chunks is 0; wanted 1"),),
    ulp=0,
)
primitive(
    "unstack",
    unstack,
    ref=_unstack_ref,
    samples=(sample(floats(3, 2)), sample(floats(2, 3, 4), axis=-1)),
    bad_samples=((sample(floats(3), axis=1), "unstack: axis 1 is outside -1..0"),),
    aliases=("unbind",),
    ulp=0,
)


# --- to one shape -------------------------------------------------------------------------------------------------


def broadcast_arrays(*arrays: UOp) -> list[UOp]:
    """Every tensor repeated to the shape in which all meet."""
    shape = broadcast_shape("broadcast_arrays", *(x.shape for x in arrays))
    return [broadcast_to(x, shape) for x in arrays]


def meshgrid(*arrays: UOp, indexing: str = "xy") -> list[UOp]:
    """Coordinates of a grid from those along its axes; "xy" has the first run along axis 1, "ij" along axis 0."""
    if indexing not in ("xy", "ij"):
        raise ArgumentError(
            f"meshgrid: indexing is {indexing!r}; wanted 'xy' or 'ij'"
        )
    for x in arrays:
        if len(x.shape) > 1:
            raise ShapeError(
                f"meshgrid: an axis is {show(x.shape)}; wanted a vector"
            )
    lines = [reshape(x, (-1,)) for x in arrays]
    order = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        order[:2] = 1, 0
    shape = tuple(lines[i].shape[0] for i in order)
    return [_along(x, order.index(i), shape) for i, x in enumerate(lines)]


def _along(x: UOp, axis: int, shape: Shape) -> UOp:
    aligned = [1 if i != axis else n for i, n in enumerate(shape)]
    return broadcast_to(reshape(x, aligned), shape)


primitive(
    "broadcast_arrays",
    broadcast_arrays,
    ref=lambda *arrays: np.broadcast_arrays(*arrays),
    samples=(
        sample(floats(3, 1), floats(4)),
        sample(floats(), floats(2, 3), ints(1, 3)),
    ),
    bad_samples=(
        (
            sample(floats(3), floats(4)),
            "broadcast_arrays: shapes (3,) and (4,) do not broadcast",
        ),
    ),
    ulp=0,
)
primitive(
    "meshgrid",
    meshgrid,
    ref=lambda *arrays, indexing="xy": np.meshgrid(*arrays, indexing=indexing),
    samples=(
        sample(floats(3), floats(4)),
        sample(floats(3), ints(2), floats(4), indexing="ij"),
    ),
    bad_samples=(
        (sample(floats(3), indexing="yx"), "meshgrid: indexing is 'yx'"),
        (sample(floats(3, 2)), "meshgrid: an axis is (3, 2); wanted a vector"),
    ),
    ulp=0,
)


def atleast_1d(x: UOp) -> UOp:
    """With one axis at least."""
    return x if x.shape else reshape(x, (1,))


def atleast_2d(x: UOp) -> UOp:
    """With two axes at least: a vector is a row."""
    return x if len(x.shape) > 1 else reshape(x, (1, *atleast_1d(x).shape))


def atleast_3d(x: UOp) -> UOp:
    """With three axes at least: a vector is in the middle, a matrix in front."""
    if len(x.shape) < 2:
        return reshape(x, (1, *atleast_1d(x).shape, 1))
    return x if len(x.shape) > 2 else reshape(x, (*x.shape, 1))


_RANKS = (sample(floats()), sample(floats(3)), sample(floats(2, 3)))
primitive("atleast_1d", atleast_1d, ref=np.atleast_1d, samples=_RANKS, ulp=0)
primitive("atleast_2d", atleast_2d, ref=np.atleast_2d, samples=_RANKS, ulp=0)
primitive("atleast_3d", atleast_3d, ref=np.atleast_3d, samples=_RANKS, ulp=0)


# --- differences --------------------------------------------------------------------------------------------------


def diff(
    x: UOp,
    prepend: UOp | None = None,
    append: UOp | None = None,
    *,
    axis: int = -1,
    n: int = 1,
) -> UOp:
    """What each element adds to the one before it, n times over."""
    at = normal_axis("diff", axis, len(x.shape))
    ends = (prepend, x, append)
    parts = [_as_end(part, x, at) for part in ends if part is not None]
    whole = concat(*parts, axis=at) if len(parts) > 1 else x
    for _ in range(whole_number("diff", "n", n)):
        length = known_size("diff", whole, at)
        ranges: list[tuple[Dim, Dim] | None] = [None] * len(whole.shape)
        ranges[at] = (min(1, length), length)
        later = shrink(whole, ranges)
        ranges[at] = (0, max(length - 1, 0))
        earlier = shrink(whole, ranges)
        minus = ew.not_equal if whole.dtype is dt.boolean else ew.subtract
        whole = minus(later, earlier)
    return whole


def _as_end(part: UOp, x: UOp, axis: int) -> UOp:
    if len(part.shape) == len(x.shape):
        return part
    shape = tuple(1 if i == axis else m for i, m in enumerate(x.shape))
    return broadcast_to(part, shape)


def _diff_ref(
    x: Any, prepend: Any = None, append: Any = None, axis: int = -1, n: int = 1
) -> Any:
    given = {"prepend": prepend, "append": append}
    ends = {name: value for name, value in given.items() if value is not None}
    return np.diff(x, n, axis, **ends)


primitive(
    "diff",
    diff,
    ref=_diff_ref,
    samples=(
        sample(floats(3, 5)),
        sample(ints(4, 3), axis=0, n=2),
        sample(floats(2, 3), floats(2, 1), floats(2, 2)),
        sample(bools(5)),
    ),
    bad_samples=((sample(floats(3), axis=1), "diff: axis 1 is outside -1..0"),),
    ulp=2,
)


def flipud(x: UOp) -> UOp:
    """Elements in reverse order along axis 0."""
    return flip(x, 0)


def fliplr(x: UOp) -> UOp:
    """Elements in reverse order along axis 1."""
    return flip(x, 1)


primitive("flipud", flipud, ref=np.flipud, samples=(sample(floats(3, 4)),), ulp=0)
primitive("fliplr", fliplr, ref=np.fliplr, samples=(sample(floats(3, 4)),), ulp=0)
