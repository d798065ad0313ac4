"""The official array API tests, where a checkout of them is at hand (ARRAY_API_TESTS names its folder)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.array_api.conformance import run

FOLDER = os.environ.get("ARRAY_API_TESTS", "")


@pytest.mark.skipif(
    not FOLDER, reason="ARRAY_API_TESTS names no checkout of the suite"
)
def test_the_official_tests() -> None:
    outcome = run(Path(FOLDER), examples=5)
    assert outcome.share >= 0.98, outcome.text
