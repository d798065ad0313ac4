"""The table of stages: what each makes can be shown, checked, replaced and started from."""

from __future__ import annotations

import numpy as np
import pytest

import ingot as ig
from ingot.errors import ArgumentError, DeviceError, SpecError
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.text import eval_text
from ingot.pipeline import stages
from ingot.pipeline.host import Number, evaluate, source
from ingot.pipeline.run_from import run_from
from ingot.pipeline.session import Session
from ingot.settings import settings
from tests.pipeline.programs import (
    array,
    layer,
    layer_wanted,
    sink_of,
    softmax_wanted,
    tensor,
    work,
)

MARKS = {
    "program": "name='matmul'",
    "lower": "matmul > reduce",
    "fuse": "relu_add_matmul -> f32[5, 9]: asked for",
    "family": "here: n0 = 5",
    "moves": "bind('",
    "tree": "# chunk",
    "decompose": "mulacc(",
    "source": "define",
    "assembly": ".globl",
}


@pytest.mark.parametrize("stage", stages.BY_NAME)
def test_every_stage_can_be_shown(stage: str) -> None:
    assert MARKS[stage] in stages.dump(sink_of(layer()), stage, work())


def test_the_table_reads_from_one_level_to_the_next() -> None:
    assert list(stages.BY_NAME) == list(MARKS)
    assert all(" -> " in stage.change for stage in stages.STAGES)


@pytest.mark.parametrize(
    ("language", "mark"), [("c", "int64_t r2("), ("cuda", "__global__")]
)
def test_source_in_other_languages(language: str, mark: str) -> None:
    assert mark in stages.dump(sink_of(layer()), "source", work(language=language))


@pytest.mark.parametrize("stage", ["program", "lower"])
def test_the_text_of_a_graph_rebuilds_it(stage: str) -> None:
    text = stages.dump(sink_of(layer()), stage, work(), exact=True)
    again = work(replaced={stage: text})
    assert stages.dump(sink_of(layer()), stage, again, exact=True) == text
    assert eval_text(text) is stages.find(stage).rebuilt(text)


@pytest.mark.parametrize("stage", ["fuse", "family", "moves", "assembly"])
def test_a_stage_without_exact_text_says_so(stage: str) -> None:
    with pytest.raises(ArgumentError, match="no text that rebuilds it"):
        stages.dump(sink_of(layer()), stage, work(), exact=True)
    with pytest.raises(ArgumentError, match="cannot be read from text"):
        stages.dump(sink_of(layer()), stage, work(replaced={stage: "x"}))


def test_time_is_noted_by_stage() -> None:
    mine = work()
    stages.dump(sink_of(layer()), "source", mine)
    assert list(mine.seconds) == list(stages.BY_NAME)[:-1]
    assert all(seconds > 0 for seconds in mine.seconds.values())


# --- starting in the middle -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["program", "lower"])
def test_a_graph_runs_from_its_text(stage: str, session: Session) -> None:
    text = stages.dump(sink_of(layer()), stage, work(), exact=True)
    given = [array(5, 7), array(7, 9, seed=1), array(9, seed=2)]
    (got,) = run_from(stage, text, given)
    np.testing.assert_allclose(got, layer_wanted(), rtol=1e-5, atol=1e-5)


def sizes_of(t: ig.Tensor) -> dict[str, Number]:
    """The arguments of the one kernel that computes t."""
    mine = work()
    family = stages.FAMILY(stages.fused(sink_of(t), mine).drafts[0], mine)
    sizes = {v.arg.name: n for v, n in family.values.items()}  # type: ignore[union-attr]
    for variable, value in stages.MOVES(family, mine).extra.items():
        sizes[variable.arg.name] = evaluate(source(value), sizes)  # type: ignore[union-attr, arg-type]
    return sizes  # type: ignore[return-value]


@pytest.mark.parametrize("stage", ["tree", "decompose"])
def test_a_loop_tree_runs_from_its_text(stage: str, session: Session) -> None:
    x = array(5, 37)
    t = ig.softmax(ig.tensor(x), axis=-1)
    text = stages.dump(sink_of(t), stage, work(), exact=True)
    out = np.zeros_like(x)
    run_from(stage, text, [x, out], sizes_of(t))
    np.testing.assert_allclose(out, softmax_wanted(x), rtol=1e-5)


def test_a_kernel_of_two_launches_runs_from_its_text(session: Session) -> None:
    """Temporary buffers between the launches are part of the text."""
    x, w = array(140, 70), array(70, 90, seed=1)
    t = ig.tensor(x) @ ig.tensor(w)
    text = stages.dump(sink_of(t), "tree", work(), exact=True)
    built = stages.built_from_text(text)
    assert len(built.launches) > 1
    assert built.temporaries
    out = np.zeros((140, 90), np.float32)
    run_from("tree", text, [x, w, out], sizes_of(t))
    np.testing.assert_allclose(out, x @ w, rtol=1e-4, atol=1e-4)


def test_an_edited_tree_is_what_runs(session: Session) -> None:
    t = tensor(33) + 1.0
    text = stages.dump(sink_of(t), "tree", work(), exact=True)
    edited = text.replace("const(1.0, dtype=float32)", "const(5.0, dtype=float32)")
    out = np.zeros(33, np.float32)
    run_from("tree", edited, [array(33), out], {"n0": 33})
    np.testing.assert_allclose(out, array(33) + 5.0)
    assert "+ 5.0" in stages.dump(
        sink_of(t), "decompose", work(replaced={"tree": edited})
    )


def test_what_cannot_be_started_from_is_said() -> None:
    with pytest.raises(ArgumentError, match="cannot start from stage source"):
        run_from("source", "", [])
    with pytest.raises(ArgumentError, match="the text builds no kernel"):
        run_from("tree", "v0 = const(1, dtype=index)", [])


def test_a_missing_size_is_named(session: Session) -> None:
    text = stages.dump(sink_of(tensor(3) + 1.0), "tree", work(), exact=True)
    with pytest.raises(ArgumentError, match="argument n0"):
        run_from("tree", text, [array(3), array(3)])


# --- specs ------------------------------------------------------------------------------------------------------------


def test_the_spec_of_a_stage_is_checked_when_asked() -> None:
    sink = sink_of(layer())
    broken = stages.dump(
        sink, "program", work(), exact=True
    )  # OP nodes have no place after lowering
    with settings.override(spec=1), pytest.raises(SpecError, match="after lower"):
        stages.dump(sink, "lower", work(replaced={"lower": broken}))
    stages.LOWER(sink, work(replaced={"lower": broken}))


def test_all_stages_keep_their_specs() -> None:
    with settings.override(spec=1):
        for program in (
            layer(),
            ig.softmax(tensor(3, 4), axis=-1),
            ig.arange(5) + 1,
            tensor(3, 4).argmax(axis=1),
        ):
            stages.dump(sink_of(program), "decompose", work())


def test_what_has_no_kernel_yet_is_said() -> None:
    x = tensor(3).uop
    assigned = UOp(Ops.ASSIGN, x.dtype, (x, x))
    with pytest.raises(DeviceError, match="kernels cannot do ASSIGN yet"):
        stages.fused(assigned.sink(), work())


def test_an_input_that_is_asked_for_is_copied(session: Session) -> None:
    x = array(3, 4)
    (got,) = run_from(
        "program",
        stages.dump(sink_of(ig.tensor(x)), "program", work(), exact=True),
        [x],
    )
    np.testing.assert_array_equal(got, x)
    assert not np.shares_memory(got, x)
