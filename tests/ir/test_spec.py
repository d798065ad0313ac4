"""Specs: each level takes what belongs to it, refuses the rest, and says where and why."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingot.errors import SpecError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    AxesArg,
    AxisArg,
    ConstArg,
    LoopKind,
    OpArg,
    Ops,
    ParamArg,
    ReduceArg,
    ResultArg,
    Scope,
    StateArg,
    VarArg,
)
from ingot.ir.pattern import PatternMatcher, UPat
from ingot.ir.region import call, function, param, sizes
from ingot.ir.rewrite import graph_rewrite
from ingot.ir.shape import NAMED
from ingot.ir.spec import (
    KERNEL,
    PRIMITIVE,
    PROGRAM,
    Spec,
    check,
    verify,
    watch_construction,
)
from ingot.settings import child_environment, settings
from tests.ir import kernels

X, Y = param(0, dt.float32, (4, 8)), param(1, dt.float32, (4, 8))
H = param(0, dt.float16, (4, 8))
U = UOp.axis(0)
N = UOp.variable("n", 1, 64)
OUT = kernels.param(0, writable=True)
ONE = UOp.const(dt.float32, 1.0)
ROOT = str(Path(__file__).parents[2])


def node(op: Ops, dtype: dt.DType, *src: UOp, arg: object = None) -> UOp:
    return UOp(op, dtype, src, arg)  # type: ignore[arg-type]


def test_good_graphs_pass() -> None:
    verify((X + Y).sink(X), PROGRAM)
    verify(kernels.gemm(16), KERNEL)
    verify(kernels.row_sum(8), KERNEL)


STATE = UOp.state(dt.float32, 0)
ZERO = UOp.const(dt.float32, 0.0)
FUNCTION = function("f", (param(0, dt.int32),), (param(0, dt.int32) + 1,))
BAD = {
    "mixed types": (node(Ops.ADD, dt.float32, X, H), "two of one type"),
    "mixed shapes": (node(Ops.MUL, dt.float32, X, ONE), "two of one type"),
    "wrong result": (node(Ops.ADD, dt.float64, X, Y), "it is float64"),
    "comparison": (node(Ops.CMPLT, dt.float32, X, Y), "gives bool"),
    "too few": (node(Ops.ADD, dt.float32, X), "1 sources, not 2"),
    "float bits": (node(Ops.AND, dt.float32, X, Y), "bools and integers"),
    "integer root": (node(Ops.SQRT, dt.int32, param(0, dt.int32)), "takes floats"),
    "where": (node(Ops.WHERE, dt.float32, X, X, Y), "a bool, then two"),
    "bitcast": (node(Ops.BITCAST, dt.int32, H), "16 bits become 32"),
    "constant": (node(Ops.CONST, dt.int8, arg=ConstArg(256)), "does not fit"),
    "no arg": (node(Ops.CONST, dt.int8), "not a ConstArg"),
    "variable": (node(Ops.DEFINE_VAR, dt.index, arg=VarArg("n", 5, 4)), "5..4"),
    "bind": (
        node(Ops.BIND, dt.index, N, UOp.const(dt.index, 65)),
        "outside the variable",
    ),
    "reshape": (node(Ops.RESHAPE, dt.float32, X, *sizes((5, 8))), "becomes [5, 8]"),
    "expand": (node(Ops.EXPAND, dt.float32, X, *sizes((8, 8))), "becomes [8, 8]"),
    "permute": (node(Ops.PERMUTE, dt.float32, X, arg=AxesArg((0, 0))), "(0, 0)"),
    "flip": (node(Ops.FLIP, dt.float32, X, arg=AxesArg((2,))), "(2,)"),
    "pad": (node(Ops.PAD, dt.float32, X, *sizes((1, 1))), "2 amounts"),
    "shrink": (node(Ops.SHRINK, dt.float32, X, *sizes((0, 5, 0, 8))), "of 4"),
    "stride": (node(Ops.STRIDE, dt.float32, X, *sizes((1,))), "1 steps"),
    "axis": (
        node(Ops.REDUCE, dt.float32, X, ZERO, STATE, arg=ReduceArg((2,))),
        "axes (2,)",
    ),
    "state": (
        node(
            Ops.REDUCE,
            dt.float32,
            X,
            ZERO,
            UOp.state(dt.float32, 2),
            arg=ReduceArg((1,)),
        ),
        "STATE 2",
    ),
    "init": (
        node(Ops.REDUCE, dt.float32, X, X, STATE, arg=ReduceArg((1,))),
        "its inits",
    ),
    "sizes": (
        node(Ops.PARAM, dt.float32, UOp.const(dt.int32, 3), arg=ParamArg(0)),
        "sizes are i32",
    ),
    "result": (
        node(
            Ops.RESULT,
            dt.int8,
            call(FUNCTION, UOp.const(dt.int32, 1))[0].src[0],
            arg=ResultArg(0),
        ),
        "int8",
    ),
    "call": (node(Ops.CALL, dt.void, FUNCTION), "no function of 0"),
    "call type": (node(Ops.CALL, dt.void, FUNCTION, ONE), "its arguments are f32"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_programs_are_refused(name: str) -> None:
    graph, says = BAD[name]
    with pytest.raises(SpecError) as caught:
        verify(graph, PRIMITIVE, "lower")
    assert str(caught.value).startswith("SPEC ISSUE lower: ")
    assert says in str(caught.value)


def test_named_operations_end_at_lowering() -> None:
    NAMED.setdefault(
        "spec_test_op", lambda arg, src: ((src[0].dtype, src[0].shape),)
    )
    named = node(Ops.OP, dt.float32, X, arg=OpArg("spec_test_op"))
    verify(named, PROGRAM)
    with pytest.raises(SpecError, match="spec_test_op was not lowered"):
        verify(named, PRIMITIVE)


def test_unregistered_operations() -> None:
    NAMED["spec_test_gone"] = lambda arg, src: ((src[0].dtype, src[0].shape),)
    named = node(Ops.OP, dt.float32, X, arg=OpArg("spec_test_gone"))
    del NAMED["spec_test_gone"]
    with pytest.raises(SpecError, match="no operation is called 'spec_test_gone'"):
        verify(named, PROGRAM)


def test_loops_do_not_belong_to_programs() -> None:
    with pytest.raises(SpecError, match="has no place at level program"):
        verify(kernels.gemm(4), PROGRAM)
    with pytest.raises(SpecError, match="RESHAPE has no place at level kernel"):
        verify(node(Ops.RESHAPE, dt.float32, X, *sizes((8, 4))), KERNEL)


LOCAL = kernels.stage(0, 4)
INSIDE = kernels.store(OUT, U, ONE)
BAD_TREES = {
    "axis outside": (INSIDE, "i0 is used outside its loop, in STORE"),
    "loop in itself": (
        kernels.loop(0, 4, kernels.loop(0, 4, INSIDE)),
        "inside a loop over i0",
    ),
    "loop in vector": (
        kernels.loop(0, 4, kernels.loop(1, 4, INSIDE), kind=LoopKind.VECTOR),
        "a loop inside a vector loop",
    ),
    "inner chunk": (
        kernels.loop(1, 4, kernels.loop(0, 4, INSIDE, kind=LoopKind.CHUNK)),
        "chunk loop that is not outermost",
    ),
    "vector of n": (
        kernels.loop(0, N, INSIDE, kind=LoopKind.VECTOR),
        "whose extent is no constant",
    ),
    "stage late": (
        kernels.loop(0, 4, kernels.store(LOCAL, U, ONE), LOCAL),
        "before its place",
    ),
    "register of n": (
        kernels.stage(0, N),
        "register memory whose size is no constant",
    ),
    "read only": (
        kernels.loop(0, 4, kernels.store(kernels.param(0), U, ONE)),
        "not writable",
    ),
    "wrong value": (
        kernels.loop(0, 4, kernels.store(OUT, U, U)),
        "a index into float32",
    ),
    "wrong offset": (kernels.store(OUT, ONE, ONE), "memory, offset"),
    "state outside": (
        kernels.store(OUT, kernels.number(0), STATE),
        "STATE outside",
    ),
    "no statement": (kernels.kernel("k", (OUT,), (), ONE), "not statements: CONST"),
    "slots": (kernels.kernel("k", (kernels.param(1),), ()), "slots [1]"),
    "when": (kernels.when(ONE, UOp(Ops.BARRIER, dt.void)), "no condition"),
    "load": (
        kernels.store(OUT, kernels.number(0), node(Ops.LOAD, dt.float32, U, U)),
        "memory, offset",
    ),
    "fold target": (
        node(
            Ops.FOLD,
            dt.void,
            kernels.number(4),
            ONE,
            ONE,
            ONE,
            arg=kernels.row_sum(8).src[0].src[5].arg,
        ),
        "a target is no LOAD",
    ),
}


@pytest.mark.parametrize("name", BAD_TREES)
def test_bad_trees_are_refused(name: str) -> None:
    tree, says = BAD_TREES[name]
    with pytest.raises(SpecError) as caught:
        verify(tree, KERNEL)
    assert says in str(caught.value)


def test_a_packed_stage_may_have_any_size() -> None:
    packed = kernels.stage(0, N, Scope.PACKED)
    verify(kernels.kernel("k", (OUT,), (N,), packed), KERNEL)


def test_a_fault_shows_where_and_which_rule() -> None:
    graph = X
    for k in range(40):
        graph = (
            UOp(Ops.NEG, dt.float32, (graph,))
            if k % 2
            else UOp(Ops.SQRT, dt.float32, (graph,))
        )
    wrong = PatternMatcher(
        [(UPat(Ops.FLOOR, name="u"), lambda u: u.replace(op=Ops.NOT))]
    )
    bad = UOp(Ops.TRUNC, dt.float32, (UOp(Ops.FLOOR, dt.float32, (graph,)),))
    with settings.override(spec=1):
        for _ in range(30):
            bad = UOp(Ops.TRUNC, dt.float32, (bad,))
        made = graph_rewrite(bad, wrong)
        with pytest.raises(SpecError) as caught:
            check(made, PRIMITIVE, "simplify")
    text = str(caught.value)
    assert text.startswith("SPEC ISSUE simplify: NOT: it takes bools and integers")
    assert isinstance(caught.value, RuntimeError)
    assert f"last rule: {wrong.rules[0].location}" in text
    lines = [line for line in text.split("\n") if " = " in line]
    marked = [k for k, line in enumerate(lines) if line.startswith(">>> ")]
    assert len(lines) == 21
    assert marked == [10]
    assert "not_(" in lines[10]


def test_nothing_is_checked_unless_asked() -> None:
    check(BAD["mixed types"][0], PRIMITIVE)


@pytest.fixture
def watched() -> Iterator[None]:
    watch_construction(True)
    yield
    watch_construction(False)


@pytest.mark.usefixtures("watched")
def test_every_node_at_construction() -> None:
    with pytest.raises(
        SpecError, match=r"SPEC ISSUE at construction: SUB: its sources"
    ):
        UOp(Ops.SUB, dt.float32, (Y, H))
    assert kernels.gemm(8) is kernels.gemm(8)
    assert UOp(Ops.AXIS, dt.index, (), AxisArg(77)).arg == AxisArg(77)
    assert UOp(Ops.STATE, dt.int8, (), StateArg(1)).dtype is dt.int8


def test_spec_2_works_from_the_first_node() -> None:
    source = (
        "import ingot.ir.spec; from ingot.ir.node import UOp; from ingot.ir import dtype as dt\n"
        "UOp.const(dt.float32, 1.0) + UOp.const(dt.int32, 1)"
    )
    for level, fails in (("2", True), ("1", False), ("0", False)):
        environment = child_environment(SPEC=level)
        done = subprocess.run(
            [sys.executable, "-c", source],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=environment,
        )
        assert ("SPEC ISSUE at construction" in done.stderr) == fails


@pytest.mark.parametrize("spec", [PROGRAM, PRIMITIVE, KERNEL], ids=lambda s: s.name)
def test_a_spec_is_its_own_documentation(spec: Spec) -> None:
    lines = str(spec).split("\n")
    assert len(lines) == len(spec.rows)
    assert all(row.says for row in spec.rows.values())


def test_every_opcode_belongs_somewhere() -> None:
    assert set(Ops) - set(PROGRAM.rows) - set(KERNEL.rows) == {Ops.VALUE}
