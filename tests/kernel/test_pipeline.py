"""Tiles filled ahead of their use: on a CPU, and by the threads of a GPU, where one barrier an iteration must do."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from ingot.ir.interpret_simt import run_simt
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopArg, LoopKind, Ops, Scope, StageArg
from ingot.kernel.moves import bind, edge, reorder, split, unroll, vector
from ingot.kernel.nest import Edge, Kernel, Reduce
from ingot.kernel.pipeline import pipeline
from ingot.kernel.specialise import predicate
from ingot.kernel.staging import compute_at, stage
from tests.kernel.execute import Array, Native, built, interpret
from tests.kernel.kernels import SMALL, matmul_bias

SIZES = (
    {"m": 5, "n": 11, "d": 8},
    {"m": 1, "n": 1, "d": 1},
    {"m": 4, "n": 8, "d": 3},
    {"m": 3, "n": 9, "d": 0},
    {"m": 9, "n": 17, "d": 70},
)
DEPTHS = (1, 2, 3)


def operands(k: Kernel) -> tuple[UOp, ...]:
    body = k.nest("dot").body
    assert isinstance(body, Reduce)
    return body.values[0].src


def on_a_cpu(depth: int, how: Edge = Edge.MASK) -> Kernel:
    """Tiles of 4 x 8, three deep, both operands staged; `depth` 1 is without the move."""
    k = compute_at(matmul_bias(), "dot", "out", "j")
    k = split(
        split(split(k, "i", 4, "io", "ii"), "j", 8, "jo", "jv"), "k", 3, "ko", "ki"
    )
    k = reorder(k, "dot", "io", "jo", "ko", "ki", "ii", "jv")
    k = reorder(k, "out", "io", "jo", "ii", "jv")
    left, right = operands(k)
    k = stage(k, "dot", left, "ko", "a", Scope.PACKED, ("ki", "ii"))
    k = stage(k, "dot", right, "ko", "b", Scope.STACK, ("ki", "jv"))
    k = unroll(unroll(unroll(k, "ii"), "a.ii"), "ki")
    k = edge(vector(vector(k, "jv"), "b.jv"), "ko", how)
    k = bind(k, "io", LoopKind.CHUNK)
    return k if depth == 1 else pipeline(pipeline(k, "a", depth), "b", depth)


def on_a_gpu(depth: int) -> Kernel:
    """A row of blocks, a column a lane; both operands in shared memory, filled by all lanes."""
    k = compute_at(matmul_bias(), "dot", "out", "j")
    k = predicate(split(k, "j", 32, "jo", "jl"), "jl")
    k = reorder(split(k, "k", 32, "ko", "ki"), "dot", "i", "jo", "ko", "ki", "jl")
    left, right = operands(k)
    k = predicate(stage(k, "dot", left, "ko", "a", Scope.SHARED), "a.ki")
    k = stage(k, "dot", right, "ko", "b", Scope.SHARED, ("ki", "jl"))
    for loop in ("jl", "a.ki", "b.jl"):
        k = bind(k, loop, LoopKind.LANE)
    k = bind(bind(k, "i", LoopKind.BLOCK), "jo", LoopKind.BLOCK)
    return k if depth == 1 else pipeline(pipeline(k, "a", depth), "b", depth)


def wanted(sizes: dict[str, int]) -> list[Array]:
    buffers = SMALL["matmul_bias"].arguments(sizes)
    interpret(matmul_bias(), buffers, sizes)
    return buffers


@pytest.mark.parametrize("how", [Edge.MASK, Edge.PEEL])
@pytest.mark.parametrize("depth", DEPTHS)
def test_the_depth_changes_nothing_but_the_order(depth: int, how: Edge) -> None:
    made = built(on_a_cpu(depth, how))
    for sizes in SIZES:
        buffers = SMALL["matmul_bias"].arguments(sizes)
        interpret(made, buffers, sizes)
        np.testing.assert_array_equal(buffers[-1], wanted(sizes)[-1])


@pytest.mark.parametrize("depth", [2, 3])
def test_compiled_code_agrees(depth: int) -> None:
    native = Native(on_a_cpu(depth))
    for sizes in SIZES:
        buffers = SMALL["matmul_bias"].arguments(sizes)
        native.run(buffers, sizes)
        np.testing.assert_array_equal(buffers[-1], wanted(sizes)[-1])


@pytest.mark.parametrize("depth", DEPTHS)
def test_threads_that_share_tiles_do_not_race(depth: int) -> None:
    (kernel,) = built(on_a_gpu(depth)).launches
    for sizes in SIZES:
        buffers = SMALL["matmul_bias"].arguments(sizes)
        run_simt(kernel, buffers, sizes)
        np.testing.assert_array_equal(buffers[-1], wanted(sizes)[-1])


def barriers(kernel: UOp) -> int:
    """Barrier statements in the loop over tiles."""
    loops = [u for u in kernel.toposort() if u.op is Ops.LOOP]
    loops = [u for u in loops if cast(LoopArg, u.arg).name == "ko"]
    return sum(
        statement.op is Ops.BARRIER for loop in loops for statement in loop.src[1:]
    )


def test_one_barrier_an_iteration() -> None:
    """Without the move a tile is filled between two barriers; ahead of its use, one is enough for both tiles."""
    plain, ahead = (built(on_a_gpu(depth)).launches[0] for depth in (1, 2))
    assert barriers(plain) == 2
    assert barriers(ahead) == 1


def test_a_tile_has_room_for_its_depth() -> None:
    def room(depth: int) -> int:
        tree = built(on_a_cpu(depth)).launches[0]
        stages = [u for u in tree.toposort() if u.op is Ops.STAGE]
        sizes = {cast(StageArg, u.arg).name: u.src[0].value for u in stages}
        return int(sizes["a"])

    assert [room(depth) for depth in DEPTHS] == [12, 24, 36]
