"""Decompositions: within 2 ulp everywhere, special values as in NumPy, short, and safe to run twice."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import ELEMENTWISE, Ops
from ingot.kernel.decompose import decompose
from tests.render.native import Array, Native, call, compiled
from tests.render.trees import axis, kernel, load, loop, param, size, store, vector

MOST_ULP = 2.0
LANES = 16
Function = Callable[..., Array]
FUNCTIONS: dict[Ops, Function] = {
    Ops.EXP: np.exp,
    Ops.EXP2: np.exp2,
    Ops.LOG: np.log,
    Ops.LOG2: np.log2,
    Ops.TANH: np.tanh,
    Ops.SIN: np.sin,
    Ops.COS: np.cos,
    Ops.RECIP: np.reciprocal,
    Ops.SQRT: np.sqrt,
    Ops.POW: np.power,
}
NUMBERS = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -1.0,
    2.0,
    0.5,
    -0.5,
    3.0,
    -3.0,
    2.5,
    -2.5,
    7.0,
    1e10,
    -1e10,
]
EDGES = {
    dt.float32: [
        1e-45,
        -1e-45,
        1.17549435e-38,
        3.4028235e38,
        88.72283,
        88.72284,
        -87.33655,
        -103.97,
        -103.98,
        128,
        -149.5,
    ],
    dt.float64: [
        5e-324,
        -5e-324,
        2.2250738585072014e-308,
        1.797e308,
        709.782712893384,
        709.7827128933841,
        -745.13,
        -745.14,
    ],
}


@cache
def compiled_function(op: Ops, dtype: dt.DType, count: int) -> Native:
    n = size("n")
    sources = [param(i, dtype) for i in range(count)]
    out = param(count, dtype, writable=True)
    at = axis(0) * LANES + axis(1)
    value = UOp(op, dtype, tuple(load(s, at) for s in sources))
    body = loop(0, n // LANES, vector(1, LANES, store(out, at, value)))
    return compiled(decompose(kernel(body, params=(*sources, out), sizes=(n,))))


def computed(op: Ops, dtype: dt.DType, *args: Array) -> Array:
    """The compiled function of arrays."""
    count = len(args[0])
    padded = [np.resize(a, -(-count // LANES) * LANES) for a in args]
    out = np.zeros_like(padded[0])
    call(compiled_function(op, dtype, len(args)), [*padded, out], [len(out)])
    return out[:count]


def ulps(got: Array, wanted: Array) -> Array:
    """The distance to an exact result of a wider type, in units of the last place of the rounded result."""
    with np.errstate(all="ignore"):
        near = wanted.astype(got.dtype)
        finite = np.where(np.isfinite(near), near, np.finfo(got.dtype).max)
        distance = np.abs(got.astype(wanted.dtype) - wanted) / np.abs(
            np.spacing(finite)
        ).astype(wanted.dtype)
    same = (got == near) | (np.isnan(got) & np.isnan(near))
    return np.where(
        same, 0.0, np.where(np.isnan(distance), np.inf, distance)
    ).astype(np.float64)


def check(op: Ops, dtype: dt.DType, reference: Function, *args: Array) -> None:
    wide = np.float64 if dtype is dt.float32 else np.longdouble
    with np.errstate(all="ignore"):
        wanted = reference(*(a.astype(wide) for a in args))
    got = computed(op, dtype, *args)
    worst = int(np.argmax(ulps(got, wanted)))
    shown = f"{op.name}({', '.join(repr(a[worst]) for a in args)}) = {got[worst]!r}, wanted {wanted[worst]!r}"
    assert ulps(got, wanted)[worst] <= MOST_ULP, (
        f"{ulps(got, wanted)[worst]:.2f} ulp: {shown}"
    )
    numbers = ~np.isnan(got)
    assert np.array_equal(np.signbit(got)[numbers], np.signbit(wanted)[numbers]), (
        "a sign is wrong"
    )


def sample(dtype: dt.DType) -> Array:
    """Numbers of every magnitude, dense ones where most functions do something, and special ones."""
    kind = dt.to_numpy(dtype)
    rng = np.random.default_rng(11)
    bits = (
        rng.integers(0, 2**dtype.bits, 60000, dtype=np.uint64)
        .astype(f"u{dtype.itemsize}")
        .view(kind)
    )
    near = [
        rng.uniform(a, b, 40000)
        for a, b in ((-1, 1), (0.5, 2), (-10, 10), (-110, 110))
    ]
    limits = (
        [rng.uniform(-1080, 1080, 20000)]
        if dtype is dt.float64
        else [rng.uniform(-152, 130, 20000)]
    )
    with np.errstate(all="ignore"):
        return np.concatenate([bits, *near, *limits, NUMBERS, EDGES[dtype]]).astype(
            kind
        )


needs_long_double = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="needs a wider reference"
)
FLOAT32 = [pytest.param(dt.float32, id="float32")]
FLOAT64 = [pytest.param(dt.float64, id="float64", marks=needs_long_double)]


@pytest.mark.parametrize("dtype", FLOAT32 + FLOAT64)
@pytest.mark.parametrize(
    "op",
    [op for op in FUNCTIONS if op not in (Ops.SIN, Ops.COS, Ops.POW)],
    ids=lambda op: op.name,
)
def test_functions(op: Ops, dtype: dt.DType) -> None:
    check(op, dtype, FUNCTIONS[op], sample(dtype))


def test_sin_of_all_float32() -> None:
    """The reference of NumPy is good to the last bit only for moderate angles; the large ones come next."""
    values = sample(dt.float32)
    check(Ops.SIN, dt.float32, np.sin, values[~(np.abs(values) > 1e9)])


@needs_long_double
def test_sin_of_float64() -> None:
    rng = np.random.default_rng(5)
    turns = np.round(rng.uniform(-1e6, 1e6, 20000)) * np.pi
    values = np.concatenate(
        [
            rng.uniform(-10, 10, 20000),
            10 ** rng.uniform(-300, 28, 20000),
            turns,
            NUMBERS,
        ]
    )
    check(Ops.SIN, dt.float64, np.sin, values)


LARGE_ANGLES = [
    (1e10, -0.48750602508751066),
    (3.7764347e25, -0.9879049103796517),
    (3.4028235e38, -0.5218765),
]


@pytest.mark.parametrize(("angle", "wanted"), LARGE_ANGLES)
def test_sin_of_large_angles(angle: float, wanted: float) -> None:
    got = computed(Ops.SIN, dt.float32, np.array([angle, -angle], np.float32))
    np.testing.assert_allclose(got, [wanted, -wanted], rtol=2e-7)


def angles(count: int) -> Array:
    """Of every size, and as near to multiples of pi / 2 as numbers come."""
    rng = np.random.default_rng(5)
    wide = 10 ** rng.uniform(-8, 308, count)
    near = np.round(10 ** rng.uniform(0, 15, count)) * (np.pi / 2)
    return np.concatenate([wide, -wide, near, np.nextafter(near, 0)])


@pytest.mark.parametrize(
    ("op", "function"), [(Ops.SIN, math.sin), (Ops.COS, math.cos)]
)
def test_sin_and_cos_of_every_float64(
    op: Ops, function: Callable[[float], float]
) -> None:
    check(op, dt.float64, np.vectorize(function), angles(20000))


def test_the_float64_that_is_nearest_to_an_odd_number_of_quarter_turns() -> None:
    (got,) = computed(
        Ops.COS, dt.float64, np.array([6381956970095103.0 * 2.0**797])
    )
    assert got == -4.68716592425462761112e-19


def test_cos_of_float32() -> None:
    values = sample(dt.float32)
    check(Ops.COS, dt.float32, np.cos, values[~(np.abs(values) > 1e9)])


def exact_erf(x: Array) -> Array:
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x))


def test_erf_of_float32() -> None:
    check(Ops.ERF, dt.float32, exact_erf, sample(dt.float32))


# erf(x) of float64, rounded to float64
ERF = {
    0.0: 0.0,
    1e-30: 1.1283791670955127e-30,
    0.1: 0.1124629160182849,
    0.5: 0.5204998778130465,
    0.9: 0.7969082124228322,
    0.999: 0.8422852702064969,
    1.0: 0.8427007929497149,
    1.0001: 0.8427422995485203,
    1.5: 0.9661051464753108,
    2.0: 0.9953222650189527,
    3.0: 0.9999779095030014,
    4.0: 0.9999999845827421,
    5.5: 0.9999999999999927,
    6.5: 1.0,
    math.inf: 1.0,
}


@pytest.mark.parametrize("sign", [1, -1])
def test_erf_of_float64(sign: int) -> None:
    x, wanted = np.array(list(ERF)), np.array(list(ERF.values()))
    got = computed(Ops.ERF, dt.float64, sign * x)
    assert (np.abs(got - sign * wanted) <= MOST_ULP * np.spacing(wanted)).all()
    assert (np.signbit(got) == (sign < 0)).all()
    assert np.isnan(computed(Ops.ERF, dt.float64, np.array([np.nan]))).all()


@pytest.mark.parametrize("dtype", FLOAT32 + FLOAT64)
def test_power(dtype: dt.DType) -> None:
    kind = dt.to_numpy(dtype)
    rng = np.random.default_rng(2)
    few = np.array(
        [*NUMBERS, *EDGES[dtype], 16777216.0, 33554433.0, 1e20, -1e20], kind
    )
    left, right = (g.ravel() for g in np.meshgrid(few, few))
    many = sample(dtype)
    x = [left, np.abs(many), rng.uniform(0.5, 2, 50000), rng.permutation(many)]
    y = [
        right,
        rng.uniform(-4, 4, len(many)),
        rng.uniform(-1000, 1000, 50000),
        many,
    ]
    with np.errstate(over="ignore"):
        check(
            Ops.POW,
            dtype,
            np.power,
            np.concatenate(x).astype(kind),
            np.concatenate(y).astype(kind),
        )


@pytest.mark.parametrize(
    "op", [Ops.EXP, Ops.TANH, Ops.LOG, Ops.SIN], ids=lambda op: op.name
)
def test_float16_is_rounded_once(op: Ops) -> None:
    """Through float32: never further than half a unit and a little from the exact value."""
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    x = x[~np.isnan(x)]
    with np.errstate(all="ignore"):
        wanted = FUNCTIONS[op](x.astype(np.float64))
    assert ulps(computed(op, dt.float16, x), wanted).max() <= 0.51


def test_bfloat16_is_rounded_once() -> None:
    bits = np.arange(2**16, dtype=np.uint16)
    wide = (bits.astype(np.uint32) << 16).view(np.float32)
    got = computed(Ops.EXP, dt.bfloat16, bits)
    with np.errstate(over="ignore"):
        exact = computed(Ops.EXP, dt.float32, wide)
    nearest = [dt.to_bits(dt.bfloat16, float(v)) for v in exact[~np.isnan(wide)]]
    assert np.array_equal(got[~np.isnan(wide)], nearest)
    assert np.isnan(
        (got.astype(np.uint32) << 16).view(np.float32)[np.isnan(wide)]
    ).all()


# --- the rewriting itself ---


def operations(op: Ops, count: int = 1) -> int:
    """How many elementwise nodes a float32 function becomes."""
    made = decompose(
        UOp(op, dt.float32, tuple(load(param(i), 0) for i in range(count)))
    )
    moves = {Ops.BITCAST, Ops.CAST}
    return sum(
        node.op in ELEMENTWISE and node.op not in moves for node in made.toposort()
    )


@pytest.mark.parametrize(
    ("op", "most"),
    [(Ops.EXP, 18), (Ops.EXP2, 17), (Ops.TANH, 28), (Ops.LOG, 30), (Ops.ERF, 34)],
    ids=str,
)
def test_functions_are_short(op: Ops, most: int) -> None:
    assert operations(op) <= most


def test_twice_is_once() -> None:
    x, n = load(param(0), 0), load(param(1, dt.int32), 0)
    half = load(param(2, dt.float16), 0)
    quotient = n.alu(Ops.IDIV, n).alu(Ops.SHL, n).alu(Ops.MOD, n)
    tree = (UOp(Ops.TANH, dt.float32, (x,)) * half.cast(dt.float32)).cast(
        dt.int32
    ) + quotient
    once = decompose(tree)
    assert once is not tree
    assert decompose(once) is once


def test_long_and_shared_expressions() -> None:
    """A value used twice at every step has 2**10000 paths, and 10000 steps are deeper than Python's stack."""
    value = load(param(0), 0)
    for _ in range(10000):
        value = value + value
    made = decompose(UOp(Ops.EXP, dt.float32, (value,)))
    assert len(made.toposort()) < 10100


def test_statements_are_decomposed_in_place() -> None:
    n = size("n")
    body = loop(
        0,
        n,
        store(
            param(1, writable=True),
            axis(0),
            UOp(Ops.EXP, dt.float32, (load(param(0), axis(0)),)),
        ),
    )
    made = decompose(
        kernel(body, params=(param(0), param(1, writable=True)), sizes=(n,))
    )
    assert made.op is Ops.KERNEL
    assert not any(node.op is Ops.EXP for node in made.toposort())


def test_indices_keep_their_plain_division() -> None:
    quotient = axis(0) // 4
    assert decompose(quotient) is quotient
