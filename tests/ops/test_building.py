"""Builders: broadcasting, promotion, symbolic sizes, one node for one meaning, and the cost of a node."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from ingot.errors import ArgumentError, AxisError, DTypeError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.algebra import simplify
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.region import param
from ingot.ops import elementwise as ew
from ingot.ops.activation import softmax
from ingot.ops.creation import arange, eye, full
from ingot.ops.indexing import getitem
from ingot.ops.lower import lower_all
from ingot.ops.matmul import matmul
from ingot.ops.movement import (
    broadcast_shape,
    expand,
    flatten,
    pad,
    reshape,
    shrink,
    size,
)
from ingot.ops.op import apply, find
from ingot.ops.promotion import promote
from ingot.ops.reduce import mean, sum_
from tests.ops.evaluate import Inputs

F32 = param(0, dt.float32, (2, 3))
NAMES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
]


# --- types ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", NAMES)
@pytest.mark.parametrize("b", NAMES)
def test_promotion_is_that_of_the_array_api(a: str, b: str) -> None:
    """NumPy agrees with the standard wherever the standard speaks: within a kind, and of signed and unsigned."""
    kinds = {np.dtype(n).kind for n in (a, b)}
    wide = np.promote_types(a, b)
    if kinds == {"i", "u"} and wide.kind == "f":
        with pytest.raises(DTypeError, match="no integer type holds both"):
            promote(dt.named(a), dt.named(b))
    elif "f" in kinds and len(kinds) > 1:
        assert promote(dt.named(a), dt.named(b)) is dt.named(
            a if np.dtype(a).kind == "f" else b
        )
    else:
        assert promote(dt.named(a), dt.named(b)).name == wide.name


@pytest.mark.parametrize("a", [dt.float16, dt.bfloat16, dt.float32])
def test_small_floats_meet_in_float32(a: DType) -> None:
    assert promote(dt.float32, a) is dt.float32
    assert promote(dt.float16, dt.bfloat16) is dt.float32


@pytest.mark.parametrize(
    ("dtype", "number", "wanted"),
    [
        ("float32", 2.5, "float32"),
        ("float32", 2, "float32"),
        ("float16", 1e9, "float16"),
        ("bfloat16", True, "bfloat16"),
        ("int8", 3, "int8"),
        ("int32", 0.5, "float32"),
        ("bool", 3, "int64"),
        ("bool", 0.5, "float32"),
        ("bool", True, "bool"),
    ],
)
def test_python_numbers_are_weak(dtype: str, number: Any, wanted: str) -> None:
    x = param(0, dt.named(dtype), (3,))
    assert ew.add(x, number).dtype is ew.add(number, x).dtype is dt.named(wanted)


def test_a_number_that_does_not_fit_is_refused() -> None:
    with pytest.raises(
        ArgumentError, match="300 does not fit uint8, which holds 0"
    ):
        ew.add(param(0, dt.uint8, (3,)), 300)


def test_division_of_integers_gives_floats() -> None:
    x = param(0, dt.int32, (3,))
    assert ew.divide(x, x).dtype is ew.divide(x, 2).dtype is dt.float32
    assert ew.exp(x).dtype is mean(x).dtype is softmax(x).dtype is dt.float32


# --- shapes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shapes",
    [
        ((3,), (2, 3)),
        ((2, 1), (1, 3)),
        ((), (2, 3)),
        ((5, 1, 3), (4, 1)),
        ((0,), (1,)),
        ((2, 0), (1, 1)),
        ((1,), (1, 1)),
    ],
)
def test_broadcasting_is_that_of_numpy(shapes: Any) -> None:
    assert broadcast_shape("x", *shapes) == np.broadcast_shapes(*shapes)
    a, b = (param(i, dt.float32, s) for i, s in enumerate(shapes))
    assert ew.add(a, b).shape == np.broadcast_shapes(*shapes)


def test_primitives_never_broadcast() -> None:
    node = softmax(ew.add(ew.multiply(F32, param(1, dt.float32, (3,))), 1))
    for u in lower_all(node).toposort():
        if u.op in (Ops.ADD, Ops.SUB, Ops.MUL, Ops.FDIV) and u.shape:
            assert {s.shape for s in u.src} == {u.shape}
        if u.op is Ops.EXPAND:
            assert len(u.shape) == len(u.src[0].shape)


def test_moves_that_do_nothing_make_no_node() -> None:
    x = F32
    assert reshape(x, (2, 3)) is reshape(reshape(x, (6,)), (2, 3)) is x
    assert (
        expand(x, (2, 3))
        is pad(x, 0)
        is shrink(x, (None, (0, 3)))
        is getitem(x, slice(None))
        is x
    )
    assert sum_(x, ()) is ew.astype(x, "float32") is x


def test_symbolic_sizes_flow_through() -> None:
    n = UOp.variable("n", 1, 64)
    x = param(0, dt.float32, (n, 6))
    assert reshape(x, (n, 2, -1)).shape == (n, 2, 3)
    assert reshape(x, (-1, 3, 2)).shape == (n, 3, 2)
    assert softmax(ew.add(x, 1)).shape == (n, 6)
    assert matmul(x, param(1, dt.float32, (6, 2))).shape == (n, 2)
    assert [
        simplify(size(length)) for length in getitem(x, (slice(None), 2)).shape
    ] == [n]
    assert flatten(param(0, dt.float32, (4, n, 6)), 0, 1).shape[1] == 6
    with pytest.raises(ShapeError, match="do not broadcast"):
        ew.add(x, param(1, dt.float32, (5, 6)))


def test_a_symbolic_mean_divides_by_the_size() -> None:
    n = UOp.variable("n", 1, 64)
    lowered = lower_all(mean(param(0, dt.float32, (n, 6)), axis=0))
    assert n in lowered.toposort()


# --- creation -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        (0, 5, 1),
        (2, 11, 3),
        (5, 0, -2),
        (0, 0, 1),
        (3, 1, 1),
        (0.5, 2.0, 0.25),
        (1, 2, 0.1),
    ],
)
def test_arange_is_that_of_numpy(given: Any) -> None:
    start, stop, step = given
    got = Inputs().run(
        arange(start, stop, step, dt.float64 if isinstance(step, float) else None)
    )
    np.testing.assert_allclose(got, np.arange(*given), rtol=1e-15)
    assert got.shape == np.arange(*given).shape


@pytest.mark.parametrize("given", [(3, 3, 0), (2, 4, 1), (4, 2, -1), (0, 3, 0)])
def test_eye_is_that_of_numpy(given: Any) -> None:
    assert np.array_equal(Inputs().run(eye(*given)), np.eye(*given))


def test_full_has_the_type_of_its_number() -> None:
    assert [full((2,), v).dtype.name for v in (1, 1.5, True)] == [
        "int64",
        "float32",
        "bool",
    ]
    with pytest.raises(ArgumentError, match="-1 in shape"):
        full((2, -1), 0)


# --- errors ---------------------------------------------------------------------------------------------------------


def test_an_unknown_op_is_named_with_its_neighbours() -> None:
    with pytest.raises(ArgumentError, match="did you mean softmax"):
        find("sofmax")


def test_wrong_attributes_and_inputs_are_named() -> None:
    with pytest.raises(
        ArgumentError, match="softmax: unknown argument 'dim'; it takes axis"
    ):
        apply("softmax", F32, dim=1)
    with pytest.raises(
        ArgumentError, match="softmax: 2 inputs were given; it takes x"
    ):
        apply("softmax", F32, F32)
    with pytest.raises(DTypeError, match=r"softmax: x is list; wanted a tensor"):
        apply("softmax", [1, 2])
    with pytest.raises(
        ArgumentError, match="axis is 'last'; wanted a whole number"
    ):
        apply("softmax", F32, axis="last")


def test_errors_are_what_python_calls_them() -> None:
    with pytest.raises(IndexError):
        getitem(F32, 5)
    with pytest.raises(ValueError, match="do not broadcast"):
        ew.add(F32, param(0, dt.float32, (4,)))
    with pytest.raises(AxisError, match="axis 2 is outside"):
        sum_(F32, 2)


# --- cost -----------------------------------------------------------------------------------------------------------


def test_nodes_are_cheap() -> None:
    """A few microseconds each. The bound is loose, for machines that are busy."""
    a, b = param(0, dt.float32, (8,)), param(1, dt.float32, (8,))
    kept = []
    start = time.process_time()
    for _ in range(10_000):
        a = ew.add(a, b)
        kept.append(a)
    assert time.process_time() - start < 0.3


def test_a_long_chain_builds_and_dies_without_recursion() -> None:
    x = param(0, dt.float32, (8,))
    start = time.process_time()
    for _ in range(100_000):
        x = ew.add(x, 1)
    assert time.process_time() - start < 5
    assert x.shape == (8,)
    del x
