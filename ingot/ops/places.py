"""Places: whole numbers that say where. In: indices. Out: TAKE and scatter_rows, which read and write there, each other's
gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ingot.errors import AxisError, DTypeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import AxesArg, Ops, PrefixArg
from ingot.ir.region import size_of
from ingot.ir.shape import Shape, Type, product
from ingot.ops import elementwise as ew
from ingot.ops.algorithm import algorithm, not_lowered
from ingot.ops.check import checked
from ingot.ops.creation import counter
from ingot.ops.gradient import Cotangents, Gradients, attrs, only
from ingot.ops.movement import Dim, pad, permute, reshape, shrink, size
from ingot.ops.reduce import max_


def extent(n: Dim) -> UOp:
    """A size as an int64."""
    return size(n).cast(dt.int64)


def whole(name: str, index: UOp) -> UOp:
    """Indices as int64."""
    if index.dtype is dt.boolean or not index.dtype.is_int:
        raise DTypeError(
            f"{name}: indices are {index.dtype}; wanted whole numbers",
            fix="cast them with .astype(ig.int64)",
        )
    return index.cast(dt.int64)


def places(name: str, index: UOp, n: Dim) -> UOp:
    """Indices into an axis of `n` elements: negative ones count from the end, all others are checked when they run."""
    at = whole(name, index)
    if 0 in at.shape:
        return at
    _has_elements(name, n)
    end = extent(n)
    inside = ew.logical_and(
        ew.greater_equal(at, ew.negative(end)), ew.less(at, end)
    )
    worst = max_(ew.where(inside, dt.least(dt.int64), at))
    fits = ew.equal(worst, dt.least(dt.int64))
    guarded = checked(at, fits, "AxisError", *_outside(name, worst, n))
    return ew.where(ew.less(guarded, 0), ew.add(guarded, end), guarded)


def _outside(name: str, worst: UOp, n: Dim) -> tuple[str, *tuple[UOp, ...]]:
    text = f"{name}: index {{0}} is outside an axis of "
    if isinstance(n, int):
        return f"{text}{n} elements, which takes {-n}..{n - 1}", worst
    return text + "{1} elements", worst, extent(n)


def _has_elements(name: str, n: Dim) -> None:
    if n == 0:
        raise AxisError(f"{name}: an axis of 0 elements has none to take")


def take_at(x: UOp, indices: Sequence[UOp], axes: Sequence[int]) -> UOp:
    """result[s, r] = x[indices[s] at axes, r]; the indices have one shape and are in range."""
    return UOp(Ops.TAKE, x.dtype, (x, *indices), AxesArg(tuple(axes)))


def ravelled(indices: Sequence[UOp], dims: Shape) -> UOp:
    """Where indices into axes of these sizes are in memory."""
    total = indices[0]
    for at, n in zip(indices[1:], dims[1:], strict=True):
        total = ew.add(ew.multiply(total, extent(n)), at)
    return total


def take_rule(node: UOp, cotangents: Cotangents) -> Gradients:
    """The gradient of TAKE: what went out comes back to where it was, and adds up there."""
    from_, *indices = node.src
    return scattered_back(only(cotangents), from_.shape, indices, axes_of(node)), *(
        None for _ in indices
    )


def axes_of(node: UOp) -> tuple[int, ...]:
    return cast(AxesArg, node.arg).axes


def scattered_back(
    g: UOp, shape: Shape, indices: Sequence[UOp], axes: tuple[int, ...]
) -> UOp:
    """Zeros of a shape with `g` added at the places that TAKE would read."""
    rest = [a for a in range(len(shape)) if a not in axes]
    taken, kept = tuple(shape[a] for a in axes), tuple(shape[a] for a in rest)
    rows, wide = product(taken), product(kept)
    at = reshape(ravelled(indices, taken), (product(indices[0].shape),))
    zeros = ew.constant(0, g.dtype, (rows, wide))
    updates = reshape(g, (at.shape[0], wide))
    added = scatter_rows(zeros, at, updates, mode="add")
    order = [*axes, *rest]
    back = [order.index(a) for a in range(len(shape))]
    return permute(reshape(added, (*taken, *kept)), back)


# --- compacting -----------------------------------------------------------------------------------------------------


def _compact_types(mask: UOp) -> tuple[Type, ...]:
    return (dt.int64, (product(mask.shape),)), (dt.int64, ())


def _compact_signature(mask: UOp) -> UOp:
    """The places where a mask holds, as it lies in memory, and their number; what follows them is left over."""
    return not_lowered(mask)


def _compacted(mask: Any) -> Any:
    found = np.flatnonzero(mask)
    return np.pad(found, (0, np.size(mask) - len(found))), len(found)


compact = algorithm(
    "compact", _compact_signature, types=_compact_types, meaning=_compacted
)


def where_true(mask: UOp) -> UOp:
    """The places where a mask holds: a row whose length is a computed size."""
    found, count = compact.results(mask)
    return shrink(found, [(0, size_of(count, found.shape[0]))])


def _pick_types(mask: UOp, values: UOp) -> tuple[Type, ...]:
    return (values.dtype, (product(mask.shape),)), (dt.int64, ())


def _pick_signature(mask: UOp, values: UOp) -> UOp:
    """The values where a mask of their shape holds, and their number; what follows them is left over."""
    return not_lowered(mask, values)


def _picked(mask: Any, values: Any) -> Any:
    found = values[mask]
    return np.pad(found, (0, mask.size - len(found))), len(found)


def _pick_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """Each value that was kept has the cotangent of its place among them."""
    mask, _ = node.src
    g = cotangents[0]
    if g is None:
        return None, None
    flags = ew.astype(reshape(mask, g.shape), dt.int64)
    at = ew.maximum(ew.subtract(_up_to(flags), 1), 0)
    taken = reshape(take_at(g, [at], [0]), mask.shape)
    return None, ew.where(mask, taken, 0.0)


def _up_to(x: UOp) -> UOp:
    """The sum of all elements up to each of a row."""
    state = UOp.state(x.dtype, 0) + UOp.state(x.dtype, 1)
    src = (x, UOp.const(x.dtype, 0), state)
    return UOp(Ops.PREFIX, x.dtype, src, PrefixArg(0))


pick = algorithm(
    "pick", _pick_signature, types=_pick_types, meaning=_picked, grad=_pick_grad
)


def picked(mask: UOp, values: UOp) -> UOp:
    """The values where a mask of their shape holds: a row whose length is a computed size."""
    found, count = pick.results(mask, values)
    return shrink(found, [(0, size_of(count, found.shape[0]))])


def that_many(mask: UOp, length: Dim) -> UOp:
    """The places where a mask holds, which are as many as something else says."""
    found, count = compact.results(mask)
    fits = ew.equal(count, extent(length))
    text = "index: a mask names {0} elements, and {1} are wanted"
    guarded = checked(found, fits, "ShapeError", text, count, extent(length))
    if isinstance(length, int) and isinstance(found.shape[0], int):
        guarded = pad(guarded, [(0, max(0, length - found.shape[0]))])
    return shrink(guarded, [(0, length)])


# --- scattering -----------------------------------------------------------------------------------------------------


def _scatter_type(base: UOp, index: UOp, updates: UOp, *, mode: str) -> Type:
    return base.dtype, base.shape


def _scatter_signature(base: UOp, index: UOp, updates: UOp, *, mode: str) -> UOp:
    """`base` (rows, ...) with `updates` (count, ...) at rows `index` (count), one after the other."""
    return not_lowered(base, index, updates)


def _scattered(base: Any, index: Any, updates: Any, *, mode: str) -> Any:
    made = np.array(base)
    for at, update in zip(index, updates, strict=True):
        made[at] = _JOIN[mode](made[at], update)
    return made


_JOIN: dict[str, Any] = {
    "set": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def _scatter_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    base, updates = _SCATTER_GRADS[str(attrs(node)["mode"])](node, only(cotangents))
    return base, None, updates


def _added(node: UOp, g: UOp) -> tuple[UOp, UOp]:
    return g, take_at(g, [node.src[1]], [0])


def _set(node: UOp, g: UOp) -> tuple[UOp, UOp]:
    """An update that a later one replaced has no part in the result."""
    _, index, updates = node.src
    rows, count = node.shape[0], updates.shape[0]
    nobody = ew.constant(-1, dt.int64, (rows, 1))
    turns = counter((count, 1), 0)
    last = scatter_rows(nobody, index, turns, mode="set")
    stays = ew.equal(take_at(last, [index], [0]), turns)
    flags = reshape(stays, (count, *(1 for _ in node.shape[1:])))
    taken = take_at(g, [index], [0])
    kept = ew.equal(last, -1)
    base_flags = reshape(kept, (rows, *(1 for _ in node.shape[1:])))
    return ew.where(base_flags, g, 0.0), ew.where(flags, taken, 0.0)


def _multiplied(node: UOp, g: UOp) -> tuple[UOp, UOp]:
    _, index, updates = node.src
    ones = ew.constant(1, node.dtype, node.shape)
    others = scatter_rows(ones, index, updates, mode="mul")
    share = take_at(ew.multiply(g, node), [index], [0])
    return ew.multiply(g, others), ew.divide(share, updates)


def _extreme(node: UOp, g: UOp) -> tuple[UOp, UOp]:
    """Equals share evenly, as they do in every maximum."""
    base, index, updates = node.src
    won = ew.astype(ew.equal(take_at(node, [index], [0]), updates), g.dtype)
    held = ew.astype(ew.equal(base, node), g.dtype)
    winners = scatter_rows(held, index, won, mode="add")
    share = ew.divide(g, ew.maximum(winners, 1.0))
    return ew.multiply(held, share), ew.multiply(won, take_at(share, [index], [0]))


_SCATTER_GRADS = {
    "add": _added,
    "set": _set,
    "mul": _multiplied,
    "max": _extreme,
    "min": _extreme,
}
scatter_rows = algorithm(
    "scatter_rows",
    _scatter_signature,
    types=_scatter_type,
    meaning=_scattered,
    grad=_scatter_grad,
)
