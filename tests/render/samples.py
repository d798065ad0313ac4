"""Kernels that the tests of this folder share: each is a tree as the kernel stage would make it."""

from __future__ import annotations

import math

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from tests.render.trees import (
    axis,
    f32,
    fma,
    fold,
    idx,
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
    when,
)

LANES = 16


def chain(copies: int = 4, lanes: int = LANES) -> UOp:
    """y = tanh(x * 1.5 + b) * sigmoid(x): full tiles of `copies` vectors, then masked vectors."""
    n, b = size("n"), UOp.variable("b", 0, 0, dt.float32)
    x, y = param(0), param(1, writable=True)
    i, u, v, t = axis(0), axis(1), axis(2), axis(3)
    tile = copies * lanes
    inside = i * tile + u * lanes + v
    rest = n // tile * tile + t * lanes + v

    def value(offset: UOp, mask: UOp | None) -> UOp:
        a = load(x, offset, mask)
        sigmoid = unary(Ops.RECIP, f32(1.0) + unary(Ops.EXP, -a))
        return unary(Ops.TANH, a * 1.5 + b) * sigmoid

    main = loop(
        0,
        n // tile,
        unroll(1, copies, vector(2, lanes, store(y, inside, value(inside, None)))),
    )
    masked = store(y, rest, value(rest, rest < n), rest < n)
    tail = loop(3, (n % tile + (lanes - 1)) // lanes, vector(2, lanes, masked))
    return kernel(main, tail, params=(x, y), sizes=(n, b), name="chain")


def softmax(lanes: int = LANES) -> UOp:
    """Rows resident in cache: four running maxima, four running sums, folds, and a second pass over the output."""
    rows, cols = size("rows"), size("cols")
    x, y = param(0), param(1, writable=True)
    tile = 4 * lanes
    r, u, v, j, t, lane = axis(0), axis(1), axis(2), axis(3), axis(4), axis(5)
    most, total, terms = stage(0, tile), stage(1, tile), stage(4, tile)
    top, scale = stage(2, 1), stage(3, 1)
    at = u * lanes + v
    inside = r * cols + j * tile + at
    column = cols // tile * tile + t * lanes + v
    rest, mask = r * cols + column, column < cols
    full, extra = cols // tile, (cols % tile + (lanes - 1)) // lanes
    left, right = UOp.state(dt.float32, 0), UOp.state(dt.float32, 1)

    def tiles(*body: UOp) -> UOp:
        return loop(3, full, unroll(1, 4, vector(2, lanes, *body)))

    def tail(*body: UOp) -> UOp:
        return loop(4, extra, vector(2, lanes, *body))

    def four(buffer: UOp, op: Ops) -> UOp:
        a, b, c, d = (load(buffer, v + q * lanes) for q in range(4))
        return vector(
            2, lanes, store(buffer, v, a.alu(op, b).alu(op, c.alu(op, d)))
        )

    def exponential(offset: UOp, mask: UOp | None = None) -> UOp:
        return unary(Ops.EXP, load(x, offset, mask, -math.inf) - load(top, 0))

    body = [
        most,
        unroll(1, 4, vector(2, lanes, store(most, at, -math.inf))),
        tiles(store(most, at, load(most, at).maximum(load(x, inside)))),
        tail(store(most, v, load(most, v).maximum(load(x, rest, mask, -math.inf)))),
        four(most, Ops.MAX),
        top,
        fold(5, lanes, [load(top, 0)], [load(most, lane)], [left.maximum(right)]),
        total,
        unroll(1, 4, vector(2, lanes, store(total, at, 0.0))),
        terms,
        tiles(
            store(terms, at, exponential(inside)),
            store(total, at, load(total, at) + load(terms, at)),
            store(y, inside, load(terms, at)),
        ),
        tail(
            store(terms, v, exponential(rest, mask)),
            store(total, v, load(total, v) + load(terms, v)),
            store(y, rest, load(terms, v), mask),
        ),
        four(total, Ops.ADD),
        scale,
        fold(5, lanes, [load(scale, 0)], [load(total, lane)], [left + right]),
        store(scale, 0, unary(Ops.RECIP, load(scale, 0))),
        tiles(store(y, inside, load(y, inside) * load(scale, 0))),
        tail(store(y, rest, load(y, rest, mask) * load(scale, 0), mask)),
    ]
    return kernel(
        loop(0, rows, *body), params=(x, y), sizes=(rows, cols), name="softmax"
    )


def gemm(
    rows: int = 8,
    vectors: int = 3,
    copies: int = 4,
    repeat: bool = False,
    lanes: int = LANES,
) -> UOp:
    """The inner tile of a matrix product: c[i, j] = sum over k of a[k, i] * b[k, j], edges masked."""
    k, m, n, ld = size("k"), size("m"), size("n"), size("ld")
    a, b, c = param(0), param(1), param(2, writable=True)
    columns = vectors * lanes
    acc = stage(0, rows * columns)
    i, j, v, ko, ki, kt = axis(0), axis(1), axis(2), axis(3), axis(4), axis(5)
    at = i * columns + j * lanes + v

    def tile(*body: UOp) -> UOp:
        return unroll(0, rows, unroll(1, vectors, vector(2, lanes, *body)))

    def step(p: UOp) -> UOp:
        return tile(
            store(
                acc,
                at,
                fma(
                    load(a, p * rows + i),
                    load(b, p * columns + j * lanes + v),
                    load(acc, at),
                ),
            )
        )

    column = j * lanes + v
    out = unroll(
        1,
        vectors,
        vector(2, lanes, store(c, i * ld + column, load(acc, at), column < n)),
    )
    body = (
        acc,
        tile(store(acc, at, 0.0)),
        loop(3, k // copies, unroll(4, copies, step(ko * copies + ki))),
        loop(5, k % copies, step(k // copies * copies + kt)),
        unroll(0, rows, when(i < m, out)),
    )
    times = size("times")
    if not repeat:
        return kernel(*body, params=(a, b, c), sizes=(k, m, n, ld), name="gemm")
    return kernel(
        loop(6, times, *body),
        params=(a, b, c),
        sizes=(k, m, n, ld, times),
        name="gemm",
    )


def peak(accumulators: int = 12) -> UOp:
    """Nothing but multiply-adds on registers."""
    times, out = size("times"), param(0, writable=True)
    acc = stage(0, LANES * accumulators)
    i, v = axis(0), axis(1)
    at = i * LANES + v
    step = store(acc, at, fma(load(out, 0), load(out, 1), load(acc, at)))
    body = (
        acc,
        unroll(0, accumulators, vector(1, LANES, store(acc, at, 0.0))),
        loop(
            2, times, unroll(3, 4, unroll(0, accumulators, vector(1, LANES, step)))
        ),
        unroll(0, accumulators, vector(1, LANES, store(out, at, load(acc, at)))),
    )
    return kernel(*body, params=(out,), sizes=(times,), name="peak")


def transpose(
    rows: int = 16, columns: int = 16, dtype: dt.DType = dt.float32
) -> UOp:
    """Tiles of rows x columns, read along their rows and stored along their columns."""
    m, n = size("m"), size("n")
    x, y = param(0, dtype), param(1, dtype, writable=True)
    tile = stage(0, rows * columns, dtype=dtype)
    i, j, u, v, w, z = axis(0), axis(1), axis(2), axis(3), axis(4), axis(5)
    read = load(x, (i * rows + u) * n + j * columns + v)
    put = store(
        y, (j * columns + w) * m + i * rows + z, load(tile, z * columns + w)
    )
    body = (
        tile,
        unroll(2, rows, vector(3, columns, store(tile, u * columns + v, read))),
        unroll(4, columns, vector(5, rows, put)),
    )
    nest = loop(0, m // idx(rows), loop(1, n // idx(columns), *body))
    return kernel(nest, params=(x, y), sizes=(m, n), name="transpose")
