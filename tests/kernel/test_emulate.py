"""Code for machines without fused multiply-add: no calls, and the same bits as with it."""

from __future__ import annotations

import platform

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.kernel.decompose import decompose
from ingot.render import llvm
from ingot.target import X86_LEVELS, Target
from tests.render.native import Array, assembly, call, compiled
from tests.render.trees import axis, kernel, load, loop, param, size, store, vector

OLD = [target for target in X86_LEVELS if not target.fma]
old = pytest.mark.parametrize("target", OLD, ids=lambda target: target.name)
on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="runs x86 code")
UNARY = (
    Ops.EXP,
    Ops.EXP2,
    Ops.LOG,
    Ops.LOG2,
    Ops.SIN,
    Ops.TANH,
    Ops.ERF,
    Ops.SQRT,
    Ops.FLOOR,
    Ops.TRUNC,
    Ops.ROUND,
)
COUNT, LANES = 4096, 4


def tree(dtype: dt.DType) -> UOp:
    """Every function of x, x**y and x * y + x, one after the other in the output."""
    n = size("n")
    x, y, out = param(0, dtype), param(1, dtype), param(2, dtype, writable=True)
    at = axis(0) * LANES + axis(1)
    a, b = load(x, at), load(y, at)
    values = [UOp(op, dtype, (a,)) for op in UNARY]
    values += [
        UOp(Ops.POW, dtype, (a, b)),
        UOp(Ops.MULACC, dtype, (a, b, a)),
        a * b,
    ]
    body = [store(out, n * i + at, value) for i, value in enumerate(values)]
    return kernel(
        loop(0, n // LANES, vector(1, LANES, *body)), params=(x, y, out), sizes=(n,)
    )


def computed(dtype: dt.DType, target: Target | None) -> Array:
    kind = dt.to_numpy(dtype)
    rng = np.random.default_rng(4)
    bits = (
        rng.integers(0, 2**dtype.bits, (2, COUNT // 2), dtype=np.uint64)
        .astype(f"u{dtype.itemsize}")
        .view(kind)
    )
    near = rng.uniform(-9, 9, (2, COUNT // 2)).astype(
        kind if dtype is not dt.bfloat16 else np.uint16
    )
    x, y = np.concatenate([bits, near], axis=1)
    out = np.zeros((len(UNARY) + 3, COUNT), kind)
    call(
        compiled(decompose(tree(dtype), target), target=target),
        [np.array(x), np.array(y), out],
        [COUNT],
    )
    return out


@old
@pytest.mark.parametrize(
    "dtype", [dt.float32, dt.float64, dt.float16, dt.bfloat16], ids=str
)
def test_no_function_is_called(dtype: dt.DType, target: Target) -> None:
    code = assembly(llvm.render(decompose(tree(dtype), target), target), target)
    assert "call" not in code
    assert "vfmadd" not in code


@on_x86
@old
@pytest.mark.parametrize("dtype", [dt.float32, dt.float16, dt.bfloat16], ids=str)
def test_the_same_bits(dtype: dt.DType, target: Target) -> None:
    got, wanted = computed(dtype, target), computed(dtype, None)
    if dtype is dt.bfloat16:
        got, wanted = (
            (a.astype(np.uint32) << 16).view(np.float32) for a in (got, wanted)
        )
    equal = (got == wanted) & (np.signbit(got) == np.signbit(wanted)) | (
        np.isnan(got) & np.isnan(wanted)
    )
    assert equal.all(axis=1).all(), (
        f"rows that differ: {np.flatnonzero(~equal.all(axis=1))}"
    )


@on_x86
@old
def test_float64_is_nearly_the_same(target: Target) -> None:
    got, wanted = computed(dt.float64, target), computed(dt.float64, None)
    np.testing.assert_allclose(got[:-3], wanted[:-3], rtol=2e-15)
    good = np.abs(wanted) < 1e290
    np.testing.assert_allclose(got[good], wanted[good], rtol=2e-12)
