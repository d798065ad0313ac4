"""docs/gradients.md and docs/adding_an_op.md: programs run in order, in one process, and print what their comments say."""

import re
import subprocess
import sys

import numpy as np
import pytest

from tests.architecture.sources import ROOT

# How many lines of each page say what they print.
PAGES = {"adding_an_op.md": 3, "gradients.md": 0}


@pytest.mark.parametrize("page", PAGES)
def test_the_programs_run_and_print_what_they_say(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    program = "\n".join(
        re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    said = re.findall(r"print\(.*\) +# (\[.*?\])", program)
    assert len(said) >= PAGES[page]
    for line in said:
        wanted = np.fromstring(line.strip("[]"), sep=" ")
        assert any(
            _numbers(found).shape == wanted.shape
            and np.allclose(_numbers(found), wanted, atol=1e-6)
            for found in done.stdout.splitlines()
        ), (line, done.stdout)


def _numbers(line: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    found = re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", line)
    return np.array([float(n) for n in found])
