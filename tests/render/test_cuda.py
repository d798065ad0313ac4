"""CUDA C: what is written, that NVRTC takes it for sm_90a, and, run on host threads, that it gives the same bits."""

from __future__ import annotations

import importlib.util
import re

import numpy as np
import pytest

from ingot.errors import CompileError
from ingot.ir import dtype as dt
from ingot.ir.interpret_simt import run_simt
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    KernelArg,
    LoopArg,
    LoopKind,
    Ops,
    ParamArg,
    Scope,
    StageArg,
)
from ingot.kernel import gpu
from ingot.kernel.decompose import decompose
from ingot.kernel.tree import build
from ingot.render.cuda import geometry, render_cuda
from ingot.render.cuda_text import PRELUDE
from ingot.runtime.cuda import compile_cubin
from tests.ir.kernels import fold, load, number, param, stage, store, when
from tests.kernel.execute import temporaries
from tests.kernel.gpu_programs import Program, program
from tests.render.cuda_on_cpu import COMPILER, run_on_cpu

Case = tuple[str, tuple[int, ...]]
CASES: list[Case] = [
    ("chain", (8, 64)),
    ("chain", (3, 37)),
    ("softmax", (3, 256)),
    ("softmax", (2, 37)),
    ("softmax", (2, 40000)),
    ("layer_norm", (2, 100)),
    ("layer_norm", (2, 37)),
    ("transpose", (64, 68)),
    ("transpose", (33, 47)),
    ("row_sum", (3, 2000)),
    ("total", (40, 100)),
    ("total", (7, 37)),
    ("argmax", (3, 200)),
    ("gemm", (20, 32, 36)),
    ("gemm", (33, 19, 35)),
    ("gemm_relu", (20, 32, 36)),
]
ids = [f"{name}-{'x'.join(map(str, shape))}" for name, shape in CASES]
needs_nvrtc = pytest.mark.skipif(
    importlib.util.find_spec("cuda") is None
    or importlib.util.find_spec("cuda.bindings") is None,
    reason="cuda-bindings and nvidia-cuda-nvrtc are not installed: pip install 'ingot[cuda]'",
)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="g++ is not installed")


def texts(given: Program) -> list[str]:
    """The functions of a scheduled program, without the prelude."""
    return [
        render_cuda(launch)[len(PRELUDE) :] for launch in given.scheduled().launches
    ]


# --- the same bits ---


@needs_compiler
@pytest.mark.parametrize(("name", "shape"), CASES, ids=ids)
def test_rendered_code_gives_the_interpreters_bits(
    name: str, shape: tuple[int, ...]
) -> None:
    given = program(name, *shape)
    made = given.scheduled()
    buffers, between = given.fresh(), temporaries(made, given.sizes)
    for launch in made.launches:
        run_on_cpu(launch, [*buffers, *between], given.sizes)
    wanted = given.simulated(made)
    assert buffers[-1].tobytes() == wanted.tobytes()


# --- a real compiler ---


@needs_nvrtc
@pytest.mark.parametrize(("name", "shape"), CASES, ids=ids)
def test_nvrtc_compiles_for_hopper(name: str, shape: tuple[int, ...]) -> None:
    for launch in program(name, *shape).scheduled().launches:
        cubin = compile_cubin(render_cuda(launch))
        assert cubin[:4] == b"\x7fELF"


@needs_nvrtc
def test_a_refused_source_shows_the_compilers_words() -> None:
    with pytest.raises(CompileError, match='identifier "nonsense" is undefined'):
        compile_cubin('extern "C" __global__ void f(float* x) { x[0] = nonsense; }')


# --- what is written ---


def test_vectors_are_one_access_where_the_sizes_are_multiples() -> None:
    (aligned,) = texts(program("chain", 8, 64))
    assert aligned.count("get<4>") == 2
    assert aligned.count("put_global<4>") == 1
    (ragged,) = texts(program("chain", 3, 37))
    assert "get<4>" not in ragged
    assert "put_global" not in ragged


def test_a_padded_tile_is_touched_one_by_one() -> None:
    (text,) = texts(program("transpose", 64, 64))
    assert "__shared__ __align__(16) float out0_tile0[4160];" in text
    assert text.count("get<4>(p0") == 1
    assert not re.search(r"put<4>\(out0_tile0", text)


def test_folds_are_shuffles_and_shared_memory() -> None:
    (text,) = texts(program("softmax", 2, 2048))
    assert text.count("__shfl_xor_sync") == 2
    assert text.count("__syncthreads") == 2
    assert "__launch_bounds__(64, 2)" in text


def test_products_are_fused_only_where_the_tree_says_so() -> None:
    (text,) = texts(program("gemm", 20, 32, 36))
    assert text.count("fmaf(") == 4
    (chain,) = build(gpu.choose(program("chain", 8, 64).kernel)).launches
    assert "fmaf" not in render_cuda(chain)[len(PRELUDE) :]


def test_operations_that_were_not_decomposed_call_the_library() -> None:
    given = program("softmax", 2, 64)
    (launch,) = build(gpu.choose(given.kernel, given.hints)).launches
    assert "expf(" in render_cuda(launch)
    assert "expf(" not in render_cuda(decompose(launch))


def test_the_grid_follows_the_sizes() -> None:
    given = program("transpose", 130, 70)
    (launch,) = given.scheduled().launches
    shape = geometry(launch)
    assert shape.threads == 256
    sizes = {name: int(n) for name, n in given.sizes.items()}
    assert sorted(shape.blocks(sizes)) == [1, 2, 3]


# --- small trees ---

F32 = dt.float32
LANE, WARP, BLOCK, STEP = (
    UOp.axis(n, name) for n, name in enumerate(("lane", "warp", "block", "step"))
)
X, Y = param(0), param(1, writable=True)


def bound(axis: UOp, extent: UOp | int, kind: LoopKind, *body: UOp) -> UOp:
    size = number(extent) if isinstance(extent, int) else extent
    arg = axis.arg
    return UOp(Ops.LOOP, dt.void, (size, *body), LoopArg(arg.id, kind, arg.name))  # type: ignore[union-attr]


def tree(
    *body: UOp,
    warps: int = 2,
    params: tuple[UOp, ...] = (X, Y),
    sizes: tuple[UOp, ...] = (),
) -> UOp:
    threads = bound(
        WARP, warps, LoopKind.WARP, bound(LANE, 32, LoopKind.LANE, *body)
    )
    blocks = bound(BLOCK, 2, LoopKind.BLOCK, threads)
    return UOp(
        Ops.KERNEL,
        dt.void,
        (blocks,),
        KernelArg("probe", params, sizes, number(1), number(0)),
    )


PLACE = BLOCK * 64 + WARP * 32 + LANE


def same_bits(kernel: UOp, *arrays: np.ndarray, **sizes: int | float) -> None:
    """Host threads and the interpreter leave the same bits in all buffers."""
    first, second = [a.copy() for a in arrays], [a.copy() for a in arrays]
    run_simt(kernel, first, sizes)
    run_on_cpu(kernel, second, sizes)
    for a, b in zip(first, second, strict=True):
        assert a.tobytes() == b.tobytes()


def random(count: int) -> np.ndarray:
    return np.random.default_rng(count).standard_normal(count).astype(np.float32)


@needs_compiler
def test_a_fold_over_warps_keeps_lanes_apart() -> None:
    total = stage(3, 1)
    target = load(total, number(0))
    combine = UOp.state(F32, 0) + UOp.state(F32, 1)
    body = (
        total,
        fold(1, 2, target, load(X, PLACE), combine, LoopKind.WARP),
        store(Y, PLACE, target),
    )
    assert "warps[64]" in render_cuda(tree(*body))
    same_bits(tree(*body), random(128), np.zeros(128, np.float32))


@needs_compiler
@pytest.mark.parametrize("kind", [LoopKind.LANE, LoopKind.WARP])
def test_a_fold_in_a_loop_waits_for_its_last_readers(kind: LoopKind) -> None:
    total, zero = stage(3, 1), number(0)
    target = load(total, zero)
    axis, extent = (0, 32) if kind is LoopKind.LANE else (1, 2)
    once = fold(
        axis,
        extent,
        target,
        load(X, PLACE) * load(Y, PLACE),
        UOp.state(F32, 0) - UOp.state(F32, 1),
        kind,
    )
    again = bound(STEP, 3, LoopKind.LOOP, once, store(Y, PLACE, target * 0.25))
    same_bits(tree(total, again), random(128), random(128) + 1)


@needs_compiler
def test_a_vector_that_reads_what_it_writes() -> None:
    tile = stage(3, 4)
    fill = bound(
        STEP, 4, LoopKind.VECTOR, store(tile, STEP, load(X, PLACE * 4 + STEP))
    )
    turn = bound(
        STEP, 4, LoopKind.VECTOR, store(tile, STEP, load(tile, number(3) - STEP))
    )
    out = bound(
        STEP, 4, LoopKind.VECTOR, store(Y, PLACE * 4 + STEP, load(tile, STEP))
    )
    x, y = random(512), np.zeros(512, np.float32)
    run_on_cpu(tree(tile, fill, turn, out), [x, y], {})
    assert y.reshape(-1, 4).tolist() == x.reshape(-1, 4)[:, ::-1].tolist()


@needs_compiler
def test_a_vector_fold() -> None:
    total = stage(3, 1)
    target = load(total, number(0))
    combine = UOp.state(F32, 0) + UOp.state(F32, 1)
    body = (
        total,
        fold(3, 4, target, load(X, PLACE * 4 + STEP), combine),
        store(Y, PLACE, target),
    )
    same_bits(tree(*body), random(512), np.zeros(128, np.float32))


@needs_compiler
def test_a_masked_load_inside_an_expression() -> None:
    masked = load(X, LANE, LANE < 9, UOp.const(F32, 7.0))
    same_bits(
        tree(store(Y, PLACE, load(X, PLACE) - masked)),
        random(128),
        np.zeros(128, np.float32),
    )


@needs_compiler
def test_conditions_and_scalar_arguments() -> None:
    scale, limit = (
        UOp.variable("scale", 0, 0, F32),
        UOp.variable("limit", 0, 1 << 40),
    )
    body = when(PLACE < limit, store(Y, PLACE, load(X, PLACE) * scale))
    kernel = tree(body, sizes=(limit, scale))
    same_bits(kernel, random(128), np.zeros(128, np.float32), limit=77, scale=1.5)


@needs_compiler
def test_integers_wrap_and_divide_as_the_meaning_says() -> None:
    small, wide = (
        UOp(Ops.PARAM, d, (), ParamArg(n))
        for n, d in enumerate((dt.int8, dt.int64))
    )
    out = UOp(Ops.PARAM, dt.int64, (), ParamArg(2, writable=True))
    a = load(small, PLACE)
    widened = (a * a + 100).cast(dt.int64)
    value = decompose(
        (load(wide, PLACE) // -7) * 3 + load(wide, PLACE) % 5 + widened
    )
    kernel = tree(store(out, PLACE, value), params=(small, wide, out))
    numbers = np.random.default_rng(1)
    arrays = (
        numbers.integers(-128, 128, 128, np.int8),
        numbers.integers(-(1 << 62), 1 << 62, 128),
    )
    same_bits(kernel, *arrays, np.zeros(128, np.int64))


@needs_compiler
@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16])
def test_sixteen_bit_floats_are_storage(dtype: dt.DType) -> None:
    x, y = (
        UOp(Ops.PARAM, dtype, (), ParamArg(0)),
        UOp(Ops.PARAM, dtype, (), ParamArg(1, writable=True)),
    )
    wide = PLACE * 8 + STEP
    kernel = decompose(
        tree(
            bound(
                STEP,
                8,
                LoopKind.VECTOR,
                store(y, wide, load(x, wide) * load(x, wide)),
            ),
            params=(x, y),
        )
    )
    assert "get<8>" in render_cuda(kernel)
    values = random(1024)
    stored = (
        values.astype(np.float16)
        if dtype is dt.float16
        else (values.view(np.uint32) >> 16).astype(np.uint16)
    )
    same_bits(kernel, stored, np.zeros_like(stored))


# --- what is refused ---


def chunked() -> UOp:
    body = bound(STEP, 4, LoopKind.CHUNK, store(Y, STEP, load(X, STEP)))
    return UOp(
        Ops.KERNEL,
        dt.void,
        (body,),
        KernelArg("probe", (X, Y), (), number(4), number(0)),
    )


def staged(scope: Scope, size: int) -> UOp:
    return tree(UOp(Ops.STAGE, F32, (number(size),), StageArg(5, scope, "tile")))


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (chunked, "a chunk loop is a thing of CPUs"),
        (lambda: staged(Scope.PACKED, 8), "packed scratch"),
        (lambda: staged(Scope.SHARED, 1 << 14), "65536 bytes of shared memory"),
        (
            lambda: tree(store(Y, PLACE, load(X, PLACE)), warps=64),
            "at most 1024 threads",
        ),
        (lambda: tree(store(Y, STEP, load(X, PLACE))), "outside its loop"),
        (
            lambda: tree(store(Y, PLACE, load(stage(9, 1), number(0)))),
            "before its place in the tree",
        ),
        (
            lambda: tree(store(Y, PLACE + UOp.variable("n", 0, 9), load(X, PLACE))),
            "not among the kernel's sizes",
        ),
    ],
)
def test_trees_that_have_no_cuda_are_refused(kernel: object, words: str) -> None:
    assert callable(kernel)
    with pytest.raises(CompileError, match=re.escape(words)):
        render_cuda(kernel())
