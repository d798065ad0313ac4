"""Pooling: the largest, the mean or the norm of windows. In: (..., sizes). Out: the same with smaller sizes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from ingot.errors import ArgumentError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Attr, Ops
from ingot.ir.shape import product
from ingot.ops import elementwise as ew
from ingot.ops.arranging import part
from ingot.ops.creation import counter
from ingot.ops.elementwise import as_float, constant
from ingot.ops.joining import concat, known_size
from ingot.ops.movement import Dim, broadcast_to, pad, reshape, show
from ingot.ops.numeric import abs_, pow_, sign
from ingot.ops.op import Accept, Accepted, Op, op, primitive, result
from ingot.ops.promotion import accumulator
from ingot.ops.reduce import better, max_, mean, reduce_states, sum_
from ingot.ops.sample import INF, Recipe, Sample, floats, ints, sample
from ingot.ops.scatter import scatter
from ingot.ops.windows import Pair, numbers, sides, windowed

Window = int | Sequence[int]
Border = int | str | Sequence[int] | Sequence[Sequence[int]]


# --- what users give ----------------------------------------------------------------------------------------------


def _accept(name: str, count: int, *, floats_only: bool) -> Accept:
    """Numbers for each axis; the stride is the size of the window where it is not given."""

    def accept(x: UOp, **attrs: Any) -> Accepted:
        if len(x.shape) < count:
            raise ShapeError(
                f"{name}: x is {show(x.shape)}; wanted {count} axes or more, the last {count} are pooled"
            )
        length = numbers(name, "kernel_size", attrs["kernel_size"], count, 1)
        given = attrs["stride"]
        step = length if given is None else numbers(name, "stride", given, count, 1)
        spread = numbers(name, "dilation", attrs.get("dilation", 1), count, 1)
        reach = [(n - 1) * d + 1 for n, d in zip(length, spread, strict=True)]
        sizes = x.shape[len(x.shape) - count :]
        around = sides(name, attrs["padding"], sizes, reach, step)
        if attrs.get("ceil_mode"):
            around = tuple(map(_rounded_up, sizes, reach, step, around))
        named: dict[str, Attr] = {
            "kernel_size": length,
            "stride": step,
            "padding": around,
        }
        if "dilation" in attrs:
            named["dilation"] = spread
        rest = {k: v for k, v in attrs.items() if k not in named}
        return (as_float(x) if floats_only else x,), {**named, **rest}

    return accept


def _rounded_up(n: Dim, reach: int, step: int, around: Pair) -> Pair:
    """Wider behind, so that the last window, which begins inside, is not lost."""
    total = cast(int, n) + sum(around)
    count = -(-(total - reach) // step) + 1
    if (count - 1) * step >= cast(int, n) + around[0]:
        count -= 1
    return around[0], around[1] + max((count - 1) * step + reach - total, 0)


def _type_of(lower: Callable[..., Any]) -> Callable[..., Any]:
    """The type is that of what the op becomes."""

    def types(x: UOp, **attrs: Attr) -> Any:
        made = lower(x, **attrs)
        if isinstance(made, tuple):
            return tuple((part.dtype, part.shape) for part in made)
        return made.dtype, made.shape

    return types


def _seen(
    x: UOp, length: Any, step: Any, around: Any, spread: Any, value: float
) -> UOp:
    """All windows; the border is `value`."""
    front = ((0, 0),) * (len(x.shape) - len(length))
    return windowed(pad(x, (*front, *around), value), length, step, spread)


def _inside(seen: UOp, count: int) -> tuple[int, ...]:
    """The axes inside windows."""
    return tuple(range(len(seen.shape) - count, len(seen.shape)))


# --- the largest --------------------------------------------------------------------------------------------------


def _max_pool(
    x: UOp,
    *,
    kernel_size: Window,
    stride: Window | None = None,
    padding: Border = 0,
    dilation: Window = 1,
    ceil_mode: bool = False,
) -> UOp:
    """The largest element of each window."""
    least = cast(float, dt.least(x.dtype))
    seen = _seen(x, kernel_size, stride, padding, dilation, least)
    return max_(seen, _inside(seen, len(cast(Any, kernel_size))))


def _max_pool_places(
    x: UOp,
    *,
    kernel_size: Window,
    stride: Window | None = None,
    padding: Border = 0,
    dilation: Window = 1,
    ceil_mode: bool = False,
) -> tuple[UOp, UOp]:
    """The largest element of each window, and its place among the pooled sizes in a row."""
    count = len(cast(Any, kernel_size))
    sizes = x.shape[len(x.shape) - count :]
    row = reshape(counter((product(sizes),), 0), sizes)
    places = broadcast_to(row, x.shape)
    least = cast(float, dt.least(x.dtype))
    seen = _seen(x, kernel_size, stride, padding, dilation, least)
    where = _seen(places, kernel_size, stride, padding, dilation, 0)
    starts = (least, dt.greatest(dt.int64))
    both = reduce_states(
        (seen, where), starts, better(Ops.MAX), _inside(seen, count)
    )
    return result(both, 0), result(both, 1)


# --- the mean and the norm ----------------------------------------------------------------------------------------


def _avg_pool(
    x: UOp,
    *,
    kernel_size: Window,
    stride: Window | None = None,
    padding: Border = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> UOp:
    """The mean of each window; the border counts as 0, or not at all."""
    length = cast("tuple[int, ...]", kernel_size)
    ones = (1,) * len(length)
    wide = accumulator(x.dtype)
    seen = _seen(x.cast(wide), length, stride, padding, ones, 0)
    axes = _inside(seen, len(length))
    if count_include_pad:
        return mean(seen, axis=axes).cast(x.dtype)
    every = _seen(constant(1, wide, x.shape), length, stride, padding, ones, 0)
    return ew.divide(sum_(seen, axes), sum_(every, axes)).cast(x.dtype)


def _lp_pool(
    x: UOp,
    *,
    norm_type: float = 2.0,
    kernel_size: Window,
    stride: Window | None = None,
    padding: Border = 0,
) -> UOp:
    """sum(x**p)**(1/p) of each window."""
    length = cast("tuple[int, ...]", kernel_size)
    wide = accumulator(x.dtype)
    powers = pow_(x.cast(wide), float(norm_type))
    seen = _seen(powers, length, stride, padding, (1,) * len(length), 0)
    total = sum_(seen, _inside(seen, len(length)))
    root = pow_(abs_(total), 1 / norm_type)
    return ew.multiply(sign(total), root).cast(x.dtype)


# --- any size to a given one --------------------------------------------------------------------------------------


def adaptive(x: UOp, sizes: Sequence[int | None], fold: Callable[..., UOp]) -> UOp:
    """Windows as even as can be: output i of m sees floor(i n / m) .. ceil((i + 1) n / m)."""
    first = len(x.shape) - len(sizes)
    for i, wanted in enumerate(sizes):
        axis = first + i
        if wanted is not None:
            x = _adapted(x, axis, wanted, fold)
    return x


def _adapted(x: UOp, axis: int, wanted: int, fold: Callable[..., UOp]) -> UOp:
    n = known_size("adaptive pooling", x, axis)
    if n % wanted == 0:
        rows = (*x.shape[:axis], wanted, n // wanted, *x.shape[axis + 1 :])
        return fold(reshape(x, rows), axis=axis + 1)
    bounds = [(i * n // wanted, -(-(i + 1) * n // wanted)) for i in range(wanted)]
    parts = [fold(part(x, axis, a, b), axis=axis, keepdims=True) for a, b in bounds]
    return concat(*parts, axis=axis)


def _accept_adaptive(name: str, count: int) -> Accept:
    def accept(x: UOp, *, output_size: Any) -> Accepted:
        given = (
            output_size
            if isinstance(output_size, Sequence)
            else (output_size,) * count
        )
        wrong = any(
            n is not None and (not isinstance(n, int) or n < 1) for n in given
        )
        if len(given) != count or wrong or len(x.shape) < count:
            raise ArgumentError(
                f"{name}: output_size is {output_size!r} for {show(x.shape)}; "
                f"wanted one number or {count}, each 1 or more, or None to keep a size"
            )
        return (as_float(x),), {"output_size": tuple(given)}

    return accept


Output = int | Sequence[int | None]


def _adaptive_avg(x: UOp, *, output_size: Output) -> UOp:
    """The means of windows that are as even as can be."""
    wide = x.cast(accumulator(x.dtype))
    return adaptive(wide, cast(Any, output_size), mean).cast(x.dtype)


def _adaptive_max(x: UOp, *, output_size: Output) -> UOp:
    """The largest elements of windows that are as even as can be."""
    return adaptive(x, cast(Any, output_size), max_)


# --- references: one window at a time -----------------------------------------------------------------------------


def _by_window(fold: Callable[[Any], Any], outside: float) -> Callable[..., Any]:
    def ref(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        **rest: Any,
    ) -> Any:
        count = rest.pop("count")
        length = numbers("pool", "kernel_size", kernel_size, count, 1)
        step = (
            length
            if stride is None
            else numbers("pool", "stride", stride, count, 1)
        )
        spread = numbers("pool", "dilation", dilation, count, 1)
        reach = [(n - 1) * d + 1 for n, d in zip(length, spread, strict=True)]
        around = sides("pool", padding, x.shape[x.ndim - count :], reach, step)
        if ceil_mode:
            around = tuple(
                map(_rounded_up, x.shape[x.ndim - count :], reach, step, around)
            )
        padded = np.pad(
            x, [(0, 0)] * (x.ndim - count) + list(around), constant_values=outside
        )
        sizes = [
            (n - r) // s + 1
            for n, r, s in zip(
                padded.shape[x.ndim - count :], reach, step, strict=True
            )
        ]
        out = np.zeros((*x.shape[: x.ndim - count], *sizes))
        for at in np.ndindex(*sizes):
            places: Any = [
                slice(a * s, a * s + r, d)
                for a, s, r, d in zip(at, step, reach, spread, strict=True)
            ]
            seen = padded[(..., *places)].reshape(*x.shape[: x.ndim - count], -1)
            out[(..., *at)] = fold(seen, **rest)
        return out

    return ref


def _of_rank(ref: Callable[..., Any], count: int) -> Callable[..., Any]:
    return lambda x, **attrs: ref(x, count=count, **attrs)


def _sum_of(seen: Any) -> Any:
    return seen.sum(-1)


def _mean_ref(count: int) -> Callable[..., Any]:
    """The sum of a window by how many of its elements count: all, or those of the image."""

    def ref(x: Any, count_include_pad: bool = True, **attrs: Any) -> Any:
        fold = _by_window(_sum_of, 0.0)
        border = 1.0 if count_include_pad else 0.0
        counted = _by_window(_sum_of, border)(np.ones_like(x), count=count, **attrs)
        return fold(x, count=count, **attrs) / counted

    return ref


def _norm_of(seen: Any, norm_type: float = 2.0) -> Any:
    total = (seen**norm_type).sum(-1)
    return np.sign(total) * np.abs(total) ** (1 / norm_type)


def _adaptive_ref(fold: Any) -> Callable[..., Any]:
    def ref(x: Any, output_size: Any) -> Any:
        first = x.ndim - len(output_size)
        for i, m in enumerate(output_size):
            n = x.shape[first + i]
            parts = [
                fold(
                    np.take(x, range(j * n // m, -(-(j + 1) * n // m)), first + i),
                    axis=first + i,
                )
                for j in range(m or 0)
            ]
            x = x if m is None else np.stack(parts, first + i)
        return x

    return ref


def _places_ref(count: int) -> Callable[..., Any]:
    def ref(x: Any, **attrs: Any) -> Any:
        values = _max_ref(count)(x, **attrs)
        sizes = x.shape[x.ndim - count :]
        row = np.arange(int(np.prod(sizes)), dtype=float).reshape(sizes)
        # The place of the largest: the largest of (value, place) where values are all different.
        order = np.argsort(x, axis=None)
        rank = np.empty(x.size)
        rank[order] = np.arange(x.size)
        best = _max_ref(count)(rank.reshape(x.shape), **attrs).astype(int)
        places = np.broadcast_to(row, x.shape).reshape(-1)[order][best]
        return values, places.astype(np.int64)

    return ref


# --- declarations -------------------------------------------------------------------------------------------------

_SIZES, _WINDOW = (7, 6, 5), (3, 2, 2)


class Kind(NamedTuple):
    """One way to pool, over any number of axes."""

    word: str
    lower: Callable[..., Any]
    ref: Callable[[int], Callable[..., Any]]
    samples: Callable[[int], tuple[Sample, ...]]
    floats_only: bool


def _images(count: int) -> Recipe:
    return floats(2, 3, *_SIZES[:count])


def _usual(count: int) -> tuple[Sample, ...]:
    x = _images(count)
    return (
        sample(x, kernel_size=2),
        sample(x, kernel_size=_WINDOW[:count], stride=1, padding=1),
        sample(x, kernel_size=2, stride=2, padding="SAME"),
        sample(x, kernel_size=2, stride=2, ceil_mode=True),
    )


def _max_samples(count: int) -> tuple[Sample, ...]:
    spread = sample(_images(count), kernel_size=2, stride=1, dilation=2)
    return (*_usual(count), spread)


def _avg_samples(count: int) -> tuple[Sample, ...]:
    x = _images(count)
    inner = sample(x, kernel_size=3, stride=1, padding=1, count_include_pad=False)
    return (*_usual(count), inner)


def _lp_samples(count: int) -> tuple[Sample, ...]:
    positive = floats(2, 3, *_SIZES[:count], low=0.1)
    return (
        sample(_images(count), kernel_size=2),
        sample(positive, norm_type=3.0, kernel_size=2, stride=1),
    )


def _max_ref(count: int) -> Callable[..., Any]:
    return _of_rank(_by_window(lambda seen: seen.max(-1), -INF), count)


def _lp_ref(count: int) -> Callable[..., Any]:
    return _of_rank(_by_window(_norm_of, 0.0), count)


KINDS = (
    Kind("max_pool", _max_pool, _max_ref, _max_samples, floats_only=False),
    Kind("avg_pool", _avg_pool, _mean_ref, _avg_samples, floats_only=True),
    Kind("lp_pool", _lp_pool, _lp_ref, _lp_samples, floats_only=True),
)


def _over(lower: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The lowering as that of one declaration, whose docstring says how many axes it pools."""

    def build(x: UOp, **attrs: Any) -> Any:
        return lower(x, **attrs)

    build.__doc__ = (
        f"{(lower.__doc__ or '').rstrip('.')}, over the last {count} axes."
    )
    build.__signature__ = inspect.signature(lower)  # type: ignore[attr-defined]
    return build


def _pool(kind: Kind, count: int) -> Op:
    name = f"{kind.word}{count}d"
    message = f"{name}: kernel_size is 0; wanted one number"
    return op(
        name,
        types=_type_of(kind.lower),
        accept=_accept(name, count, floats_only=kind.floats_only),
        lower=_over(kind.lower, count),
        ref=kind.ref(count),
        samples=kind.samples(count),
        bad_samples=((sample(_images(count), kernel_size=0), message),),
        ulp=16,
        normwise=True,
    )


def _adaptive_pool(
    word: str, lower: Callable[..., UOp], fold: Any, count: int
) -> Op:
    name = f"adaptive_{word}_pool{count}d"
    x = _images(count)
    return op(
        name,
        types=_type_of(lower),
        accept=_accept_adaptive(name, count),
        lower=_over(lower, count),
        ref=_adaptive_ref(fold),
        samples=(
            sample(x, output_size=(2,) * count),
            sample(x, output_size=(3, 4, None)[:count]),
            sample(x, output_size=(1,) * count),
        ),
        bad_samples=((sample(x, output_size=0), f"{name}: output_size is 0 for"),),
        ulp=16,
        normwise=True,
    )


def _with_places(count: int) -> Op:
    name = f"max_pool{count}d_with_indices"
    return op(
        name,
        types=_type_of(_max_pool_places),
        accept=_accept(name, count, floats_only=False),
        lower=_over(_max_pool_places, count),
        ref=_places_ref(count),
        samples=_max_samples(count)[:2],
        ulp=0,
    )


for _count in (1, 2, 3):
    for _kind in KINDS:
        _pool(_kind, _count)
    _adaptive_pool("avg", _adaptive_avg, np.mean, _count)
    _adaptive_pool("max", _adaptive_max, np.max, _count)
    _with_places(_count)


# --- back to the larger size --------------------------------------------------------------------------------------


def max_unpool(x: UOp, indices: UOp, output_size: Sequence[int]) -> UOp:
    """Elements put at their places among the last axes, of `output_size`; 0 elsewhere."""
    count = len(output_size)
    if x.shape != indices.shape or len(x.shape) < count:
        raise ShapeError(
            f"max_unpool: x is {show(x.shape)}, indices are {show(indices.shape)}; wanted one shape, "
            f"of {count} axes or more"
        )
    front = x.shape[: len(x.shape) - count]
    total = product(tuple(output_size))
    empty = constant(0, x.dtype, (*front, total))
    rows = (*front, product(x.shape[len(front) :]))
    filled = scatter(empty, len(front), reshape(indices, rows), reshape(x, rows))
    return reshape(filled, (*front, *output_size))


def _unpool_ref(x: Any, indices: Any, output_size: Any) -> Any:
    front = x.shape[: x.ndim - len(output_size)]
    out = np.zeros((*front, int(np.prod(output_size))))
    np.put_along_axis(out, indices.reshape(*front, -1), x.reshape(*front, -1), -1)
    return out.reshape(*front, *output_size)


primitive(
    "max_unpool",
    max_unpool,
    ref=_unpool_ref,
    samples=(
        sample(floats(1, 1, 2), ints(1, 1, 2, low=3, high=4), output_size=(5,)),
    ),
    bad_samples=(
        (
            sample(floats(2, 2), ints(2, 3), output_size=(5,)),
            "max_unpool: x is (2, 2), indices are (2, 3)",
        ),
    ),
    ulp=0,
)
