"""Fast checks of the suite, as functions: what a planted bug must not get past. Each raises if something is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.interpret import interpret as meaning
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.pattern import PatternMatcher
from ingot.ir.region import param
from ingot.kernel.decompose import decompose
from ingot.kernel.launches import Built
from ingot.kernel.nest import Kernel
from ingot.schedule.fuse import fuse
from tests.golden.test_golden import CASES, arrays, test_moves_keep_the_meaning
from tests.ir.test_rules import test_rule_keeps_meaning
from tests.kernel import test_move_errors, test_moves, test_pipeline, test_tree
from tests.kernel.execute import Array, Native, Sizes, built, interpret
from tests.kernel.sketch import Sketch
from tests.kernel.test_tree import in_vectors
from tests.schedule import (
    test_family,
    test_fuse,
    test_memory,
    test_nests,
    test_views,
)
from tests.schedule.movements import chain
from tests.schedule.run import heuristically, run, sizes_of

Check = Callable[[], None]
SLACK = 64  # elements on both sides of a buffer that compiled code must leave alone


def rules(table: Callable[[], PatternMatcher]) -> Check:
    """Both sides of every rule of a table mean the same."""

    def check() -> None:
        for rule in table().rules:
            test_rule_keeps_meaning(rule)

    return check


def division_by_nothing() -> None:
    """n * (x // n) + x % n is x, but 0 where n is 0."""
    x, n = UOp.variable("x", 0, 9), UOp.variable("n", 0, 9)
    both = x // n * n + x % n
    sizes = {"x": 5, "n": 0}
    assert meaning(both.simplify(), sizes=sizes) == meaning(both, sizes=sizes)


def golden(name: str) -> Check:
    """A golden program computes what its naive nests and NumPy do."""
    return lambda: test_moves_keep_the_meaning(name)


def drawn(name: str) -> Check:
    """A move gives the loops of its docstring, and they compute the same."""

    def check() -> None:
        test_moves.test_the_move_gives_the_loops_it_draws(name)
        test_moves.test_the_move_keeps_the_meaning(name)

    return check


def refused(name: str) -> Check:
    """An illegal move is refused."""
    return lambda: test_move_errors.test_an_illegal_move_is_refused(name)


def unfinished(name: str) -> Check:
    """A schedule that cannot be run is refused."""
    return lambda: test_move_errors.test_an_unfinished_schedule_is_refused(name)


def tree(name: str) -> Check:
    """A schedule that once gave a wrong tree."""
    return lambda: test_tree.test_the_tree_computes_what_the_nests_say(name)


def begins_with_minus_infinity() -> None:
    test_tree.test_a_row_that_begins_with_minus_infinity()


def nest_between() -> None:
    test_tree.test_a_nest_between_two_others()


def scratch() -> None:
    test_tree.test_scratch_has_room_for_every_packed_stage()


def ahead(depth: int) -> Check:
    return lambda: test_pipeline.test_threads_that_share_tiles_do_not_race(depth)


def movement() -> None:
    """Random movement, drafted and run, is what the interpreter says."""
    for seed in range(60):
        root = chain(seed, 7)
        given = test_nests.values(root)
        (got,) = run(fuse([root]), given)
        np.testing.assert_array_equal(got, meaning(root, given))


def reshapes() -> None:
    for inner, outer in test_views.SHAPES:
        test_views.test_every_element_keeps_its_place(inner, outer)


def one_structure() -> None:
    test_family.test_twenty_shapes_are_one_structure("softmax")


def memory_plan() -> None:
    for seed in range(20):
        test_memory.test_values_that_live_together_are_apart(seed)


def reasons(name: str) -> Check:
    """What is stored is stored for the expected reasons."""
    return lambda: test_fuse.test_what_is_stored_has_its_reason(name)


# --- compiled code against the interpreter, bit for bit ---------------------------------------------------------------


def with_slack(array: Array) -> tuple[Array, Array]:
    """(the array, the larger one that it lies in)"""
    whole = np.full(array.size + 2 * SLACK, 77, array.dtype)
    inside = whole[SLACK : SLACK + array.size]
    inside[:] = array.reshape(-1)
    return inside, whole


def same_bits(
    kernel: Kernel, buffers: list[Array], sizes: Sizes, language: str = "llvm"
) -> None:
    """Compiled code leaves the bits that the interpreter leaves, and nothing beside the buffers."""
    made = built(kernel)
    simple = Built(
        tuple(decompose(launch) for launch in made.launches), made.temporaries
    )
    want, got = [with_slack(b) for b in buffers], [with_slack(b) for b in buffers]
    interpret(simple, [inside for inside, _ in want], sizes, fold="halves")
    Native(kernel, language).run([inside for inside, _ in got], sizes)
    for (_, one), (_, other) in zip(want, got, strict=True):
        np.testing.assert_array_equal(one.view(np.uint8), other.view(np.uint8))


def compiled(name: str, language: str = "llvm") -> Check:
    """A golden program, compiled."""

    def check() -> None:
        sizes = CASES[name].SIZES[-1]
        same_bits(
            CASES[name].program(), arrays(CASES[name], sizes), sizes, language
        )

    return check


def elementwise(value: Callable[..., UOp], *inputs: Any, to: dt.DType) -> Check:
    """out[i] = value(x[i], ...) in vectors of 16 with a masked rest."""

    def check() -> None:
        s = Sketch("elementwise")
        (n,) = s.sizes("n")
        given = [s.input(dt.from_numpy(a.dtype)) for a in inputs]
        out = s.output(to)
        (i,) = s.loops(i=n)
        s.store("out", (i,), out[i], value(*(x[i] for x in given)))
        made = np.zeros(len(inputs[0]), dt.to_numpy(to))
        same_bits(
            in_vectors(s.kernel(), "i", 16), [*inputs, made], {"n": len(made)}
        )

    return check


FLOATS = np.array(
    [1.5, np.nan, -2.0, 0.0, -0.0, np.inf, -np.inf, 3.25, 100.0, -7.5, 1e-40] * 4,
    np.float32,
)
OTHERS = np.roll(FLOATS, 3)
INTS = np.array(
    [7, -7, 0, 1, -1, 8, -8, 2**31 - 1, -(2**31), 100, -100] * 3, np.int32
)
UNSIGNED = INTS.astype(np.uint32)

larger = elementwise(lambda x, y: x.maximum(y), FLOATS, OTHERS, to=dt.float32)
different = elementwise(lambda x, y: x - y, FLOATS, OTHERS, to=dt.float32)
thirds = elementwise(lambda x: x // 3, INTS, to=dt.int32)
unsigned_floats = elementwise(lambda x: x.cast(dt.float32), UNSIGNED, to=dt.float32)
plain_copy = elementwise(lambda x: x, FLOATS[:13], to=dt.float32)


def turned() -> None:
    """A transposed copy, by square tiles in registers."""
    made = test_family.only(test_family.transposed(test_family.matrix(19, 35)))
    plan = heuristically(made)
    x = np.arange(19 * 35, dtype=np.float32)
    same_bits(plan.kernel, [x, np.zeros_like(x)], sizes_of(made, plan))


# --- decompositions ---------------------------------------------------------------------------------------------------


def within_ulp(
    op: Ops, function: Callable[[Array], Array], values: Array, most: float = 4.0
) -> Check:
    """A decomposed function of float32, in the interpreter, against NumPy in float64."""

    def check() -> None:
        x = param(0, dt.float32, values.shape)
        with np.errstate(all="ignore"):
            got = np.asarray(
                meaning(decompose(UOp(op, x.dtype, (x,))), {x: values})
            )
            want = function(values.astype(np.float64))
        unit = np.spacing(np.abs(want).astype(np.float32)).astype(np.float64)
        assert (np.abs(got - want) <= most * unit).all()

    return check


STEPS = np.linspace(-5, 5, 501).astype(np.float32)
exponential = within_ulp(Ops.EXP, np.exp, STEPS)
hyperbolic = within_ulp(Ops.TANH, np.tanh, STEPS)
logarithm = within_ulp(Ops.LOG, np.log, np.linspace(1.5, 9, 501).astype(np.float32))


def brain_floats() -> None:
    """A cast to bfloat16 rounds to nearest even."""
    x = param(0, dt.float32, FLOATS.shape)
    values = np.concatenate(
        [FLOATS[:20], np.linspace(-3, 3, FLOATS.size - 20, dtype=np.float32)]
    )
    cast = x.cast(dt.bfloat16).cast(dt.float32)
    np.testing.assert_array_equal(
        meaning(decompose(cast), {x: values}), meaning(cast, {x: values})
    )
