"""docs/state.md: its programs run in order, and every line has the value that its comment says."""

from __future__ import annotations

import ast
import re
from typing import Any

from tests.architecture.sources import ROOT

PAGE = ROOT / "docs" / "state.md"


def test_every_line_has_the_value_that_its_comment_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    checked = 0
    for block in blocks:
        lines = block.split("\n")
        for statement in ast.parse(block).body:
            last = lines[(statement.end_lineno or 0) - 1]
            code, said = ast.unparse(statement), last.partition("  # ")[2]
            if said:
                assert eval(code, names) == ast.literal_eval(said), code
                checked += 1
            else:
                exec(code, names)
    assert checked == text.count("  # ")
    assert checked > 10
