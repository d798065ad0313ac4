"""The interpreter: every opcode of a program against NumPy written by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ingot.errors import ArgumentError, DTypeError, KernelFault, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.interpret import interpret
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    AssertArg,
    AxesArg,
    BufferArg,
    OpArg,
    Ops,
    ReduceArg,
    WindowArg,
)
from ingot.ir.region import (
    call,
    extern,
    function,
    if_,
    param,
    register_extern,
    scan,
    size_of,
    sizes,
    while_,
)
from ingot.ir.shape import NAMED

RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 6)).astype(np.float32)
X, Y = param(0, dt.float32, (4, 6)), param(1, dt.float32, (4, 6))
N = UOp.variable("n", 1, 64)


def moved(op: Ops, *numbers: int | UOp, x: UOp = X) -> UOp:
    return UOp(op, x.dtype, (x, *sizes(numbers)))


def run(node: UOp) -> np.ndarray:
    made = interpret(node, {X: A, Y: A + 1})
    assert isinstance(made, np.ndarray)
    assert made.shape == node.shape
    assert made.dtype == dt.to_numpy(node.dtype)
    return made


def reduced(x: UOp, axes: tuple[int, ...], init: float, op: Ops) -> UOp:
    left, right = UOp.state(x.dtype, 0), UOp.state(x.dtype, 1)
    return UOp(
        Ops.REDUCE,
        x.dtype,
        (x, UOp.const(x.dtype, init), left.alu(op, right)),
        ReduceArg(axes),
    )


def test_elementwise() -> None:
    np.testing.assert_array_equal(run(X * Y + X), A * (A + 1) + A)
    np.testing.assert_array_equal(run((X < Y).where(X, -X)), A)
    np.testing.assert_array_equal(
        run(X.cast(dt.int32)), np.trunc(A).astype(np.int32)
    )


@pytest.mark.parametrize(
    ("op", "function_"),
    [
        (Ops.EXP, np.exp),
        (Ops.LOG2, np.log2),
        (Ops.SIN, np.sin),
        (Ops.TANH, np.tanh),
        (Ops.FLOOR, np.floor),
    ],
)
def test_functions(op: Ops, function_: np.ufunc) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run(UOp(op, dt.float32, (X,))), function_(A))


def test_erf() -> None:
    wanted = np.vectorize(math.erf)(A.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(run(UOp(Ops.ERF, dt.float32, (X,))), wanted)


def test_movement() -> None:
    np.testing.assert_array_equal(run(moved(Ops.RESHAPE, 3, 8)), A.reshape(3, 8))
    np.testing.assert_array_equal(
        run(UOp(Ops.PERMUTE, dt.float32, (X,), AxesArg((1, 0)))), A.T
    )
    np.testing.assert_array_equal(
        run(UOp(Ops.FLIP, dt.float32, (X,), AxesArg((1,)))), A[:, ::-1]
    )
    np.testing.assert_array_equal(
        run(moved(Ops.PAD, 1, 2, 0, 3)), np.pad(A, ((1, 2), (0, 3)))
    )
    np.testing.assert_array_equal(run(moved(Ops.SHRINK, 1, 3, 0, 5)), A[1:3, 0:5])
    np.testing.assert_array_equal(run(moved(Ops.STRIDE, 2, 5)), A[::2, ::5])
    wide = moved(Ops.EXPAND, 4, 6, 5, x=moved(Ops.RESHAPE, 4, 6, 1))
    np.testing.assert_array_equal(run(wide), np.repeat(A[:, :, None], 5, 2))
    window = UOp(Ops.WINDOW, dt.float32, (X, UOp.const(dt.index, 3)), WindowArg(1))
    np.testing.assert_array_equal(
        run(window), np.stack([A[:, k : k + 4] for k in range(3)], -1)
    )


def test_reductions() -> None:
    np.testing.assert_allclose(
        run(reduced(X, (1,), 0.0, Ops.ADD)), A.sum(1), rtol=1e-6
    )
    np.testing.assert_array_equal(
        run(reduced(X, (0, 1), -math.inf, Ops.MAX)), A.max()
    )
    np.testing.assert_allclose(
        run(reduced(X, (0,), 1.0, Ops.MUL)), A.prod(0), rtol=1e-6
    )


def test_reduction_runs_in_order() -> None:
    """1e8 + 1 - 1e8 in float32 is 0 from the left and 1 from the right."""
    x = param(0, dt.float32, (3,))
    given = np.array([1e8, 1.0, -1e8], np.float32)
    assert interpret(reduced(x, (0,), 0.0, Ops.ADD), {x: given}) == 0.0


def test_an_empty_reduction_is_its_init() -> None:
    x = param(0, dt.float32, (0, 3))
    np.testing.assert_array_equal(
        interpret(
            reduced(x, (0,), -math.inf, Ops.MAX), {x: np.zeros((0, 3), np.float32)}
        ),
        np.full(3, -np.inf),
    )


def test_tuple_state_is_argmax() -> None:
    best, place, value, index = (
        UOp.state(d, k) for k, d in enumerate([dt.float32, dt.int32] * 2)
    )
    better = best < value
    x, number = param(0, dt.float32, (3, 5)), param(1, dt.int32, (3, 5))
    combine = (better.where(value, best), better.where(index, place))
    inits = (UOp.const(dt.float32, -math.inf), UOp.const(dt.int32, -1))
    node = UOp(
        Ops.REDUCE, dt.float32, (x, number, *inits, *combine), ReduceArg((1,), 2)
    )
    given = RNG.normal(size=(3, 5)).astype(np.float32)
    made = interpret(
        node, {x: given, number: np.tile(np.arange(5, dtype=np.int32), (3, 1))}
    )
    np.testing.assert_array_equal(made[0], given.max(1))
    np.testing.assert_array_equal(made[1], given.argmax(1))


def test_symbolic_sizes() -> None:
    x = param(0, dt.float32, (N, 3))
    given = RNG.normal(size=(5, 3)).astype(np.float32)
    flat = UOp(Ops.RESHAPE, dt.float32, (x, N * 3))
    np.testing.assert_array_equal(
        interpret(flat, {x: given}, sizes={"n": 5}), given.reshape(-1)
    )
    bound = UOp(Ops.RESHAPE, dt.float32, (x, N.bind(5) * 3))
    np.testing.assert_array_equal(interpret(bound, {x: given}), given.reshape(-1))
    with pytest.raises(ArgumentError, match="variable n"):
        interpret(flat, {x: given})


def test_bfloat16_is_rounded_and_travels_as_bits() -> None:
    x = param(0, dt.bfloat16, (2,))
    made = interpret(x + x * 0.0078125, {x: np.array([0x3F80, 0x4000], np.uint16)})
    assert made.dtype == np.uint16
    np.testing.assert_array_equal(made, [0x3F81, 0x4001])


def test_versions_of_a_buffer() -> None:
    buffer = UOp(Ops.BUFFER, dt.float32, sizes((4, 6)), BufferArg(880_001))
    written = UOp(Ops.ASSIGN, dt.float32, (buffer, X + 1))
    after = UOp(Ops.AFTER, dt.float32, (buffer, written))
    values = {buffer: A * 0, X: A}
    np.testing.assert_array_equal(interpret(after, values), A + 1)
    np.testing.assert_array_equal(interpret(after.sink(buffer), values)[1], A * 0)
    np.testing.assert_array_equal(
        interpret(UOp(Ops.CONTIGUOUS, dt.float32, (X,)), {X: A}), A
    )


def test_named_operations_are_lowered() -> None:
    NAMED.setdefault(
        "interpret_test_square", lambda arg, src: ((src[0].dtype, src[0].shape),)
    )
    node = UOp(Ops.OP, dt.float32, (X + 1,), OpArg("interpret_test_square"))
    made = interpret(node, {X: A}, lower=lambda u: u.src[0] * u.src[0])
    np.testing.assert_array_equal(made, (A + 1) * (A + 1))
    with pytest.raises(ArgumentError, match="named operation"):
        interpret(node, {X: A})


def test_calls_of_calls() -> None:
    number = param(0, dt.float32)
    square = function("square", (number,), (number * number,))
    twice = function("twice", (number,), (call(square, *call(square, number))[0],))
    three = UOp.const(dt.float32, 3.0)
    assert interpret(call(twice, three)[0]) == 81.0


def test_a_function_may_close_over_nothing() -> None:
    with pytest.raises(ArgumentError, match="from outside"):
        function(
            "open",
            (param(0, dt.float32),),
            (param(0, dt.float32) + param(1, dt.float32),),
        )
    shift = UOp.const(dt.float32, 1.0) + X.replace(src=())
    made = function("by_position", (X.replace(src=()),), (shift,))
    assert interpret(call(made, UOp.const(dt.float32, 2.0))[0]) == 3.0


def test_if_runs_one_branch() -> None:
    number = param(0, dt.int32)
    yes = function("yes", (number,), (number + 1, number))
    no = function("no", (number,), (number - 1, number))
    ten = UOp.const(dt.int32, 10)
    for cond, wanted in ((True, 11), (False, 9)):
        first, second = if_(UOp.const(dt.boolean, cond), yes, no, ten)
        assert interpret(first) == wanted
        assert interpret(second) == 10


def test_while_counts() -> None:
    a, b = param(0, dt.int32), param(1, dt.int32)
    cond = function("cond", (a, b), (a < 100,))
    body = function("body", (a, b), (a * 2, b + 1))
    one, zero = UOp.const(dt.int32, 1), UOp.const(dt.int32, 0)
    assert [int(interpret(r)) for r in while_(cond, body, one, zero)] == [128, 7]


def test_scan_is_cumsum() -> None:
    carry, row = param(0, dt.float32), param(1, dt.float32)
    body = function("step", (carry, row), (carry + row, carry + row))
    xs = param(0, dt.float32, (5,))
    given = RNG.normal(size=5).astype(np.float32)
    last, sums = scan(body, (UOp.const(dt.float32, 0.0),), (xs,))
    np.testing.assert_allclose(
        interpret(sums, {xs: given}), np.cumsum(given), rtol=1e-6
    )
    assert interpret(last, {xs: given}) == interpret(sums, {xs: given})[-1]
    assert sums.shape == (5,)


def test_extern_and_sizes_known_late() -> None:
    """nonzero finds at most 6 numbers, and SIZE_OF says how many."""

    def nonzero(x: Any) -> tuple[Any, Any]:
        where = np.flatnonzero(x)
        return np.resize(where, 6).astype(np.int64), np.int64(len(where))

    register_extern("interpret_test_nonzero", nonzero)
    x = param(0, dt.float32, (6,))
    found, count = extern(
        "interpret_test_nonzero", (x,), (("int64", (6,)), ("int64", ()))
    )
    size = size_of(count, 6)
    visible = UOp(Ops.SHRINK, dt.int64, (found, UOp.const(dt.index, 0), size))
    given = np.array([0, 1, 0, 2, 3, 0], np.float32)
    np.testing.assert_array_equal(interpret(visible, {x: given}), [1, 3, 4])
    assert interpret(size * 2, {x: given}) == 6
    with pytest.raises(KernelFault, match="computed size is 3; wanted 0 to 2"):
        interpret(size_of(count, 2), {x: given})
    values, vectors = extern("eigh", (X,), (("float32", (4,)), ("float32", (4, 4))))
    square = np.eye(4, 6, dtype=np.float32)
    made = interpret(
        values.sink(vectors),
        {X: square},
        externs={"eigh": lambda x: np.linalg.eigh(x @ x.T)},
    )
    np.testing.assert_array_equal(made[0], np.ones(4))
    with pytest.raises(ArgumentError, match="extern 'eigh'"):
        interpret(values, {X: square})


def test_inputs_are_checked() -> None:
    with pytest.raises(DTypeError, match="float64"):
        interpret(X, {X: A.astype(np.float64)})
    with pytest.raises(ShapeError, match=r"\(6, 4\)"):
        interpret(X, {X: A.T})
    with pytest.raises(ArgumentError, match="no value given"):
        interpret(X + 1)
    with pytest.raises(ArgumentError, match="interpret_tree"):
        interpret(UOp(Ops.BARRIER, dt.void))


def test_a_deep_chain() -> None:
    x = param(0, dt.float32, (2,))
    node = x
    for _ in range(20_000):
        node = UOp(Ops.NEG, dt.float32, (node,))
    np.testing.assert_array_equal(
        interpret(node, {x: np.ones(2, np.float32)}), np.ones(2)
    )


def test_scan_backwards_keeps_places() -> None:
    carry, row = param(0, dt.int32), param(1, dt.int32)
    body = function("step", (carry, row), (carry + row, carry + row))
    xs = param(0, dt.int32, (4,))
    given = np.array([1, 2, 3, 4], np.int32)
    last, sums = scan(body, (UOp.const(dt.int32, 0),), (xs,), reverse=True)
    assert interpret(sums, {xs: given}).tolist() == [10, 9, 7, 4]
    assert interpret(last, {xs: given}) == 10


def test_an_assertion_raises_its_error() -> None:
    x = param(0, dt.int32)
    effect = UOp(
        Ops.ASSERT,
        dt.void,
        (x < 5, x),
        AssertArg("ShapeError", "{0} is not below 5"),
    )
    guarded = UOp(Ops.AFTER, dt.int32, (x, effect)) * 2
    assert interpret(guarded, {x: np.int32(4)}) == 8
    with pytest.raises(ShapeError, match="7 is not below 5"):
        interpret(guarded, {x: np.int32(7)})


def test_padding_without_axes() -> None:
    x = param(0, dt.float32)
    assert interpret(UOp(Ops.PAD, dt.float32, (x,)), {x: np.float32(3)}) == 3
