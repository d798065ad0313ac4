"""Work that is the same in every turn of a loop: which launches run before it, and that results stay the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import ingot as ig
from ingot.pipeline.ahead import launches_ahead, still
from ingot.pipeline.call import Call
from ingot.pipeline.member import Launch, Member
from ingot.pipeline.recipe import Step
from ingot.pipeline.report import Report
from ingot.pipeline.session import Session
from tests.pipeline.programs import array, sink_of

# A kernel over buffers 4 (a weight that stays), 5 (which changes) and 6 (its output), and two temporaries: slots 3, 4.
STEP = Step("matmul", 0, (4, 5, 6))
PACK = ((0, 3), (3,))
PACK_MORE = ((3, 4), (4,))
USE = ((1, 2, 3), (2,))
READS_CHANGING = ((1, 3), (3,))
SPOILS = ((1, 2, 3), (2, 3))


def early(
    *launches: tuple[tuple[int, ...], tuple[int, ...]],
) -> tuple[set[int], dict[int, int]]:
    """The launches that run ahead, and the bytes of the temporaries that they fill."""
    member = Member(
        (),
        (),
        (),
        ((4, "8"), (4, "16")),
        tuple(Launch("", "", "1", "0", *touched) for touched in launches),
    )
    call = SimpleNamespace(member=member, temporaries=lambda: [32, 64])
    found = launches_ahead(7, STEP, cast(Call, call), {4})
    assert found.step == 7
    return set(found.launches), found.temporaries


def test_packing_runs_ahead() -> None:
    assert early(PACK, USE) == ({0}, {0: 32})
    assert early(PACK, PACK_MORE, USE) == ({0, 1}, {0: 32, 1: 64})


def test_what_reads_something_that_changes_stays() -> None:
    assert early(READS_CHANGING, USE) == (set(), {})
    assert early(READS_CHANGING, PACK_MORE, USE) == (set(), {})


def test_what_a_later_launch_writes_again_stays() -> None:
    assert early(PACK, SPOILS) == (set(), {})


def test_the_last_launch_and_unknown_ones_stay() -> None:
    assert early(PACK) == (set(), {})
    assert early(((), ()), USE) == (set(), {})


def test_parameters_that_no_turn_changes() -> None:
    assert still(4, [0, 2]) == {1, 3}


@pytest.mark.parametrize("loop", ["scan", "while"])
def test_a_weight_is_packed_once(session: Session, loop: str) -> None:
    """Many rows: the weight is packed in a launch of its own, before the loop."""
    x, w = array(200, 70), array(70, 70, seed=1) / 8

    def product(carry: ig.Tensor) -> ig.Tensor:
        return carry @ ig.tensor(w)

    def program() -> Any:
        if loop == "scan":
            return ig.scan(lambda c, _: (product(c), None), ig.tensor(x), length=4)[
                0
            ]
        return ig.while_loop(
            lambda s: s[0] < 4,
            lambda s: (s[0] + 1, product(s[1])),
            (0, ig.tensor(x)),
        )[1]

    wanted = x
    for _ in range(4):
        wanted = wanted @ w
    np.testing.assert_allclose(program().numpy(), wanted, rtol=1e-4, atol=1e-5)
    _, bound = session.bound(sink_of(program()), {}, Report())
    labels = list(bound.program.labels)
    where = [n for n, label in enumerate(labels) if label.endswith(".matmul")]
    jump = max(n for n, label in enumerate(labels) if label in ("branch", "jump"))
    counter = labels.index("add")  # the first thing that a turn does
    assert [n < counter for n in where] == [True, False]
    assert max(where) < jump
