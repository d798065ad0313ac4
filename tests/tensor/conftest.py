"""Tensors over the interpreter: what is tested here is the handle, not the kernels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ingot.settings import settings


@pytest.fixture(autouse=True)
def interpreter() -> Iterator[None]:
    with settings.override(device="PYTHON"):
        yield
