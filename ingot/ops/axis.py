"""Axes as users write them. In: -1, (0, 2), None. Out: axes counted from the front, each once, or an AxisError."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import SupportsIndex

from ingot.errors import ArgumentError, AxisError

Axes = int | Sequence[int] | None
_COUNTED = "axes are counted: 0 is the first, -1 the last"


def normal_axis(name: str, axis: SupportsIndex, ndim: int) -> int:
    """The axis counted from the front."""
    number = _whole(name, axis)
    if not -ndim <= number < ndim:
        raise AxisError(
            f"{name}: axis {number} is outside {_axes_of(ndim)}", fix=_COUNTED
        )
    return number + ndim if number < 0 else number


def normal_axes(name: str, axes: Axes, ndim: int) -> tuple[int, ...]:
    """The axes counted from the front, in increasing order; None is all of them."""
    if axes is None:
        return tuple(range(ndim))
    given = axes if isinstance(axes, list | tuple | range) else (axes,)
    found = [normal_axis(name, axis, ndim) for axis in given]
    if len(set(found)) != len(found):
        raise AxisError(
            f"{name}: axes {tuple(given)} name an axis twice",
            fix="name each axis once",
        )
    return tuple(sorted(found))


def whole_number(name: str, what: str, value: SupportsIndex) -> int:
    """An int from anything that counts as one."""
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentError(
            f"{name}: {what} is {_shown(value)}; wanted a whole number",
            fix=_whole_fix(what, value),
        ) from None


def _shown(value: object) -> str:
    """Numbers and words as they are; of anything else what it is: a tensor would be computed to be printed."""
    plain = isinstance(value, int | float | str | None)
    return repr(value) if plain else f"a {type(value).__name__}"


def _whole_fix(what: str, value: object) -> str:
    """What was probably meant: a half is mostly what `/` makes of two whole numbers."""
    if what != "axis":
        return "round it: a // b or int(...)" if isinstance(value, float) else ""
    if type(value).__name__ == "Tensor":
        return "several tensors stand in one list: ig.cat([a, b])"
    return _COUNTED


def _whole(name: str, axis: SupportsIndex) -> int:
    return whole_number(name, "axis", axis)


def _axes_of(ndim: int) -> str:
    if ndim == 0:
        return "a tensor with no axes"
    return f"{-ndim}..{ndim - 1}, the axes of a tensor with {ndim}"
