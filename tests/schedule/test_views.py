"""Reshapes: axes in groups of equal size, as small as can be."""

from __future__ import annotations

import itertools

import pytest

from ingot.ir import dtype as dt
from ingot.ir.algebra import simplify
from ingot.ir.node import UOp
from ingot.ir.rewrite import substitute
from ingot.ir.shape import Shape
from ingot.schedule.views import groups, reshaped

n = UOp.variable("n", 1, 100)
GROUPS: list[tuple[Shape, Shape, list[tuple[list[int], list[int]]]]] = [
    ((6, 4), (6, 4), [([0], [0]), ([1], [1])]),
    ((6, 4), (24,), [([0, 1], [0])]),
    ((24,), (6, 4), [([0], [0, 1])]),
    ((2, 3, 4), (6, 4), [([0, 1], [0]), ([2], [1])]),
    ((6, 4), (2, 3, 4), [([0], [0, 1]), ([1], [2])]),
    ((6, 4), (4, 6), [([0, 1], [0, 1])]),
    ((2, 6, 5), (4, 3, 5), [([0, 1], [0, 1]), ([2], [2])]),
    ((n, 4), (n, 2, 2), [([0], [0]), ([1], [1, 2])]),
]


@pytest.mark.parametrize(("inner", "outer", "wanted"), GROUPS)
def test_groups_are_as_small_as_the_sizes_allow(
    inner: Shape, outer: Shape, wanted: list[tuple[list[int], list[int]]]
) -> None:
    assert groups(inner, outer) == wanted


SHAPES = [
    ((6, 4), (24,)),
    ((24,), (2, 3, 4)),
    ((2, 6, 5), (4, 3, 5)),
    ((1, 6), (6,)),
    ((6,), (1, 6, 1)),
    ((4, 1, 3), (1, 12)),
    ((1,), ()),
    ((), (1, 1)),
    ((2, 1, 1, 3), (1, 6, 1)),
]


@pytest.mark.parametrize(("inner", "outer"), SHAPES)
def test_every_element_keeps_its_place(
    inner: tuple[int, ...], outer: tuple[int, ...]
) -> None:
    """The row-major number of the indices below is that of the indices above, for all of them."""
    counters = tuple(UOp.axis(k) for k in range(len(outer)))
    extents: dict[UOp, UOp | int] = dict(zip(counters, outer, strict=True))
    found = reshaped(inner, outer, counters, lambda u: simplify(u, extents))
    assert len(found) == len(inner)
    for place in itertools.product(*map(range, outer)):
        at = {
            c: UOp.const(dt.index, p) for c, p in zip(counters, place, strict=True)
        }
        below = [int(simplify(substitute(u, at)).value) for u in found]
        assert flat(inner, below) == flat(outer, place)


def flat(shape: tuple[int, ...], place: tuple[int, ...] | list[int]) -> int:
    total = 0
    for size, k in zip(shape, place, strict=True):
        assert 0 <= k < size
        total = total * size + k
    return total


def test_untouched_axes_keep_their_counters() -> None:
    i, j, k = (UOp.axis(a) for a in range(3))
    assert reshaped((5, 12), (5, 3, 4), (i, j, k), lambda u: u)[0] is i


def test_symbolic_axes_keep_their_counters() -> None:
    i, j, k = (UOp.axis(a) for a in range(3))
    assert reshaped((n, 4), (n, 2, 2), (i, j, k), lambda u: u)[0] is i
