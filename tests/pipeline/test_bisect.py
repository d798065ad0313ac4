"""Bugs planted at every level are found where they were planted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.kernel import decompose, moves
from ingot.ops.op import REGISTRY
from ingot.pipeline import flatten, stages
from ingot.pipeline.bisect import Finding, bisect
from ingot.pipeline.compare import difference
from ingot.render import llvm_text
from ingot.schedule import fuse, nests
from ingot.schedule.memory import Interval
from tests.pipeline.programs import sink_of, tensor, work


def found(*tensors: ig.Tensor) -> Finding:
    result = bisect([t.uop for t in tensors])
    assert result is not None
    return result


@pytest.fixture(autouse=True)
def no_drafts_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drafts are kept for the whole process: one made with a planted bug must not stay."""
    monkeypatch.setattr(fuse, "_drafts", {})


def softmax(rows: int = 5, columns: int = 37) -> ig.Tensor:
    return ig.softmax(tensor(rows, columns), axis=-1)


def test_a_right_program_has_no_finding() -> None:
    x = tensor(5, 21)
    assert (
        bisect(
            [
                (ig.gelu(x) @ tensor(21, 6, seed=1)).uop,
                x.argmax(axis=1).uop,
                (x.sum() > 0).uop,
            ]
        )
        is None
    )


def test_each_level_is_run() -> None:
    lines: list[str] = []
    assert bisect([softmax().uop], lines.append) is None
    levels = list(dict.fromkeys(line.split(":")[0] for line in lines))
    assert levels == [
        "program",
        "lower",
        "fuse",
        "family",
        "moves",
        "tree",
        "decompose",
        "source",
        "run",
    ]
    assert sum(line.startswith("moves: softmax, split(") for line in lines) > 2


def test_a_wrong_lowering(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_maximum(x: UOp, *, axis: int = -1) -> UOp:
        e = ig.Tensor.of(x).exp()
        return (e / (e.sum(axis=axis, keepdims=True) + 1.0)).uop

    monkeypatch.setitem(
        REGISTRY, "softmax", replace(REGISTRY["softmax"], build=no_maximum)
    )
    finding = found(ig.relu(softmax(3, 38)) + 1.0)
    assert finding.stage == "lower"
    assert finding.culprit == "the lowering of softmax"
    assert finding.node.startswith("softmax  f32[3, 38]")
    assert "of 114 elements differ, first [0, 0]" in finding.how


def test_wrong_nests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Index arithmetic that is wrong: a permutation that does nothing."""
    monkeypatch.setitem(
        nests._RULES,
        Ops.PERMUTE,
        lambda self, node, indices, valid: self.at(node.src[0], indices, valid),
    )
    finding = found(tensor(6, 6).T + 1.0)
    assert (finding.stage, finding.kernel) == ("fuse", "add")
    assert finding.node.startswith("add  f32[6, 6]")


def test_a_wrong_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """A split that forgets the last, partial tile."""
    monkeypatch.setattr(
        moves, "_tiles", lambda extent, factor: (extent // factor).simplify()
    )
    finding = found(softmax(5, 39))
    assert (finding.stage, finding.kernel) == ("moves", "softmax")
    assert finding.culprit.startswith("split(")
    assert finding.node.startswith("softmax > fdiv  f32[5, 39]")


def test_a_move_that_reads_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A split whose last tile is always full: the interpreter of trees sees it leave the buffer."""
    true_split = moves.split

    def split(
        kernel: Any, loop: str, by: Any, outer: Any = None, inner: Any = None
    ) -> Any:
        moved = true_split(kernel, loop, by, outer, inner)
        inside = moved.loop(inner or f"{loop}i")
        return moved.with_loops(replace(inside, extent=inside.capacity)).noted(
            "split, badly"
        )

    monkeypatch.setattr("ingot.kernel.maps.split", split)
    finding = found(tensor(5, 7).T.contiguous() + 0.5)
    assert finding.stage == "moves"
    assert "split, badly" in finding.culprit or "outside" in finding.how


def test_a_wrong_decomposition(monkeypatch: pytest.MonkeyPatch) -> None:
    true_rule = decompose._RULES[Ops.EXP]

    def exp(node: UOp) -> UOp:
        made = true_rule(node)
        assert made is not None
        return made * 1.01

    monkeypatch.setitem(decompose._RULES, Ops.EXP, exp)
    finding = found(ig.exp(tensor(5, 41)) + tensor(5, 41, seed=1))
    assert (finding.stage, finding.kernel) == ("decompose", "add_exp")
    assert finding.culprit.startswith("decomposing EXP(f32) -> f32")


def test_a_wrong_renderer(monkeypatch: pytest.MonkeyPatch) -> None:
    llvm_text.operation.cache_clear()
    monkeypatch.setitem(llvm_text._FLOAT, Ops.SUB, "fadd {t} {{0}}, {{1}}")
    finding = found((tensor(5, 43) - tensor(5, 43, seed=1)) * 2.0)
    llvm_text.operation.cache_clear()
    assert (finding.stage, finding.kernel) == ("source", "mul_sub")
    assert finding.culprit.startswith("rendering SUB(f32, f32) -> f32, as in p0[")


def test_a_wrong_memory_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """All values between kernels at one place."""

    def arrange(values: Mapping[object, Interval]) -> tuple[dict[object, int], int]:
        return dict.fromkeys(values, 0), 1 << 20

    monkeypatch.setattr(flatten, "arrange", arrange)
    x = tensor(4, 6)
    one, two = (x @ x.T), (x.T @ x)
    finding = found(one @ one @ x @ two)
    assert finding.stage == "run"
    assert finding.culprit == "order, arguments or memory of kernels"


def test_a_replaced_stage_is_what_is_looked_at() -> None:
    t = tensor(33) + 1.0
    text = stages.dump(sink_of(t), "tree", work(), exact=True)
    broken = text.replace("const(1.0, dtype=float32)", "const(1.5, dtype=float32)")
    finding = bisect([t.uop], replaced={"tree": broken})
    assert finding is not None
    assert finding.stage == "tree"
    assert bisect([t.uop], replaced={"tree": text}) is None


def test_a_finding_reads_as_rows() -> None:
    finding = Finding(
        "moves",
        "softmax",
        "vector('i')",
        "softmax > fdiv",
        "1 of 2 elements differ",
        ("algebra.py:7",),
    )
    lines = str(finding).splitlines()
    assert [line.split()[0] for line in lines] == [
        "stage",
        "kernel",
        "step",
        "node",
        "wrong",
        "rule",
    ]


# --- comparing --------------------------------------------------------------------------------------------------------


def test_rounding_is_no_difference() -> None:
    wanted = np.array([1.0, 1000.0], np.float32)
    assert difference(wanted * np.float32(1 + 1e-6), wanted, dt.float32) is None
    assert difference(wanted + np.float32(1.0), wanted, dt.float32) is not None


@pytest.mark.parametrize(
    ("got", "wanted"),
    [(np.nan, 1.0), (1.0, np.nan), (np.inf, -np.inf), (1.0, np.inf)],
)
def test_special_values_are_exact(got: float, wanted: float) -> None:
    first, second = (np.array([0.0, value], np.float32) for value in (got, wanted))
    wrong = difference(first, second, dt.float32)
    assert wrong is not None
    assert wrong.place == (1,)
    assert difference(first, first, dt.float32) is None


def test_integers_are_exact() -> None:
    a = np.array([[1, 2], [3, 4]])
    b = a + np.array([[0, 0], [1, 0]])
    assert (
        str(difference(a, b, dt.int64))
        == "1 of 4 elements differ, first [1, 0]: 3 instead of 4"
    )


def test_bfloat16_is_compared_as_numbers() -> None:
    bits = np.array([0x3F80, 0x3F81], np.uint16)
    assert difference(bits, bits, dt.bfloat16) is None
    assert difference(bits, bits ^ 0x8000, dt.bfloat16) is not None
