"""Kernel trees by hand: the shortest way to write one statement."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Scalar
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    FoldArg,
    KernelArg,
    LoopArg,
    LoopKind,
    Ops,
    ParamArg,
    Scope,
    StageArg,
)


def idx(value: int) -> UOp:
    return UOp.const(dt.index, value)


def f32(value: float) -> UOp:
    return UOp.const(dt.float32, value)


def axis(number: int) -> UOp:
    return UOp.axis(number)


def size(name: str, lo: int = 0, hi: int = 2**40) -> UOp:
    return UOp.variable(name, lo, hi)


def param(slot: int, dtype: DType = dt.float32, writable: bool = False) -> UOp:
    return UOp(Ops.PARAM, dtype, (), ParamArg(slot, writable))


def stage(
    number: int,
    elements: int | UOp,
    scope: Scope = Scope.REGISTER,
    dtype: DType = dt.float32,
) -> UOp:
    count = idx(elements) if isinstance(elements, int) else elements
    return UOp(Ops.STAGE, dtype, (count,), StageArg(number, scope))


def load(
    buffer: UOp, offset: UOp | int, mask: UOp | None = None, other: Scalar = 0
) -> UOp:
    where = idx(offset) if isinstance(offset, int) else offset
    rest = () if mask is None else (mask, UOp.const(buffer.dtype, other))
    return UOp(Ops.LOAD, buffer.dtype, (buffer, where, *rest))


def store(
    buffer: UOp, offset: UOp | int, value: UOp | Scalar, mask: UOp | None = None
) -> UOp:
    where = idx(offset) if isinstance(offset, int) else offset
    what = value if isinstance(value, UOp) else UOp.const(buffer.dtype, value)
    return UOp(
        Ops.STORE,
        dt.void,
        (buffer, where, what, *(() if mask is None else (mask,))),
    )


def _loop(
    kind: LoopKind, number: int, extent: int | UOp, body: Sequence[UOp]
) -> UOp:
    count = idx(extent) if isinstance(extent, int) else extent
    return UOp(Ops.LOOP, dt.void, (count, *body), LoopArg(number, kind))


def loop(number: int, extent: int | UOp, *body: UOp) -> UOp:
    return _loop(LoopKind.LOOP, number, extent, body)


def unroll(number: int, extent: int, *body: UOp) -> UOp:
    return _loop(LoopKind.UNROLL, number, extent, body)


def vector(number: int, extent: int, *body: UOp) -> UOp:
    return _loop(LoopKind.VECTOR, number, extent, body)


def chunk(number: int, extent: int | UOp, *body: UOp) -> UOp:
    return _loop(LoopKind.CHUNK, number, extent, body)


def when(condition: UOp, *body: UOp) -> UOp:
    return UOp(Ops.WHEN, dt.void, (condition, *body))


def fold(
    number: int,
    extent: int,
    targets: Sequence[UOp],
    values: Sequence[UOp],
    combines: Sequence[UOp],
) -> UOp:
    arg = FoldArg(number, LoopKind.VECTOR, len(targets))
    return UOp(Ops.FOLD, dt.void, (idx(extent), *targets, *values, *combines), arg)


def fma(a: UOp, b: UOp, c: UOp) -> UOp:
    return UOp(Ops.MULACC, a.dtype, (a, b, c))


def unary(op: Ops, x: UOp) -> UOp:
    return UOp(op, x.dtype, (x,))


def kernel(
    *body: UOp,
    params: Sequence[UOp] = (),
    sizes: Sequence[UOp] = (),
    chunks: UOp | None = None,
    scratch: UOp | None = None,
    name: str = "kernel",
) -> UOp:
    arg = KernelArg(
        name, tuple(params), tuple(sizes), chunks or idx(1), scratch or idx(0)
    )
    return UOp(Ops.KERNEL, dt.void, body, arg)
