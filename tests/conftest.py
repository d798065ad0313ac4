"""Options of the whole test suite, and a cache directory of its own."""

from __future__ import annotations

import os
import tempfile

import pytest

# Before anything reads the settings. Worker processes inherit it, so that they share what they compile.
if "INGOT_CACHE_DIR" not in os.environ:
    os.environ["INGOT_CACHE_DIR"] = tempfile.mkdtemp(prefix="ingot-tests-")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the expected loop trees in tests/golden/*.txt",
    )
