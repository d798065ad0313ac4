"""Drafting: movement becomes index expressions, and they find the elements that the interpreter finds."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir.interpret import interpret
from ingot.ir.node import UOp
from ingot.ir.opcode import AxesArg, Ops, ParamArg, ReduceArg
from ingot.ir.region import param
from ingot.kernel.nest import Reduce, Store, sum_combine
from ingot.schedule.fuse import fuse
from ingot.schedule.nests import draft
from tests.schedule.movements import STEPS, chain, index, padded, reshape, shape_of
from tests.schedule.run import heuristically, leaves, plainly, run

SEEDS = range(150)


def values(
    root: UOp,
) -> dict[UOp, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    leaf = leaves(root)[0]
    shape = shape_of(leaf)
    numbers = np.arange(1, 1 + int(np.prod(shape, dtype=int)), dtype=np.float32)
    return {leaf: numbers.reshape(shape)}


@pytest.mark.parametrize("group", range(5))
def test_random_movement_is_what_the_interpreter_says(group: int) -> None:
    for seed in SEEDS[group::5]:
        root = chain(seed, 7)
        given = values(root)
        (got,) = run(fuse([root]), given, plainly)
        np.testing.assert_array_equal(
            got, interpret(root, given), err_msg=f"seed {seed}\n{root}"
        )


def test_random_movement_through_the_heuristic() -> None:
    for seed in SEEDS[:30]:
        root = chain(seed, 6)
        given = values(root)
        (got,) = run(fuse([root]), given, heuristically)
        np.testing.assert_array_equal(
            got, interpret(root, given), err_msg=f"seed {seed}\n{root}"
        )


def test_the_chains_use_every_movement() -> None:
    used = {u.op for seed in SEEDS for u in chain(seed, 7).toposort()}
    wanted = {
        Ops.RESHAPE,
        Ops.PERMUTE,
        Ops.EXPAND,
        Ops.PAD,
        Ops.SHRINK,
        Ops.FLIP,
        Ops.STRIDE,
        Ops.WINDOW,
        Ops.ADD,
    }
    assert wanted <= used
    assert padded in STEPS


def total(x: UOp, *axes: int) -> UOp:
    zero = UOp.const(x.dtype, 0)
    return UOp(
        Ops.REDUCE, x.dtype, (x, zero, sum_combine(x.dtype)), ReduceArg(axes)
    )


def test_movement_leaves_nothing_behind() -> None:
    """A transposed, flipped, shrunk matrix is one load at an affine place."""
    x = param(0, dt.float32, (6, 8))
    shrunk = UOp(Ops.SHRINK, x.dtype, (x, *index(1, 5, 0, 8)))
    made = draft(
        "k", (reshape(shrunk, 2, 2, 8) + reshape(shrunk, 2, 2, 8),), lambda u: False
    )
    (nest,) = made.kernel.nests
    loads = {
        u for e in nest.expressions() for u in e.toposort() if u.op is Ops.LOAD
    }
    assert len(loads) == 1
    assert not any(u.op in (Ops.IDIV, Ops.MOD) for u in loads.pop().toposort())


def test_a_reduction_is_a_nest_of_its_own() -> None:
    x = param(0, dt.float32, (3, 4))
    row = total(x, 1)
    made = draft("k", (row + row,), lambda u: False)
    reduction, output = made.kernel.nests
    assert isinstance(reduction.body, Reduce)
    assert isinstance(output.body, Store)
    assert made.reductions == {reduction.id: row}
    assert [reader.id for reader, _ in made.kernel.readers(reduction)] == [
        output.id
    ]


def test_an_axis_of_one_element_has_no_loop() -> None:
    x = param(0, dt.float32, (1, 5, 1))
    made = draft("k", (x + x,), lambda u: False)
    assert len(made.kernel.loops) == 1


def test_stored_nodes_are_read_from_memory() -> None:
    x = param(0, dt.float32, (5,))
    square = x * x
    made = draft("k", (square + x,), lambda u: u is square)
    assert made.buffers == (square, x, square + x)
    writable = [cast(ParamArg, p.arg).writable for p in made.kernel.params]
    assert writable == [False, False, True]


def test_padding_never_loads_outside() -> None:
    """Every load of a padded value is masked: the interpreter faults where one is not."""
    x = param(0, dt.float32, (3,))
    pad = UOp(Ops.PAD, x.dtype, (x, *index(2, 2)))
    shifted = UOp(Ops.SHRINK, pad.dtype, (pad, *index(1, 6)))
    root = shifted + UOp(Ops.FLIP, pad.dtype, (shifted,), AxesArg((0,)))
    given = values(root)
    (got,) = run(fuse([root]), given)
    np.testing.assert_array_equal(got, interpret(root, given))
