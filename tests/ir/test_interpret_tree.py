"""The tree interpreter: loops, lanes, masks, folds, and every fault that it must find."""

from __future__ import annotations

import numpy as np
import pytest

from ingot.errors import ArgumentError, KernelFault, SpecError
from ingot.ir import dtype as dt
from ingot.ir import meaning
from ingot.ir.interpret_tree import run_tree
from ingot.ir.node import UOp, arena
from ingot.ir.opcode import LoopKind, Ops, Scope
from tests.ir.kernels import (
    fold,
    gemm,
    kernel,
    load,
    loop,
    number,
    param,
    row_sum,
    stage,
    store,
    when,
)

RNG = np.random.default_rng(0)
U, V, W = UOp.axis(0), UOp.axis(1), UOp.axis(2)
N = UOp.variable("n", 1, 4096)
ONE = UOp.const(dt.float32, 1.0)
OUT = param(0, writable=True)


def fma_gemm(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        left, right = np.broadcast_arrays(a[:, k : k + 1], b[k : k + 1])
        total = meaning.mulacc(dt.float32, left, right, total)
    return total


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_gemm_is_exact(lanes: int) -> None:
    a, b = RNG.normal(size=(2, 16, 16)).astype(np.float32)
    c = np.zeros((16, 16), np.float32)
    run_tree(gemm(lanes), [a, b, c], {"n": 16})
    np.testing.assert_array_equal(c, fma_gemm(a, b))


def test_chunks_in_any_order() -> None:
    a, b = RNG.normal(size=(2, 8, 8)).astype(np.float32)
    first, second = np.zeros((2, 8, 8), np.float32)
    run_tree(gemm(4), [a, b, first], {"n": 8})
    run_tree(
        gemm(4), [a, b, second], {"n": 8}, chunk_order=[3, 7, 0, 1, 6, 2, 5, 4]
    )
    np.testing.assert_array_equal(first, second)
    with pytest.raises(ArgumentError, match="permutation"):
        run_tree(gemm(4), [a, b, second], {"n": 8}, chunk_order=[0, 0])


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 30])
def test_masked_rows_and_folds(columns: int) -> None:
    x = RNG.normal(size=(3, columns)).astype(np.float32)
    out = np.zeros(3, np.float32)
    run_tree(row_sum(8), [x, out], {"rows": 3, "columns": columns})
    np.testing.assert_allclose(out, x.sum(1), rtol=1e-5)


def test_fold_orders() -> None:
    x = RNG.normal(size=(1, 8)).astype(np.float32)
    lanes = x[0]
    halves = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + (
        (lanes[1] + lanes[5]) + (lanes[3] + lanes[7])
    )
    in_turn = lanes[0]
    for value in lanes[1:]:
        in_turn = in_turn + value
    for order, wanted in (("halves", halves), ("sequence", in_turn)):
        out = np.zeros(1, np.float32)
        run_tree(row_sum(8), [x, out], {"rows": 1, "columns": 8}, fold=order)
        assert out[0] == wanted


def test_a_vector_statement_loads_before_it_stores() -> None:
    """out[i] = out[i - 1] shifts when lanes run together, smears when they run in turn."""
    for kind, wanted in (
        (LoopKind.VECTOR, [0, 0, 1, 2]),
        (LoopKind.LOOP, [0, 0, 0, 0]),
        (LoopKind.UNROLL, [0] * 4),
    ):
        body = loop(0, 3, store(OUT, U + 1, load(OUT, U)), kind=kind)
        out = np.arange(4, dtype=np.float32)
        run_tree(kernel("shift", (OUT,), (), body), [out])
        np.testing.assert_array_equal(out, wanted)


def test_statements_run_in_tree_order() -> None:
    first, second = (
        store(OUT, number(0), ONE),
        store(OUT, number(1), load(OUT, number(0)) + 1.0),
    )
    out = np.zeros(2, np.float32)
    run_tree(
        kernel(
            "order",
            (OUT,),
            (),
            first,
            second,
            second.replace(src=(OUT, number(0), ONE * 5.0)),
        ),
        [out],
    )
    np.testing.assert_array_equal(out, [5, 2])


def test_conditions_by_lane_and_by_loop() -> None:
    for kind in (LoopKind.LOOP, LoopKind.VECTOR):
        body = loop(0, 8, when(U < N, store(OUT, U, ONE)), kind=kind)
        out = np.zeros(8, np.float32)
        run_tree(kernel("when", (OUT,), (N,), body), [out], {"n": 3})
        np.testing.assert_array_equal(out, [1, 1, 1, 0, 0, 0, 0, 0])


def test_masked_stores_touch_nothing() -> None:
    body = loop(0, 8, store(OUT, U, ONE, U < N), kind=LoopKind.VECTOR)
    out = np.zeros(3, np.float32)
    run_tree(kernel("mask", (OUT,), (N,), body), [out], {"n": 3})
    np.testing.assert_array_equal(out, [1, 1, 1])


def test_types_in_memory() -> None:
    for dtype in (
        dt.bfloat16,
        dt.float16,
        dt.float64,
        dt.int8,
        dt.boolean,
        dt.index,
    ):
        x, out = param(0, dtype), param(1, dtype, writable=True)
        value = load(x, U)
        made = value if dtype is dt.boolean else value + value
        for kind in (LoopKind.LOOP, LoopKind.VECTOR):
            given = (
                RNG.integers(0, 2, 4).astype(bool)
                if dtype is dt.boolean
                else np.arange(4)
            )
            stored = meaning.store(dtype, given.astype(meaning.held(dtype)))
            result = np.zeros(4, dt.to_numpy(dtype))
            run_tree(
                kernel(
                    "types",
                    (x, out),
                    (),
                    loop(0, 4, store(out, U, made), kind=kind),
                ),
                [stored, result],
            )
            double = given if dtype is dt.boolean else given * 2
            np.testing.assert_array_equal(meaning.load(dtype, result), double)


def test_scalars_are_arguments() -> None:
    rate = UOp.variable("rate", 0, 1, dt.float32)
    body = loop(0, 2, store(OUT, U, load(OUT, U) * rate))
    out = np.ones(2, np.float32)
    run_tree(kernel("scale", (OUT,), (rate,), body), [out], {"rate": 0.1})
    np.testing.assert_array_equal(out, np.full(2, np.float32(0.1)))


def test_a_packed_stage_has_a_run_time_size() -> None:
    packed = stage(0, N * 2, Scope.PACKED)
    fill = loop(0, N * 2, store(packed, U, load(OUT, U) + 1.0))
    back = loop(1, N * 2, store(OUT, V, load(packed, N * 2 - 1 - V)))
    out = np.arange(6, dtype=np.float32)
    run_tree(kernel("packed", (OUT,), (N,), packed, fill, back), [out], {"n": 3})
    np.testing.assert_array_equal(out, [6, 5, 4, 3, 2, 1])


def test_nan_constants_keep_their_bits() -> None:
    bits = UOp(Ops.CONST, dt.float32, (), UOp.const(dt.uint32, 0x7FC12345).arg)
    out = np.zeros(1, np.float32)
    run_tree(kernel("nan", (OUT,), (), store(OUT, number(0), bits)), [out])
    assert out.view(np.uint32)[0] == 0x7FC12345


# --- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [LoopKind.LOOP, LoopKind.VECTOR])
def test_outside_a_buffer(kind: LoopKind) -> None:
    body = loop(1, N, loop(0, 4, store(OUT, V * 4 + U, ONE), kind=kind))
    with pytest.raises(
        KernelFault,
        match=r"store outside p0\[10\], which has 10 elements\n  at i1 = 2, i0 = 2",
    ):
        run_tree(
            kernel("far", (OUT,), (N,), body), [np.zeros(10, np.float32)], {"n": 3}
        )
    with pytest.raises(KernelFault, match=r"store outside p0\[11\]"):
        run_tree(
            kernel("one past", (OUT,), (N,), body),
            [np.zeros(11, np.float32)],
            {"n": 3},
        )
    body = loop(0, 4, store(OUT, U, load(OUT, U - 1)), kind=kind)
    with pytest.raises(KernelFault, match=r"load outside p0\[-1\].*\n  at i0 = 0"):
        run_tree(kernel("before", (OUT,), (), body), [np.zeros(4, np.float32)])


@pytest.mark.parametrize("kind", [LoopKind.LOOP, LoopKind.VECTOR])
def test_unwritten_memory(kind: LoopKind) -> None:
    local = stage(3, 4, Scope.STACK)
    fill = loop(0, 3, store(local, U, ONE), kind=kind)
    read = loop(1, 4, store(OUT, V, load(local, V)), kind=kind)
    with pytest.raises(
        KernelFault, match=r"load of unwritten s3\[3\].*\n  at i1 = 3"
    ):
        run_tree(
            kernel("unwritten", (OUT,), (), local, fill, read),
            [np.zeros(4, np.float32)],
        )


def test_a_stage_is_fresh_each_time() -> None:
    local = stage(0, 1)
    body = loop(
        0,
        2,
        local,
        when(U < 1, store(local, number(0), ONE)),
        store(OUT, U, load(local, number(0))),
    )
    with pytest.raises(KernelFault, match=r"unwritten.*\n  at i0 = 1"):
        run_tree(kernel("fresh", (OUT,), (), body), [np.zeros(2, np.float32)])


def test_two_lanes_in_one_place() -> None:
    body = loop(0, 4, store(OUT, U // 2, U.cast(dt.float32)), kind=LoopKind.VECTOR)
    with pytest.raises(KernelFault, match="two lanes store different values"):
        run_tree(kernel("clash", (OUT,), (), body), [np.zeros(4, np.float32)])
    body = loop(0, 4, store(OUT, U // 2, ONE), kind=LoopKind.VECTOR)
    run_tree(kernel("agree", (OUT,), (), body), [np.zeros(4, np.float32)])


def test_gpu_trees_have_their_own_interpreter() -> None:
    with pytest.raises(SpecError, match="interpret_simt"):
        run_tree(
            kernel(
                "gpu",
                (OUT,),
                (),
                loop(0, 4, store(OUT, U, ONE), kind=LoopKind.LANE),
            ),
            [np.zeros(4)],
        )
    with pytest.raises(SpecError, match="not a statement"):
        run_tree(
            kernel("gpu", (OUT,), (), UOp(Ops.BARRIER, dt.void)), [np.zeros(4)]
        )


def test_wrong_trees_and_arguments() -> None:
    with pytest.raises(SpecError, match="outside the loop"):
        run_tree(
            kernel("axis", (OUT,), (), store(OUT, U, ONE)),
            [np.zeros(1, np.float32)],
        )
    local = stage(0, 1)
    with pytest.raises(SpecError, match="before its place"):
        run_tree(
            kernel("late", (OUT,), (), store(local, number(0), ONE), local),
            [np.zeros(1, np.float32)],
        )
    with pytest.raises(ArgumentError, match="no value for n"):
        run_tree(
            kernel("size", (OUT,), (N,), loop(0, N, store(OUT, U, ONE))),
            [np.zeros(1, np.float32)],
        )
    with pytest.raises(ArgumentError, match="float64"):
        run_tree(
            kernel("type", (OUT,), (), store(OUT, number(0), ONE)), [np.zeros(1)]
        )
    with pytest.raises(ArgumentError, match="C order"):
        run_tree(
            kernel("order", (OUT,), (), store(OUT, number(0), ONE)),
            [np.zeros((4, 4), np.float32).T],
        )
    with pytest.raises(ArgumentError, match="buffers"):
        run_tree(kernel("count", (OUT,), (), store(OUT, number(0), ONE)), [])


def test_trees_of_an_arena() -> None:
    with arena():
        a, b = RNG.normal(size=(2, 4, 4)).astype(np.float32)
        c = np.zeros((4, 4), np.float32)
        run_tree(gemm(4), [a, b, c], {"n": 4})
        np.testing.assert_array_equal(c, fma_gemm(a, b))


def test_fold_over_lanes_inside_a_loop() -> None:
    x, out = param(0), param(1, writable=True)
    combine = UOp.state(dt.float32, 0).maximum(UOp.state(dt.float32, 1))
    body = loop(0, 3, fold(1, 4, load(out, U), load(x, U * 4 + V), combine))
    given = RNG.normal(size=(3, 4)).astype(np.float32)
    made = np.zeros(3, np.float32)
    run_tree(kernel("max", (x, out), (), body), [given, made])
    np.testing.assert_array_equal(made, given.max(1))
