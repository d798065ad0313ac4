"""Small kernel trees for tests, written with nothing but nodes."""

from __future__ import annotations

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
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


def number(value: int) -> UOp:
    return UOp.const(dt.index, value)


def param(slot: int, dtype: DType = dt.float32, writable: bool = False) -> UOp:
    return UOp(Ops.PARAM, dtype, (), ParamArg(slot, writable))


def load(buffer: UOp, offset: UOp, *masked: UOp) -> UOp:
    return UOp(Ops.LOAD, buffer.dtype, (buffer, offset, *masked))


def store(buffer: UOp, offset: UOp, value: UOp, *mask: UOp) -> UOp:
    return UOp(Ops.STORE, dt.void, (buffer, offset, value, *mask))


def loop(
    axis: int, extent: UOp | int, *body: UOp, kind: LoopKind = LoopKind.LOOP
) -> UOp:
    size = number(extent) if isinstance(extent, int) else extent
    return UOp(Ops.LOOP, dt.void, (size, *body), LoopArg(axis, kind))


def when(cond: UOp, *body: UOp) -> UOp:
    return UOp(Ops.WHEN, dt.void, (cond, *body))


def stage(
    number_: int,
    size: UOp | int,
    scope: Scope = Scope.REGISTER,
    dtype: DType = dt.float32,
) -> UOp:
    return UOp(
        Ops.STAGE,
        dtype,
        (number(size) if isinstance(size, int) else size,),
        StageArg(number_, scope, "s"),
    )


def fold(
    axis: int,
    extent: int,
    target: UOp,
    value: UOp,
    combine: UOp,
    kind: LoopKind = LoopKind.VECTOR,
) -> UOp:
    return UOp(
        Ops.FOLD,
        dt.void,
        (number(extent), target, value, combine),
        FoldArg(axis, kind, 1),
    )


def kernel(
    name: str,
    params: tuple[UOp, ...],
    sizes: tuple[UOp, ...],
    *body: UOp,
    chunks: UOp | int = 1,
) -> UOp:
    count = number(chunks) if isinstance(chunks, int) else chunks
    return UOp(
        Ops.KERNEL, dt.void, body, KernelArg(name, params, sizes, count, number(0))
    )


def mulacc(a: UOp, b: UOp, c: UOp) -> UOp:
    return UOp(Ops.MULACC, a.dtype, (a, b, c))


def gemm(lanes: int) -> UOp:
    """c = a @ b for n*n, `lanes` columns at a time; chunks are rows."""
    n = UOp.variable("n", 1, 4096)
    a, b, c = param(0), param(1), param(2, writable=True)
    i, j, k, lane = (UOp.axis(axis) for axis in range(4))
    total = stage(0, lanes)
    column = j * lanes + lane
    zero = store(total, lane, UOp.const(dt.float32, 0.0))
    step = store(
        total,
        lane,
        mulacc(load(a, i * n + k), load(b, k * n + column), load(total, lane)),
    )
    done = store(c, i * n + column, load(total, lane))
    vector = [loop(3, lanes, s, kind=LoopKind.VECTOR) for s in (zero, step, done)]
    inner = loop(1, n // lanes, total, vector[0], loop(2, n, vector[1]), vector[2])
    return kernel(
        "gemm", (a, b, c), (n,), loop(0, n, inner, kind=LoopKind.CHUNK), chunks=n
    )


def row_sum(lanes: int) -> UOp:
    """out[i] = sum of row i: vector lanes, then a fold; the last lanes are masked."""
    rows, columns = UOp.variable("rows", 1, 100), UOp.variable("columns", 1, 1000)
    x, out = param(0), param(1, writable=True)
    i, j, lane = UOp.axis(0), UOp.axis(1), UOp.axis(2)
    total, result = stage(0, lanes), stage(1, 1)
    zero = UOp.const(dt.float32, 0.0)
    column = j * lanes + lane
    value = load(x, i * columns + column, column < columns, zero)
    step = store(total, lane, load(total, lane) + value)
    combine = UOp.state(dt.float32, 0) + UOp.state(dt.float32, 1)
    body = (
        total,
        result,
        loop(2, lanes, store(total, lane, zero), kind=LoopKind.VECTOR),
        loop(
            1,
            (columns + (lanes - 1)) // lanes,
            loop(2, lanes, step, kind=LoopKind.VECTOR),
        ),
        fold(3, lanes, load(result, number(0)), load(total, UOp.axis(3)), combine),
        store(out, i, load(result, number(0))),
    )
    return kernel(
        "row_sum",
        (x, out),
        (rows, columns),
        loop(0, rows, *body, kind=LoopKind.CHUNK),
        chunks=rows,
    )
