"""`ingot ops`: the registry as a table."""

from __future__ import annotations

import pytest

from ingot.cli import main
from ingot.ops.op import public_ops

Capture = pytest.CaptureFixture[str]


def test_every_public_op_has_a_row(capsys: Capture) -> None:
    assert main(["ops"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["op", "takes", "kind", "gradient", "says"]
    shown = {line.split()[0].rstrip(",") for line in lines[1:] if line}
    assert {op.name for op in public_ops()} <= shown


def test_words_choose(capsys: Capture) -> None:
    assert main(["ops", "softmax"]) == 0
    rows = capsys.readouterr().out.splitlines()[1:-2]
    assert [row.split()[0] for row in rows] == ["softmax", "log_softmax"]
    assert "x, axis=-1  composite" in rows[0]
