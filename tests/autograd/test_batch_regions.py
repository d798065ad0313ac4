"""Functions, branches and loops over a batch equal a Python loop over the examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ingot.autograd.batch import batch
from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import AxesArg, Ops, PrefixArg
from ingot.ir.region import (
    EXTERNS,
    call,
    extern,
    function,
    if_,
    param,
    scan,
    size_of,
    unchanged,
    while_,
)
from ingot.ops.check import checked
from ingot.ops.elementwise import add, less, multiply, sin
from ingot.ops.matmul import matmul
from ingot.ops.movement import shrink
from ingot.ops.op import REGISTRY
from ingot.ops.reduce import max_, sum_
from tests.ops.evaluate import Inputs

N = 4
Build = Callable[..., Sequence[UOp]]
RNG = np.random.default_rng(7)
F64 = dt.float64


def agree(build: Build, arrays: Sequence[Any], batched: Sequence[bool]) -> None:
    """`build` over the batch is `build` for each example; batched arrays hold the examples along axis 0."""
    inputs, given, nodes = Inputs(), {}, []
    for array, flag in zip(arrays, batched, strict=True):
        node = inputs.node(array[0] if flag else array)
        if flag:
            given[node] = inputs.node(array)
        nodes.append(node)
    lanes = batch(list(build(*nodes)), given, N)
    found = inputs.run(lanes[0].node.sink(*(lane.node for lane in lanes[1:])))
    for k in range(N):
        each = Inputs()
        rows = [
            each.node(a[k] if flag else a)
            for a, flag in zip(arrays, batched, strict=True)
        ]
        made = list(build(*rows))
        wanted = each.run(made[0].sink(*made[1:]))
        for lane, value, right in zip(lanes, found, wanted, strict=True):
            np.testing.assert_allclose(value[k] if lane.batched else value, right)


def floats(*shape: int) -> Any:
    return RNG.normal(size=shape)


FLAGS = [(True, True), (True, False), (False, True)]


@pytest.mark.parametrize("flags", FLAGS)
def test_call(flags: tuple[bool, bool]) -> None:
    x, w = param(0, F64, (3,)), param(1, F64, (3, 3))
    inner = function("double", (param(0, F64, (3,)),), (add(x, x),))
    layer = function("layer", (x, w), (sin(matmul(w, call(inner, x)[0])), x))

    def build(a: UOp, b: UOp) -> Sequence[UOp]:
        first, _ = call(layer, a, b)
        return call(layer, first, b)

    arrays = [floats(N, 3) if flags[0] else floats(3)]
    arrays += [floats(N, 3, 3) if flags[1] else floats(3, 3)]
    agree(build, arrays, flags)


@pytest.mark.parametrize("flags", FLAGS)
def test_if(flags: tuple[bool, bool]) -> None:
    """A condition of the batch chooses by WHERE; one that is the same for all stays a branch."""
    x = param(0, F64, (3,))
    yes = function("yes", (x,), (sin(x), sum_(x)))
    no = function("no", (x,), (multiply(x, 2.0), max_(x)))

    def build(a: UOp, b: UOp) -> Sequence[UOp]:
        return if_(less(sum_(a), 0.0), yes, no, b)

    arrays = [floats(N, 5) if flags[0] else floats(5)]
    arrays += [floats(N, 3) if flags[1] else floats(3)]
    agree(build, arrays, flags)


@pytest.mark.parametrize("flags", FLAGS)
def test_while(flags: tuple[bool, bool]) -> None:
    """Each example takes as many turns as it needs."""
    x, y, n = param(0, F64, ()), param(1, F64, (3,)), param(2, dt.int64, ())
    cond = function("cond", (x, y, n), (less(x, 20.0),))
    body = function("body", (x, y, n), (multiply(x, 1.7), y, add(n, 1)))

    def build(a: UOp, b: UOp) -> Sequence[UOp]:
        return while_(cond, body, a, b, UOp.const(dt.int64, 0))

    starts = np.abs(floats(N)) + 0.1
    arrays = [starts if flags[0] else starts[0]]
    arrays += [floats(N, 3) if flags[1] else floats(3)]
    agree(build, arrays, flags)


def test_a_masked_loop_leaves_alone_what_it_does_not_change() -> None:
    x, w = param(0, F64, ()), param(1, F64, (3,))
    cond = function("cond", (x, w), (less(x, 20.0),))
    body = function("body", (x, w), (add(multiply(x, 1.7), sum_(w)), w))
    a, b, many = param(5, F64, ()), param(6, F64, (3,)), param(7, F64, (N,))
    (lane, steady) = batch(while_(cond, body, a, b), {a: many}, N)
    assert lane.batched
    assert not steady.batched
    assert unchanged(lane.node.src[0]) == {1}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("flags", FLAGS)
def test_scan(flags: tuple[bool, bool], reverse: bool) -> None:
    """The carry starts unbatched and becomes batched by what is added to it."""
    total, factor, x = param(0, F64, (3,)), param(1, F64, ()), param(2, F64, (3,))
    step = add(multiply(total, factor), sin(x))
    body = function("step", (total, factor, x), (step, factor, sum_(step), factor))

    def build(a: UOp, xs: UOp) -> Sequence[UOp]:
        return scan(body, (a, UOp.const(F64, 0.5)), (xs,), reverse=reverse)

    arrays = [floats(N, 3) if flags[0] else floats(3)]
    arrays += [floats(N, 6, 3) if flags[1] else floats(6, 3)]
    agree(build, arrays, flags)


@pytest.mark.parametrize("flags", FLAGS)
def test_host_code_runs_once_for_each_example(flags: tuple[bool, bool]) -> None:
    def build(a: UOp, b: UOp) -> Sequence[UOp]:
        return extern(
            "test_outer", (a, b), (("float64", (3, 2)), ("float64", (3,)))
        )

    def outer(a: Any, b: Any) -> Any:
        assert (a.shape, b.shape) == ((3,), (2,))
        return np.outer(a, b), a + b.sum()

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(EXTERNS, "test_outer", outer)
        arrays = [floats(N, 3) if flags[0] else floats(3)]
        arrays += [floats(N, 2) if flags[1] else floats(2)]
        agree(build, arrays, flags)


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("axes", [(0,), (1,), (2, 0)])
def test_take(flags: tuple[bool, bool], axes: tuple[int, ...]) -> None:
    def build(x: UOp, i: UOp) -> Sequence[UOp]:
        return [UOp(Ops.TAKE, x.dtype, (x, *[i] * len(axes)), AxesArg(axes))]

    places = RNG.integers(0, 3, (N, 2, 4))
    arrays = [floats(N, 3, 3, 5) if flags[0] else floats(3, 3, 5)]
    if axes == (2, 0):
        arrays = [a.swapaxes(-1, -2) for a in arrays]
    arrays += [places if flags[1] else places[0]]
    agree(build, arrays, flags)


def test_prefix() -> None:
    def build(x: UOp) -> Sequence[UOp]:
        left, right = UOp.state(F64, 0), UOp.state(F64, 1)
        src = (x, UOp.const(F64, 0.0), left + right)
        return [UOp(Ops.PREFIX, F64, src, PrefixArg(1, 1, True))]

    agree(build, [floats(N, 2, 5)], [True])


def test_a_check_names_the_example_that_fails() -> None:
    inputs = Inputs()
    x, xs = inputs.node(np.array(1.0)), inputs.node(np.array([1.0, 7.0, 3.0, 9.0]))
    small = checked(x, less(x, 5.0), "ArgumentError", "{0} is too large", x)
    (lane,) = batch([add(small, 1.0)], {x: xs}, N)
    with pytest.raises(ArgumentError, match=r"7\.0 is too large"):
        inputs.run(lane.node)


def test_a_size_of_its_own_for_each_example_is_refused() -> None:
    x, xs = param(0, F64, (5,)), param(1, F64, (N, 5))
    count = sum_(less(x, 0.0).cast(dt.int64))
    part = shrink(x, ((0, size_of(count, 5)),))
    with pytest.raises(
        ArgumentError, match="a size differs from example to example"
    ):
        batch([sum_(part)], {x: xs}, N)


def test_what_the_batch_does_not_touch_stays_the_same_node() -> None:
    x, w, xs = param(0, F64, (3,)), param(1, F64, (3,)), param(2, F64, (N, 3))
    steady = sin(w)
    lanes = batch([add(x, steady), steady], {x: xs}, N)
    assert [lane.batched for lane in lanes] == [True, False]
    assert lanes[1].node is steady


def test_a_size_that_is_one_for_all_is_kept() -> None:
    """Computed beside the batch, and computed with: half of it is a size too."""
    inputs = Inputs()
    x, xs = inputs.node(floats(6)), inputs.node(floats(N, 6))
    mask = inputs.node(np.array([True, False, True, True, False, True]))
    values, count = REGISTRY["pick"].results(mask, x)
    half = size_of(count, 6) // 2
    (lane,) = batch([shrink(values, ((0, half),))], {x: xs}, N)
    found = inputs.run(lane.node)
    np.testing.assert_array_equal(found, inputs.values[xs][:, [0, 2]])
