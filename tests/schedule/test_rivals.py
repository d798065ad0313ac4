"""Contractions that meet another reduction in one expression: tiles are made for one, so the others are stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.pipeline import stages
from tests.pipeline.programs import array, sink_of, work

Program = Callable[..., Any]
PROGRAMS: dict[str, tuple[Program, str]] = {
    "two products": (lambda x, h, w, u: x @ w + h @ u, "tiles are made"),
    "three products": (
        lambda x, h, w, u: x @ w + (x * x) @ w + h @ u,
        "tiles are made",
    ),
    "a product and a sum": (
        lambda x, h, w, u: x @ w + h.sum(1)[:, None],
        "tiles are made",
    ),
    "a part of a product": (lambda x, h, w, u: (x @ w)[:, :7] * 2, "a part of it"),
    "a sum of a product": (lambda x, h, w, u: (x @ w).sum(), ""),
}


@pytest.mark.parametrize("rows", [5, 160])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_others_are_stored(name: str, rows: int) -> None:
    program, reason = PROGRAMS[name]
    given = [
        array(rows, 12),
        array(rows, 20, seed=1),
        array(12, 48, seed=2),
        array(20, 48, seed=3),
    ]
    made = program(*map(ig.tensor, given))
    wanted = program(*given)
    np.testing.assert_allclose(made.numpy(), wanted, rtol=2e-4, atol=2e-4)
    fusion = stages.fused(sink_of(program(*map(ig.tensor, given))), work())
    assert any(reason in said for said in fusion.reasons.values())
    if not reason:
        assert len(fusion.drafts) == 1
