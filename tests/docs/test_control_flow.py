"""docs/control_flow.md: its programs run in order, and every line with a comment has the value that it says."""

import re
from typing import Any

from tests.architecture.sources import ROOT


def test_the_programs_say_what_is_so() -> None:
    text = (ROOT / "docs" / "control_flow.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__name__": "page"}
    said = 0
    for block in blocks:
        exec(compile(block, "docs/control_flow.md", "exec"), names)
        for expression, value in re.findall(
            r"^(\S.*?)  # (.+)$", block, re.MULTILINE
        ):
            assert eval(expression, names) == eval(value), expression
            said += 1
    assert said >= 7
