"""Statements one by one, compiled from LLVM IR and from C, against the interpreter of trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir.interpret_tree import run_tree
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, Scope
from ingot.kernel.decompose import decompose
from tests.render.native import LANGUAGES, Array, call, compiled
from tests.render.trees import (
    axis,
    chunk,
    f32,
    fold,
    idx,
    kernel,
    load,
    loop,
    param,
    size,
    stage,
    store,
    unroll,
    vector,
    when,
)

language = pytest.mark.parametrize("language", LANGUAGES)
X = param(0)
Y = param(1, writable=True)
N = size("n")
P, J, U, V, W = (axis(i) for i in range(5))


def both(
    tree: UOp,
    inputs: Sequence[Array],
    output: Array,
    language: str,
    sizes: dict[str, Any],
    **how: int,
) -> None:
    """The compiled kernel and the interpreter leave the same bits."""
    wanted, got = output.copy(), output.copy()
    run_tree(tree, [*inputs, wanted], sizes, fold="halves")
    call(
        compiled(decompose(tree), language, level="-O1"),
        [*inputs, got],
        list(sizes.values()),
        **how,
    )
    np.testing.assert_array_equal(got, wanted)


def check(
    language: str, *body: UOp, count: int = 64, sizes: dict[str, int] | None = None
) -> None:
    """A kernel from X to Y, both float32."""
    names = {"n": count} if sizes is None else sizes
    x = np.random.default_rng(7).standard_normal(4 * count).astype(np.float32)
    tree = kernel(*body, params=(X, Y), sizes=tuple(size(name) for name in names))
    both(tree, [x], np.full(4 * count, 9, np.float32), language, names)


# --- loads and stores ---


@language
@pytest.mark.parametrize("stride", [0, 1, 2, 3, 5, -1, -2])
def test_constant_strides(language: str, stride: int) -> None:
    first = 0 if stride >= 0 else -stride * 15
    read = load(X, idx(first) + P + V * stride)
    check(language, loop(0, idx(3), vector(3, 16, store(Y, P * 16 + V, read))))


@language
@pytest.mark.parametrize("stride", [2, 3, -1])
def test_strided_stores(language: str, stride: int) -> None:
    first = 0 if stride >= 0 else -stride * 15
    check(language, vector(3, 16, store(Y, idx(first) + V * stride, load(X, V))))


@language
def test_stride_known_at_run_time(language: str) -> None:
    check(
        language,
        loop(0, 4, vector(3, 8, store(Y, V * N + P, load(X, P * N + V * 2)))),
        count=9,
        sizes={"n": 4},
    )


@language
def test_offsets_that_are_no_sums(language: str) -> None:
    at = V % 4 * 4 + V // 4
    check(
        language,
        loop(0, 4, vector(3, 16, store(Y, P * 16 + at, load(X, (P + V) % 16)))),
    )


@language
@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize("dtype", [dt.int32, dt.int64, dt.uint8])
def test_gather_through_indices(language: str, lanes: int, dtype: dt.DType) -> None:
    table, index, out = param(0), param(1, dtype), param(2, writable=True)
    at = P * lanes + V if lanes > 1 else P
    where = load(index, at).cast(dt.index)
    body = store(out, at, load(table, where, where < 20, 5.0))
    nest = loop(0, idx(64 // lanes), vector(3, lanes, body) if lanes > 1 else body)
    rng = np.random.default_rng(3)
    inputs = [
        rng.standard_normal(20).astype(np.float32),
        rng.integers(0, 30, 64).astype(dt.to_numpy(dtype)),
    ]
    both(
        kernel(nest, params=(table, index, out)),
        inputs,
        np.zeros(64, np.float32),
        language,
        {},
    )


@language
@pytest.mark.parametrize("n", [0, 1, 7, 16, 40])
def test_masks_of_every_form(language: str, n: int) -> None:
    at = P * 16 + V
    lower, upper = at < N, idx(3) < at
    among = lower & upper
    value = (
        load(X, at, lower, 2.0)
        + load(X, at * 2, among, 3.0)
        + load(X, N, idx(5) < N, 4.0)
    )
    check(
        language,
        loop(0, 3, vector(3, 16, store(Y, at, value, among))),
        sizes={"n": n},
    )


@language
@pytest.mark.parametrize("n", [0, 3])
def test_scalar_stores_under_a_mask(language: str, n: int) -> None:
    check(
        language,
        loop(0, 8, store(Y, P, load(X, P, P < N, 1.0), idx(1) < P)),
        sizes={"n": n},
    )


@language
def test_booleans_in_memory(language: str) -> None:
    flags, out = param(0, dt.boolean), param(1, dt.boolean, writable=True)
    at = P * 16 + V
    value = load(flags, at).alu(Ops.XOR, load(flags, idx(0)))
    nest = loop(0, 4, vector(3, 16, store(out, at, value, at < 50)))
    data = np.random.default_rng(1).integers(0, 2, 64).astype(bool)
    both(
        kernel(nest, params=(flags, out)), [data], np.zeros(64, bool), language, {}
    )


@language
def test_a_load_sees_the_store_before_it(language: str) -> None:
    twice = [
        store(Y, V, load(X, V)),
        store(Y, V, load(Y, V) * 2.0),
        store(Y, V + 16, load(Y, V) + load(X, V)),
    ]
    check(language, vector(3, 16, *twice))


@language
def test_a_load_inside_a_loop_sees_the_last_iteration(language: str) -> None:
    check(
        language,
        store(Y, 0, 1.0),
        loop(
            0, 5, store(Y, 0, load(Y, 0) * load(X, P)), store(Y, P + 1, load(Y, 0))
        ),
    )


@language
def test_buffers_on_the_stack_and_in_scratch(language: str) -> None:
    stack, packed, more = (
        stage(0, 48, Scope.STACK),
        stage(1, N * 3, Scope.PACKED),
        stage(2, N, Scope.PACKED),
    )
    at = P * 16 + V
    body = (
        *(stack, packed, more),
        loop(0, 3, vector(3, 16, store(stack, at, load(X, at) * 2.0))),
        loop(0, 3, vector(3, 16, store(packed, at, load(stack, idx(47) - at)))),
        vector(3, 16, store(more, V, load(packed, V + 16))),
        loop(0, 3, vector(3, 16, store(Y, at, load(packed, at) + load(more, V)))),
    )
    tree = kernel(*body, params=(X, Y), sizes=(N,))
    x = np.arange(48, dtype=np.float32)
    both(
        tree,
        [x],
        np.zeros(48, np.float32),
        language,
        {"n": 16},
        scratch=3 * 64 + 64,
    )


@language
def test_chunks_and_scalar_arguments(language: str) -> None:
    scale = UOp.variable("scale", 0, 0, dt.float32)
    body = chunk(
        0, N, vector(3, 8, store(Y, P * 8 + V, load(X, P * 8 + V) * scale))
    )
    tree = kernel(body, params=(X, Y), sizes=(N, scale), chunks=N)
    x = np.arange(40, dtype=np.float32)
    both(
        tree,
        [x],
        np.zeros(40, np.float32),
        language,
        {"n": 5, "scale": 1.5},
        chunks=5,
    )


@language
def test_an_address_inside_and_outside_a_loop(language: str) -> None:
    """The masked load stays in the loop, the other moves out of it; both begin at the same pointer."""
    value = load(X, N + 4, J < 3, 1.0) + load(X, N + 4)
    check(
        language, loop(0, N, loop(1, 5, store(Y, P * 5 + J, value))), sizes={"n": 3}
    )


@language
def test_loads_before_inside_and_after_a_loop(language: str) -> None:
    acc, first = stage(0, 1), load(Y, 0)
    step = (store(acc, 0, load(acc, 0) + first), store(Y, 0, first + load(X, P)))
    body = (
        acc,
        store(acc, 0, first),
        loop(0, N, *step),
        store(Y, 1, load(acc, 0)),
        store(Y, 2, first),
    )
    check(language, *body, sizes={"n": 4})


@language
def test_loads_around_a_condition(language: str) -> None:
    first = load(Y, 0)
    body = (
        store(Y, P + 1, first),
        when(P.alu(Ops.CMPEQ, idx(1)), store(Y, 0, 5.0)),
        store(Y, P + 9, first),
    )
    check(language, loop(0, N, *body), sizes={"n": 3})


# --- registers ---


@language
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_registers_that_trade_places(language: str, n: int) -> None:
    """Two registers swap in every iteration: all new values must be taken before any is put."""
    a, b, t = stage(0, 1), stage(1, 1), stage(2, 1)
    swap = (
        store(t, 0, load(a, 0)),
        store(a, 0, load(b, 0)),
        store(b, 0, load(t, 0)),
    )
    grow = store(b, 0, load(b, 0) + load(X, P))
    body = (
        a,
        b,
        store(a, 0, 1.0),
        store(b, 0, 2.0),
        loop(0, N, t, *swap),
        loop(0, N, t, *swap, grow),
    )
    check(
        language,
        *body,
        store(Y, 0, load(a, 0)),
        store(Y, 1, load(b, 0)),
        sizes={"n": n},
    )


@language
@pytest.mark.parametrize("n", [0, 1, 4, 5])
def test_registers_under_conditions(language: str, n: int) -> None:
    acc = stage(0, 32)
    at = U * 16 + V
    fill = unroll(2, 2, vector(3, 16, store(acc, at, 1.0)))
    step = unroll(
        2, 2, vector(3, 16, store(acc, at, load(acc, at) + load(X, P + V)))
    )
    body = loop(
        0,
        N,
        when(P.alu(Ops.CMPNE, idx(2)), step),
        when(P < 1, vector(3, 16, store(acc, V, 5.0))),
    )
    out = unroll(2, 2, vector(3, 16, store(Y, at, load(acc, at))))
    check(language, acc, fill, body, out, sizes={"n": n})


@language
def test_registers_in_nested_loops(language: str) -> None:
    acc, row = stage(0, 16), stage(1, 16)
    inner = loop(
        1, P + 1, vector(3, 16, store(row, V, load(row, V) + load(X, J + V)))
    )
    outer = loop(
        0,
        N,
        row,
        vector(3, 16, store(row, V, 0.0)),
        inner,
        vector(3, 16, store(acc, V, load(acc, V) + load(row, V))),
    )
    check(
        language,
        acc,
        vector(3, 16, store(acc, V, 0.0)),
        outer,
        vector(3, 16, store(Y, V, load(acc, V))),
        sizes={"n": 4},
    )


@language
def test_lanes_written_and_read_one_by_one(language: str) -> None:
    acc = stage(0, 16)
    whole = vector(3, 16, store(acc, V, load(X, V)))
    one = unroll(2, 4, store(acc, U * 3, f32(2.0) * load(acc, U * 3 + 1)))
    out = vector(
        3, 8, store(Y, V, load(acc, V * 2)), store(Y, V + 8, load(acc, V + 4))
    )
    check(
        language,
        acc,
        whole,
        one,
        out,
        vector(3, 16, store(Y, V + 16, load(acc, V))),
    )


@language
def test_masked_register_stores(language: str) -> None:
    acc = stage(0, 16)
    body = (
        acc,
        vector(3, 16, store(acc, V, 1.0)),
        vector(3, 16, store(acc, V, load(X, V), idx(4) < V)),
    )
    check(language, *body, vector(3, 16, store(Y, V, load(acc, V))))


@language
def test_columns_written_and_rows_read(language: str) -> None:
    tile = stage(0, 64)
    fill = unroll(2, 8, vector(3, 8, store(tile, V * 8 + U, load(X, U * 8 + V))))
    check(
        language,
        tile,
        fill,
        unroll(2, 8, vector(3, 8, store(Y, U * 8 + V, load(tile, U * 8 + V)))),
    )


@language
def test_boolean_registers(language: str) -> None:
    seen = stage(0, 16, dtype=dt.boolean)
    at = P * 16 + V
    change = store(seen, V, load(seen, V).alu(Ops.OR, f32(1.0) < load(X, at)))
    out = store(Y, V, load(seen, V).where(f32(1.0), f32(0.0)))
    first = vector(3, 16, store(seen, V, UOp.const(dt.boolean, False)))
    check(
        language,
        seen,
        first,
        loop(0, N, vector(3, 16, change)),
        vector(3, 16, out),
        sizes={"n": 3},
    )


# --- loops ---


@language
def test_a_loop_that_runs_once_twice(language: str) -> None:
    """The same axis in two loops: what was loaded in the first must not be used in the second."""
    one = loop(0, 1, store(Y, P, load(X, P)))
    many = loop(0, N, store(Y, P + 8, load(X, P)))
    check(
        language,
        one,
        many,
        loop(0, 1, store(Y, P + 40, load(X, P))),
        sizes={"n": 5},
    )


@language
def test_an_empty_loop_does_nothing(language: str) -> None:
    check(
        language,
        store(Y, 0, 3.0),
        loop(0, 0, store(Y, 0, 4.0)),
        loop(0, N, store(Y, 0, load(X, 10**9))),
        sizes={"n": 0},
    )


@language
def test_loops_inside_unrolled_loops(language: str) -> None:
    acc = stage(0, 4)
    sums = loop(0, U + N, store(acc, U, load(acc, U) + load(X, P * 4 + U)))
    check(
        language,
        acc,
        unroll(2, 4, store(acc, U, 0.0), sums),
        unroll(2, 4, store(Y, U, load(acc, U))),
        sizes={"n": 3},
    )


@language
@pytest.mark.parametrize("extent", [-7, -1, 5])
def test_division_of_negative_indices(language: str, extent: int) -> None:
    shifted = P + UOp.variable("shift", -100, 100)
    parts = [shifted // 4, shifted % 4, shifted // 3, shifted % 3]
    body = loop(
        0,
        12,
        *(store(Y, P * 4 + i, p.cast(dt.float32)) for i, p in enumerate(parts)),
    )
    tree = kernel(body, params=(X, Y), sizes=(UOp.variable("shift", -100, 100),))
    both(
        tree,
        [np.zeros(1, np.float32)],
        np.zeros(48, np.float32),
        language,
        {"shift": extent},
    )


# --- folds ---


def argmax(lanes: int) -> UOp:
    """(value, index) pairs: the greater value, of equal ones the lower index."""
    best, where = stage(0, 1), stage(1, 1, dtype=dt.index)
    a, b = UOp.state(dt.float32, 0), UOp.state(dt.float32, 2)
    i, j = UOp.state(dt.index, 1), UOp.state(dt.index, 3)
    takes = (b < a).alu(Ops.OR, a.eq(b) & (i < j))
    combine = [takes.where(a, b), takes.where(i, j)]
    node = fold(4, lanes, [load(best, 0), load(where, 0)], [load(X, W), W], combine)
    out = store(Y, 0, load(best, 0)), store(Y, 1, load(where, 0).cast(dt.float32))
    return kernel(best, where, node, *out, params=(X, Y))


@language
@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 7, 8, 16])
def test_fold_of_pairs(language: str, lanes: int) -> None:
    if language == "c" and lanes in (3, 7):
        pytest.skip("C has no vectors of this length")
    x = np.random.default_rng(lanes).integers(0, 4, 16).astype(np.float32)
    both(argmax(lanes), [x], np.zeros(2, np.float32), language, {})


@language
def test_fold_into_memory(language: str) -> None:
    add = UOp.state(dt.float32, 0) + UOp.state(dt.float32, 1)
    check(
        language,
        loop(0, 4, fold(4, 16, [load(Y, P)], [load(X, P * 16 + W)], [add])),
    )
