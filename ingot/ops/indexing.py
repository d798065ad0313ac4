"""x[...] with whole numbers, slices, None and Ellipsis. In: a node and a Python index. Out: moves (see movement.py)."""

from __future__ import annotations

from types import EllipsisType
from typing import Any

import numpy as np

from ingot.errors import ArgumentError, AxisError, ShapeError
from ingot.ir.node import UOp
from ingot.ops.axis import whole_number
from ingot.ops.movement import Dim, flip, reshape, show, shrink, stride
from ingot.ops.op import primitive
from ingot.ops.sample import floats, sample

Part = int | slice | None | EllipsisType
Cut = tuple[
    tuple[Dim, Dim], int, bool
]  # elements start..end-1, every step-th of them, from the back?


def getitem(x: UOp, index: Part | tuple[Part, ...]) -> UOp:
    """The part of x that a Python index names."""
    parts = _complete(x, index if isinstance(index, tuple) else (index,))
    cuts: list[Cut] = []
    kept: list[int | None] = []
    for part in parts:
        if part is None:
            kept.append(None)
            continue
        axis = len(cuts)
        cuts.append(
            _slice(part, axis, x)
            if isinstance(part, slice)
            else _single(part, axis, x)
        )
        if isinstance(part, slice):
            kept.append(axis)
    view = _cut(x, cuts)
    return reshape(
        view, tuple(1 if axis is None else view.shape[axis] for axis in kept)
    )


def _complete(x: UOp, index: tuple[Any, ...]) -> list[int | slice | None]:
    """One part per axis: Ellipsis, or the end, stands for the axes not named."""
    for part in index:
        _check_kind(part)
    named = sum(part is not None and part is not ... for part in index)
    missing = len(x.shape) - named
    if missing < 0 or sum(part is ... for part in index) > 1:
        raise AxisError(
            f"index: {_show(index)} has {named} places for {show(x.shape)}, which has {len(x.shape)} axes"
        )
    parts: list[int | slice | None] = []
    for part in index if any(part is ... for part in index) else (*index, ...):
        parts.extend([slice(None)] * missing if part is ... else [part])
    return parts


def _check_kind(part: object) -> None:
    allowed = (
        isinstance(part, int | np.integer | slice | EllipsisType | UOp)
        or part is None
    )
    if not allowed or isinstance(part, bool):
        raise ArgumentError(
            f"index: {type(part).__name__} is no index here",
            fix="wanted whole numbers, slices, None or ...",
        )


def _show(index: tuple[Any, ...]) -> str:
    return (
        "[" + ", ".join("..." if part is ... else str(part) for part in index) + "]"
    )


def _single(place: int, axis: int, x: UOp) -> Cut:
    n = x.shape[axis]
    if isinstance(place, UOp):
        return (place, place + 1), 1, False
    at = whole_number("index", "a place", place)
    if not isinstance(n, int):
        start = n + at if at < 0 else at
        return (start, start + 1), 1, False
    if not -n <= at < n:
        raise AxisError(
            f"index: {at} is outside axis {axis} of {show(x.shape)}, which takes {-n}..{n - 1}"
        )
    return (at % n, at % n + 1), 1, False


def _slice(part: slice, axis: int, x: UOp) -> Cut:
    n = x.shape[axis]
    if (
        not isinstance(n, int)
        or isinstance(part.start, UOp)
        or isinstance(part.stop, UOp)
    ):
        return _symbolic_slice(part, n, x)
    if part.step == 0:
        raise ArgumentError(
            "index: a slice has step 0", fix="give a step above or below 0"
        )
    places = range(n)[part]
    if not places:
        return (0, 0), 1, False
    low, high = min(places[0], places[-1]), max(places[0], places[-1])
    return (low, high + 1), abs(places.step), places.step < 0


def _symbolic_slice(part: slice, n: Dim, x: UOp) -> Cut:
    """start:stop of a size that is not known yet: nothing can be clipped, so the ends have to lie inside."""
    if part.step not in (None, 1):
        raise ShapeError(
            f"index: step {part.step} along a symbolic size of {show(x.shape)}",
            fix="leave the step out",
        )
    start = 0 if part.start is None else part.start
    stop = n if part.stop is None else part.stop
    return (_from_end(start, n), _from_end(stop, n)), 1, False


def _from_end(place: Dim, n: Dim) -> Dim:
    return n + place if isinstance(place, int) and place < 0 else place


def _cut(x: UOp, cuts: list[Cut]) -> UOp:
    view = shrink(x, [bounds for bounds, _, _ in cuts])
    backward = [axis for axis, (_, _, reverse) in enumerate(cuts) if reverse]
    turned = flip(view, backward) if backward else view
    return stride(turned, [step for _, step, _ in cuts])


primitive(
    "getitem",
    getitem,
    ref=lambda x, index: x[index],
    samples=(
        sample(floats(4, 5), index=1),
        sample(floats(4, 5), index=(slice(1, 3), -1)),
        sample(floats(4, 5), index=(slice(None, None, -2), slice(0, 5, 3))),
        sample(floats(4, 5), index=(..., None, 2)),
        sample(floats(4, 5), index=(None, slice(3, 1))),
        sample(floats(2, 3, 4), index=(0, ..., slice(-1, -9, -1))),
        sample(floats(), index=()),
    ),
    bad_samples=(
        (
            sample(floats(4, 5), index=4),
            "index: 4 is outside axis 0 of (4, 5), which takes -4..3",
        ),
        (
            sample(floats(4), index=(0, 0)),
            "index: [0, 0] has 2 places for (4,), which has 1 axes",
        ),
        (sample(floats(4), index="a"), "index: str is no index here"),
        (
            sample(floats(4), index=slice(None, None, 0)),
            "index: a slice has step 0",
        ),
    ),
    public=False,
)
