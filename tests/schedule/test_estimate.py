"""Operations and bytes of kernels, against what a person counts."""

from __future__ import annotations

import numpy as np
import pytest

import ingot as ig
from ingot.ops.movement import window
from ingot.pipeline.host import evaluate, source
from ingot.pipeline.normalise import normalise
from ingot.pipeline.stages import Work, fused
from ingot.schedule.estimate import elements, estimate
from ingot.schedule.nests import Draft
from ingot.target import host


def only_kernel(tensor: ig.Tensor) -> Draft:
    (draft,) = fused(normalise([tensor.uop])[0], Work(host())).drafts
    return draft


def counted(tensor: ig.Tensor, **sizes: int) -> tuple[int, int]:
    """(operations, bytes)"""
    found = estimate(only_kernel(tensor))
    return evaluate(source(found.flops), sizes), evaluate(
        source(found.nbytes), sizes
    )


def t(*shape: int) -> ig.Tensor:
    return ig.tensor(np.ones(shape, np.float32))


def test_elementwise() -> None:
    assert counted(t(10, 20) * 2.0 + t(10, 20)) == (400, 3 * 800)


def test_matmul_with_an_epilogue() -> None:
    flops, nbytes = counted(ig.relu(t(8, 16) @ t(16, 32) + t(32)))
    assert flops == 2 * 8 * 16 * 32 + 2 * 8 * 32
    assert nbytes == 4 * (8 * 16 + 16 * 32 + 32 + 8 * 32)


def test_a_row_that_is_read_three_times_comes_once() -> None:
    _, nbytes = counted(ig.softmax(t(6, 50), axis=-1))
    assert nbytes == 2 * 4 * 6 * 50


def test_operations_run_for_the_loops_that_they_use() -> None:
    """exp of a row's sum is one operation a row."""
    flops, _ = counted(t(6, 50) * ig.exp(t(6, 50).sum(axis=1, keepdims=True)))
    assert flops == 6 * 50 + 6 + 6 * 50


def test_overlapping_windows_are_counted_once() -> None:
    windows = ig.Tensor.of(
        window(t(30)[:12].uop, 0, 3)
    )  # 10 windows over 12 of 30 elements
    assert elements(only_kernel(windows.sum(axis=1)))[0] == 12


@pytest.mark.parametrize(("part", "count"), [(slice(0, 3), 30), (slice(2, 9), 70)])
def test_only_what_is_touched_counts(part: slice, count: int) -> None:
    draft = only_kernel(t(20, 10)[part] + 1.0)
    assert elements(draft)[0] == count


def test_a_broadcast_is_read_once() -> None:
    assert list(elements(only_kernel(t(7, 1) + t(1, 9))).values()) == [7, 9, 63]


def test_symbolic_sizes_stay_open() -> None:
    n = ig.Variable("n", 1, 64)
    x = t(64, 8).shrink(((0, n.bind(5)), None)) * 2.0
    assert counted(x, n=5) == (40, 2 * 4 * 40)
    assert counted(x, n=7) == (56, 2 * 4 * 56)


def test_no_elements_no_work() -> None:
    assert not fused(normalise([(t(0, 5) + 1.0).uop])[0], Work(host())).drafts
