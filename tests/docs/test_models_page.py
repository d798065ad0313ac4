"""docs/models.md: every block of Python on it runs."""

import re
import shutil
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
def test_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(block, names)
    said = capsys.readouterr().out
    (shown,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    assert shown in said
    assert "agree with the interpreter" in said
