"""Windows over the last axes, as pooling and convolution take them. In: sizes as users write them. Out: numbers, views.

A padding is one width, one for each axis, (before, after) for each axis, or "SAME" (as many outputs as inputs over the
stride, the odd one behind) or "VALID" (none).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ingot.errors import ArgumentError, ShapeError
from ingot.ir.node import UOp
from ingot.ops.axis import whole_number
from ingot.ops.movement import Dim, show, stride, window

Pair = tuple[int, int]


def numbers(
    name: str, what: str, value: Any, count: int, least: int
) -> tuple[int, ...]:
    """One number for every axis, or one for each."""
    several = isinstance(value, Sequence) and not isinstance(value, str)
    given = tuple(value) if several else (value,) * count
    found = tuple(whole_number(name, what, n) for n in given)
    if len(found) != count or min(found) < least:
        raise ArgumentError(
            f"{name}: {what} is {value!r}; wanted one number or {count}, each {least} or more"
        )
    return found


def sides(
    name: str,
    padding: Any,
    sizes: Sequence[Dim],
    reach: Sequence[Dim],
    step: Sequence[int],
) -> tuple[Pair, ...]:
    """(before, after) of each axis, of sizes over which windows of `reach` move by `step`."""
    count = len(sizes)
    if isinstance(padding, str):
        return _named(name, padding, sizes, reach, step)
    pairs = isinstance(padding, Sequence) and any(
        isinstance(n, Sequence) for n in padding
    )
    if not pairs:
        widths = numbers(name, "padding", padding, count, 0)
        return tuple((n, n) for n in widths)
    if len(padding) != count:
        raise ArgumentError(
            f"{name}: padding is {padding!r}; wanted a pair for each of {count} axes"
        )
    found = [numbers(name, "padding", pair, 2, 0) for pair in padding]
    return tuple((before, after) for before, after in found)


def _named(
    name: str,
    padding: str,
    sizes: Sequence[Dim],
    reach: Sequence[Dim],
    step: Sequence[int],
) -> tuple[Pair, ...]:
    word = padding.upper()
    if word == "VALID":
        return ((0, 0),) * len(sizes)
    if word != "SAME":
        raise ArgumentError(
            f"{name}: padding is {padding!r}; wanted numbers, 'SAME' or 'VALID'"
        )
    return tuple(map(_same, sizes, reach, step))


def _same(n: Dim, reach: Dim, step: int) -> Pair:
    if step == 1 and isinstance(reach, int):
        return (reach - 1) // 2, reach // 2
    if not isinstance(n, int) or not isinstance(reach, int):
        raise ShapeError(
            "padding 'SAME' needs known sizes where the stride is above 1",
            fix="give the padding in numbers",
        )
    total = max((-(-n // step) - 1) * step + reach - n, 0)
    return total // 2, total - total // 2


def windowed(
    x: UOp, lengths: Sequence[int], step: Sequence[int], dilation: Sequence[int]
) -> UOp:
    """Windows over the last len(lengths) axes: those axes count windows, and as many new last axes are inside them."""
    first = len(x.shape) - len(lengths)
    for i, length in enumerate(lengths):
        reach = (length - 1) * dilation[i] + 1
        n = x.shape[first + i]
        if isinstance(n, int) and reach > n:
            raise ShapeError(
                f"a window that reaches over {reach} does not fit {n}, axis {first + i} of {show(x.shape)}",
                fix="use a larger padding, or a smaller window",
            )
        x = window(x, first + i, reach)
        steps = [1] * len(x.shape)
        steps[first + i] = step[i]
        steps[-1] = dilation[i]
        x = stride(x, steps)
    return x
