"""Indices through a reshape. In: two shapes of the same elements and indices into the second. Out: indices into the first."""

from __future__ import annotations

from collections.abc import Callable

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.shape import Shape

Indices = tuple[UOp, ...]
ZERO = UOp.const(dt.index, 0)


def reshaped(
    inner: Shape, outer: Shape, indices: Indices, simple: Callable[[UOp], UOp]
) -> Indices:
    """Axes are matched in groups of equal size, so that untouched axes keep their counters."""
    result: list[UOp] = []
    for below, above in groups(inner, outer):
        sizes = [inner[a] for a in below]
        result.extend(
            _group(
                sizes,
                [outer[a] for a in above],
                [indices[a] for a in above],
                simple,
            )
        )
    return tuple(result)


def groups(inner: Shape, outer: Shape) -> list[tuple[list[int], list[int]]]:
    """Pairs of axis groups with equal products, as small as the sizes allow."""
    found: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(inner) or j < len(outer):
        below, above = ([i], [j]) if i < len(inner) and j < len(outer) else ([], [])
        if not below:
            below, above = list(range(i, len(inner))), list(range(j, len(outer)))
            found.append((below, above))
            break
        i, j = _grow(inner, outer, below, above)
        found.append((below, above))
    return found


def _grow(
    inner: Shape, outer: Shape, below: list[int], above: list[int]
) -> tuple[int, int]:
    left, right = inner[below[0]], outer[above[0]]
    while left is not right and left != right:
        more_left = (
            isinstance(left, int)
            and isinstance(right, int)
            and left < right
            and below[-1] + 1 < len(inner)
        )
        known = isinstance(left, int) and isinstance(right, int)
        if (more_left if known else below[-1] + 1 < len(inner)) or above[
            -1
        ] + 1 >= len(outer):
            if below[-1] + 1 >= len(inner):
                break
            below.append(below[-1] + 1)
            left = left * inner[below[-1]]
        else:
            above.append(above[-1] + 1)
            right = right * outer[above[-1]]
    return below[-1] + 1, above[-1] + 1


def _group(
    sizes: list[int | UOp],
    around: list[int | UOp],
    indices: list[UOp],
    simple: Callable[[UOp], UOp],
) -> list[UOp]:
    if len(sizes) == len(indices) == 1:
        return indices
    if all(size == 1 for size in sizes):
        return [ZERO] * len(sizes)
    flat = ZERO
    for size, at in zip(around, indices, strict=True):
        flat = flat * size + at
    flat = simple(flat)
    result: list[UOp] = []
    for position, size in enumerate(reversed(sizes)):
        last = position == len(sizes) - 1
        result.insert(
            0, ZERO if size == 1 else simple(flat if last else flat % size)
        )
        flat = flat if size == 1 else simple(flat // size)
    return result
