"""Builders of regions: what they make, and what they refuse."""

from __future__ import annotations

import pytest

from ingot.errors import ArgumentError, DTypeError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import BufferArg, Ops
from ingot.ir.region import (
    call,
    extern,
    function,
    if_,
    param,
    param_types,
    results,
    scan,
    shallow,
    size_of,
    sizes,
    unchanged,
    while_,
)
from ingot.ir.spec import PRIMITIVE, verify

X = param(0, dt.float32, (4, 8))
NUMBER = param(0, dt.int32)
DOUBLE = function("double", (NUMBER,), (NUMBER * 2,))
IS_SMALL = function("is_small", (NUMBER,), (NUMBER < 10,))
THREE = UOp.const(dt.int32, 3)
TRUE = UOp.const(dt.boolean, True)


def test_a_function_is_made_of_its_parameters() -> None:
    """The nodes given as parameters become PARAMs in order, whatever they were."""
    a = UOp(Ops.BUFFER, dt.float32, sizes((4,)), BufferArg(770_001))
    b = UOp(Ops.BUFFER, dt.float32, sizes((4,)), BufferArg(770_002))
    made = function("sum", (a, b), (a + b, a * 2.0))
    assert param_types(made) == {0: (dt.float32, (4,)), 1: (dt.float32, (4,))}
    assert not any(u.op is Ops.BUFFER for u in made.toposort())
    assert function("sum", (b, a), (b + a, b * 2.0)) is made


def test_results_have_types() -> None:
    both = function("both", (X,), (X + 1.0, X.cast(dt.int8)))
    first, second = call(both, X)
    assert (first.dtype, first.shape) == (dt.float32, (4, 8))
    assert (second.dtype, second.shape) == (dt.int8, (4, 8))
    assert results(first.src[0]) == (first, second)


def test_scan_stacks() -> None:
    carry, row = param(0, dt.float32), param(1, dt.float32, (8,))
    body = function("body", (carry, row), (carry, row * 2.0))
    last, rows = scan(body, (UOp.const(dt.float32, 0.0),), (X,))
    assert last.shape == ()
    assert rows.shape == (4, 8)


def test_extern_and_size() -> None:
    values, vectors = extern("eigh", (X,), (("float32", (4,)), ("float64", (4, 4))))
    assert (values.shape, vectors.dtype) == ((4,), dt.float64)
    size = size_of(UOp.const(dt.int64, 3), 4)
    assert (size.dtype, size.bounds) == (dt.index, (0, 4))


def test_all_of_it_follows_the_spec() -> None:
    nodes = [
        *call(DOUBLE, THREE),
        *if_(TRUE, DOUBLE, DOUBLE, THREE),
        *while_(IS_SMALL, DOUBLE, THREE),
    ]
    verify(nodes[0].sink(*nodes[1:]), PRIMITIVE)


def test_wrong_arguments() -> None:
    with pytest.raises(ArgumentError, match="double: arguments: given 2, wanted 1"):
        call(DOUBLE, THREE, THREE)
    with pytest.raises(
        DTypeError, match="double: argument 0: given float32, wanted int32"
    ):
        call(DOUBLE, UOp.const(dt.float32, 3.0))
    with pytest.raises(ShapeError, match="argument 0"):
        call(DOUBLE, param(0, dt.int32, (3,)))


def test_wrong_regions() -> None:
    other = function("other", (NUMBER,), (NUMBER.cast(dt.float32),))
    with pytest.raises(ShapeError, match="two branches"):
        if_(TRUE, DOUBLE, other, THREE)
    with pytest.raises(DTypeError, match="condition"):
        if_(THREE, DOUBLE, DOUBLE, THREE)
    with pytest.raises(DTypeError, match="while: condition"):
        while_(DOUBLE, DOUBLE, THREE)
    with pytest.raises(ShapeError, match="results of the body"):
        while_(IS_SMALL, other, THREE)
    with pytest.raises(ArgumentError, match="at least one"):
        scan(DOUBLE, (THREE,), ())
    with pytest.raises(ShapeError, match="carry after a step"):
        scan(
            function("bad", (NUMBER, param(1, dt.int32)), (TRUE,)),
            (THREE,),
            (param(0, dt.int32, (3,)),),
        )


def test_what_loops_leave_alone() -> None:
    """A result that is the parameter at the same place is a value from outside."""
    a, b, row = param(0, dt.int32), param(1, dt.int32), param(2, dt.int32)
    xs = param(0, dt.int32, (4,))
    body = function("body", (a, b, row), (a + row, b, b))
    assert unchanged(scan(body, (THREE, THREE), (xs,))[0].src[0]) == {1}
    swap = function("swap", (a, b), (b, a))
    test = function("test", (a, b), (a < 10,))
    assert unchanged(while_(test, swap, THREE, THREE)[0].src[0]) == frozenset()


def test_a_function_inside_a_function_keeps_its_parameters() -> None:
    """Both have a parameter 0 of the same type, which is the same node."""
    first, second = param(0, dt.int32), param(1, dt.int32)
    (inner,) = call(DOUBLE, second)
    made = function("turned", (second, first), (inner + first,))
    assert made.src[0].src[0].src[0].src == (DOUBLE, param(0, dt.int32))
    assert DOUBLE in shallow(made)
    assert DOUBLE.src[0] not in shallow(call(DOUBLE, THREE)[0])
