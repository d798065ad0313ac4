"""GPU schedules: moves alone, on programs of every structure; run by the SIMT interpreter, with planted faults."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from ingot.errors import KernelFault, MoveError
from ingot.ir.interpret_simt import run_simt
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopArg, LoopKind, Ops, ParamArg, Scope, StageArg
from ingot.ir.rewrite import substitute
from ingot.kernel import gpu, gpu_rows
from ingot.kernel.align import align
from ingot.kernel.launch import onto_threads
from ingot.kernel.launches import Built
from ingot.kernel.moves import split
from ingot.kernel.specialise import at_most, multiple_of, predicate
from ingot.kernel.tree import build
from ingot.target import SM90A
from tests.kernel.execute import built, interpret, number
from tests.kernel.gpu_programs import Array, Program, program

Case = tuple[str, tuple[int, ...]]
SMALL: list[Case] = [
    ("chain", (40, 64)),
    ("chain", (3, 37)),
    ("softmax", (3, 512)),
    ("softmax", (2, 37)),
    ("softmax", (5, 3)),
    ("layer_norm", (2, 100)),
    ("layer_norm", (2, 37)),
    ("transpose", (70, 132)),
    ("transpose", (33, 47)),
    ("row_sum", (3, 5000)),
    ("row_sum", (3, 37)),
    ("total", (60, 640)),
    ("total", (7, 37)),
    ("argmax", (3, 200)),
]
TILED: list[Case] = [
    ("gemm", (40, 64, 72)),
    ("gemm", (33, 19, 35)),
    ("gemm_relu", (33, 32, 36)),
    ("batched", (2, 33, 16, 36)),
]
LONG: list[Case] = [("softmax", (2, 40000)), ("softmax", (1, 40000))]
ids = [
    f"{name}-{'x'.join(map(str, shape))}" for name, shape in SMALL + TILED + LONG
]


@pytest.mark.parametrize(("name", "shape"), SMALL + TILED + LONG, ids=ids)
def test_schedules_compute_what_the_program_says(
    name: str, shape: tuple[int, ...]
) -> None:
    given = program(name, *shape)
    assert given.error(given.simulated()) < 1e-5


@pytest.mark.parametrize(("name", "shape"), SMALL, ids=ids[: len(SMALL)])
def test_the_same_nests_without_moves_agree(
    name: str, shape: tuple[int, ...]
) -> None:
    given = program(name, *shape)
    buffers = given.fresh()
    interpret(align(given.kernel), buffers, given.sizes)
    assert np.allclose(buffers[-1], given.simulated(), rtol=1e-4, atol=1e-5)


# --- what the schedules are ---


def loops(made: Built, kind: LoopKind) -> list[UOp]:
    return [
        u
        for launch in made.launches
        for u in launch.toposort()
        if u.op is Ops.LOOP and loop_arg(u).kind is kind
    ]


def loop_arg(node: UOp) -> LoopArg:
    return cast(LoopArg, node.arg)


def loads_of(made: Built, slot: int) -> list[UOp]:
    """The loads of one argument, each written once in the tree."""
    nodes = [u for launch in made.launches for u in launch.toposort()]
    return [
        u
        for u in nodes
        if u.op is Ops.LOAD
        and u.src[0].op is Ops.PARAM
        and cast(ParamArg, u.src[0].arg).slot == slot
    ]


@pytest.mark.parametrize(
    ("name", "shape"), [("softmax", (4, 1024)), ("layer_norm", (4, 1024))]
)
def test_a_row_that_fits_is_read_once(name: str, shape: tuple[int, ...]) -> None:
    made = program(name, *shape).scheduled()
    assert len(made.launches) == 1
    assert len(loads_of(made, 0)) == 1


def test_a_row_that_does_not_fit_is_read_by_every_pass() -> None:
    assert len(loads_of(program("softmax", 2, 40000).scheduled(), 0)) == 3


def test_exp_is_computed_once_an_element() -> None:
    given = program("softmax", 4, 1024)
    (launch,) = build(gpu.choose(given.kernel, given.hints)).launches
    assert sum(u.op is Ops.EXP for u in launch.toposort()) == 1


def test_a_whole_reduction_is_two_launches_and_a_temporary_a_block() -> None:
    given = program("total", 60, 640)
    made = given.scheduled()
    assert [number(count, given.sizes) for _, count in made.temporaries] == [4]
    assert len(made.launches) == 2


def test_tiles_of_a_transpose_are_padded() -> None:
    (launch,) = program("transpose", 64, 64).scheduled().launches
    (tile,) = (
        u
        for u in launch.toposort()
        if u.op is Ops.STAGE and stage_scope(u) is Scope.SHARED
    )
    assert int(tile.src[0].value) == 64 * 65


def stage_scope(node: UOp) -> Scope:
    return cast(StageArg, node.arg).scope


def test_shared_fills_wait_for_each_other_once() -> None:
    (launch,) = program("gemm", 32, 32, 32).scheduled().launches
    step = next(
        u
        for u in loops(Built((launch,), ()), LoopKind.LOOP)
        if any(s.op is Ops.BARRIER for s in u.src)
    )
    assert sum(s.op is Ops.BARRIER for s in step.src) == 2


def test_every_schedule_is_a_list_of_moves() -> None:
    given = program("softmax", 4, 1024)
    moved = gpu.choose(given.kernel, given.hints)
    names = {move.partition("(")[0] for move in moved.moves}
    assert {
        "split",
        "bind",
        "stage",
        "share",
        "rfactor",
        "vector",
        "unroll",
        "predicate",
        "at_most",
    } <= names


# --- one member, many sizes ---


def member(given: Program) -> tuple[Built, tuple[UOp, ...]]:
    """The trees and guards that the hints of one program make."""
    return given.scheduled(), gpu.choose(given.kernel, given.hints).guards


def allows(guards: tuple[UOp, ...], other: Program) -> bool:
    return all(number(guard, other.sizes) for guard in guards)


@pytest.mark.parametrize(
    ("name", "first", "others"),
    [
        ("softmax", (4, 1024), [(1 + 1, 4), (3, 100), (5, 1020)]),
        ("transpose", (64, 64), [(4, 8), (100, 36)]),
        ("row_sum", (4, 4096), [(2, 8), (3, 9000)]),
        ("chain", (64, 64), [(2, 2), (5, 1000)]),
        ("gemm", (64, 32, 64), [(33, 64, 36)]),
    ],
)
def test_one_member_runs_every_size_that_its_guards_allow(
    name: str, first: tuple[int, ...], others: list[tuple[int, ...]]
) -> None:
    made, guards = member(program(name, *first))
    for shape in others:
        given = program(name, *shape)
        assert allows(guards, given), shape
        assert given.error(given.simulated(made)) < 1e-5


@pytest.mark.parametrize(
    ("name", "first", "other"),
    [
        ("softmax", (4, 1024), (4, 1028)),
        ("softmax", (4, 1024), (4, 1023)),
        ("transpose", (64, 64), (64, 63)),
        ("chain", (64, 64), (5, 5)),
        ("gemm", (64, 32, 64), (64, 48, 64)),
    ],
)
def test_guards_refuse_the_sizes_that_a_member_cannot_run(
    name: str, first: tuple[int, ...], other: tuple[int, ...]
) -> None:
    _, guards = member(program(name, *first))
    assert not allows(guards, program(name, *other))


# --- planted faults ---


def without_barrier(launch: UOp, which: int) -> UOp:
    """The tree without one of its barriers."""
    count = iter(range(100))

    def statement(node: UOp) -> Iterator[UOp]:
        if node.op is Ops.BARRIER and next(count) == which:
            return
        if node.op in (Ops.LOOP, Ops.WHEN):
            inside = (s for child in node.src[1:] for s in statement(child))
            yield node.replace(src=(node.src[0], *inside))
        else:
            yield node

    return launch.replace(
        src=tuple(s for child in launch.src for s in statement(child))
    )


@pytest.mark.parametrize(
    ("name", "shape", "which"),
    [
        ("transpose", (64, 64), 1),
        ("gemm", (32, 64, 32), 0),
        ("gemm", (32, 64, 32), 1),
    ],
)
def test_a_dropped_barrier_is_found(
    name: str, shape: tuple[int, ...], which: int
) -> None:
    given = program(name, *shape)
    (launch,) = given.scheduled().launches
    with pytest.raises(
        KernelFault, match=r"race in .*no barrier|reads uninitialised"
    ):
        run_simt(without_barrier(launch, which), given.fresh(), given.sizes)


def unmasked(launch: UOp) -> UOp:
    """The tree with every load and store bare of its mask."""
    masked = [
        u
        for u in launch.toposort()
        if u.op in (Ops.LOAD, Ops.STORE) and len(u.src) == 4
    ]
    plain = {
        u: u.replace(src=u.src[:2] if u.op is Ops.LOAD else u.src[:3])
        for u in masked
    }
    while any(u in plain for u in launch.toposort()):
        launch = substitute(launch, plain)
    return launch


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("transpose", (33, 47)),
        ("softmax", (2, 37)),
        ("chain", (3, 37)),
        ("gemm", (33, 19, 35)),
    ],
)
def test_a_dropped_mask_is_found(name: str, shape: tuple[int, ...]) -> None:
    given = program(name, *shape)
    (launch,) = given.scheduled().launches
    with pytest.raises(KernelFault, match="out of bounds"):
        run_simt(unmasked(launch), given.fresh(), given.sizes)


def test_a_store_by_every_thread_is_found() -> None:
    given = program("row_sum", 3, 40)
    (launch,) = given.scheduled().launches
    with pytest.raises(
        KernelFault,
        match=r"race in p1\[0\]: thread 1 writes in the same step as thread 0",
    ):
        run_simt(unmasked(launch), padded(given.fresh()), given.sizes)


def padded(buffers: list[Array]) -> list[Array]:
    """Arguments with room behind them, so that only the store is wrong."""
    return [
        np.concatenate([b.reshape(-1), np.zeros(1 << 16, b.dtype)]) for b in buffers
    ]


# --- the moves that GPU schedules brought along ---


def test_threads_need_a_loop_of_just_their_number() -> None:
    kernel = program("chain", 4, 8).kernel
    name = kernel.loops[kernel.nests[0].loops[0]].name
    with pytest.raises(MoveError, match="exactly 64 times"):
        onto_threads(kernel, name, 64)


def test_a_predicate_needs_a_constant_capacity() -> None:
    kernel = program("chain", 4, 8).kernel
    name = kernel.loops[kernel.nests[0].loops[0]].name
    with pytest.raises(MoveError, match="no constant capacity"):
        predicate(kernel, name)
    moved = predicate(split(kernel, name, 16, "o", "i"), "i")
    assert moved.loop("i").extent is moved.loop("i").capacity
    assert len(moved.nests[0].conditions) == 1


def test_a_condition_that_another_implies_is_not_asked() -> None:
    kernel = program("chain", 4, 8).kernel
    name = kernel.loops[kernel.nests[0].loops[0]].name
    kernel = at_most(split(kernel, name, 16, "o", "i"), "o", 8)
    both = predicate(predicate(kernel, "i"), "o")
    assert both.nests[0].conditions == predicate(kernel, "i").nests[0].conditions


def test_at_most_refuses_a_tile() -> None:
    kernel = program("chain", 4, 8).kernel
    name = kernel.loops[kernel.nests[0].loops[0]].name
    with pytest.raises(MoveError, match="changes while the kernel runs"):
        at_most(split(kernel, name, 16, "o", "i"), "i", 8)


def test_a_multiple_makes_splits_exact() -> None:
    given = program("row_sum", 4, 64)
    kernel = align(given.kernel)
    row = next(
        lp for lp in kernel.loops.values() if lp.axis in kernel.nests[0].reduced
    )
    moved = split(multiple_of(kernel, row.extent, 4), row.name, 4, "o", "i")
    assert moved.loop("i").extent is moved.loop("i").capacity
    with pytest.raises(MoveError, match="not a size argument"):
        multiple_of(kernel, row.extent * 2, 4)


def test_a_row_of_any_length_can_be_looped_over() -> None:
    given = program("layer_norm", 2, 1000)
    kernel = gpu_rows.looped(gpu_rows.by_row(align(given.kernel)), 4, threads=64)
    assert given.error(given.simulated(built(kernel))) < 1e-5


def test_few_multiprocessors_get_few_blocks() -> None:
    given = program("total", 60, 640)
    moved = gpu.choose(given.kernel, given.hints, replace(SM90A, sms=3))
    (blocks,) = (lp for lp in moved.loops.values() if lp.kind is LoopKind.BLOCK)
    assert int(blocks.extent.value) == 12
