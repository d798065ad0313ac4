"""Writing at computed places, as values: a new tensor with some elements changed. In: base, places, updates. Out: it.

`put` is what `x[index] = value` means. Updates are made in the order of their indices: of several at one place the last one
stays, or all add up, the same way with any number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.errors import ArgumentError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.shape import Shape, product
from ingot.ops import elementwise as ew
from ingot.ops.axis import normal_axis
from ingot.ops.creation import counter, iota
from ingot.ops.gather import below
from ingot.ops.indexing import Part, Plan, getitem, is_whole, planned, read
from ingot.ops.movement import broadcast_to, permute, reshape, show, shrink
from ingot.ops.op import primitive
from ingot.ops.places import places, ravelled, scatter_rows
from ingot.ops.sample import Sample, floats
from ingot.ops.update import set_where, setitem

MODES = {"add": Ops.ADD, "mul": Ops.MUL, "max": Ops.MAX, "min": Ops.MIN}


# --- x[index] = value -----------------------------------------------------------------------------------------------


def put(
    x: UOp, index: Part | tuple[Part, ...], value: UOp, mode: str = "set"
) -> UOp:
    """x with `value`, broadcast, at the places that an index names."""
    given = value.cast(x.dtype)
    parts = index if isinstance(index, tuple) else (index,)
    arrays = [p for p in parts if isinstance(p, UOp) and p.dtype is not dt.index]
    if not arrays:
        part = given if mode == "set" else _joined(getitem(x, index), given, mode)
        return setitem(x, part, index)
    if len(parts) == 1 and _says_all(x, arrays[0], given):
        whole = given if mode == "set" else _joined(x, given, mode)
        return set_where(x, arrays[0], whole)
    length = _wanted_length(planned(x, index), parts, given)
    return _put_tensors(planned(x, index, length), given, mode)


def _joined(x: UOp, value: UOp, mode: str) -> UOp:
    return x.alu(MODES[mode], broadcast_to(value, x.shape))


def _says_all(x: UOp, mask: UOp, value: UOp) -> bool:
    """A mask over the first axes, and a value that does not count the places where it holds: none are needed."""
    return mask.dtype is dt.boolean and len(value.shape) <= len(x.shape) - len(
        mask.shape
    )


def _wanted_length(plan: Plan, parts: tuple[Any, ...], value: UOp) -> int | None:
    """How many elements a mask has to name, if the value says it."""
    if not any(isinstance(p, UOp) and p.dtype is dt.boolean for p in parts):
        return None
    after = len(plan.kept) - plan.front
    if len(value.shape) <= after:
        return None
    n = value.shape[len(value.shape) - after - 1]
    return n if isinstance(n, int) and n != 1 else None


def _put_tensors(plan: Plan, value: UOp, mode: str) -> UOp:
    """Rows of x at computed places."""
    x = plan.x
    lead = _leading(plan)
    rows, wide = product(x.shape[:lead]), product(x.shape[lead:])
    grid = reshape(iota(rows).cast(dt.int64), x.shape[:lead])
    kept = [axis for axis in plan.kept if axis is None or axis < lead]
    at = read(Plan(grid, plan.cuts[:lead], kept, plan.tensors, plan.front))
    count = product(at.shape)
    updates = _fitting(value, (*at.shape, *x.shape[lead:]))
    made = scatter_rows(
        reshape(x, (rows, wide)),
        reshape(at, (count,)),
        reshape(updates, (count, wide)),
        mode=mode,
    )
    return reshape(made, x.shape)


def _leading(plan: Plan) -> int:
    """How many axes, from the first, the index says anything about; the others are rows of their own."""
    shape = plan.x.shape
    lead = len(shape)
    while (
        lead
        and (lead - 1) not in plan.tensors
        and is_whole(plan.cuts[lead - 1], shape[lead - 1])
    ):
        lead -= 1
    after = plan.kept[len(plan.kept) - (len(shape) - lead) :]
    return lead if None not in after else len(shape)


def _fitting(value: UOp, shape: Shape) -> UOp:
    """The value for every element that is written; axes of size 1 that stand before all may be left out."""
    extra = len(value.shape) - len(shape)
    if extra > 0 and all(n == 1 for n in value.shape[:extra]):
        value = reshape(value, value.shape[extra:])
    fits = len(value.shape) <= len(shape) and all(
        a == 1 or not (isinstance(a, int) and isinstance(b, int)) or a == b
        for a, b in zip(reversed(value.shape), reversed(shape), strict=False)
    )
    if not fits:
        raise ShapeError(
            f"put: the value is {show(value.shape)} and the index names {show(shape)}",
            fix="give a value that broadcasts to what is written",
        )
    return broadcast_to(value, shape)


# --- scatter along an axis ------------------------------------------------------------------------------------------


def _along(name: str, x: UOp, dim: int, index: UOp, src: UOp, mode: str) -> UOp:
    """Every element of src goes to its own position, but for `dim`, where its index says."""
    axis = normal_axis(name, dim, len(x.shape))
    rank = {len(x.shape), len(index.shape), len(src.shape) or len(x.shape)}
    if len(rank) > 1:
        raise ShapeError(
            f"{name}: x is {show(x.shape)}, index {show(index.shape)}, src {show(src.shape)}; wanted as many axes"
        )
    updates = _first_of(name, src, index.shape)
    at = places(name, index, x.shape[axis])
    coordinates = [
        at if a == axis else counter(at.shape, a) for a in range(len(x.shape))
    ]
    _check_inside(name, x, index, axis)
    return scattered(x, ravelled(coordinates, x.shape), updates.cast(x.dtype), mode)


def scattered(x: UOp, at: UOp, updates: UOp, mode: str) -> UOp:
    """x with updates at places counted through all of it."""
    count = product(at.shape)
    made = scatter_rows(
        reshape(x, (product(x.shape), 1)),
        reshape(at, (count,)),
        reshape(updates, (count, 1)),
        mode=mode,
    )
    return reshape(made, x.shape)


def _first_of(name: str, src: UOp, shape: Shape) -> UOp:
    """The part of src that the index has places for; a number is there for all of them."""
    if not src.shape:
        return broadcast_to(src, shape)
    for n, m in zip(shape, src.shape, strict=True):
        if isinstance(n, int) and isinstance(m, int) and n > m:
            raise ShapeError(
                f"{name}: index is {show(shape)} and src only {show(src.shape)}",
                fix="src has to be at least as large as index",
            )
    return shrink(src, [(0, n) for n in shape])


def _check_inside(name: str, x: UOp, index: UOp, axis: int) -> None:
    for a, (n, m) in enumerate(zip(index.shape, x.shape, strict=True)):
        if a != axis and isinstance(n, int) and isinstance(m, int) and n > m:
            raise ShapeError(
                f"{name}: index is {show(index.shape)} and x {show(x.shape)}: {n} do not fit into axis {a}"
            )


def scatter(x: UOp, dim: int, index: UOp, src: UOp) -> UOp:
    """x with the elements of src at `index` along an axis."""
    return _along("scatter", x, dim, index, src, "set")


def scatter_add(x: UOp, dim: int, index: UOp, src: UOp) -> UOp:
    """x with the elements of src added at `index` along an axis."""
    return _along("scatter_add", x, dim, index, src, "add")


_REDUCTIONS = {
    "sum": "add",
    "prod": "mul",
    "mean": "add",
    "amax": "max",
    "amin": "min",
}


def scatter_reduce(
    x: UOp, dim: int, index: UOp, src: UOp, reduce: str, include_self: bool = True
) -> UOp:
    """x reduced with the elements of src at `index` along an axis: sum, prod, mean, amax or amin."""
    if reduce not in _REDUCTIONS:
        raise ArgumentError(
            f"scatter_reduce: reduce is {reduce!r}",
            wanted="one of " + ", ".join(_REDUCTIONS),
        )
    name, mode = "scatter_reduce", _REDUCTIONS[reduce]
    start = x if include_self else _emptied(x, dim, index, mode)
    total = _along(name, start, dim, index, src, mode)
    if reduce != "mean":
        return total
    own = ew.constant(int(include_self), x.dtype, x.shape)
    ones = ew.constant(1, x.dtype, index.shape)
    count = ew.maximum(_along(name, own, dim, index, ones, "add"), 1)
    return (
        ew.divide(total, count)
        if x.dtype.is_float
        else total // count.cast(x.dtype)
    )


def _emptied(x: UOp, dim: int, index: UOp, mode: str) -> UOp:
    """x with what changes nothing wherever an update comes."""
    nothing = ew.constant(_neutral(mode, x.dtype), x.dtype, ())
    return _along("scatter_reduce", x, dim, index, nothing, "set")


def _neutral(mode: str, dtype: dt.DType) -> dt.Scalar:
    if mode in ("add", "mul"):
        return int(mode == "mul")
    return dt.least(dtype) if mode == "max" else dt.greatest(dtype)


def index_add(x: UOp, dim: int, index: UOp, source: UOp) -> UOp:
    """x with slices of source added at `index`, a row of numbers, along an axis."""
    return _slices("index_add", x, dim, index, source, "add")


def index_copy(x: UOp, dim: int, index: UOp, source: UOp) -> UOp:
    """x with slices of source at `index`, a row of numbers, along an axis."""
    return _slices("index_copy", x, dim, index, source, "set")


def _slices(name: str, x: UOp, dim: int, index: UOp, source: UOp, mode: str) -> UOp:
    axis = normal_axis(name, dim, len(x.shape))
    wanted = tuple(
        product(index.shape) if a == axis else n for a, n in enumerate(x.shape)
    )
    if len(source.shape) != len(wanted) or any(
        isinstance(a, int) and isinstance(b, int) and a != b
        for a, b in zip(source.shape, wanted, strict=True)
    ):
        raise ShapeError(
            f"{name}: source is {show(source.shape)}; wanted {show(wanted)}"
        )
    order = [axis, *(a for a in range(len(x.shape)) if a != axis)]
    back = [order.index(a) for a in range(len(order))]
    rows, updates = permute(x, order), permute(source.cast(x.dtype), order)
    wide = product(rows.shape[1:])
    at = places(name, reshape(index, (product(index.shape),)), x.shape[axis])
    made = scatter_rows(
        reshape(rows, (rows.shape[0], wide)),
        at,
        reshape(updates, (at.shape[0], wide)),
        mode=mode,
    )
    return permute(reshape(made, rows.shape), back)


# --- declarations -----------------------------------------------------------------------------------------------------


_JOINS: dict[str, Any] = {
    "set": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def _reference(mode: str) -> Any:
    def reference(x: Any, dim: int, index: Any, src: Any) -> Any:
        made = np.array(x)
        for place in np.ndindex(*index.shape):
            to = list(place)
            to[dim] = index[place]
            made[tuple(to)] = _JOINS[mode](made[tuple(to)], src[place])
        return made

    return reference


def _reduced(
    x: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True
) -> Any:
    mode = _REDUCTIONS[reduce]
    start = np.array(x)
    if not include_self:
        nothing = {"add": 0, "mul": 1, "max": -np.inf, "min": np.inf}[mode]
        start = _reference("set")(start, dim, index, np.full(index.shape, nothing))
    total = _reference(mode)(start, dim, index, src)
    if reduce != "mean":
        return total
    own = np.full(x.shape, float(include_self))
    count = _reference("add")(own, dim, index, np.ones(index.shape))
    return total / np.maximum(count, 1)


def _sliced(x: Any, dim: int, index: Any, source: Any, mode: str) -> Any:
    made = np.moveaxis(np.array(x), dim, 0)
    for at, update in zip(index, np.moveaxis(source, dim, 0), strict=True):
        made[at] = made[at] + update if mode == "add" else update
    return np.moveaxis(made, 0, dim)


def _put(x: Any, index: Any, value: Any, mode: str = "set") -> Any:
    made = np.array(x)
    made[index] = value if mode == "set" else made[index] + value
    return made


_CASES = (
    Sample((floats(5, 6), 1, below(5, 9, n=6), floats(5, 9)), {}),
    Sample((floats(5, 6), 0, below(3, 6, n=5, low=-5), floats(4, 6)), {}),
    Sample((floats(40), 0, below(60, n=40), floats(60)), {}),
)
_BAD = (
    (
        Sample((floats(5, 6), 1, below(5, n=6), floats(5, 9)), {}),
        "x is (5, 6), index (5,)",
    ),
    (
        Sample((floats(5, 6), 1, below(5, 9, n=6), floats(5, 3)), {}),
        "index is (5, 9) and src only (5, 3)",
    ),
    (
        Sample((floats(5, 6), 1, below(7, 2, n=6), floats(7, 2)), {}),
        "index is (7, 2) and x (5, 6): 7 do not fit into axis 0",
    ),
)


def _named(name: str) -> tuple[tuple[Sample, str], ...]:
    return tuple((case, f"{name}: {text}") for case, text in _BAD)


primitive(
    "scatter",
    scatter,
    ref=_reference("set"),
    samples=_CASES,
    bad_samples=_named("scatter"),
)
primitive(
    "scatter_add",
    scatter_add,
    ref=_reference("add"),
    samples=_CASES,
    bad_samples=_named("scatter_add"),
    ulp=4,
    normwise=True,
)
primitive(
    "scatter_reduce",
    scatter_reduce,
    ref=_reduced,
    samples=tuple(
        Sample(case.inputs, {"reduce": reduce, "include_self": own})
        for case in _CASES
        for reduce in _REDUCTIONS
        for own in (True, False)
    ),
    bad_samples=(
        (
            Sample(_CASES[0].inputs, {"reduce": "median"}),
            "scatter_reduce: reduce is 'median'",
        ),
    ),
    ulp=8,
    normwise=True,
)
primitive(
    "index_add",
    index_add,
    ref=lambda x, dim, index, source: _sliced(x, dim, index, source, "add"),
    samples=(
        Sample((floats(5, 6), 1, below(4, n=6), floats(5, 4)), {}),
        Sample((floats(5, 20), 0, below(9, n=5), floats(9, 20)), {}),
    ),
    bad_samples=(
        (
            Sample((floats(5, 6), 1, below(4, n=6), floats(5, 3)), {}),
            "index_add: source is (5, 3); wanted (5, 4)",
        ),
    ),
    ulp=4,
    normwise=True,
)
primitive(
    "index_copy",
    index_copy,
    ref=lambda x, dim, index, source: _sliced(x, dim, index, source, "set"),
    samples=(Sample((floats(5, 6), 1, below(4, n=6), floats(5, 4)), {}),),
    bad_samples=(
        (
            Sample((floats(5, 6), 1, below(4, n=6), floats(5, 3)), {}),
            "index_copy: source is (5, 3); wanted (5, 4)",
        ),
    ),
)
primitive(
    "put",
    put,
    ref=_put,
    samples=(
        Sample((floats(4, 5), 1, floats(5)), {}),
        Sample((floats(4, 5), -1, floats(5)), {"mode": "add"}),
    ),
    bad_samples=(
        (Sample((floats(4, 5), 1, floats(3)), {}), "x[...] = v: v is (3,)"),
    ),
    public=False,
)
