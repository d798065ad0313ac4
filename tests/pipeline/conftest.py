"""A session of its own for each test: nothing compiled before it, and a cache directory that is its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ingot.pipeline.session import Session
from ingot.pipeline.session import session as current
from ingot.settings import settings


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """The session of the process, as new; what it was before comes back afterwards."""
    before = dict(vars(current))
    vars(current).update(vars(Session()))
    with settings.override(cache_dir=tmp_path / "cache", threads=1):
        yield current
    if current.has_pool:
        current.pool().close()
    vars(current).update(before)
