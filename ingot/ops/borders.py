"""Borders made of the tensor itself, or of one value: pad. In: a tensor and widths. Out: a larger tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.errors import ArgumentError, ShapeError
from ingot.ir.dtype import Scalar
from ingot.ir.node import UOp
from ingot.ops.arranging import grown, part
from ingot.ops.joining import concat, known_size
from ingot.ops.movement import Widths, flip, pad, pad_pairs, show
from ingot.ops.op import primitive
from ingot.ops.sample import bools, floats, sample

_MODES = {"edge": "replicate", "wrap": "circular"}


def pad_mode(
    x: UOp, widths: Widths, value: Scalar = 0, mode: str = "constant"
) -> UOp:
    """A border around x: one width, one (before, after), or a pair per axis; of `value`, or made of x itself."""
    kind = _MODES.get(mode, mode)
    if kind == "constant":
        return pad(x, widths, value)
    if kind not in _BORDERS:
        known = ", ".join(map(repr, ("constant", *_BORDERS, *_MODES)))
        raise ArgumentError(f"pad: mode is {mode!r}; wanted one of {known}")
    for axis, (before, after) in enumerate(pad_pairs(widths, x)):
        if before or after:
            x = _bordered(x, axis, before, after, kind)
    return x


def _bordered(x: UOp, axis: int, before: int, after: int, kind: str) -> UOp:
    n = known_size("pad", x, axis)
    least = {"reflect": 1, "replicate": 0}.get(kind, 0)
    most = n - least if kind != "replicate" else before + after
    if n == 0 or max(before, after) > most:
        raise ShapeError(
            f"pad: {kind} takes at most {most} elements from axis {axis} of {show(x.shape)}, "
            f"not {max(before, after)}"
        )
    first, last = _BORDERS[kind](x, axis, before, after, n)
    given = [(first, before), (x, 1), (last, after)]
    return concat(*(piece for piece, width in given if width), axis=axis)


def _reflected(
    x: UOp, axis: int, before: int, after: int, n: int
) -> tuple[UOp, UOp]:
    first = flip(part(x, axis, 1, 1 + before), axis)
    return first, flip(part(x, axis, n - 1 - after, n - 1), axis)


def _mirrored(
    x: UOp, axis: int, before: int, after: int, n: int
) -> tuple[UOp, UOp]:
    return flip(part(x, axis, 0, before), axis), flip(
        part(x, axis, n - after, n), axis
    )


def _copied(x: UOp, axis: int, before: int, after: int, n: int) -> tuple[UOp, UOp]:
    first = grown(part(x, axis, 0, 1), axis, before)
    return first, grown(part(x, axis, n - 1, n), axis, after)


def _wrapped(x: UOp, axis: int, before: int, after: int, n: int) -> tuple[UOp, UOp]:
    return part(x, axis, n - before, n), part(x, axis, 0, after)


_BORDERS = {
    "reflect": _reflected,
    "symmetric": _mirrored,
    "replicate": _copied,
    "circular": _wrapped,
}


def _pad_ref(x: Any, widths: Any, value: Any = 0, mode: str = "constant") -> Any:
    names: Any = {"replicate": "edge", "circular": "wrap"}
    if mode == "constant":
        return np.pad(x, widths, constant_values=value)
    return np.pad(x, widths, names.get(mode, mode))


primitive(
    "pad",
    pad_mode,
    ref=_pad_ref,
    samples=(
        sample(floats(2, 3), widths=((1, 0), (0, 2))),
        sample(floats(2, 3), widths=1, value=-1.5),
        sample(bools(3), widths=(2, 1)),
        sample(floats(3, 4), widths=((1, 2), (3, 0)), mode="reflect"),
        sample(floats(3, 4), widths=((4, 1), (0, 2)), mode="replicate"),
        sample(floats(3, 4), widths=2, mode="circular"),
        sample(floats(3, 4), widths=2, mode="symmetric"),
    ),
    bad_samples=(
        (
            sample(floats(2, 3), widths=((1, 1),)),
            "pad: widths ((1, 1),) do not fit (2, 3)",
        ),
        (
            sample(floats(3), widths=1, mode="mirror"),
            "pad: mode is 'mirror'; wanted",
        ),
        (
            sample(floats(3), widths=3, mode="reflect"),
            "pad: reflect takes at most 2 elements from axis 0 of (3,), not 3",
        ),
    ),
    ulp=0,
)
