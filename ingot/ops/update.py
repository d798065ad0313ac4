"""A value with a part of it replaced: x[...] = v. In: a node, a Python index, a new part. Out: the whole as a new node.

Whole numbers, slices, None and Ellipsis become WHERE(inside, PAD(part), x), which fuses with what computes the part and
with what reads the whole.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ingot.errors import ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.shape import Shape, settled
from ingot.ops.indexing import getitem
from ingot.ops.movement import (
    Dim,
    broadcast_to,
    flip,
    reshape,
    show,
    shrink,
    size,
)
from ingot.ops.op import primitive
from ingot.ops.sample import floats, sample


class Place(NamedTuple):
    """Along one axis: elements start, start + step, ..., `length` of them, below `stop`; read from the back?"""

    start: Dim
    stop: Dim
    length: Dim
    step: int = 1
    backward: bool = False


def setitem(x: UOp, value: UOp, index: Any) -> UOp:
    """x with the part that a Python index names replaced by `value`, which broadcasts to it."""
    part = getitem(x, index)
    if 0 in part.shape:
        return x
    whole = spread(value, part.shape)
    parts = zip(_per_axis(x, index), x.shape, strict=True)
    axes = [_place(p, n) for p, n in parts]
    counts = tuple(place.length for place in axes)
    laid_out = _laid_out(reshape(whole, counts), axes, x.shape)
    if counts == x.shape:
        return laid_out
    # The mask is padded as the part is: where the part lies is a number for the kernel, not a part of its code.
    ones = broadcast_to(UOp.const(dt.boolean, True), counts)
    return _laid_out(ones, axes, x.shape).where(laid_out, x)


def set_where(x: UOp, mask: UOp, value: UOp) -> UOp:
    """x with `value`, which broadcasts, where the mask holds; the mask covers the leading axes of x."""
    if mask.shape != x.shape[: len(mask.shape)]:
        raise ShapeError(
            f"x[mask] = v: the mask is {show(mask.shape)}, x is {show(x.shape)}",
            fix="the mask has the shape of x, or of its first axes",
        )
    rest = len(x.shape) - len(mask.shape)
    inside = broadcast_to(reshape(mask, mask.shape + (1,) * rest), x.shape)
    return inside.where(spread(value, x.shape), x)


def spread(value: UOp, shape: Shape) -> UOp:
    """Leading axes of size 1 may stand in front, as in NumPy."""
    while len(value.shape) > len(shape) and value.shape[0] == 1:
        value = reshape(value, value.shape[1:])
    pairs = zip(reversed(value.shape), reversed(shape), strict=False)
    if len(value.shape) > len(shape) or any(n not in (1, m) for n, m in pairs):
        raise ShapeError(
            f"x[...] = v: v is {show(value.shape)}, the part is {show(shape)}",
            fix="give a number, or a value that broadcasts to the part",
        )
    return broadcast_to(value, shape)


# --- where the part lies --------------------------------------------------------------------------------------------


def _per_axis(x: UOp, index: Any) -> list[Any]:
    """One whole number or slice for each axis of x; getitem has checked them."""
    given = index if isinstance(index, tuple) else (index,)
    parts = [p for p in given if p is not None]
    missing = len(x.shape) - sum(p is not ... for p in parts)
    filled: list[Any] = []
    for part in parts if any(p is ... for p in parts) else (*parts, ...):
        filled.extend([slice(None)] * missing if part is ... else [part])
    return filled


def _place(part: Any, n: Dim) -> Place:
    if isinstance(part, slice):
        ends = (part.start, part.stop)
        if isinstance(n, int) and not any(isinstance(end, UOp) for end in ends):
            return _known_slice(range(n)[part])
        start = 0 if part.start is None else _from_end(part.start, n)
        stop = n if part.stop is None else _from_end(part.stop, n)
        return Place(start, stop, settled(stop - start))
    start = _from_end(part if isinstance(part, UOp) else int(part), n)
    return Place(start, start + 1, 1)


def _known_slice(places: range) -> Place:
    first, last = places[0], places[-1]
    low, high = min(first, last), max(first, last)
    return Place(low, high + 1, len(places), abs(places.step), places.step < 0)


def _from_end(place: Dim, n: Dim) -> Dim:
    return n + place if isinstance(place, int) and place < 0 else place


# --- laying it out --------------------------------------------------------------------------------------------------


def _laid_out(part: UOp, axes: list[Place], shape: Shape) -> UOp:
    """The part in the whole: turned, with gaps, at its place; zeros elsewhere."""
    for axis, place in enumerate(axes):
        if place.backward:
            part = flip(part, axis)
        if place.step > 1:
            part = _with_gaps(part, axis, place.step)
    widths = [
        w for p, n in zip(axes, shape, strict=True) for w in (p.start, n - p.stop)
    ]
    return _padded(part, widths)


def _with_gaps(x: UOp, axis: int, step: int) -> UOp:
    """Zeros between the elements: the next one is `step` further."""
    count = x.shape[axis]
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    columns = reshape(x, (*before, count, 1, *after))
    widths: list[Dim] = [0 for _ in columns.shape for _ in range(2)]
    widths[2 * axis + 3] = step - 1
    wide = _padded(columns, widths)
    row = reshape(wide, (*before, count * step, *after))
    used = count * step - (step - 1)
    return shrink(
        row, [(0, used) if a == axis else None for a in range(len(x.shape))]
    )


def _padded(x: UOp, widths: list[Dim]) -> UOp:
    if all(n == 0 for n in widths):
        return x
    return UOp(Ops.PAD, x.dtype, (x, *(size(n) for n in widths)))


def _replaced(x: Any, value: Any, index: Any) -> Any:
    made = x.copy()
    made[index] = value
    return made


primitive(
    "setitem",
    setitem,
    ref=_replaced,
    samples=(
        sample(floats(4, 5), floats(5), index=1),
        sample(floats(4, 5), floats(2), index=(slice(1, 3), -1)),
        sample(
            floats(4, 5),
            floats(2, 2),
            index=(slice(None, None, -2), slice(0, 5, 3)),
        ),
        sample(floats(4, 5), floats(1, 4, 1), index=(..., None, 2)),
        sample(floats(4, 5), floats(), index=(None, slice(3, 1))),
        sample(floats(2, 3, 4), floats(3, 1), index=(0, ..., slice(-1, -9, -1))),
        sample(floats(4, 5), floats(4, 5), index=...),
        sample(floats(), floats(), index=()),
    ),
    bad_samples=(
        (
            sample(floats(4, 5), floats(3), index=1),
            "x[...] = v: v is (3,), the part is (5,)",
        ),
        (sample(floats(4), floats(), index="a"), "index: str is no index here"),
    ),
    public=False,
)
