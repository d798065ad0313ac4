"""Every opcode on every type, compiled, against the interpreter: the same bits, special values included."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.ir.interpret_tree import run_tree
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.kernel.decompose import decompose
from ingot.render import c
from ingot.target import host
from tests.render.native import LANGUAGES, Array, call, compiled, from_c
from tests.render.trees import axis, kernel, load, loop, param, size, store, vector

FLOATS = (dt.float32, dt.float64, dt.float16, dt.bfloat16)
INTS = (
    dt.int8,
    dt.int16,
    dt.int32,
    dt.int64,
    dt.uint8,
    dt.uint16,
    dt.uint32,
    dt.uint64,
)
FLOAT_OPS = (
    *(Ops.NEG, Ops.RECIP, Ops.SQRT, Ops.FLOOR, Ops.TRUNC, Ops.ROUND),
    *(Ops.ADD, Ops.SUB, Ops.MUL, Ops.FDIV, Ops.MAX, Ops.MIN, Ops.MULACC),
    *(Ops.CMPLT, Ops.CMPEQ, Ops.CMPNE, Ops.WHERE),
)
INT_OPS = (
    *(
        Ops.NEG,
        Ops.NOT,
        Ops.ADD,
        Ops.SUB,
        Ops.MUL,
        Ops.IDIV,
        Ops.MOD,
        Ops.MAX,
        Ops.MIN,
        Ops.MULACC,
    ),
    *(
        Ops.AND,
        Ops.OR,
        Ops.XOR,
        Ops.SHL,
        Ops.SHR,
        Ops.CMPLT,
        Ops.CMPEQ,
        Ops.CMPNE,
        Ops.WHERE,
        Ops.POW,
    ),
)
BOOL_OPS = (
    *(Ops.NOT, Ops.AND, Ops.OR, Ops.XOR, Ops.ADD, Ops.MUL, Ops.MAX, Ops.MIN),
    *(Ops.CMPLT, Ops.CMPEQ, Ops.CMPNE, Ops.WHERE),
)
UNARY = {Ops.NEG, Ops.NOT, Ops.RECIP, Ops.SQRT, Ops.FLOOR, Ops.TRUNC, Ops.ROUND}
COMPARISONS = {Ops.CMPLT, Ops.CMPEQ, Ops.CMPNE}
ALL_OPS = [
    *product(FLOAT_OPS, FLOATS),
    *product(INT_OPS, INTS),
    *product(BOOL_OPS, (dt.boolean,)),
]
CASTS = [
    (a, b) for a, b in product((*FLOATS, *INTS, dt.boolean), repeat=2) if a is not b
]
COUNT = 512
LANES = 16


def values(dtype: DType, seed: int) -> Array:
    """Random bits, small numbers and the special ones, in an order of their own for every seed."""
    rng = np.random.default_rng(seed)
    kind = dt.to_numpy(dtype)
    if dtype is dt.boolean:
        return rng.integers(0, 2, COUNT).astype(bool)
    bits = rng.integers(0, 2**dtype.bits, COUNT - 64, dtype=np.uint64).astype(
        f"u{dtype.itemsize}"
    )
    some = [0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 64, 100]
    if dtype.kind is not dt.Kind.UINT:
        some += [-s for s in some]
    rest = np.array([_stored(dtype, s) for s in some], kind)
    filled = np.concatenate([bits.view(kind), _special(dtype), rest])
    return rng.permutation(np.resize(np.concatenate([filled, rest, rest]), COUNT))


def _stored(dtype: DType, value: float) -> float | int:
    return dt.to_bits(dtype, value) if dtype is dt.bfloat16 else value


def _special(dtype: DType) -> Array:
    kind = dt.to_numpy(dtype)
    if dtype.is_float:
        numbers = [
            0.0,
            -0.0,
            np.inf,
            -np.inf,
            np.nan,
            0.5,
            -0.5,
            1.5,
            -2.5,
            1e-40,
            6e4,
            3e38,
        ]
        with np.errstate(over="ignore"):
            made = np.array([_stored(dtype, n) for n in numbers]).astype(kind)
        # A nan whose payload is in the last bit: cut off, it must not become infinity.
        least_nan = dt.to_bits(dtype, np.inf) + 1
        return np.concatenate(
            [made, np.array([least_nan], f"u{dtype.itemsize}").view(kind)]
        )
    return np.array([dt.least(dtype), dt.greatest(dtype)], kind)


def elementwise(op: Ops, result: DType, sources: list[DType], lanes: int) -> UOp:
    """out[i] = op(a[i], b[i], ...) with a vector loop, or with plain scalars."""
    n = size("n")
    buffers = [param(slot, dtype) for slot, dtype in enumerate(sources)]
    out = param(len(sources), result, writable=True)
    at = axis(0) * lanes + axis(1) if lanes > 1 else axis(0)
    statement = store(out, at, UOp(op, result, tuple(load(b, at) for b in buffers)))
    body = vector(1, lanes, statement) if lanes > 1 else statement
    return kernel(loop(0, n // lanes, body), params=(*buffers, out), sizes=(n,))


def same(got: Array, wanted: Array, dtype: DType) -> Array:
    """Equal bits; any nan is as good as another, and so are the zeros of MAX and MIN."""
    if dtype is dt.bfloat16:
        got, wanted = (x.astype(np.uint32) << 16 for x in (got, wanted))
        got, wanted = got.view(np.float32), wanted.view(np.float32)
    if dtype.is_float:
        equal = (got == wanted) & (np.signbit(got) == np.signbit(wanted))
        return np.asarray(equal | (np.isnan(got) & np.isnan(wanted)))
    return np.asarray(got == wanted)


def check(op: Ops, result: DType, sources: list[DType], lanes: int) -> None:
    tree = elementwise(op, result, sources, lanes)
    inputs = [values(dtype, 10 + i) for i, dtype in enumerate(sources)]
    wanted = np.zeros(COUNT, dt.to_numpy(result))
    got = np.ones_like(wanted)
    run_tree(tree, [*inputs, wanted], {"n": COUNT})
    call(compiled(decompose(tree)), [*inputs, got], [COUNT])
    good = same(got, wanted, result)
    if op in (Ops.MAX, Ops.MIN) and result.is_float:
        good |= (
            (got == 0) & (wanted == 0)
            if result is not dt.bfloat16
            else (got | wanted) == 0x8000
        )
    wrong = np.flatnonzero(~good)
    shown = [(*(x[i] for x in inputs), got[i], wanted[i]) for i in wrong[:5]]
    assert not wrong.size, (
        f"{op.name} {sources} -> {result}: {wrong.size} wrong, as (*operands, got, wanted) {shown}"
    )


def types(op: Ops, dtype: DType) -> tuple[DType, list[DType]]:
    if op is Ops.WHERE:
        return dtype, [dt.boolean, dtype, dtype]
    count = 1 if op in UNARY else 3 if op is Ops.MULACC else 2
    return (dt.boolean if op in COMPARISONS else dtype), [dtype] * count


@pytest.mark.parametrize(
    ("op", "dtype"), ALL_OPS, ids=lambda x: getattr(x, "name", str(x))
)
def test_operation_in_llvm(op: Ops, dtype: DType) -> None:
    check(op, *types(op, dtype), LANES)


@pytest.mark.parametrize(
    ("op", "dtype"), ALL_OPS[::3], ids=lambda x: getattr(x, "name", str(x))
)
def test_scalar_operation_in_llvm(op: Ops, dtype: DType) -> None:
    check(op, *types(op, dtype), 1)


@pytest.mark.parametrize(("source", "target"), CASTS, ids=str)
def test_cast_in_llvm(source: DType, target: DType) -> None:
    check(Ops.CAST, target, [source], LANES)


def everything(lanes: int) -> tuple[UOp, list[tuple[str, DType]]]:
    """All operations and casts in one kernel: three inputs of every type, an output for each operation."""
    kinds = (*FLOATS, *INTS, dt.boolean)
    inputs = {
        (dtype, i): param(3 * number + i, dtype)
        for number, dtype in enumerate(kinds)
        for i in range(3)
    }
    at = axis(0) * lanes + axis(1) if lanes > 1 else axis(0)
    jobs = [(op, *types(op, dtype)) for op, dtype in ALL_OPS if op is not Ops.POW]
    jobs += [(Ops.CAST, target, [source]) for source, target in CASTS]
    outputs = [
        param(len(inputs) + i, result, writable=True)
        for i, (_, result, _) in enumerate(jobs)
    ]
    statements = []
    for out, (op, result, sources) in zip(outputs, jobs, strict=True):
        operands = tuple(
            load(inputs[dtype, i], at) for i, dtype in enumerate(sources)
        )
        statements.append(store(out, at, UOp(op, result, operands)))
    body = [vector(1, lanes, *statements)] if lanes > 1 else statements
    n = size("n")
    made = kernel(
        loop(0, n // lanes, *body), params=(*inputs.values(), *outputs), sizes=(n,)
    )
    return made, [
        (f"{op.name} of {sources}", result) for op, result, sources in jobs
    ]


@pytest.mark.skipif("c" not in LANGUAGES, reason="needs gcc")
@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_c_gives_the_same_bits_as_llvm(lanes: int) -> None:
    tree, jobs = everything(lanes)
    simple = decompose(tree)
    inputs = [
        values(dtype, 10 + i)
        for dtype in (*FLOATS, *INTS, dt.boolean)
        for i in range(3)
    ]
    results = []
    for function in (
        compiled(simple),
        from_c(c.render(simple, host()), "kernel", "-O1"),
    ):
        outputs = [np.ones(COUNT, dt.to_numpy(dtype)) for _, dtype in jobs]
        call(function, [*inputs, *outputs], [COUNT])
        results.append(outputs)
    wrong = [
        name
        for (name, dtype), a, b in zip(jobs, *results, strict=True)
        if not same(a, b, dtype).all()
    ]
    assert not wrong
