"""x[...]: whole numbers, slices, None, Ellipsis, tensors of indices and masks, by NumPy's rules.

In: a node and a Python index. Out: moves (movement.py) for what is known now, TAKE for places that are computed.
`Plan` reads an index once, for reading here and for writing in scatter.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import numpy as np

from ingot.errors import ArgumentError, AxisError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.shape import Shape, product, same, same_dim
from ingot.ops import elementwise as ew
from ingot.ops.axis import whole_number
from ingot.ops.creation import counter
from ingot.ops.movement import (
    Dim,
    broadcast_shape,
    broadcast_to,
    flip,
    permute,
    reshape,
    show,
    shrink,
    stride,
)
from ingot.ops.op import primitive
from ingot.ops.places import extent, picked, places, take_at, that_many, where_true
from ingot.ops.sample import bools, floats, ints, sample

Part = int | slice | None | EllipsisType | UOp
Cut = tuple[
    tuple[Dim, Dim], int, bool
]  # elements start..end-1, every step-th of them, from the back?


@dataclass(frozen=True, slots=True)
class Plan:
    """An index taken apart: a cut of every axis, where its result's axes come from, and tensors for some axes.

    `kept` names, for every axis of the result that no tensor makes, the axis of x, or None for a new one. `front` of
    them come before the axes of the tensors.
    """

    x: UOp
    cuts: list[Cut]
    kept: list[int | None]
    tensors: dict[int, UOp]
    front: int


def getitem(x: UOp, index: Part | tuple[Part, ...]) -> UOp:
    """The part of x that a Python index names."""
    if isinstance(index, UOp) and index.dtype is dt.boolean and not index.shape:
        # One condition for the whole: x once, or not at all, along a new axis.
        return read(planned(reshape(x, (1, *x.shape)), reshape(index, (1,))))
    mask = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    if (
        isinstance(mask, UOp)
        and mask.dtype is dt.boolean
        and same(mask.shape, x.shape)
    ):
        return picked(mask, x) if mask.shape else read(planned(x, index))
    return read(planned(x, index))


def read(plan: Plan) -> UOp:
    """The elements that a plan names."""
    view = _cut(plan.x, plan.cuts)
    if not plan.tensors:
        return reshape(view, _kept_shape(view, plan.kept))
    axes = sorted(plan.tensors)
    taken = take_at(view, [plan.tensors[a] for a in axes], axes)
    depth = len(plan.tensors[axes[0]].shape)
    rest = iter(taken.shape[depth:])
    kept = [1 if axis is None else next(rest) for axis in plan.kept]
    placed = reshape(taken, (*taken.shape[:depth], *kept))
    first = range(depth, depth + plan.front)
    last = range(depth + plan.front, len(placed.shape))
    return permute(placed, [*first, *range(depth), *last])


def _kept_shape(view: UOp, kept: list[int | None]) -> Shape:
    return tuple(1 if axis is None else view.shape[axis] for axis in kept)


# --- taking an index apart ----------------------------------------------------------------------------------------


def planned(
    x: UOp, index: Part | tuple[Part, ...], length: int | None = None
) -> Plan:
    """What an index says about x. `length`: how many elements a mask has to name, where that is known."""
    parts = _complete(x, index if isinstance(index, tuple) else (index,))
    with_tensors = any(_is_tensor(part) for part in parts)
    length = length or _known_length(parts)
    cuts: list[Cut] = []
    kept: list[int | None] = []
    tensors: dict[int, UOp] = {}
    fronts: list[int] = []
    for part in parts:
        axis = len(cuts)
        if part is None:
            kept.append(None)
        elif isinstance(part, slice):
            cuts.append(_slice(part, axis, x))
            kept.append(axis)
        elif with_tensors:
            fronts.append(len(kept))
            for at in _tensor_parts(part, axis, x, length):
                tensors[len(cuts)] = at
                cuts.append(((0, x.shape[len(cuts)]), 1, False))
        else:
            cuts.append(_single(part, axis, x))
    # NumPy: tensors that stand side by side leave their axes in their place, others in front of all.
    together = all(front == fronts[0] for front in fronts)
    front = fronts[0] if fronts and together else 0
    return Plan(x, cuts, kept, _one_shape(tensors), front)


def _is_tensor(part: object) -> bool:
    """A tensor of indices; a scalar of type `index` is a place, like an int."""
    return isinstance(part, UOp) and part.dtype is not dt.index


def _known_length(parts: list[Any]) -> int | None:
    """How many places a mask has to name beside tensors of indices, if those say it."""
    beside = [
        p for p in parts if _is_tensor(p) and p.dtype is not dt.boolean and p.shape
    ]
    found = {p.shape[-1] for p in beside} - {1}
    return next((n for n in found if isinstance(n, int)), None)


def _tensor_parts(part: Any, axis: int, x: UOp, length: int | None) -> list[UOp]:
    """The indices that a tensor, or an int beside one, has for the axes that it names."""
    n = x.shape[axis]
    if not isinstance(part, UOp):
        (start, _), _, _ = _single(part, axis, x)
        return [extent(start)]
    if part.dtype is dt.index:
        return [part.cast(dt.int64)]
    if part.dtype is not dt.boolean:
        return [places("index", part, n)]
    found = where_true(part) if length is None else that_many(part, length)
    return unravelled(found, part.shape)


def unravelled(at: UOp, shape: Shape) -> list[UOp]:
    """Coordinates from places in memory."""
    found: list[UOp] = []
    for n in reversed(shape[1:]):
        wide = broadcast_to(extent(n), at.shape)
        found.insert(0, at % wide)
        at = at // wide
    return [at, *found]


def _one_shape(tensors: dict[int, UOp]) -> dict[int, UOp]:
    shape = broadcast_shape("index", *(t.shape for t in tensors.values()))
    return {axis: broadcast_to(t, shape) for axis, t in tensors.items()}


def _complete(x: UOp, index: tuple[Any, ...]) -> list[Any]:
    """One part per axis, or several axes for a mask: Ellipsis, or the end, stands for the axes not named."""
    for part in index:
        _check_kind(part)
    named = sum(_named_axes(part) for part in index)
    missing = len(x.shape) - named
    if missing < 0 or sum(part is ... for part in index) > 1:
        raise AxisError(
            f"index: {_show(index)} has {named} places for {show(x.shape)}, which has {len(x.shape)} axes",
            fix="give at most one index for each axis; None adds an axis, one ... stands for those left out",
        )
    parts: list[Any] = []
    for part in index if any(part is ... for part in index) else (*index, ...):
        parts.extend([slice(None)] * missing if part is ... else [part])
    _check_masks(x, parts)
    return parts


def _named_axes(part: object) -> int:
    if part is None or part is ...:
        return 0
    is_mask = isinstance(part, UOp) and part.dtype is dt.boolean
    return len(part.shape) if isinstance(part, UOp) and is_mask else 1


def _check_masks(x: UOp, parts: list[Any]) -> None:
    axis = 0
    for part in parts:
        if isinstance(part, UOp) and part.dtype is dt.boolean:
            _check_mask(x, part, axis)
        axis += _named_axes(part)


def _check_mask(x: UOp, mask: UOp, axis: int) -> None:
    covered = x.shape[axis : axis + len(mask.shape)]
    if not mask.shape:
        raise ArgumentError(
            "index: a mask without axes",
            fix="use ig.where to choose by one condition",
        )
    if any(
        isinstance(a, int) and isinstance(b, int) and a != b
        for a, b in zip(mask.shape, covered, strict=True)
    ):
        raise ShapeError(
            f"index: a mask of {show(mask.shape)} over axes {show(covered)} of {show(x.shape)}: sizes have to be equal",
            fix="a mask is made of the tensor that it chooses from: x[x > 0]",
        )


def _check_kind(part: object) -> None:
    allowed = (
        isinstance(part, int | np.integer | slice | EllipsisType | UOp)
        or part is None
    )
    if not allowed or isinstance(part, bool):
        raise ArgumentError(
            f"index: {type(part).__name__} is no index here: {part!r}",
            fix=_INDEX_FIXES.get(type(part), "")
            or "wanted whole numbers, slices, None, ..., or tensors of whole numbers or bools",
        )


_INDEX_FIXES: dict[type, str] = {
    float: "round it: x[int(i)] or x[a // b]",
    str: "axes have no names: write x[:, 2] for column 2, or keep tensors in a dictionary",
    bool: "choose with a mask of the tensor's own shape, for example x[x > 0]",
}


def _show(index: tuple[Any, ...]) -> str:
    words = ("..." if part is ... else _word(part) for part in index)
    return "[" + ", ".join(words) + "]"


def _word(part: object) -> str:
    if isinstance(part, UOp) and _is_tensor(part):
        return f"{part.dtype}{show(part.shape)}"
    return str(part)


def _single(place: Any, axis: int, x: UOp) -> Cut:
    n = x.shape[axis]
    if isinstance(place, UOp):
        return (place, place + 1), 1, False
    at = whole_number("index", "a place", place)
    if not isinstance(n, int):
        start = n + at if at < 0 else at
        return (start, start + 1), 1, False
    if not -n <= at < n:
        raise AxisError(
            f"index: {at} is outside axis {axis} of {show(x.shape)}, which takes {-n}..{n - 1}",
            fix="indices count from 0; the last element is -1"
            if n
            else "the axis is empty",
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
    found = range(n)[part]
    if not found:
        return (0, 0), 1, False
    low, high = min(found[0], found[-1]), max(found[0], found[-1])
    return (low, high + 1), abs(found.step), found.step < 0


def _symbolic_slice(part: slice, n: Dim, x: UOp) -> Cut:
    """start:stop of a size that is not known yet: nothing can be clipped, so the ends have to lie inside."""
    if part.step == -1 and part.start is None and part.stop is None:
        return (0, n), 1, True
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


def is_whole(cut: Cut, n: Dim) -> bool:
    """All of an axis, as it is."""
    (start, end), step, backward = cut
    whole = same_dim(start, 0) and same_dim(end, n)
    return whole and step == 1 and not backward


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


def masked_select(x: UOp, mask: UOp) -> UOp:
    """The elements of x where a mask holds, in a row."""
    shape = broadcast_shape("masked_select", x.shape, mask.shape)
    flags = broadcast_to(ew.astype(mask, dt.boolean), shape)
    return getitem(broadcast_to(x, shape), flags)


def nonzero(x: UOp) -> tuple[UOp, ...]:
    """The coordinates of all elements that are not 0: a tensor an axis."""
    if not x.shape:
        raise ShapeError("nonzero: x has no axes", fix="reshape it to (1,)")
    flags = ew.astype(x, dt.boolean)
    return tuple(unravelled(where_true(flags), x.shape))


def argwhere(x: UOp) -> UOp:
    """The coordinates of all elements that are not 0: a row each."""
    found = nonzero(x)
    columns = [reshape(at, (at.shape[0], 1)) for at in found]
    return _beside(columns)


def _beside(columns: list[UOp]) -> UOp:
    """Columns as one matrix: each is taken by its number."""
    rows = columns[0].shape[0]
    made = broadcast_to(columns[0], (rows, len(columns)))
    for number, column in enumerate(columns[1:], 1):
        which = ew.equal(_column_numbers(len(columns)), number)
        made = ew.where(which, broadcast_to(column, made.shape), made)
    return made


def _column_numbers(count: int) -> UOp:
    return reshape(counter((count,), 0), (1, count))


def flatnonzero(x: UOp) -> UOp:
    """The places of all elements that are not 0, as x lies in memory."""
    return where_true(ew.astype(reshape(x, (product(x.shape),)), dt.boolean))


primitive(
    "masked_select",
    masked_select,
    ref=lambda x, mask: np.broadcast_arrays(x, mask)[0][
        np.broadcast_arrays(x, mask)[1]
    ],
    samples=(sample(floats(4, 5), bools(4, 5)), sample(floats(4, 5), bools(5))),
    bad_samples=(
        (
            sample(floats(4), bools(3)),
            "masked_select: shapes (4,) and (3,) do not broadcast",
        ),
    ),
)
primitive(
    "argwhere",
    argwhere,
    ref=np.argwhere,
    samples=(sample(ints(4, 5, low=0, high=2)), sample(bools(7))),
    bad_samples=((sample(floats()), "nonzero: x has no axes"),),
)
primitive(
    "flatnonzero",
    flatnonzero,
    ref=np.flatnonzero,
    samples=(sample(ints(4, 5, low=0, high=2)), sample(floats(0))),
)
primitive(
    "nonzero",
    nonzero,
    ref=np.nonzero,
    samples=(sample(ints(4, 5, low=0, high=2)), sample(bools(7))),
    bad_samples=((sample(floats()), "nonzero: x has no axes"),),
)
