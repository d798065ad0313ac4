"""Families: one kernel for all sizes. What differs between two shapes is in the values, never in the kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir.interpret import interpret
from ingot.ir.node import UOp
from ingot.ir.opcode import AxesArg, Ops, VarArg
from ingot.ir.region import param
from ingot.ops.lower import lower, lower_all
from ingot.ops.op import apply
from ingot.pipeline.compiler import digest
from ingot.schedule.family import Family, family
from tests.schedule.movements import index
from tests.schedule.programs import PROGRAMS, hand_softmax, linear
from tests.schedule.run import fused, heuristically, plainly, run

SHAPES = [
    *(
        (2, 3),
        (3, 2),
        (7, 5),
        (4, 16),
        (9, 17),
        (16, 31),
        (2, 48),
        (31, 49),
        (12, 64),
        (65, 65),
    ),
    *(
        (100, 33),
        (33, 100),
        (128, 129),
        (257, 3),
        (3, 257),
        (1000, 41),
        (50, 1013),
        (512, 512),
        (4096, 1024),
        (17, 2),
    ),
]


def matrix(m: int, n: int, slot: int = 0) -> UOp:
    return param(slot, dt.float32, (m, n))


def transposed(x: UOp) -> UOp:
    return UOp(
        Ops.CONTIGUOUS, x.dtype, (UOp(Ops.PERMUTE, x.dtype, (x,), AxesArg((1, 0))),)
    )


def middle(x: UOp) -> UOp:
    """A part of a matrix: its rows have a stride that is not their length."""
    m, n = (cast(int, k) for k in x.shape)
    part = UOp(Ops.SHRINK, x.dtype, (x, *index(0, m, 1, n)))
    return part + part


BY_SHAPE: dict[str, Callable[[int, int], UOp]] = {
    "softmax": lambda m, n: apply("softmax", matrix(m, n), axis=-1),
    "hand softmax": lambda m, n: hand_softmax(matrix(m, n)),
    "layer_norm": lambda m, n: apply(
        "layer_norm",
        matrix(m, n),
        param(1, dt.float32, (n,)),
        param(2, dt.float32, (n,)),
    ),
    "linear": lambda m, n: linear(
        matrix(m, 37), matrix(37, n, 1), param(2, dt.float32, (n,))
    ),
    "chain": lambda m, n: apply(
        "tanh", apply("add", apply("multiply", matrix(m, n), 1.5), matrix(m, n, 1))
    ),
    "transpose": lambda m, n: transposed(matrix(m, n)),
    "sum of rows": lambda m, n: apply("sum", matrix(m, n), axis=1),
    "sum of columns": lambda m, n: apply("sum", matrix(m, n), axis=0),
    "sum of all": lambda m, n: apply("sum", matrix(m, n)),
    "argmax": lambda m, n: apply("argmax", matrix(m, n), axis=1),
    "a part": lambda m, n: middle(matrix(m, n + 2)),
}


def only(root: UOp) -> Family:
    (draft,) = fused(root).drafts
    return family(draft)


@pytest.mark.parametrize("name", BY_SHAPE)
def test_twenty_shapes_are_one_structure(name: str) -> None:
    made = [only(BY_SHAPE[name](m, n)) for m, n in SHAPES]
    assert len(SHAPES) == 20
    assert len({digest(one.kernel) for one in made}) == 1
    assert len({tuple(one.values.values()) for one in made}) > len(SHAPES) // 2


@pytest.mark.parametrize("name", BY_SHAPE)
def test_no_size_is_left_in_the_kernel(name: str) -> None:
    """Primes that nothing else is: they may stand in the values alone."""
    made = only(BY_SHAPE[name](101, 103))
    expressions = [e for nest in made.kernel.nests for e in nest.expressions()]
    extents = [loop.extent for loop in made.kernel.loops.values()]
    constants = {
        u.value
        for e in (*expressions, *extents)
        for u in e.toposort()
        if u.op is Ops.CONST
    }
    assert not constants & {101, 103, 101 * 103, 1.5, 102, 104, 105}
    assert any(isinstance(v, int) and v >= 101 for v in made.values.values())


def test_python_numbers_are_arguments() -> None:
    x = matrix(4, 5)
    first, second = (only(apply("multiply", x, number)) for number in (1.25, -7.5))
    assert digest(first.kernel) == digest(second.kernel)
    assert [v for v in first.values.values() if isinstance(v, float)] == [1.25]
    assert [v for v in second.values.values() if isinstance(v, float)] == [-7.5]


@pytest.mark.parametrize("number", [0.0, 1.0, -1.0, float("inf"), float("-inf")])
def test_numbers_that_are_structure_stay(number: float) -> None:
    made = only(apply("maximum", matrix(4, 5), number))
    assert not [v for v in made.values.values() if isinstance(v, float)]


def test_a_stride_of_one_is_structure() -> None:
    plain, turned = (
        only(matrix(4, 5) + matrix(4, 5, 1)),
        only(transposed(matrix(4, 5))),
    )
    assert digest(plain.kernel) != digest(turned.kernel)


def test_an_axis_of_one_element_is_structure() -> None:
    wide, narrow = (only(BY_SHAPE["softmax"](4, n)) for n in (5, 1))
    assert digest(wide.kernel) != digest(narrow.kernel)


def test_loops_through_whole_buffers_become_one() -> None:
    x = param(0, dt.float32, (3, 4, 5))
    made = only(x + x)
    assert len(made.kernel.loops) == 1
    assert list(made.values.values()) == [60]


def test_loops_with_a_gap_between_rows_stay_two() -> None:
    assert len(only(middle(matrix(4, 6))).kernel.loops) == 2


def test_equal_axes_are_one_variable_only_where_they_must_be() -> None:
    """A square matrix product is the same kernel as any other, so its three sizes stay three."""
    square, other = (
        only(apply("matmul", matrix(m, k), matrix(k, n, 1)))
        for m, k, n in ((6, 6, 6), (2, 3, 4))
    )
    assert digest(square.kernel) == digest(other.kernel)


def test_symbolic_sizes_are_values() -> None:
    rows = UOp.variable("rows", 1, 64)
    x = UOp(Ops.PARAM, dt.float32, (rows, UOp.const(dt.index, 5)), matrix(1, 1).arg)
    made = only(apply("softmax", x, axis=-1))
    assert digest(made.kernel) == digest(only(BY_SHAPE["softmax"](4, 5)).kernel)
    assert rows in made.values.values()


@pytest.mark.parametrize("planner", [plainly, heuristically])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_family_runs(name: str, planner: Callable[[Family], object]) -> None:
    program = PROGRAMS[name]
    (got,) = run(fused(program.root()), program.arrays(3), planner)  # type: ignore[arg-type]
    want = interpret(lower_all(program.root()), program.arrays(3), lower=lower)
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)


def test_names_of_variables_are_unique() -> None:
    made = only(BY_SHAPE["linear"](5, 6))
    names = [cast(VarArg, v.arg).name for v in made.values]
    assert len(set(names)) == len(names)
