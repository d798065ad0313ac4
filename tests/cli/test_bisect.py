"""`ingot bisect`: expressions and files; exit status 1 and a finding where something is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingot.cli import main
from ingot.ir.opcode import Ops
from ingot.kernel import moves
from ingot.pipeline.session import Session
from ingot.render import llvm_text
from ingot.schedule import fuse

Capture = pytest.CaptureFixture[str]


def test_a_right_expression(capsys: Capture) -> None:
    assert main(["bisect", "ig.softmax(t(3, 20), axis=-1)", "--verbose"]) == 0
    out, err = capsys.readouterr()
    assert out == "every level computes the same\n"
    assert "source: softmax, machine code" in err


def test_a_wrong_move_is_named(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuse, "_drafts", {})
    monkeypatch.setattr(
        moves, "_tiles", lambda extent, factor: (extent // factor).simplify()
    )
    assert main(["bisect", "ig.softmax(t(3, 21), axis=-1)"]) == 1
    lines = dict(
        line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()
    )
    assert lines["stage"] == "moves"
    assert lines["kernel"] == "softmax"
    assert lines["step"].startswith("split(")


FILE = """
import numpy as np
import ingot as ig

if __name__ == "__main__":
    x = ig.tensor(np.arange(6, dtype=np.float32))
    y = (x + 1.0).numpy()  # right
    print(y.sum(), (ig.tensor(y) - x).sum().item())
"""


def test_a_file_is_run_and_watched(
    session: Session,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "program.py"
    file.write_text(FILE)
    assert main(["bisect", str(file)]) == 0
    assert capsys.readouterr().out == "21.0 6.0\nevery level computes the same\n"
    session.forges.clear()
    llvm_text.operation.cache_clear()
    monkeypatch.setitem(llvm_text._FLOAT, Ops.SUB, "fadd {t} {{0}}, {{1}}")
    assert main(["bisect", str(file)]) == 1
    llvm_text.operation.cache_clear()
    out = capsys.readouterr().out
    assert "step    rendering SUB(f32, f32) -> f32" in out
    assert session.watch is None


def test_mistakes_are_explained(capsys: Capture) -> None:
    assert main(["bisect", "no_such_file.py"]) == 1
    assert "NameError" in capsys.readouterr().err
