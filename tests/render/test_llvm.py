"""The LLVM text itself: what stands in a loop, what instructions come of it, and what is refused."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from ingot.errors import CompileError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopArg, LoopKind, Ops, Scope
from ingot.kernel.decompose import decompose
from ingot.render import llvm
from ingot.target import X86_LEVELS, Target, host
from tests.render import samples
from tests.render.native import assembly, call, compiled
from tests.render.trees import (
    axis,
    f32,
    fma,
    kernel,
    load,
    loop,
    param,
    size,
    stage,
    store,
    unary,
    unroll,
    vector,
)

V4, V3 = X86_LEVELS[0], X86_LEVELS[1]
X, Y, N = param(0), param(1, writable=True), size("n")
P, J, U, V = axis(0), axis(1), axis(2), axis(3)


def text(*body: UOp, target: Target = V4) -> str:
    return llvm.render(kernel(*body, params=(X, Y), sizes=(N,)), target)


def blocks(source: str) -> dict[str, list[str]]:
    """The lines of every basic block."""
    found: dict[str, list[str]] = {}
    for line in source.splitlines():
        label = re.match(r"(\w+):", line)
        if label:
            found[label[1]] = []
        elif found:
            found[next(reversed(found))].append(line)
    return found


def innermost(code: str) -> str:
    """The longest loop without a loop inside: from a label to the jump back to it."""
    loops = re.findall(r"(?ms)^(\.LBB\w+):\n((?:(?!^\.LBB).)*?)\n\tj\w+\t\1$", code)
    bodies = [str(body) for _, body in loops]
    return max(bodies, key=len)


# --- what stands in a loop ---


def test_index_arithmetic_stands_before_the_loop() -> None:
    row = P * N
    source = text(loop(0, N, loop(1, N, store(Y, row + J, load(X, row + J)))))
    inner = [
        lines for label, lines in blocks(source).items() if label.startswith("body")
    ][1]
    assert not any("mul" in line for line in inner)


def test_a_load_that_does_not_change_stands_before_the_loop() -> None:
    source = text(loop(0, N, loop(1, N, store(Y, P * N + J, load(X, P) * 2.0))))
    inner = [
        lines for label, lines in blocks(source).items() if label.startswith("body")
    ][1]
    assert not any("load" in line or "fmul" in line for line in inner)


def test_a_load_does_not_move_before_a_loop_that_may_not_run() -> None:
    """The read is out of range unless the loop runs."""
    tree = kernel(
        loop(0, N, store(Y, P, load(X, N - 1))), params=(X, Y), sizes=(N,)
    )
    guard = [
        lines
        for label, lines in blocks(llvm.render(tree, V4)).items()
        if label.startswith("guard")
    ]
    assert any("load float" in line for lines in guard for line in lines)


def test_a_load_of_a_buffer_that_the_loop_writes_stays() -> None:
    source = text(loop(0, N, store(Y, P, load(Y, 0) + 1.0)))
    body = next(
        lines for label, lines in blocks(source).items() if label.startswith("body")
    )
    assert any("load float" in line for line in body)


def test_every_load_and_address_is_written_once() -> None:
    value = load(X, P * 16 + V)
    source = text(
        loop(
            0,
            N,
            vector(
                3,
                16,
                store(Y, P * 16 + V, value * value),
                store(Y, P * 16 + V + 64, value + 1.0),
            ),
        )
    )
    assert source.count("load <16 x float>") == 1


def test_scalars_stay_scalars() -> None:
    source = text(
        loop(0, N, vector(3, 16, store(Y, P * 16 + V, load(X, P) * load(X, P + 1))))
    )
    assert "fmul float" in source
    assert "fmul <16 x float>" not in source


# --- instructions ---


def test_the_inner_loop_of_gemm_is_nothing_but_its_work() -> None:
    """96 multiply-adds, 12 loads, 32 broadcasts, and no traffic with the stack."""
    inner = innermost(assembly(llvm.render(samples.gemm(), V4), V4))
    assert inner.count("vfmadd") == 96
    assert inner.count("vbroadcastss") == 32
    assert "rsp" not in inner
    assert len(inner.splitlines()) <= 96 + 32 + 12 + 8


def test_relu_is_one_instruction_and_keeps_nan() -> None:
    tree = kernel(
        vector(3, 16, store(Y, V, load(X, V).maximum(0.0))), params=(X, Y)
    )
    code = assembly(llvm.render(tree, V4), V4)
    assert code.count("vmaxps") == 1
    assert "vcmp" not in code
    x = np.array([np.nan, -1.0, 2.0, np.inf] * 4, np.float32)
    y = np.zeros_like(x)
    call(compiled(tree), [x, y])
    np.testing.assert_array_equal(y, np.maximum(x, 0))


def test_the_maximum_of_two_values_takes_three_instructions() -> None:
    tree = kernel(
        vector(3, 16, store(Y, V, load(X, V).maximum(load(X, V + 16)))),
        params=(X, Y),
    )
    code = assembly(llvm.render(tree, V4), V4)
    assert len(re.findall(r"\tv(?!mov|zero)\w+", code)) <= 3


def test_a_transpose_is_64_shuffles() -> None:
    inner = innermost(assembly(llvm.render(samples.transpose(), V4), V4))
    assert len(re.findall(r"\tv(unpck|shuf|perm|blend)\w+", inner)) == 64


def test_tail_masks_are_made_in_32_bits() -> None:
    at = P * 16 + V
    code = assembly(
        text(loop(0, N, vector(3, 16, store(Y, at, load(X, at, at < N), at < N)))),
        V4,
    )
    assert "vpcmpgtd" in code
    assert "vpcmpgtq" not in code


FUNCTIONS = (
    Ops.EXP,
    Ops.EXP2,
    Ops.LOG,
    Ops.LOG2,
    Ops.SIN,
    Ops.TANH,
    Ops.ERF,
    Ops.SQRT,
    Ops.FLOOR,
    Ops.ROUND,
    Ops.RECIP,
)


@pytest.mark.parametrize("target", [V4, V3], ids=lambda t: t.name)
@pytest.mark.parametrize(
    "dtype", [dt.float32, dt.float64, dt.float16, dt.bfloat16], ids=str
)
def test_no_function_is_called(dtype: dt.DType, target: Target) -> None:
    x, y = param(0, dtype), param(1, dtype, writable=True)
    statements = [
        store(y, V + 16 * i, unary(op, load(x, V)))
        for i, op in enumerate(FUNCTIONS)
    ]
    tree = decompose(kernel(vector(3, 16, *statements), params=(x, y)))
    code = assembly(llvm.render(tree, target), target)
    assert "call" not in code
    assert "@PLT" not in code


@pytest.mark.skipif(
    host().name not in ("x86-64-v3", "x86-64-v4"), reason="needs AVX2"
)
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_eight_lanes_for_avx2(lanes: int) -> None:
    tree = decompose(samples.softmax(lanes))
    x = np.random.default_rng(1).standard_normal((5, 77)).astype(np.float32)
    results = []
    for target in (host(), V3):
        y = np.zeros_like(x)
        call(compiled(tree, target=target), [x, y], [5, 77])
        results.append(y)
    assert np.array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0].sum(1), 1, rtol=1e-6)


def test_the_target_is_named() -> None:
    source = text(store(Y, 0, load(X, 0)), target=V3)
    assert '"target-cpu"="x86-64-v3"' in source
    assert '"prefer-vector-width"="256"' in source


def test_the_same_tree_gives_the_same_text() -> None:
    assert llvm.render(decompose(samples.softmax()), V4) == llvm.render(
        decompose(samples.softmax()), V4
    )


@pytest.mark.parametrize(
    "value", [math.inf, -math.inf, math.nan, -0.0, 1e-45, 0.1, 3.4028235e38]
)
def test_constants_keep_their_bits(value: float) -> None:
    y = np.zeros(1, np.float32)
    call(
        compiled(
            kernel(
                store(param(0, writable=True), 0, f32(value)),
                params=(param(0, writable=True),),
            )
        ),
        [y],
    )
    assert y.view(np.uint32)[0] == np.float32(value).view(np.uint32)


# --- what is refused ---


def test_a_function_that_was_not_decomposed() -> None:
    with pytest.raises(
        CompileError, match="no instruction for EXP: decompose the kernel"
    ):
        text(store(Y, 0, unary(Ops.EXP, load(X, 0))))


def test_arithmetic_on_float16_that_was_not_decomposed() -> None:
    half = load(param(0, dt.float16), 0)
    with pytest.raises(CompileError, match="ADD of float16"):
        llvm.render(
            kernel(
                store(param(1, dt.float16), 0, half + half),
                params=(param(0, dt.float16),),
            ),
            V4,
        )


def test_a_register_at_a_place_that_changes() -> None:
    with pytest.raises(CompileError, match="constant offsets"):
        text(stage(0, 16), loop(0, N, store(stage(0, 16), P, 1.0)))


def test_gpu_loops() -> None:
    grid = UOp(Ops.LOOP, dt.void, (N, store(Y, P, 1.0)), LoopArg(0, LoopKind.BLOCK))
    with pytest.raises(CompileError, match="a block loop is a thing of GPUs"):
        text(grid)


def test_shared_memory() -> None:
    with pytest.raises(CompileError, match="shared memory"):
        text(stage(0, 16, Scope.SHARED))


def test_lanes_that_store_to_one_element() -> None:
    with pytest.raises(CompileError, match="store to one element"):
        text(vector(3, 16, store(Y, 0, load(X, V))))


def test_an_axis_outside_its_loop() -> None:
    with pytest.raises(CompileError, match="outside its loop"):
        text(store(Y, P, 1.0))


def test_an_unknown_size() -> None:
    with pytest.raises(CompileError, match="not among the kernel's sizes"):
        text(store(Y, size("other"), 1.0))


def test_vectors_inside_vectors() -> None:
    with pytest.raises(CompileError, match="vector loop inside"):
        text(vector(3, 16, vector(2, 4, store(Y, V + U * 16, 1.0))))


def test_a_buffer_before_its_stage() -> None:
    with pytest.raises(CompileError, match="before its STAGE"):
        text(store(stage(0, 16, Scope.STACK), 0, 1.0))


def test_an_unrolled_loop_without_a_constant_extent() -> None:
    bad = UOp(Ops.LOOP, dt.void, (N, store(Y, U, 1.0)), LoopArg(2, LoopKind.UNROLL))
    with pytest.raises(CompileError, match="constant extent"):
        text(bad)


def test_multiply_add_of_integers_wraps() -> None:
    x, y = param(0, dt.int32), param(1, dt.int32, writable=True)
    tree = kernel(
        vector(3, 8, store(y, V, fma(load(x, V), load(x, V), load(x, V)))),
        params=(x, y),
    )
    data = np.array([2**30, -1, 3, 46341, 0, 7, -5, 2**31 - 1], np.int32)
    got = np.zeros_like(data)
    call(compiled(tree), [data, got])
    with np.errstate(over="ignore"):
        assert np.array_equal(got, data * data + data)


def test_unrolled_copies_share_what_they_have_in_common() -> None:
    value = load(X, P) * load(X, P + 1)
    source = text(
        loop(0, N, unroll(2, 8, store(Y, P * 8 + U, value + U.cast(dt.float32))))
    )
    assert source.count("fmul") == 1
    assert source.count("store float") == 8
