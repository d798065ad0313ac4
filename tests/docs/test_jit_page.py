"""The programs in docs/jit.md run."""

import re

from tests.architecture.sources import ROOT


def test_the_programs_run() -> None:
    text = (ROOT / "docs" / "jit.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 4
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, "docs/jit.md", "exec"), names)
