"""IR as Python that rebuilds it, for every opcode, to the bit."""

from __future__ import annotations

import math

import pytest

from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp, arena
from ingot.ir.opcode import (
    BINARY,
    UNARY,
    AssertArg,
    AxesArg,
    BufferArg,
    ConstArg,
    LoopKind,
    OpArg,
    Ops,
    ParamArg,
    PrefixArg,
    ReduceArg,
    ValueArg,
    WindowArg,
)
from ingot.ir.region import (
    call,
    extern,
    function,
    if_,
    param,
    scan,
    size_of,
    sizes,
    while_,
)
from ingot.ir.shape import NAMED
from ingot.ir.text import eval_text, expr_text, text, tree_text
from tests.ir import kernels

N = UOp.variable("n", 1, 64)
X = param(0, dt.float32, (8, N))
Y = param(1, dt.float32, (8, N))
S = param(2, dt.int32)
C = UOp.const(dt.boolean, True)


def _moved(op: Ops, *numbers: int | UOp, x: UOp = X) -> UOp:
    return UOp(op, x.dtype, (x, *sizes(numbers)))


def _reduce() -> UOp:
    states = [UOp.state(dt.float32, k) for k in range(4)]
    inits = (UOp.const(dt.float32, -math.inf), UOp.const(dt.float32, 0.0))
    combine = (states[0].maximum(states[2]), states[1] + states[3])
    return UOp(Ops.REDUCE, dt.float32, (X, Y, *inits, *combine), ReduceArg((1,), 2))


def _prefix() -> UOp:
    left, right = (UOp.state(dt.float32, k) for k in range(2))
    zero = UOp.const(dt.float32, 0.0)
    return UOp(
        Ops.PREFIX, dt.float32, (X, zero, left + right), PrefixArg(0, 1, True)
    )


def _named() -> UOp:
    NAMED.setdefault(
        "text_test_op", lambda arg, src: ((src[0].dtype, src[0].shape),)
    )
    attrs = (
        ("axis", -1),
        ("eps", 1e-5),
        ("mode", "same"),
        ("flag", True),
        ("nothing", None),
        ("list", (1, 2.5)),
    )
    return UOp(Ops.OP, dt.float32, (X,), OpArg("text_test_op", attrs))


def _regions() -> list[UOp]:
    number = param(0, dt.int32)
    double = function("double", (number,), (number * 2,))
    less = function("less", (number,), (number < 100,))
    row = param(1, dt.int32)
    total = function("total", (number, row), (number + row, number))
    return [
        *call(double, S),
        *if_(C, double, double, S),
        *while_(less, double, S),
        *scan(total, (S,), (param(3, dt.int32, (5,)),)),
        *extern("eigh", (X,), (("float32", (8,)), ("float32", (8, 8)))),
    ]


GRAPHS = [
    *(UOp(op, dt.float32, (X,)) for op in sorted(UNARY - {Ops.NOT})),
    *(
        X.alu(op, Y)
        for op in sorted(BINARY - {Ops.AND, Ops.OR, Ops.XOR, Ops.SHL, Ops.SHR})
    ),
    *(S.alu(op, S) for op in (Ops.AND, Ops.OR, Ops.XOR, Ops.SHL, Ops.SHR)),
    UOp(Ops.NOT, dt.int32, (S,)),
    (X < Y).where(X, Y),
    UOp(Ops.MULACC, dt.float32, (X, Y, X)),
    X.cast(dt.bfloat16).bitcast(dt.int16),
    _moved(Ops.RESHAPE, 4, 2, N),
    _moved(Ops.EXPAND, 5, x=param(0, dt.float32, (1,))),
    UOp(Ops.PERMUTE, dt.float32, (X,), AxesArg((1, 0))),
    UOp(Ops.FLIP, dt.float32, (X,), AxesArg((0,))),
    _moved(Ops.PAD, 1, 2, 0, 0),
    _moved(Ops.SHRINK, 1, 3, 0, N),
    _moved(Ops.STRIDE, 2, 1),
    UOp(Ops.WINDOW, dt.float32, (X, UOp.const(dt.index, 3)), WindowArg(0)),
    UOp(Ops.CONTIGUOUS, dt.float32, (X,)),
    _reduce(),
    UOp(Ops.TAKE, dt.float32, (X, param(1, dt.int64, (3,))), AxesArg((0,))),
    _prefix(),
    _named(),
    N.bind(5),
    UOp(Ops.BIND, dt.index, (N,)),
    UOp(Ops.BUFFER, dt.float16, (UOp.const(dt.index, 4),), BufferArg(123)),
    UOp(Ops.ASSIGN, dt.float32, (X, Y)),
    UOp(Ops.AFTER, dt.float32, (X, UOp(Ops.ASSIGN, dt.float32, (X, Y)))),
    X.sink(Y),
    size_of(UOp.const(dt.int64, 2), N),
    UOp(Ops.ASSERT, dt.void, (C, N), AssertArg("ShapeError", "{0} rows")),
    *_regions(),
    (X + Y).rtag("seen").rtag(("a", 1)),
    UOp.axis(3, "row") + UOp.axis(4, extent=N),
    UOp(Ops.VALUE, dt.float32, (UOp.axis(1),), ValueArg(4, 1)),
    kernels.gemm(16),
    kernels.row_sum(8),
    UOp(Ops.BARRIER, dt.void),
    kernels.when(C, UOp(Ops.BARRIER, dt.void)),
]


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda u: u.op.name)
def test_text_rebuilds_the_node(graph: UOp) -> None:
    assert eval_text(text(graph)) is graph


def test_every_opcode_is_among_them() -> None:
    seen = {u.op for graph in GRAPHS for u in graph.toposort()}
    assert seen == set(Ops)


@pytest.mark.parametrize("dtype", [d for d in dt.ALL if d is not dt.void], ids=str)
def test_constants_are_exact(dtype: dt.DType) -> None:
    patterns = [
        0,
        1,
        (1 << dtype.bits) - 1,
        1 << (dtype.bits - 1),
        0x5555555555555555 & ((1 << dtype.bits) - 1),
    ]
    if dtype is dt.boolean:
        patterns = [0, 1]
    for bits in patterns:
        node = UOp(Ops.CONST, dtype, (), ConstArg(bits))
        assert eval_text(text(node)) is node


def test_nan_payloads_and_infinities() -> None:
    for bits in (
        0x7FC00000,
        0xFFC00001,
        0x7F800001,
        0x7F800000,
        0xFF800000,
        0x80000000,
        1,
    ):
        node = UOp(Ops.CONST, dt.float32, (), ConstArg(bits))
        assert eval_text(text(node)) is node


def test_a_line_says_what_it_is() -> None:
    assert text(X * Y).split("\n")[-1] == "v4 = mul(v2, v3)  # f32[8, n]"


def test_arenas_rebuild_in_arenas() -> None:
    with arena():
        node = UOp.variable("n", 1, 3) + 1
        assert eval_text(text(node)) is node


def test_bad_text_is_refused() -> None:
    with pytest.raises(ArgumentError, match="builds no node"):
        eval_text("v0 = 3")
    with pytest.raises(ArgumentError, match="needs dtype"):
        eval_text("v0 = param(slot=0)")
    with pytest.raises((NameError, ImportError)):
        eval_text("import os")


def test_print_shows_it() -> None:
    assert repr(X * Y) == text(X * Y)
    assert repr(kernels.gemm(16)) == tree_text(kernels.gemm(16))


def test_a_very_long_graph_prints_its_end() -> None:
    graph = N
    for _ in range(5000):
        graph = graph * 2
    shown = repr(graph)
    assert shown.startswith("# 4")
    assert shown.count("\n") == 400


def test_formulas() -> None:
    i, j = UOp.axis(0), UOp.axis(1, "col")
    assert expr_text((i * 16 + j) // 4 - N) == "(i0*16 + col)//4 - n"
    assert expr_text(i - (j - N)) == "i0 - (col - n)"
    assert expr_text((i < N) & (j < 3)) == "(i0 < n) & (col < 3)"
    assert expr_text(-(i + 1)) == "-(i0 + 1)"
    assert expr_text(i * -1) == "i0*(-1)"
    masked = kernels.load(kernels.param(0), i, i < N, UOp.const(dt.float32, 0.0))
    assert expr_text(masked) == "(p0[i0] if i0 < n else 0.0)"


def test_shared_formulas_do_not_explode() -> None:
    graph = N
    for _ in range(200):
        graph = graph * graph + 1
    assert len(expr_text(graph)) < 5000


def test_trees_read_as_loops() -> None:
    assert tree_text(kernels.row_sum(8)) == "\n".join([
        "kernel row_sum(p0: f32*, out p1: f32*; rows, columns)  chunks = rows, scratch = 0",
        "  for i0 in range(rows):  # chunk",
        "    s0 = f32[8]  # register",
        "    s1 = f32[1]  # register",
        "    for i2 in range(8):  # vector",
        "      s0[i2] = 0.0",
        "    for i1 in range((columns + 7)//8):",
        "      for i2 in range(8):  # vector",
        "        s0[i2] = s0[i2] + (p0[i0*columns + (i1*8 + i2)] if i1*8 + i2 < columns else 0.0)",
        "    fold i3 in range(8):  # vector",
        "      s1[0] = fold(s0[i3]; state0 + state1)",
        "    p1[i0] = s1[0]",
    ])  # fmt: skip
    barrier = UOp(Ops.BARRIER, dt.void)
    tree = kernels.when(
        UOp.axis(0) < 3, kernels.loop(0, 4, barrier, kind=LoopKind.BLOCK)
    )
    assert (
        tree_text(tree)
        == "if i0 < 3:\n  for i0 in range(4):  # block\n    barrier()"
    )


def test_slots_of_params_show() -> None:
    assert expr_text(UOp(Ops.PARAM, dt.float32, (), ParamArg(3))) == "p3"
    assert (
        expr_text(UOp(Ops.VALUE, dt.float32, (UOp.axis(1),), ValueArg(4, 1)))
        == "n4.1[i1]"
    )
