"""Elements in another order or number: repeat, tile, roll, diagonals, triangles, borders. In: a tensor. Out: a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.errors import ArgumentError, ShapeError
from ingot.ir.node import UOp
from ingot.ir.shape import product
from ingot.ops import elementwise as ew
from ingot.ops.axis import Axes, normal_axes, normal_axis, whole_number
from ingot.ops.creation import counter
from ingot.ops.joining import concat, known_size
from ingot.ops.movement import (
    Dim,
    Sizes,
    broadcast_to,
    flip,
    pad,
    pad_zeros,
    permute,
    reshape,
    show,
    shrink,
    sizes,
    stride,
    transpose,
    window,
)
from ingot.ops.op import primitive
from ingot.ops.sample import bools, floats, ints, sample

Repeats = int | Sequence[int]


def part(x: UOp, axis: int, start: Dim, end: Dim) -> UOp:
    """Elements start..end-1 of one axis."""
    ranges: list[tuple[Dim, Dim] | None] = [None] * len(x.shape)
    ranges[axis] = (start, end)
    return shrink(x, ranges)


def grown(x: UOp, axis: int, count: Dim) -> UOp:
    """An axis of size 1 repeated."""
    return broadcast_to(x, (*x.shape[:axis], count, *x.shape[axis + 1 :]))


# --- more of the same ---------------------------------------------------------------------------------------------


def repeat(x: UOp, repeats: Repeats, axis: int | None = None) -> UOp:
    """Every element that many times in a row; without an axis, of the elements in a row."""
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    at = normal_axis("repeat", axis, len(x.shape))
    counts = _counts(repeats)
    if len(counts) == 1:
        inner = reshape(x, (*x.shape[: at + 1], 1, *x.shape[at + 1 :]))
        longer = grown(inner, at + 1, counts[0])
        total = x.shape[at] * counts[0]
        return reshape(longer, (*x.shape[:at], total, *x.shape[at + 1 :]))
    if len(counts) != known_size("repeat", x, at):
        raise ShapeError(
            f"repeat: {len(counts)} counts for axis {at} of {show(x.shape)}",
            fix=f"give one count, or {x.shape[at]}",
        )
    pieces = [grown(part(x, at, i, i + 1), at, n) for i, n in enumerate(counts)]
    return concat(*pieces, axis=at) if pieces else x


def _counts(repeats: Any) -> list[int]:
    """One count or several; a tensor of them is looked at here."""
    shape = getattr(repeats, "shape", None)
    several = (
        list(repeats) if shape != () and hasattr(repeats, "__len__") else [repeats]
    )
    counts = [whole_number("repeat", "a count", n) for n in several]
    if min(counts, default=0) < 0:
        raise ArgumentError(f"repeat: a count is {min(counts)}; wanted 0 or more")
    return counts


def tile(x: UOp, repetitions: Sizes) -> UOp:
    """The whole tensor that many times along each axis; missing axes are new ones in front."""
    times = sizes("tile", repetitions)
    missing = len(times) - len(x.shape)
    if missing > 0:
        x = reshape(x, (*(1,) * missing, *x.shape))
    times = (*(1,) * -missing, *times)
    shape: list[Dim] = []
    full: list[Dim] = []
    for count, n in zip(times, x.shape, strict=True):
        shape += [1, n]
        full += [count, n]
    spread = broadcast_to(reshape(x, shape), tuple(full))
    return reshape(spread, [a * b for a, b in zip(times, x.shape, strict=True)])


primitive(
    "repeat",
    repeat,
    ref=lambda x, repeats, axis=None: np.repeat(x, repeats, axis),
    samples=(
        sample(floats(2, 3), repeats=2),
        sample(floats(2, 3), repeats=3, axis=1),
        sample(floats(2, 3), repeats=(2, 0, 1), axis=-1),
        sample(floats(), repeats=2),
    ),
    bad_samples=(
        (
            sample(floats(2, 3), repeats=(1, 2), axis=1),
            "repeat: 2 counts for axis 1 of (2, 3)",
        ),
        (sample(floats(3), repeats=-1), "repeat: a count is -1; wanted 0 or more"),
    ),
    aliases=("repeat_interleave",),
    ulp=0,
)
primitive(
    "tile",
    tile,
    ref=lambda x, repetitions: np.tile(x, repetitions),
    samples=(
        sample(floats(2, 3), repetitions=(2, 2)),
        sample(floats(3), repetitions=(2, 1, 2)),
        sample(floats(2, 3), repetitions=2),
        sample(floats(2, 3), repetitions=(0, 1)),
    ),
    bad_samples=(
        (
            sample(floats(3), repetitions=(1.5,)),
            "tile: a size is 1.5; wanted a whole number",
        ),
    ),
    spread="repetitions",
    ulp=0,
)


# --- round and round ----------------------------------------------------------------------------------------------


def roll(x: UOp, shift: Repeats, axis: Axes = None) -> UOp:
    """Elements moved on along axes; those that leave the end come in at the start."""
    if axis is None:
        return reshape(roll(reshape(x, (-1,)), shift, 0), x.shape)
    axes = [axis] if not isinstance(axis, Sequence) else list(axis)
    shifts = list(shift) if isinstance(shift, Sequence) else [shift] * len(axes)
    if len(shifts) != len(axes):
        raise ArgumentError(
            f"roll: {len(shifts)} shifts for {len(axes)} axes",
            fix="give one shift, or one for each axis",
        )
    for one, by in zip(axes, shifts, strict=True):
        at = normal_axis("roll", one, len(x.shape))
        x = _rolled(x, whole_number("roll", "a shift", by), at)
    return x


def _rolled(x: UOp, by: int, axis: int) -> UOp:
    n = known_size("roll", x, axis)
    first = -by % n if n else 0
    if first == 0:
        return x
    return concat(part(x, axis, first, n), part(x, axis, 0, first), axis=axis)


def rot90(x: UOp, k: int = 1, axes: Sequence[int] = (0, 1)) -> UOp:
    """Turned by k quarter turns in the plane of two axes, from the first to the second."""
    if len(axes) != 2:
        raise ArgumentError(f"rot90: axes are {tuple(axes)}; wanted two")
    first, second = (normal_axis("rot90", a, len(x.shape)) for a in axes)
    if first == second:
        raise ArgumentError(
            f"rot90: axes are {tuple(axes)}; wanted two that differ"
        )
    turns = k % 4
    if turns == 2:
        return flip(x, (first, second))
    if turns == 1:
        return transpose(flip(x, second), first, second)
    return flip(transpose(x, first, second), second) if turns else x


primitive(
    "roll",
    roll,
    ref=lambda x, shift, axis=None: np.roll(x, shift, axis),
    samples=(
        sample(floats(3, 4), shift=1),
        sample(floats(3, 4), shift=-2, axis=1),
        sample(floats(3, 4), shift=(1, 5), axis=(0, 1)),
        sample(floats(0, 3), shift=2, axis=0),
    ),
    bad_samples=(
        (sample(floats(3), shift=(1, 2), axis=0), "roll: 2 shifts for 1 axes"),
    ),
    ulp=0,
)
primitive(
    "rot90",
    rot90,
    ref=lambda x, k=1, axes=(0, 1): np.rot90(x, k, axes),
    samples=(
        *(sample(floats(2, 3), k=k) for k in (-1, 0, 1, 2)),
        sample(floats(2, 3, 4), axes=(2, 0)),
    ),
    bad_samples=(
        (sample(floats(2, 3), axes=(0,)), "rot90: axes are (0,); wanted two"),
    ),
    ulp=0,
)


# --- diagonals ----------------------------------------------------------------------------------------------------


def diagonal(x: UOp, offset: int = 0, axis1: int = 0, axis2: int = 1) -> UOp:
    """The elements whose places along two axes differ by `offset`, along a new last axis."""
    rank = len(x.shape)
    first, second = (normal_axis("diagonal", a, rank) for a in (axis1, axis2))
    if first == second:
        raise ArgumentError("diagonal: axis1 and axis2 are the same axis")
    rest = [i for i in range(rank) if i not in (first, second)]
    moved = permute(x, [*rest, first, second])
    return _main_diagonal(_square_part(moved, offset))


def _square_part(x: UOp, offset: int) -> UOp:
    """The largest square whose diagonal is the one asked for."""
    rows, columns = (known_size("diagonal", x, a) for a in (-2, -1))
    top, left = max(-offset, 0), max(offset, 0)
    n = max(0, min(rows - top, columns - left))
    top, left = min(top, rows - n), min(left, columns - n)
    kept: list[tuple[Dim, Dim] | None] = [None] * (len(x.shape) - 2)
    return shrink(x, [*kept, (top, top + n), (left, left + n)])


def _main_diagonal(x: UOp) -> UOp:
    """n more elements make a square of rows as long as n + 1: the diagonal is its first column."""
    *batch, n, _ = x.shape
    flat = reshape(x, (*batch, n * n))
    longer = pad_zeros(flat, [*((0, 0) for _ in batch), (0, n)])
    shifted = reshape(longer, (*batch, n, n + 1))
    return reshape(part(shifted, len(batch) + 1, 0, 1), (*batch, n))


def diag(x: UOp, offset: int = 0) -> UOp:
    """A matrix with x on its diagonal; of a matrix, its diagonal."""
    if len(x.shape) == 2:
        return diagonal(x, offset)
    if len(x.shape) != 1:
        raise ShapeError(
            f"diag: x is {show(x.shape)}; wanted a vector or a matrix",
            fix="use diagonal(...) for more axes",
        )
    n = x.shape[0]
    column = pad_zeros(reshape(x, (n, 1)), [(0, 0), (0, n)])
    square = reshape(part(reshape(column, (n * (n + 1),)), 0, 0, n * n), (n, n))
    down, right = max(-offset, 0), max(offset, 0)
    return pad(square, ((down, right), (right, down)))


primitive(
    "diagonal",
    diagonal,
    ref=lambda x, offset=0, axis1=0, axis2=1: np.diagonal(x, offset, axis1, axis2),
    samples=(
        sample(floats(3, 4)),
        sample(floats(3, 4), offset=2),
        sample(floats(2, 4, 3), offset=-1, axis1=1, axis2=2),
        sample(floats(3, 4), offset=5),
    ),
    bad_samples=(
        (
            sample(floats(3, 4), axis2=0),
            "diagonal: axis1 and axis2 are the same axis",
        ),
    ),
    ulp=0,
)
primitive(
    "diag",
    diag,
    ref=lambda x, offset=0: np.diag(x, offset),
    samples=(
        sample(floats(3)),
        sample(floats(3), offset=-1),
        sample(floats(3, 4), offset=1),
    ),
    bad_samples=(
        (sample(floats(2, 2, 2)), "diag: x is (2, 2, 2); wanted a vector"),
    ),
    ulp=0,
)


# --- triangles ----------------------------------------------------------------------------------------------------


def tril(x: UOp, diagonal: int = 0) -> UOp:
    """The elements on and below a diagonal; 0 elsewhere."""
    return ew.where(_below("tril", x, diagonal), x, _zero(x))


def triu(x: UOp, diagonal: int = 0) -> UOp:
    """The elements on and above a diagonal; 0 elsewhere."""
    return ew.where(_below("triu", x, diagonal - 1), _zero(x), x)


def _zero(x: UOp) -> UOp:
    return ew.constant(0, x.dtype, x.shape)


def _below(name: str, x: UOp, diagonal: int) -> UOp:
    rank = len(x.shape)
    if rank < 2:
        raise ShapeError(
            f"{name}: x is {show(x.shape)}; wanted a matrix, or several"
        )
    row, column = counter(x.shape, rank - 2), counter(x.shape, rank - 1)
    return ew.less_equal(column, ew.add(row, diagonal))


_MATRICES = (
    sample(floats(3, 4)),
    sample(floats(2, 4, 3), diagonal=1),
    sample(ints(3, 3), diagonal=-1),
    sample(bools(3, 3)),
)
primitive(
    "tril",
    tril,
    ref=lambda x, diagonal=0: np.tril(x, diagonal),
    samples=_MATRICES,
    bad_samples=((sample(floats(3)), "tril: x is (3,); wanted a matrix"),),
    ulp=0,
)
primitive(
    "triu",
    triu,
    ref=lambda x, diagonal=0: np.triu(x, diagonal),
    samples=_MATRICES,
    bad_samples=((sample(floats(3)), "triu: x is (3,); wanted a matrix"),),
    ulp=0,
)


# --- axes ---------------------------------------------------------------------------------------------------------


def moveaxis(
    x: UOp, source: int | Sequence[int], destination: int | Sequence[int]
) -> UOp:
    """Axes at `source` moved to `destination`; the others keep their order."""
    rank = len(x.shape)
    origins = _several("moveaxis", source, rank)
    targets = _several("moveaxis", destination, rank)
    if len(origins) != len(targets):
        raise ArgumentError(
            f"moveaxis: {len(origins)} axes are moved to {len(targets)} places"
        )
    order = [axis for axis in range(rank) if axis not in origins]
    for target, origin in sorted(zip(targets, origins, strict=True)):
        order.insert(target, origin)
    return permute(x, order)


def _several(name: str, given: int | Sequence[int], rank: int) -> list[int]:
    axes = list(given) if isinstance(given, Sequence) else [given]
    normal_axes(name, axes, rank)
    return [normal_axis(name, a, rank) for a in axes]


def unflatten(x: UOp, axis: int, shape: Sizes) -> UOp:
    """One axis as several; one -1 is worked out."""
    at = normal_axis("unflatten", axis, len(x.shape))
    inner = reshape(part_of_shape(x, at), sizes("unflatten", shape)).shape
    return reshape(x, (*x.shape[:at], *inner, *x.shape[at + 1 :]))


def part_of_shape(x: UOp, axis: int) -> UOp:
    """Something of the size of one axis, to work out shapes with."""
    return ew.constant(0, x.dtype, (x.shape[axis],))


def narrow(x: UOp, axis: int, start: int, length: int) -> UOp:
    """`length` elements of an axis from `start` on."""
    at = normal_axis("narrow", axis, len(x.shape))
    n = x.shape[at]
    first = start + n if start < 0 else start
    return part(x, at, first, first + length)


def unfold(x: UOp, axis: int, length: int, step: int = 1) -> UOp:
    """All runs of `length` along an axis, every `step`-th of them, along a new last axis."""
    at = normal_axis("unfold", axis, len(x.shape))
    runs = window(x, at, length)
    steps = [1] * len(runs.shape)
    steps[at] = whole_number("unfold", "step", step)
    return stride(runs, steps)


def ravel(x: UOp) -> UOp:
    """All elements in a row."""
    return reshape(x, (product(x.shape),))


def _unfold_ref(x: Any, axis: int, length: int, step: int = 1) -> Any:
    runs = np.lib.stride_tricks.sliding_window_view(x, length, axis)
    index = [slice(None)] * runs.ndim
    index[axis] = slice(None, None, step)
    return runs[tuple(index)]


def _unflatten_ref(x: Any, axis: int, shape: Any) -> Any:
    at = axis % x.ndim
    return x.reshape(*x.shape[:at], *shape, *x.shape[at + 1 :])


primitive(
    "moveaxis",
    moveaxis,
    ref=np.moveaxis,
    samples=(
        sample(floats(2, 3, 4), source=0, destination=-1),
        sample(floats(2, 3, 4), source=(0, 1), destination=(2, 0)),
    ),
    bad_samples=(
        (
            sample(floats(2, 3), source=(0, 1), destination=0),
            "moveaxis: 2 axes are moved to 1 places",
        ),
        (
            sample(floats(2, 3), source=2, destination=0),
            "moveaxis: axis 2 is outside",
        ),
    ),
    aliases=("movedim",),
    ulp=0,
)
primitive(
    "unflatten",
    unflatten,
    ref=_unflatten_ref,
    samples=(
        sample(floats(2, 6), axis=1, shape=(2, 3)),
        sample(floats(12, 2), axis=0, shape=(3, -1)),
    ),
    bad_samples=(
        (
            sample(floats(2, 6), axis=1, shape=(4, -1)),
            "reshape: (6,) has 6 elements, which do not fill (4, -1)",
        ),
    ),
    ulp=0,
)
primitive(
    "narrow",
    narrow,
    ref=lambda x, axis, start, length: np.take(
        x, range(start, start + length), axis
    ),
    samples=(
        sample(floats(4, 5), axis=1, start=1, length=3),
        sample(floats(4), axis=0, start=-2, length=2),
    ),
    bad_samples=(
        (
            sample(floats(4), axis=0, start=2, length=3),
            "shrink: 2..5 is outside 0..4",
        ),
    ),
    ulp=0,
)
primitive(
    "unfold",
    unfold,
    ref=_unfold_ref,
    samples=(
        sample(floats(7), axis=0, length=3, step=2),
        sample(floats(2, 6), axis=1, length=2),
    ),
    bad_samples=(
        (
            sample(floats(3), axis=0, length=4),
            "window: length 4 does not fit axis 0",
        ),
    ),
    ulp=0,
)
primitive("ravel", ravel, ref=np.ravel, samples=(sample(floats(2, 3)),), ulp=0)
