"""Moving without computing: reshape, permute, expand, pad, shrink, flip, stride, window. In: a node. Out: a view of it.

Builders leave out what does nothing and join a move with the same kind of move before it, so that one view has one
node. Sizes may be symbolic; a view whose size has to be known then says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.errors import ArgumentError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.algebra import simplify
from ingot.ir.dtype import Scalar
from ingot.ir.node import UOp
from ingot.ir.opcode import AxesArg, Ops, WindowArg
from ingot.ir.shape import Shape, product, same
from ingot.ir.text import expr_text
from ingot.ops.axis import Axes, normal_axes, normal_axis, whole_number
from ingot.ops.op import primitive
from ingot.ops.promotion import meet
from ingot.ops.sample import floats, sample

Dim = int | UOp
Sizes = Dim | Sequence[Dim]
Widths = int | Sequence[int] | Sequence[Sequence[int]]
Ranges = Sequence[tuple[Dim, Dim] | None]


def size(dim: Dim) -> UOp:
    """A dimension as a node."""
    return dim if isinstance(dim, UOp) else UOp.const(dt.index, dim)


def sizes(name: str, given: Sizes) -> Shape:
    """A shape as users write it: one size, or several in any sequence."""
    several = given if isinstance(given, Sequence) else (given,)
    return tuple(
        n if isinstance(n, UOp) else whole_number(name, "a size", n)
        for n in several
    )


def show(shape: Shape) -> str:
    """A shape for a message; a symbolic size by its text."""
    inner = ", ".join(expr_text(n) if isinstance(n, UOp) else str(n) for n in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def _move(op: Ops, x: UOp, numbers: Sequence[Dim]) -> UOp:
    return UOp(op, x.dtype, (x, *map(size, numbers)))


# --- reshape ------------------------------------------------------------------------------------------------------


def reshape(x: UOp, shape: Sizes, *, copy: bool | None = None) -> UOp:
    """The same elements in the same order under another shape; one -1 is worked out."""
    # Values are immutable, so whether memory is copied cannot be told from outside.
    target = _resolved("reshape", x.shape, sizes("reshape", shape))
    source = x.src[0] if x.op is Ops.RESHAPE else x
    return (
        source if same(source.shape, target) else _move(Ops.RESHAPE, source, target)
    )


def _resolved(name: str, source: Shape, target: Shape) -> Shape:
    """The target with -1 filled in and the number of elements checked."""
    free = [i for i, n in enumerate(target) if isinstance(n, int) and n == -1]
    if any(isinstance(n, int) and n < -1 for n in target) or len(free) > 1:
        open_ = f"leaves {len(free)} sizes open" if len(free) > 1 else "is no shape"
        raise ShapeError(
            f"{name}: {show(target)} {open_}",
            fix="sizes are 0 or more, and at most one is -1, which is worked out",
        )
    given, wanted = _uncommon(
        source, tuple(n for i, n in enumerate(target) if i not in free)
    )
    if free:
        return (
            *target[: free[0]],
            _quotient(name, source, target, given, wanted),
            *target[free[0] + 1 :],
        )
    if isinstance(given, int) and isinstance(wanted, int) and given != wanted:
        raise _count_error(name, source, target)
    return target


def _uncommon(a: Shape, b: Shape) -> tuple[Dim, Dim]:
    """Element counts without the symbolic sizes that both shapes have."""
    left, right = list(a), list(b)
    for n in b:
        if isinstance(n, UOp) and any(n is m for m in left):
            left = _without(left, n)
            right = _without(right, n)
    return product(tuple(left)), product(tuple(right))


def _without(sizes: list[Dim], gone: UOp) -> list[Dim]:
    at = next(i for i, n in enumerate(sizes) if n is gone)
    return sizes[:at] + sizes[at + 1 :]


def _quotient(
    name: str, source: Shape, target: Shape, given: Dim, known: Dim
) -> Dim:
    if not isinstance(given, int) or not isinstance(known, int):
        found = simplify(size(given) // size(known))
        return int(found.value) if found.op is Ops.CONST else found
    if known == 0 or given % known:
        raise _count_error(name, source, target)
    return given // known


def _count_error(name: str, source: Shape, target: Shape) -> ShapeError:
    count = product(source)
    return ShapeError(
        f"{name}: {show(source)} has {count} elements, which do not fill {show(target)}",
        fix=f"choose sizes whose product is {count}; one of them may be -1",
    )


def flatten(x: UOp, start: int = 1, end: int = -1) -> UOp:
    """Axes start..end as one axis."""
    if not x.shape:
        return reshape(x, (1,))
    first = normal_axis("flatten", start, len(x.shape)) if len(x.shape) > 1 else 0
    last = normal_axis("flatten", end, len(x.shape))
    if first > last:
        raise ShapeError(
            f"flatten: start {start} comes after end {end} in {show(x.shape)}"
        )
    middle = product(x.shape[first : last + 1])
    return reshape(x, (*x.shape[:first], middle, *x.shape[last + 1 :]))


def squeeze(x: UOp, axis: Axes = None) -> UOp:
    """Without the axes of size 1: all of them, or those named."""
    if axis is None:
        return reshape(
            x, tuple(n for n in x.shape if not (isinstance(n, int) and n == 1))
        )
    gone = normal_axes("squeeze", axis, len(x.shape))
    for i in gone:
        if not (isinstance(x.shape[i], int) and x.shape[i] == 1):
            raise ShapeError(
                f"squeeze: axis {i} of {show(x.shape)} has size {x.shape[i]}; wanted 1",
                fix="leave axis out to drop all axes of size 1; x.sum(axis) or x[0] drop others",
            )
    return reshape(x, tuple(n for i, n in enumerate(x.shape) if i not in gone))


def unsqueeze(x: UOp, axis: int = 0) -> UOp:
    """With a new axis of size 1 at `axis`."""
    at = normal_axis("unsqueeze", axis, len(x.shape) + 1)
    return reshape(x, (*x.shape[:at], 1, *x.shape[at:]))


# --- expand -------------------------------------------------------------------------------------------------------


def broadcast_shape(name: str, *shapes: Shape) -> Shape:
    """The shape in which all of these meet: sizes are equal, or 1 is repeated."""
    rank = max((len(s) for s in shapes), default=0)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    return tuple(
        _common(name, sizes, shapes) for sizes in zip(*padded, strict=True)
    )


def _common(name: str, sizes: tuple[Dim, ...], shapes: tuple[Shape, ...]) -> Dim:
    found: Dim = 1
    for n in sizes:
        if found is n or (isinstance(n, int) and n == 1):
            continue
        if not (isinstance(found, int) and found in (1, n)):
            raise _broadcast_error(name, found, n, shapes)
        found = n
    return found


def _broadcast_error(
    name: str, a: Dim, b: Dim, shapes: tuple[Shape, ...]
) -> ShapeError:
    given = " and ".join(show(s) for s in shapes)
    return ShapeError(
        f"{name}: shapes {given} do not broadcast: size {a} meets size {b}",
        fix=_broadcast_fix(name, shapes)
        or "counted from the last axis, sizes must be equal or 1; reshape one of them",
    )


def _broadcast_fix(name: str, shapes: tuple[Shape, ...]) -> str:
    """Sizes that fit from the front want new axes behind: one number for each row."""
    if name == "expand":
        return (
            "only an axis of size 1 is repeated; x.tile(n) repeats what has a size"
        )
    if len(shapes) != 2:
        return ""
    words = (
        ("left", "right") if len(shapes[0]) < len(shapes[1]) else ("right", "left")
    )
    short, long = sorted(shapes, key=len)
    if len(short) == len(long) or not same(short, long[: len(short)]):
        return ""
    turned = show((*short, *[1] * (len(long) - len(short))))
    call = f"{words[0]}.reshape{turned}"
    return f"axes are matched from the last; {call} gives each of {words[1]}'s rows one value"


def broadcast_to(x: UOp, shape: Shape) -> UOp:
    """`x` repeated along axes of size 1, after new axes in front. The shape must fit."""
    if x.shape == shape:
        return x
    missing = len(shape) - len(x.shape)
    if missing:
        x = reshape(x, (1,) * missing + x.shape)
    if x.shape == shape:
        return x
    source = x.src[0] if x.op is Ops.EXPAND else x
    return _move(Ops.EXPAND, source, shape)


def expand(x: UOp, shape: Sizes) -> UOp:
    """Axes of size 1 repeated to `shape`; -1 keeps a size."""
    target = sizes("expand", shape)
    missing = len(target) - len(x.shape)
    if missing < 0:
        raise ShapeError(
            f"expand: {show(x.shape)} has more axes than {show(target)}",
            fix="name a size for every axis; -1 keeps one",
        )
    kept = tuple(
        _kept(i, n, x.shape[i - missing] if i >= missing else 1)
        for i, n in enumerate(target)
    )
    found = broadcast_shape("expand", x.shape, kept)
    if not same(found, kept):
        raise ShapeError(
            f"expand: {show(x.shape)} does not repeat to {show(kept)}; only a size of 1 can grow"
        )
    return broadcast_to(x, kept)


def _kept(axis: int, wanted: Dim, old: Dim) -> Dim:
    return old if isinstance(wanted, int) and wanted == -1 else wanted


# --- permute ------------------------------------------------------------------------------------------------------


def permute(x: UOp, axes: Sequence[int]) -> UOp:
    """Axes in another order."""
    rank = len(x.shape)
    order = tuple(normal_axis("permute", a, rank) for a in axes)
    if sorted(order) != list(range(rank)):
        fix = (
            f"name each of 0..{rank - 1} once"
            if rank
            else "a tensor with no axes takes ()"
        )
        raise ShapeError(
            f"permute: {tuple(axes)} is not an order of the {rank} axes of {show(x.shape)}",
            fix=fix,
        )
    source = x
    if x.op is Ops.PERMUTE and isinstance(x.arg, AxesArg):
        source, order = x.src[0], tuple(x.arg.axes[a] for a in order)
    if order == tuple(range(rank)):
        return source
    return UOp(Ops.PERMUTE, x.dtype, (source,), AxesArg(order))


def transpose(x: UOp, first: int = -2, second: int = -1) -> UOp:
    """Two axes exchanged."""
    rank = len(x.shape)
    if rank < 2 and (first, second) == (-2, -1):
        raise ShapeError(
            f"transpose: {show(x.shape)} has no two axes to exchange",
            fix="reshape it to a row (1, n) or a column (n, 1) first",
        )
    a, b = (
        normal_axis("transpose", first, rank),
        normal_axis("transpose", second, rank),
    )
    order = list(range(rank))
    order[a], order[b] = b, a
    return permute(x, order)


def reverse_axes(x: UOp) -> UOp:
    """All axes in reverse order."""
    return permute(x, range(len(x.shape) - 1, -1, -1))


# --- pad, shrink, flip, stride, window ----------------------------------------------------------------------------


def pad(x: UOp, widths: Widths, value: Scalar = 0) -> UOp:
    """`value` before and after each axis: one width, one (before, after), or one pair per axis."""
    pairs = pad_pairs(widths, x)
    if all(pair == (0, 0) for pair in pairs):
        return x
    padded = pad_zeros(x, pairs)
    if dt.to_bits(x.dtype, value) == 0:
        return padded
    inside = pad_zeros(broadcast_to(UOp.const(dt.boolean, True), x.shape), pairs)
    dtype = meet(x.dtype, value)
    outside = broadcast_to(UOp.const(dtype, value), padded.shape)
    return inside.where(padded.cast(dtype), outside)


def pad_zeros(x: UOp, pairs: Sequence[tuple[Dim, Dim]]) -> UOp:
    """Zeros before and after each axis; the widths may be symbolic."""
    return _move(Ops.PAD, x, [n for pair in pairs for n in pair])


def pad_pairs(widths: Widths, x: UOp) -> tuple[tuple[int, int], ...]:
    """(before, after) of each axis."""
    grid = np.asarray(widths)
    rank = len(x.shape)
    if (
        grid.dtype.kind not in "iu"
        or grid.shape not in ((), (2,), (rank, 2))
        or (grid < 0).any()
    ):
        raise ArgumentError(
            f"pad: widths {widths!r} do not fit {show(x.shape)}",
            fix="give one width, one (before, after), or a pair for each axis; all 0 or more",
        )
    return tuple(
        (int(before), int(after))
        for before, after in np.broadcast_to(grid, (rank, 2))
    )


def shrink(x: UOp, ranges: Ranges) -> UOp:
    """Elements start..end-1 of each axis; None keeps an axis whole."""
    if len(ranges) != len(x.shape):
        raise ShapeError(
            f"shrink: {len(ranges)} ranges for {show(x.shape)}; wanted one (start, end) or None per axis"
        )
    full = [
        (0, n) if pair is None else pair
        for pair, n in zip(ranges, x.shape, strict=True)
    ]
    for axis, ((start, end), n) in enumerate(zip(full, x.shape, strict=True)):
        _check_range(axis, start, end, n, x)
    if all(
        same((start, end), (0, n))
        for (start, end), n in zip(full, x.shape, strict=True)
    ):
        return x
    return _move(Ops.SHRINK, x, [n for pair in full for n in pair])


def _check_range(axis: int, start: Dim, end: Dim, n: Dim, x: UOp) -> None:
    known = [v for v in (start, end, n) if isinstance(v, int)]
    if sorted(known) != known or known[:1] < [0]:
        raise ShapeError(
            f"shrink: {start}..{end} is outside 0..{n}, axis {axis} of {show(x.shape)}"
        )


def flip(x: UOp, axis: Axes = None) -> UOp:
    """Elements in reverse order along the axes; None is all of them."""
    axes = normal_axes("flip", axis, len(x.shape))
    return UOp(Ops.FLIP, x.dtype, (x,), AxesArg(axes)) if axes else x


def stride(x: UOp, steps: Sequence[int]) -> UOp:
    """Every steps[i]-th element of axis i."""
    if len(steps) != len(x.shape) or any(n < 1 for n in steps):
        raise ShapeError(
            f"stride: steps {tuple(steps)} for {show(x.shape)}; wanted a step of 1 or more for each axis"
        )
    return x if all(n == 1 for n in steps) else _move(Ops.STRIDE, x, steps)


def window(x: UOp, axis: int, length: int) -> UOp:
    """All runs of `length` along `axis`: out[..., o, ..., w] = x[..., o + w, ...], with a new last axis w."""
    at = normal_axis("window", axis, len(x.shape))
    whole = whole_number("window", "length", length)
    n = x.shape[at]
    if whole < 1 or (isinstance(n, int) and whole > n):
        raise ShapeError(
            f"window: length {length} does not fit axis {at} of {show(x.shape)}; wanted 1..{n}"
        )
    return UOp(Ops.WINDOW, x.dtype, (x, size(whole)), WindowArg(at))


def contiguous(x: UOp) -> UOp:
    """The same value, stored in memory in its own order."""
    return (
        x
        if x.op in (Ops.CONTIGUOUS, Ops.BUFFER)
        else UOp(Ops.CONTIGUOUS, x.dtype, (x,))
    )


# --- declarations -------------------------------------------------------------------------------------------------


def _flattened(x: Any, start: int = 1, end: int = -1) -> Any:
    if x.ndim < 2:
        return x.reshape(-1)
    first, last = start % x.ndim, end % x.ndim
    return x.reshape(*x.shape[:first], -1, *x.shape[last + 1 :])


def _repeated(x: Any, shape: Any) -> Any:
    old = (1,) * (len(shape) - x.ndim) + x.shape
    return np.broadcast_to(
        x, [n if m == -1 else m for n, m in zip(old, shape, strict=True)]
    )


def _windows(x: Any, axis: int, length: int) -> Any:
    return np.lib.stride_tricks.sliding_window_view(x, length, axis)


primitive(
    "reshape",
    reshape,
    ref=lambda x, shape: np.reshape(x, shape),
    samples=(
        sample(floats(2, 6), shape=(3, 4)),
        sample(floats(2, 6), shape=(4, -1)),
        sample(floats(2, 6), shape=12),
        sample(floats(), shape=(1, 1)),
        sample(floats(0, 3), shape=(3, 0)),
    ),
    bad_samples=(
        (
            sample(floats(2, 6), shape=(5, -1)),
            "reshape: (2, 6) has 12 elements, which do not fill (5, -1)",
        ),
        (sample(floats(2, 6), shape=(-1, -1)), "at most one is -1"),
        (
            sample(floats(2, 6), shape=(2, 1.5)),
            "reshape: a size is 1.5; wanted a whole number",
        ),
    ),
    aliases=("view",),
    spread="shape",
)
primitive(
    "flatten",
    flatten,
    ref=_flattened,
    samples=(
        sample(floats(2, 3, 4)),
        sample(floats(2, 3, 4), start=0),
        sample(floats(5)),
    ),
    bad_samples=(
        (
            sample(floats(2, 3, 4), start=2, end=0),
            "flatten: start 2 comes after end 0",
        ),
    ),
    method_defaults={"start": 0},
)
primitive(
    "squeeze",
    squeeze,
    ref=lambda x, axis=None: np.squeeze(x, axis),
    samples=(sample(floats(2, 1, 3, 1)), sample(floats(2, 1, 3, 1), axis=1)),
    bad_samples=(
        (
            sample(floats(2, 3), axis=0),
            "squeeze: axis 0 of (2, 3) has size 2; wanted 1",
        ),
    ),
)
primitive(
    "unsqueeze",
    unsqueeze,
    ref=lambda x, axis: np.expand_dims(x, axis),
    samples=(sample(floats(2, 3), axis=0), sample(floats(2, 3), axis=-1)),
    bad_samples=(
        (sample(floats(2, 3), axis=4), "unsqueeze: axis 4 is outside -3..2"),
    ),
    aliases=("expand_dims",),
)
primitive(
    "expand",
    expand,
    ref=_repeated,
    samples=(
        sample(floats(3, 1), shape=(3, 4)),
        sample(floats(4), shape=(2, 3, 4)),
        sample(floats(3, 1), shape=(-1, 5)),
        sample(floats(), shape=(2, 2)),
    ),
    bad_samples=(
        (
            sample(floats(3, 2), shape=(3, 4)),
            "expand: shapes (3, 2) and (3, 4) do not broadcast",
        ),
    ),
    aliases=("broadcast_to",),
    spread="shape",
)
primitive(
    "permute",
    permute,
    ref=lambda x, axes: np.transpose(x, axes),
    samples=(
        sample(floats(2, 3, 4), axes=(2, 0, 1)),
        sample(floats(2, 3), axes=(-1, 0)),
    ),
    bad_samples=(
        (
            sample(floats(2, 3), axes=(0, 0)),
            "permute: (0, 0) is not an order of the 2 axes",
        ),
    ),
    aliases=("permute_dims",),
    spread="axes",
)
primitive(
    "transpose",
    transpose,
    ref=lambda x, first=-2, second=-1: np.swapaxes(x, first, second),
    samples=(sample(floats(2, 3)), sample(floats(2, 3, 4), first=0, second=2)),
    bad_samples=(
        (sample(floats(3)), "transpose: (3,) has no two axes to exchange"),
    ),
    aliases=("matrix_transpose", "swapaxes", "swapdims"),
)
primitive(
    "shrink",
    shrink,
    ref=lambda x, ranges: x[
        tuple(slice(None) if r is None else slice(*r) for r in ranges)
    ],
    samples=(
        sample(floats(4, 5), ranges=((1, 3), None)),
        sample(floats(4), ranges=((2, 2),)),
    ),
    bad_samples=(
        (
            sample(floats(4), ranges=((1, 5),)),
            "shrink: 1..5 is outside 0..4, axis 0 of (4,)",
        ),
    ),
)
primitive(
    "flip",
    flip,
    ref=lambda x, axis=None: np.flip(x, axis),
    samples=(sample(floats(3, 4)), sample(floats(3, 4), axis=1)),
    bad_samples=(
        (sample(floats(3, 4), axis=(0, 0)), "flip: axes (0, 0) name an axis twice"),
    ),
)
primitive(
    "stride",
    stride,
    ref=lambda x, steps: x[tuple(slice(None, None, n) for n in steps)],
    samples=(sample(floats(5, 6), steps=(2, 3)),),
    bad_samples=((sample(floats(5), steps=(0,)), "stride: steps (0,) for (5,)"),),
    public=False,
)
primitive(
    "window",
    window,
    ref=_windows,
    samples=(
        sample(floats(5, 6), axis=0, length=3),
        sample(floats(7), axis=-1, length=7),
    ),
    bad_samples=(
        (
            sample(floats(5), axis=0, length=6),
            "window: length 6 does not fit axis 0 of (5,)",
        ),
    ),
    public=False,
)
primitive(
    "contiguous",
    contiguous,
    ref=lambda x: x,
    samples=(sample(floats(3, 4)),),
    bad_samples=(),
)
