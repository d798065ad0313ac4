"""The memory plan: what lives at the same time is apart, and what is dead makes room."""

from __future__ import annotations

import random

import pytest

from ingot.schedule.memory import ALIGN, Interval, arrange


def random_values(seed: int) -> dict[object, Interval]:
    rng = random.Random(seed)
    values: dict[object, Interval] = {}
    for key in range(rng.randrange(1, 40)):
        first = rng.randrange(20)
        values[key] = Interval(
            first,
            first + rng.choice((0, 1, 2, 10)),
            rng.choice((0, 1, 63, 64, 65, 1000, 4096)),
        )
    return values


def together(a: Interval, b: Interval) -> bool:
    return a.first <= b.last and b.first <= a.last


def peak(values: dict[object, Interval]) -> int:
    """The bytes that live at the worst step: no plan needs less."""
    steps = {v.first for v in values.values()}
    return max(
        sum(rounded(v) for v in values.values() if v.first <= step <= v.last)
        for step in steps
    )


def rounded(value: Interval) -> int:
    return -(-max(value.nbytes, 1) // ALIGN) * ALIGN


@pytest.mark.parametrize("seed", range(200))
def test_values_that_live_together_are_apart(seed: int) -> None:
    values = random_values(seed)
    offsets, size = arrange(values)
    assert set(offsets) == set(values)
    for key, value in values.items():
        start, end = offsets[key], offsets[key] + value.nbytes
        assert start % ALIGN == 0
        assert start >= 0
        assert end <= size
        for other, theirs in values.items():
            if other != key and together(value, theirs):
                apart = (
                    end <= offsets[other] or offsets[other] + theirs.nbytes <= start
                )
                assert apart, (key, other)


@pytest.mark.parametrize("seed", range(0, 200, 10))
def test_the_arena_is_not_much_larger_than_it_must_be(seed: int) -> None:
    values = random_values(seed)
    _, size = arrange(values)
    assert (
        peak(values)
        <= size
        <= min(2 * peak(values), sum(map(rounded, values.values())))
    )


def test_a_chain_needs_two_places() -> None:
    chain = {step: Interval(step, step + 1, 1000) for step in range(50)}
    _, size = arrange(chain)
    assert size == 2 * 1024


def test_a_value_written_where_another_is_last_read_is_apart() -> None:
    """Step 1 reads `a` and writes `b`."""
    offsets, _ = arrange({"a": Interval(0, 1, 64), "b": Interval(1, 2, 64)})
    assert offsets["a"] != offsets["b"]


def test_nothing_needs_nothing() -> None:
    assert arrange({}) == ({}, 0)
