"""Random trees: what the renderers write leaves the same memory as the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from ingot.ir.interpret_tree import run_tree
from ingot.ir.text import tree_text
from tests.render.native import LANGUAGES, call, compiled
from tests.render.random_tree import LENGTH, Maker


def check(seed: int, language: str) -> None:
    tree = Maker(seed).make()
    x = np.random.default_rng(seed).standard_normal(LENGTH).astype(np.float32)
    function = compiled(tree, language, level="-O1")
    for n in (0, 1, 3, 8):
        wanted, got = x[::-1].copy(), x[::-1].copy()
        run_tree(tree, [x, wanted], {"n": n}, fold="halves")
        call(function, [x, got], [n], scratch=4 * LENGTH)
        assert np.array_equal(got, wanted, equal_nan=True), (
            f"n = {n}\n{tree_text(tree)}"
        )


@pytest.mark.parametrize("seed", range(90))
def test_llvm(seed: int) -> None:
    check(seed, "llvm")


@pytest.mark.skipif("c" not in LANGUAGES, reason="needs gcc")
@pytest.mark.parametrize("seed", range(0, 90, 15))
def test_c(seed: int) -> None:
    check(seed, "c")
