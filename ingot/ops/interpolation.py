"""interpolate: images in another size. In: (rows, channels, sizes...). Out: the same with other sizes.

Axes are treated one after the other. Along an axis each output is a weighted sum of one, two or four neighbours, whose
places are computed from its own; nothing is stored between the axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ingot.errors import ArgumentError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.opcode import Attr, Ops
from ingot.ir.shape import Type
from ingot.ops import elementwise as ew
from ingot.ops.creation import iota
from ingot.ops.elementwise import as_float, constant
from ingot.ops.gather import taken_along
from ingot.ops.movement import reshape, show
from ingot.ops.op import Accepted, op
from ingot.ops.pool import adaptive
from ingot.ops.promotion import accumulator
from ingot.ops.reduce import mean
from ingot.ops.sample import floats, sample

_MODES = ("nearest", "linear", "bilinear", "trilinear", "bicubic", "area")
_RANKS = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}
_CUBIC = -0.75  # how far the cubic overshoots: what image libraries agree on

Outputs = int | Sequence[int]
Factors = float | Sequence[float]
Tap = tuple[UOp, UOp]  # places and weights, one each for every output


def _accept(x: UOp, **attrs: Any) -> Accepted:
    mode = attrs["mode"]
    count = len(x.shape) - 2
    if mode not in _MODES:
        raise ArgumentError(
            f"interpolate: mode is {mode!r}; wanted one of {', '.join(map(repr, _MODES))}"
        )
    if count < 1 or _RANKS.get(mode, count) != count:
        raise ShapeError(
            f"interpolate: x is {show(x.shape)}, mode is {mode!r}; wanted (rows, channels, "
            f"{_RANKS.get(mode, 1)} sizes)"
        )
    return (as_float(x),), {
        "size": _sizes(x, count, attrs["size"], attrs["scale_factor"]),
        "scale_factor": None,
        "mode": mode,
        "align_corners": bool(attrs["align_corners"]),
    }


def _sizes(x: UOp, count: int, size: Any, factor: Any) -> tuple[int, ...]:
    if (size is None) == (factor is None):
        raise ArgumentError(
            "interpolate: wanted either size or scale_factor, not both and not neither"
        )
    given = factor if size is None else size
    several = tuple(given) if isinstance(given, Sequence) else (given,) * count
    if len(several) != count:
        raise ArgumentError(
            f"interpolate: {len(several)} sizes for {show(x.shape)}; wanted one or {count}"
        )
    if size is not None:
        return several
    return tuple(
        math.floor(cast(int, n) * f)
        for n, f in zip(x.shape[2:], several, strict=True)
    )


def _type(x: UOp, *, size: Any, **attrs: Attr) -> Type:
    return x.dtype, (*x.shape[:2], *size)


def _interpolate(
    x: UOp,
    *,
    size: Outputs | None = None,
    scale_factor: Factors | None = None,
    mode: str = "nearest",
    align_corners: bool = False,
) -> UOp:
    """Images in another size: nearest, linear, bilinear, trilinear, bicubic or area."""
    sizes = cast("tuple[int, ...]", size)
    wide = x.cast(accumulator(x.dtype))
    if mode == "area":
        return adaptive(wide, sizes, mean).cast(x.dtype)
    taps = {"nearest": _nearest, "bicubic": _cubic}.get(mode, _linear)
    for i, m in enumerate(sizes):
        n = cast(int, x.shape[2 + i])
        wide = _along(wide, 2 + i, taps(n, m, align_corners, wide.dtype))
    return wide.cast(x.dtype)


def _along(x: UOp, axis: int, taps: Sequence[Tap]) -> UOp:
    total: UOp | None = None
    for place, weight in taps:
        line = (*weight.shape, *(1,) * (len(x.shape) - axis - 1))
        term = ew.multiply(taken_along(x, place, axis), reshape(weight, line))
        total = term if total is None else ew.add(total, term)
    return cast(UOp, total)


# --- which neighbours ---------------------------------------------------------------------------------------------


def _nearest(n: int, m: int, corners: bool, dtype: DType) -> list[Tap]:
    i = iota(m).cast(dt.int64)
    place = ew.multiply(i, n) // constant(m, dt.int64, (m,))
    return [(place, constant(1.0, dtype, (m,)))]


def _source(n: int, m: int, corners: bool, dtype: DType) -> UOp:
    """Where output i lies among the inputs."""
    i = iota(m).cast(dtype)
    if corners:
        return ew.multiply(i, (n - 1) / (m - 1) if m > 1 else 0.0)
    return ew.subtract(ew.multiply(ew.add(i, 0.5), n / m), 0.5)


def _place(base: UOp, offset: int, n: int) -> UOp:
    inside = ew.minimum(ew.maximum(ew.add(base, float(offset)), 0.0), float(n - 1))
    return inside.cast(dt.int64)


def _linear(n: int, m: int, corners: bool, dtype: DType) -> list[Tap]:
    at = ew.maximum(_source(n, m, corners, dtype), 0.0)
    base = at.alu(Ops.FLOOR)
    share = at - base
    return [
        (_place(base, 0, n), ew.subtract(1.0, share)),
        (_place(base, 1, n), share),
    ]


def _cubic(n: int, m: int, corners: bool, dtype: DType) -> list[Tap]:
    at = _source(n, m, corners, dtype)
    base = at.alu(Ops.FLOOR)
    t = at - base
    u = ew.subtract(1.0, t)
    weights = (_outer(ew.add(t, 1.0)), _inner(t), _inner(u), _outer(ew.add(u, 1.0)))
    return [(_place(base, k - 1, n), weight) for k, weight in enumerate(weights)]


def _inner(t: UOp) -> UOp:
    """(a + 2) t**3 - (a + 3) t**2 + 1, for t <= 1."""
    cubic = ew.subtract(ew.multiply(t, _CUBIC + 2), _CUBIC + 3)
    return ew.add(cubic * t * t, 1.0)


def _outer(t: UOp) -> UOp:
    """a t**3 - 5 a t**2 + 8 a t - 4 a, for 1 < t < 2."""
    square = ew.multiply(ew.subtract(t, 5.0), _CUBIC) * t
    return ew.subtract(ew.add(square, 8 * _CUBIC) * t, 4 * _CUBIC)


# --- reference: one output at a time ------------------------------------------------------------------------------


def _weights(n: int, m: int, mode: str, corners: bool) -> Any:
    """The matrix that takes n inputs to m outputs."""
    out = np.zeros((m, n))
    for i in range(m):
        if mode == "nearest":
            out[i, i * n // m] = 1
            continue
        ratio = (n - 1) / max(m - 1, 1)
        at = i * ratio if corners else (i + 0.5) * n / m - 0.5
        for k, w in _shares(at if mode == "bicubic" else max(at, 0.0), mode):
            out[i, min(max(k, 0), n - 1)] += w
    return out


def _shares(at: float, mode: str) -> list[tuple[int, float]]:
    base = math.floor(at)
    t = at - base
    if mode != "bicubic":
        return [(base, 1 - t), (base + 1, t)]
    a = _CUBIC
    near = [(a + 2) * v**3 - (a + 3) * v**2 + 1 for v in (t, 1 - t)]
    far = [a * v**3 - 5 * a * v**2 + 8 * a * v - 4 * a for v in (1 + t, 2 - t)]
    return [
        (base - 1, far[0]),
        (base, near[0]),
        (base + 1, near[1]),
        (base + 2, far[1]),
    ]


def _reference(
    x: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
) -> Any:
    count = x.ndim - 2
    if size is None:
        factors = (
            scale_factor
            if isinstance(scale_factor, tuple)
            else (scale_factor,) * count
        )
        size = [
            math.floor(n * f) for n, f in zip(x.shape[2:], factors, strict=True)
        ]
    sizes = size if isinstance(size, list | tuple) else (size,) * count
    for axis, m in enumerate(sizes, 2):
        n = x.shape[axis]
        if mode == "area":
            bounds = [(j * n // m, -(-(j + 1) * n // m)) for j in range(m)]
            parts = [np.take(x, range(a, b), axis).mean(axis) for a, b in bounds]
            x = np.stack(parts, axis)
        else:
            made = np.tensordot(_weights(n, m, mode, align_corners), x, (1, axis))
            x = np.moveaxis(made, 0, axis)
    return x


_LINE, _IMAGE = floats(2, 3, 5), floats(2, 3, 4, 5)
interpolate = op(
    "interpolate",
    types=_type,
    accept=_accept,
    lower=_interpolate,
    ref=_reference,
    samples=(
        sample(_LINE, size=9),
        sample(_LINE, scale_factor=0.5),
        sample(_LINE, size=(8,), mode="linear"),
        sample(_IMAGE, size=(7, 3), mode="bilinear"),
        sample(_IMAGE, size=(7, 3), mode="bilinear", align_corners=True),
        sample(_IMAGE, scale_factor=2.0, mode="bicubic"),
        sample(_IMAGE, size=(3, 7), mode="bicubic", align_corners=True),
        sample(_IMAGE, size=(2, 3), mode="area"),
        sample(floats(1, 2, 2, 3, 2), scale_factor=2, mode="trilinear"),
    ),
    bad_samples=(
        (
            sample(_LINE, size=3, mode="cubic"),
            "interpolate: mode is 'cubic'; wanted",
        ),
        (sample(_LINE), "wanted either size or scale_factor"),
        (
            sample(_LINE, size=3, mode="bilinear"),
            "interpolate: x is (2, 3, 5), mode is",
        ),
    ),
    ulp=64,
    normwise=True,
)
