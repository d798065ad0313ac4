"""ruff and mypy, as tests: what CI refuses fails here first."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.architecture.sources import ROOT

CHECKS = {
    "ruff check": ["ruff", "check", "--no-cache"],
    "ruff format": ["ruff", "format", "--check", "--no-cache"],
    "mypy": ["mypy"],
}


@pytest.mark.parametrize("name", CHECKS)
def test_is_clean(name: str) -> None:
    tool, *options = CHECKS[name]
    if find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed")
    done = subprocess.run(
        [sys.executable, "-m", tool, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
