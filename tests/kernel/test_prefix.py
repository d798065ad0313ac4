"""Running values: both ways to compute them against NumPy, by interpreter and compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.region import param
from ingot.kernel import prefix
from ingot.kernel.heuristic import choose
from ingot.ops import elementwise as ew
from ingot.ops.creation import counter
from ingot.ops.op import result
from ingot.ops.reduce import better
from ingot.ops.scan import prefix_states, running
from ingot.schedule.family import family
from ingot.schedule.fuse import fuse
from ingot.target import host
from tests.kernel.execute import Native, interpret
from tests.schedule.run import empty, sizes_of

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix, "PART", 16)
    monkeypatch.setattr(prefix, "WORK", 256)


def outcomes(
    roots: Sequence[UOp], inputs: Sequence[Array]
) -> tuple[str, list[list[Array]]]:
    """(the way that was chosen, what each way of running gives)"""
    (draft,) = fuse(roots).drafts
    made = family(draft)
    hints = {v: n for v, n in made.values.items() if isinstance(n, int)}
    plan = choose(made.kernel, hints, host())
    found = []
    for language in ("", "llvm", "c"):
        outs = [empty(u) for u in draft.outputs]
        buffers = [np.ascontiguousarray(a) for a in inputs] + outs
        if language:
            Native(plan.kernel, language).run(buffers, sizes_of(made, plan))
        else:
            interpret(plan.kernel, buffers, sizes_of(made, plan))
        found.append(outs)
    return plan.kernel.moves[-1], found


SHAPES = [((5,), 0), ((16,), 0), ((17,), 0), ((133,), 0), ((300,), 0), ((3, 40), 1)]
SHAPES += [((9, 5), 1), ((40, 3), 0), ((7, 20), 0), ((5, 70), 0), ((2, 9, 33), 1)]
SHAPES += [((3, 4, 5), 1), ((20, 2), 1)]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_sums(shape: tuple[int, ...], axis: int, reverse: bool) -> None:
    given = RNG.integers(-9, 9, shape)
    x = param(0, dt.int64, shape)
    root = running(ew.multiply(x, 3), Ops.ADD, 0, axis, reverse)
    turned = np.flip(given, axis) if reverse else given
    want = 3 * np.cumsum(turned, axis)
    want = np.flip(want, axis) if reverse else want
    way, found = outcomes([root], [given])
    wide = axis < len(shape) - 1 and shape[-1] >= prefix.LANES
    assert way == ("columns" if wide else "strands")
    for (got,) in found:
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("shape", "axis"), [((90,), 0), ((30, 20), 0), ((4, 50), 1)]
)
def test_a_value_and_its_place(shape: tuple[int, ...], axis: int) -> None:
    given = RNG.integers(-20, 20, shape).astype(np.float32)
    x = param(0, dt.float32, shape)
    both = prefix_states(
        [x, counter(shape, axis)], [-np.inf, 2**63 - 1], better(Ops.MAX), axis
    )
    best = np.maximum.accumulate(given, axis)
    _, found = outcomes([result(both, 0), result(both, 1)], [given])
    for values, places in found:
        np.testing.assert_array_equal(values, best)
        np.testing.assert_array_equal(np.take_along_axis(given, places, axis), best)


def test_float_sums_have_one_result_in_all_languages() -> None:
    given = RNG.standard_normal((3, 200), np.float32)
    root = running(param(0, dt.float32, (3, 200)), Ops.ADD, 0, 1)
    _, found = outcomes([root], [given])
    for (got,) in found[1:]:
        np.testing.assert_array_equal(got, found[0][0])
    np.testing.assert_allclose(
        found[0][0], np.cumsum(given, 1), rtol=1e-4, atol=1e-4
    )
