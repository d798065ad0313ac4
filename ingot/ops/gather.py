"""Reading at computed places: take, gather, embedding, one_hot. In: a value and whole numbers. Out: its elements there.

All of them are the opcode TAKE (places.py), so that they fuse with what computes the places and with what is done with
the elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.errors import ArgumentError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.shape import Shape, product
from ingot.ops import elementwise as ew
from ingot.ops.axis import normal_axis, whole_number
from ingot.ops.creation import counter
from ingot.ops.movement import broadcast_to, permute, reshape, show
from ingot.ops.op import primitive
from ingot.ops.places import places, take_at, whole
from ingot.ops.sample import Recipe, Sample, floats, ints, sample


def take(x: UOp, indices: UOp, axis: int | None = None) -> UOp:
    """The elements of x at `indices` along an axis; without one, x has to have a single axis."""
    if axis is None:
        if len(x.shape) != 1:
            raise ArgumentError(
                f"take: x is {show(x.shape)}, and no axis is given",
                fix="pass axis=..., or flatten x first",
            )
        axis = 0
    at = normal_axis("take", axis, len(x.shape))
    return taken_along(x, places("take", indices, x.shape[at]), at)


def taken_along(x: UOp, at: UOp, axis: int) -> UOp:
    """One axis of x becomes the axes of `at`, whose numbers are in range."""
    made, depth = take_at(x, [at], [axis]), len(at.shape)
    front = range(depth, depth + axis)
    return permute(
        made, [*front, *range(depth), *range(depth + axis, len(made.shape))]
    )


def index_select(x: UOp, dim: int, index: UOp) -> UOp:
    """The slices of x at `index`, a row of numbers, along an axis."""
    if len(index.shape) > 1:
        raise ShapeError(
            f"index_select: index is {show(index.shape)}; wanted one axis",
            fix="use ig.take for indices of any shape",
        )
    return take(x, reshape(index, (product(index.shape),)), dim)


def take_along_axis(x: UOp, indices: UOp, axis: int = -1) -> UOp:
    """x[.., indices[.., j, ..], ..]: along one axis each row has its own indices. Other axes broadcast."""
    at = normal_axis("take_along_axis", axis, len(x.shape))
    if len(indices.shape) != len(x.shape):
        raise _other_axes("take_along_axis", x, indices)
    shape = tuple(
        indices.shape[a] if a == at else _broadcast(x, indices, a)
        for a in range(len(x.shape))
    )
    full = tuple(x.shape[a] if a == at else n for a, n in enumerate(shape))
    return _along(
        "take_along_axis", broadcast_to(x, full), broadcast_to(indices, shape), at
    )


def _broadcast(x: UOp, indices: UOp, axis: int) -> Any:
    mine, theirs = x.shape[axis], indices.shape[axis]
    if not (mine is theirs or mine == theirs or 1 in (mine, theirs)):
        raise _other_axes("take_along_axis", x, indices)
    return theirs if mine == 1 else mine


def _other_axes(name: str, x: UOp, indices: UOp) -> ShapeError:
    return ShapeError(
        f"{name}: x is {show(x.shape)} and indices are {show(indices.shape)}: they differ in more than the axis",
        fix="give both the same number of axes, of equal sizes but for the one along which elements are taken",
    )


def gather(x: UOp, dim: int, index: UOp) -> UOp:
    """x[.., index[.., j, ..], ..] along one axis; index may be smaller than x along the others."""
    at = normal_axis("gather", dim, len(x.shape))
    if len(index.shape) != len(x.shape) or any(
        isinstance(n, int) and isinstance(m, int) and n > m
        for a, (n, m) in enumerate(zip(index.shape, x.shape, strict=True))
        if a != at
    ):
        raise _other_axes("gather", x, index)
    return _along("gather", x, index, at)


def _along(name: str, x: UOp, index: UOp, axis: int) -> UOp:
    """Every element of the result has coordinates of its own: its position, and along `axis` its index."""
    at = places(name, index, x.shape[axis])
    return along_axis(x, at, axis)


def along_axis(x: UOp, at: UOp, axis: int) -> UOp:
    """`take_along_axis` with numbers that are in range."""
    shape = at.shape
    coordinates = [
        at if a == axis else counter(shape, a) for a in range(len(shape))
    ]
    return take_at(x, coordinates, range(len(shape)))


def embedding(weight: UOp, indices: UOp) -> UOp:
    """The rows of a table."""
    if len(weight.shape) != 2:
        raise ShapeError(
            f"embedding: weight is {show(weight.shape)}; wanted (rows, features)",
            fix="the table comes first: ig.embedding(table, indices)",
        )
    return taken_along(weight, places("embedding", indices, weight.shape[0]), 0)


def one_hot(indices: UOp, num_classes: int = -1) -> UOp:
    """1 at each index, 0 elsewhere, along a new last axis."""
    at = whole("one_hot", indices)
    count = whole_number("one_hot", "num_classes", num_classes)
    if count < 1:
        raise ArgumentError(
            f"one_hot: num_classes is {count}; wanted at least 1",
            fix="the number of classes is a size: say it, as in num_classes=10",
        )
    shape: Shape = (*at.shape, count)
    spread = broadcast_to(
        reshape(places("one_hot", at, count), (*at.shape, 1)), shape
    )
    return ew.equal(counter(shape, len(shape) - 1), spread).cast(dt.int64)


# --- declarations -----------------------------------------------------------------------------------------------


def below(*shape: int, n: int, low: int = 0) -> Recipe:
    """Indices into `n` elements."""
    return ints(*shape, low=low, high=n)


def _gathered(x: Any, axis: int, index: Any) -> Any:
    grid = list(np.indices(index.shape))
    grid[axis] = index
    return x[tuple(grid)]


def _hot(indices: Any, num_classes: int) -> Any:
    return np.eye(num_classes, dtype=np.int64)[indices]


primitive(
    "take",
    take,
    ref=lambda x, indices, axis=None: np.take(x, indices, axis),
    samples=(
        sample(floats(5, 6), below(4, n=5), axis=0),
        sample(floats(5, 6), below(2, 3, n=6, low=-6), axis=1),
        sample(floats(2, 3, 4), below(5, n=3), axis=-2),
        sample(floats(7), below(n=7)),
        sample(floats(4, 3), ints(0, low=0, high=3), axis=1),
        sample(floats(0, 3), below(4, n=3), axis=1),
        sample(ints(6), below(3, n=6), axis=0),
    ),
    bad_samples=(
        (
            sample(floats(5, 6), floats(3), axis=0),
            "take: indices are float64; wanted whole",
        ),
        (
            sample(floats(5, 6), below(3, n=5)),
            "take: x is (5, 6), and no axis is given",
        ),
        (
            sample(floats(0), below(3, n=5)),
            "take: an axis of 0 elements has none to take",
        ),
    ),
)
primitive(
    "index_select",
    index_select,
    ref=lambda x, axis, index: np.take(x, np.ravel(index), axis),
    samples=(Sample((floats(5, 6), 1, below(4, n=6)), {}),),
    bad_samples=(
        (
            Sample((floats(5, 6), 1, below(2, 2, n=6)), {}),
            "index_select: index is (2, 2)",
        ),
    ),
)
primitive(
    "take_along_axis",
    take_along_axis,
    ref=lambda x, indices, axis=-1: np.take_along_axis(x, indices, axis),
    samples=(
        sample(floats(5, 6), below(5, 3, n=6)),
        sample(floats(5, 6), below(2, 6, n=5, low=-5), axis=0),
        sample(floats(5, 6), below(1, 6, n=5), axis=0),
        sample(floats(1, 6), below(4, 3, n=6), axis=1),
        sample(floats(2, 3, 4), below(2, 5, 4, n=3), axis=1),
    ),
    bad_samples=(
        (
            sample(floats(5, 6), below(3, n=6)),
            "take_along_axis: x is (5, 6) and indices are (3,)",
        ),
        (
            sample(floats(5, 6), below(4, 3, n=6)),
            "take_along_axis: x is (5, 6) and indices are (4, 3)",
        ),
    ),
)
primitive(
    "gather",
    gather,
    ref=_gathered,
    samples=(
        Sample((floats(5, 6), 1, below(3, 4, n=6)), {}),
        Sample((floats(5, 6), 0, below(8, 2, n=5)), {}),
    ),
    bad_samples=(
        (
            Sample((floats(5, 6), 1, below(9, 2, n=6)), {}),
            "gather: x is (5, 6) and indices are (9, 2)",
        ),
    ),
)
primitive(
    "embedding",
    embedding,
    ref=lambda weight, indices: weight[indices],
    samples=(
        sample(floats(9, 4), below(2, 3, n=9)),
        sample(floats(9, 4), below(n=9)),
    ),
    bad_samples=(
        (sample(floats(9), below(2, n=9)), "embedding: weight is (9,); wanted"),
    ),
)
primitive(
    "one_hot",
    one_hot,
    ref=_hot,
    samples=(
        sample(below(3, 2, n=5), num_classes=5),
        sample(below(n=4), num_classes=4),
    ),
    bad_samples=(
        (sample(below(3, n=5)), "one_hot: num_classes is -1; wanted at least 1"),
        (sample(floats(3), num_classes=4), "one_hot: indices are float64"),
    ),
)
