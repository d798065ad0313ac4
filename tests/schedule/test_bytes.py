"""Fusion by bytes: one kernel each, every input and output moved once. kernel/traffic.py defines the measure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import prod
from typing import cast

import numpy as np
import pytest

from ingot.ir.interpret import interpret
from ingot.ir.node import UOp
from ingot.ir.opcode import KernelArg, Ops, Scope, StageArg
from ingot.kernel.launches import Built
from ingot.kernel.tree import build
from ingot.ops.lower import lower, lower_all
from ingot.pipeline.compiler import digest
from ingot.schedule.family import family
from ingot.schedule.fuse import Fusion
from tests.kernel.execute import number
from tests.kernel.traffic import Traffic, recording
from tests.schedule.programs import (
    COLUMNS,
    CONTRACTIONS,
    IN_ROWS,
    PROGRAMS,
    Program,
    attention,
    hand_softmax,
)
from tests.schedule.run import Array, fused, heuristically, run, sizes_of

MEGABYTE = 1 << 20
every_program = pytest.mark.parametrize("name", PROGRAMS)


@cache
def ran(name: str) -> tuple[Fusion, Array, Traffic]:
    """One run in the interpreter: the kernels, the result and what was touched."""
    program = PROGRAMS[name]
    fusion = fused(program.root())
    with recording() as traffic:
        (result,) = run(fusion, program.arrays(), heuristically)
    return fusion, result, traffic


def arguments(fusion: Fusion) -> Iterator[tuple[int, int]]:
    """(slot, elements) of each argument of the one kernel."""
    (draft,) = fusion.drafts
    for slot, node in enumerate(draft.buffers):
        yield slot, prod(cast(int, n) for n in node.shape)


@every_program
def test_it_is_one_kernel(name: str) -> None:
    fusion, _, _ = ran(name)
    assert len(fusion.drafts) == 1
    assert set(fusion.reasons.values()) == {"asked for"}


@every_program
def test_it_is_right(name: str) -> None:
    program, (_, result, _) = PROGRAMS[name], ran(name)
    want = interpret(lower_all(program.root()), program.arrays(), lower=lower)
    np.testing.assert_allclose(result, want, rtol=2e-5, atol=2e-6)


@every_program
def test_every_argument_is_touched_and_nothing_else(name: str) -> None:
    fusion, _, traffic = ran(name)
    for slot, elements in arguments(fusion):
        assert traffic.touched(slot) == elements


@every_program
def test_the_output_is_stored_once(name: str) -> None:
    fusion, _, traffic = ran(name)
    slot, elements = list(arguments(fusion))[-1]
    assert (traffic.stored(slot), traffic.loaded(slot)) == (elements, 0)


@pytest.mark.parametrize("name", IN_ROWS)
def test_a_row_is_done_with_before_the_next(name: str) -> None:
    """The passes over a row find it in cache: no other row is loaded between them."""
    fusion, _, traffic = ran(name)
    slots = [
        slot
        for slot, node in enumerate(fusion.drafts[0].buffers)
        if node is PROGRAMS[name].inputs()[0]
    ]
    assert traffic.apart(slots[0], COLUMNS)


@pytest.mark.parametrize("name", CONTRACTIONS)
def test_matrices_are_loaded_once_into_their_panels(name: str) -> None:
    fusion, _, traffic = ran(name)
    (draft,) = fusion.drafts
    for node in PROGRAMS[name].inputs()[:2]:
        slot = draft.buffers.index(node)
        assert traffic.loaded(slot) == traffic.touched(slot)


def planned(root: UOp) -> tuple[Built, dict[str, int | float]]:
    """The loop trees of a program that is one kernel, and the sizes it has."""
    (draft,) = fused(root).drafts
    made = family(draft)
    plan = heuristically(made)
    return build(plan.kernel), sizes_of(made, plan)


def between(root: UOp) -> list[int]:
    """Bytes of each temporary between the launches."""
    built, sizes = planned(root)
    return [
        dtype.itemsize * number(count, sizes) for dtype, count in built.temporaries
    ]


def test_temporaries_are_panels_and_partial_results() -> None:
    """Rows need none; products pack one operand, rounded up to whole tiles; sums over all keep a number a chunk."""
    for name, program in IN_ROWS.items():
        if name != "cross_entropy":
            assert between(program.root()) == []
    assert max(between(IN_ROWS["cross_entropy"].root())) <= 64
    (panel,) = between(CONTRACTIONS["linear"].root())
    weight = 7 * 50 * 4
    assert weight <= panel <= 2 * weight
    panel, parts = between(CONTRACTIONS["linear_sum"].root())
    assert panel <= 2 * weight
    assert parts <= 64


def private(built: Built, sizes: dict[str, int | float]) -> int:
    """Scratch and stack of one thread."""
    scratch = max(
        number(cast(KernelArg, k.arg).scratch, sizes) for k in built.launches
    )
    stages = {u for k in built.launches for u in k.toposort() if u.op is Ops.STAGE}
    stack = [u for u in stages if cast(StageArg, u.arg).scope is Scope.STACK]
    return scratch + sum(number(u.src[0], sizes) * u.dtype.itemsize for u in stack)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_has_no_matrix_of_scores(causal: bool) -> None:
    """At 2 x 8 x 512 x 64 the scores would be 16 MB."""
    root = attention(2, 8, 512, 64, causal=causal)
    built, sizes = planned(root)
    assert sum(between(root)) + private(built, sizes) <= MEGABYTE


def test_hand_written_softmax_is_softmax() -> None:
    named, by_hand = (
        fused(build_root(IN_ROWS["softmax"].inputs()[0]))
        for build_root in (named_softmax, hand_softmax)
    )
    first, second = (
        [digest(family(d).kernel) for d in fusion.drafts]
        for fusion in (named, by_hand)
    )
    assert first == second


def named_softmax(x: UOp) -> UOp:
    return IN_ROWS["softmax"].build(x)


# --- the measure itself ---


def test_a_value_that_two_programs_ask_for_is_moved_more_often() -> None:
    """Two outputs are two kernels today: the input is loaded by both, and the measure says so."""
    program = Program(lambda x: x, ((3, 4),))
    (x,) = program.inputs()
    with recording() as traffic:
        run(fused(x + x, x * x), program.arrays(), heuristically)
    assert traffic.loaded(0) == 2 * traffic.touched(0) == 24


def test_rows_that_interleave_are_seen() -> None:
    traffic = Traffic(loads={"p0": [(1, 0), (2, 4), (3, 1)]})
    assert not traffic.apart(0, 4)
    assert traffic.apart(0, 1)
