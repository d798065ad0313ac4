"""The SIMT interpreter: what it computes, and every kind of fault that it finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from ingot.errors import ArgumentError, KernelFault, SpecError
from ingot.ir import dtype as dt
from ingot.ir.interpret_simt import run_simt
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    AxisArg,
    FoldArg,
    KernelArg,
    LoopArg,
    LoopKind,
    Ops,
    Scope,
    StageArg,
)
from tests.ir.kernels import load, number, param, store, when

Array = np.ndarray[Any, Any]
F32 = dt.float32
BLOCK, WARP, LANE, STEP = (
    UOp.axis(number, name)
    for number, name in enumerate(("block", "warp", "lane", "step"))
)
THREAD = WARP * 32 + LANE
X, Y = param(0), param(1, writable=True)
BARRIER = UOp(Ops.BARRIER, dt.void)


def loop(axis: UOp, extent: int | UOp, kind: LoopKind, *statements: UOp) -> UOp:
    arg = cast(AxisArg, axis.arg)
    size = extent if isinstance(extent, UOp) else number(extent)
    return UOp(
        Ops.LOOP, dt.void, (size, *statements), LoopArg(arg.id, kind, arg.name)
    )


def tile(scope: Scope, size: int, dtype: dt.DType = F32) -> UOp:
    return UOp(Ops.STAGE, dtype, (number(size),), StageArg(7, scope, "tile"))


def fold(
    kind: LoopKind, axis: UOp, extent: int, target: UOp, value: UOp, combine: UOp
) -> UOp:
    arg = FoldArg(axis.arg.id, kind, 1)  # type: ignore[union-attr]
    return UOp(Ops.FOLD, dt.void, (number(extent), target, value, combine), arg)


def kernel(*statements: UOp, warps: int = 2, blocks: int = 1) -> UOp:
    """Statements on all threads of all blocks."""
    threads = loop(
        WARP, warps, LoopKind.WARP, loop(LANE, 32, LoopKind.LANE, *statements)
    )
    arg = KernelArg("probe", (X, Y), (), number(1), number(0))
    return UOp(
        Ops.KERNEL, dt.void, (loop(BLOCK, blocks, LoopKind.BLOCK, threads),), arg
    )


def run(*statements: UOp, warps: int = 2, blocks: int = 1, size: int = 64) -> Array:
    """Y after the kernel; X counts from 0."""
    x, y = np.arange(size, dtype=np.float32), np.full(size, -1, np.float32)
    run_simt(kernel(*statements, warps=warps, blocks=blocks), [x, y])
    return y


SHARED = tile(Scope.SHARED, 64)
FILL = store(SHARED, THREAD, load(X, THREAD))
REVERSED = store(Y, THREAD, load(SHARED, number(63) - THREAD))


# --- what it computes -------------------------------------------------------------------------------------------------


def test_threads_exchange_values_through_shared_memory() -> None:
    assert run(SHARED, FILL, BARRIER, REVERSED).tolist() == list(range(63, -1, -1))


def test_every_block_runs() -> None:
    place = BLOCK * 64 + THREAD
    y = run(store(Y, place, load(X, place) + 1.0), blocks=3, size=192)
    assert y.tolist() == list(range(1, 193))


def test_masks_and_conditions_leave_the_rest_alone() -> None:
    even = (THREAD % 2).eq(0)
    y = run(
        store(Y, THREAD, load(X, THREAD), even),
        when(THREAD < 4, store(Y, THREAD, load(X, THREAD * 2))),
    )
    assert y[:8].tolist() == [0, 2, 4, 6, 4, -1, 6, -1]


def test_a_masked_load_touches_nothing() -> None:
    far = THREAD + 1000
    value = load(X, far, far < 64, UOp.const(F32, 5.0))
    assert (run(store(Y, THREAD, value)) == 5).all()


def test_a_loop_whose_extent_differs_by_thread() -> None:
    total = tile(Scope.REGISTER, 1)
    zero = number(0)
    y = run(
        total,
        store(total, zero, UOp.const(F32, 0)),
        loop(
            STEP,
            LANE % 3,
            LoopKind.LOOP,
            store(total, zero, load(total, zero) + 1.0),
        ),
        store(Y, THREAD, load(total, zero)),
    )
    assert y[:6].tolist() == [0, 1, 2, 0, 1, 2]


def first_of_two() -> UOp:
    """a keeps the left operand of every pair: order shows."""
    return UOp.state(F32, 0) * 1.0


SUM = UOp.state(F32, 0) + UOp.state(F32, 1)


@pytest.mark.parametrize(
    ("kind", "axis", "extent", "wanted"),
    [
        (LoopKind.LANE, LANE, 32, lambda x: np.repeat(x.reshape(2, 32).sum(1), 32)),
        (LoopKind.WARP, WARP, 2, lambda x: np.tile(x.reshape(2, 32).sum(0), 2)),
    ],
)
def test_folds_give_every_thread_the_result(
    kind: LoopKind, axis: UOp, extent: int, wanted: Callable[[Array], Array]
) -> None:
    total = tile(Scope.REGISTER, 1)
    target = load(total, number(0))
    y = run(
        total,
        fold(kind, axis, extent, target, load(X, THREAD), SUM),
        store(Y, THREAD, target),
    )
    assert y.tolist() == wanted(np.arange(64.0)).tolist()


@pytest.mark.parametrize(
    ("kind", "axis", "extent"),
    [(LoopKind.LANE, LANE, 32), (LoopKind.WARP, WARP, 2)],
)
def test_folds_keep_the_order_of_their_operands(
    kind: LoopKind, axis: UOp, extent: int
) -> None:
    total = tile(Scope.REGISTER, 1)
    target = load(total, number(0))
    y = run(
        total,
        fold(kind, axis, extent, target, load(X, THREAD), first_of_two()),
        store(Y, THREAD, target),
    )
    first = (
        np.repeat([0, 32], 32)
        if kind is LoopKind.LANE
        else np.tile(np.arange(32), 2)
    )
    assert y.tolist() == first.tolist()


def test_a_fold_into_global_memory_is_written_by_one_thread() -> None:
    total = tile(Scope.REGISTER, 1)
    warp_sum = load(total, number(0))
    y = run(
        total,
        fold(LoopKind.LANE, LANE, 32, warp_sum, load(X, THREAD), SUM),
        fold(LoopKind.WARP, WARP, 2, load(Y, BLOCK), warp_sum, SUM),
        blocks=2,
    )
    assert y[:3].tolist() == [2016, 2016, -1]


def test_a_fold_over_a_vector_combines_halves() -> None:
    values = load(X, THREAD * 4 + STEP, THREAD * 4 + STEP < 64, UOp.const(F32, 0))
    total = tile(Scope.REGISTER, 1)
    target = load(total, number(0))
    y = run(
        total,
        fold(LoopKind.VECTOR, STEP, 4, target, values, SUM),
        store(Y, THREAD, target),
    )
    assert y[:3].tolist() == [6, 22, 38]


# --- what it finds ----------------------------------------------------------------------------------------------------


def fault(*statements: UOp, blocks: int = 1) -> str:
    with pytest.raises(KernelFault) as caught:
        run(*statements, blocks=blocks)
    return str(caught.value)


def test_a_read_without_a_barrier_is_a_race() -> None:
    whole = store(SHARED, THREAD, load(X, THREAD))
    text = fault(SHARED, whole, BARRIER, whole, REVERSED)
    assert (
        "race in tile[63]: thread 0 reads what thread 63 wrote and no barrier is between"
        in text
    )
    assert "in probe, at block = 0, warp = 0, lane = 0" in text


def test_a_write_after_a_read_without_a_barrier_is_a_race() -> None:
    text = fault(SHARED, FILL, BARRIER, REVERSED, FILL)
    assert (
        "race in tile[0]: thread 0 writes what thread 63 read and no barrier is between"
        in text
    )


def test_what_several_threads_read_is_named_so() -> None:
    text = fault(
        SHARED, FILL, BARRIER, store(Y, THREAD, load(SHARED, number(5))), FILL
    )
    assert "race in tile[5]: thread 5 writes what several threads read" in text


def test_two_writes_without_a_barrier_are_a_race() -> None:
    text = fault(SHARED, FILL, store(SHARED, number(63) - THREAD, load(X, THREAD)))
    assert (
        "race in tile[63]: thread 0 writes what thread 63 wrote and no barrier is between"
        in text
    )


def test_two_threads_that_write_one_cell_at_once_are_a_race() -> None:
    assert "race in tile[0]: thread 1 writes in the same step as thread 0" in fault(
        SHARED, store(SHARED, THREAD // 2, load(X, THREAD))
    )


def test_a_race_between_iterations_is_found_though_the_tile_is_declared_anew() -> (
    None
):
    again = loop(STEP, 2, LoopKind.LOOP, SHARED, FILL, BARRIER, REVERSED)
    assert "writes what thread 63 read" in fault(again)


def test_global_memory_has_races_too() -> None:
    text = fault(
        store(Y, THREAD, load(X, THREAD)),
        store(Y, number(63) - THREAD, load(X, THREAD)),
    )
    assert "race in p1[63]" in text


def test_blocks_must_not_meet() -> None:
    same = store(Y, THREAD, load(X, THREAD))
    assert (
        "race in p1[0]: thread 0 writes what another block of the same launch touched"
        in fault(same, blocks=2)
    )
    there = when(BLOCK.eq(1), store(Y, number(0), load(Y, number(1)), THREAD.eq(0)))
    here = when(BLOCK.eq(0), same)
    assert "reads what another block of the same launch wrote" in fault(
        here, there, blocks=2
    )


def test_a_thread_may_use_what_it_wrote_itself() -> None:
    assert run(
        SHARED, FILL, store(Y, THREAD, load(SHARED, THREAD))
    ).tolist() == list(range(64))


def test_accesses_outside_a_buffer() -> None:
    assert "thread 63 load out of bounds: p0[64] of 64 elements" in fault(
        store(Y, THREAD, load(X, THREAD + 1))
    )
    assert "thread 0 store out of bounds: p1[-1] of 64 elements" in fault(
        store(Y, THREAD - 1, load(X, THREAD))
    )


def test_reads_of_what_nothing_wrote() -> None:
    half = store(SHARED, THREAD, load(X, THREAD), THREAD < 32)
    assert "thread 0 reads uninitialised tile[63]" in fault(
        SHARED, half, BARRIER, REVERSED
    )
    own = tile(Scope.REGISTER, 2)
    assert "reads uninitialised tile[1]" in fault(
        own,
        store(own, number(0), load(X, THREAD)),
        store(Y, THREAD, load(own, number(1))),
    )


def test_shared_memory_is_new_in_every_block() -> None:
    first = when(BLOCK.eq(0), FILL)
    assert "reads uninitialised tile" in fault(
        SHARED,
        first,
        BARRIER,
        store(Y, BLOCK * 64 + THREAD, load(SHARED, THREAD), BLOCK.eq(1)),
        blocks=2,
    )


def test_a_barrier_that_some_threads_miss() -> None:
    text = fault(when(THREAD < 40, BARRIER))
    assert "divergent barrier: thread 40 and 23 others do not reach it" in text


def test_a_fold_that_some_threads_miss() -> None:
    total = tile(Scope.REGISTER, 1)
    missed = fold(
        LoopKind.LANE, LANE, 32, load(total, number(0)), load(X, THREAD), SUM
    )
    assert "divergent fold" in fault(total, when(THREAD < 40, missed))


def test_wrong_arguments_are_refused() -> None:
    probe = kernel(store(Y, THREAD, load(X, THREAD)))
    x = np.zeros(64, np.float32)
    with pytest.raises(ArgumentError, match="buffers"):
        run_simt(probe, [x])
    with pytest.raises(ArgumentError, match="p1"):
        run_simt(probe, [x, x.astype(np.float64)])


def test_a_warp_has_32_lanes() -> None:
    odd = loop(LANE, 16, LoopKind.LANE, store(Y, LANE, load(X, LANE)))
    arg = KernelArg("probe", (X, Y), (), number(1), number(0))
    with pytest.raises(SpecError, match="32 lanes"):
        run_simt(
            UOp(Ops.KERNEL, dt.void, (odd,), arg), [np.zeros(16, np.float32)] * 2
        )
