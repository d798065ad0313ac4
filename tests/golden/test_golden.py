"""Every golden program becomes the loop trees beside it, and they compute what its naive nests and NumPy do."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from ingot.kernel.decompose import decompose
from ingot.kernel.launches import Built
from tests.golden import (
    adam_group,
    attention_causal,
    conv2d_implicit_gemm,
    gemm_dequantise,
    layer_norm_residual,
    softmax_online,
    softmax_resident,
    sum_rfactor,
)
from tests.golden.case import Array, Case, Sizes
from tests.kernel.execute import Native, built, interpret, text

MODULES = (
    softmax_resident,
    softmax_online,
    layer_norm_residual,
    gemm_dequantise,
    conv2d_implicit_gemm,
    attention_causal,
    sum_rfactor,
    adam_group,
)
CASES: dict[str, Case] = {
    module.__name__.rpartition(".")[2]: cast(Case, module) for module in MODULES
}
ULP = float(np.finfo(np.float32).eps)
NEAR_NUMPY, NEAR_NAIVE = 8 * ULP, 16 * ULP
every_case = pytest.mark.parametrize("name", CASES)


def expected(name: str) -> Path:
    return Path(__file__).with_name(f"{name}.txt")


@every_case
def test_the_loop_tree_is_the_expected_one(
    name: str, request: pytest.FixtureRequest
) -> None:
    made = text(CASES[name].program())
    if request.config.getoption("--update-golden"):
        expected(name).write_text(made)
    assert made == expected(name).read_text(), (
        f"pytest tests/golden --update-golden rewrites {expected(name).name}"
    )


def test_every_expected_tree_has_a_program() -> None:
    assert {path.stem for path in Path(__file__).parent.glob("*.txt")} == set(CASES)


@every_case
def test_moves_keep_the_meaning(name: str) -> None:
    case = CASES[name]
    plain, moved = built(case.naive()), built(case.program())
    for sizes in case.SIZES:
        before, after = arrays(case, sizes), arrays(case, sizes)
        interpret(plain, before, sizes)
        interpret(moved, after, sizes)
        for slot in case.wanted(arrays(case, sizes), sizes):
            assert off(after[slot], before[slot]) <= NEAR_NAIVE, (sizes, slot)
        compare(case, after, sizes)


@every_case
@pytest.mark.parametrize("language", ["llvm", "c"])
def test_compiled_code_has_the_bits_of_the_interpreter(
    name: str, language: str
) -> None:
    """Loads, masks, fused products, elementary functions, the order of additions: all as the tree says."""
    if language == "c" and shutil.which("gcc") is None:
        pytest.skip("no C compiler here")
    case = CASES[name]
    native, tree = Native(case.program(), language), simple(built(case.program()))
    for sizes in case.SIZES:
        want, got = arrays(case, sizes), arrays(case, sizes)
        interpret(tree, want, sizes, fold="halves")
        native.run(got, sizes)
        for one, other in zip(want, got, strict=True):
            np.testing.assert_array_equal(one.view(np.uint8), other.view(np.uint8))
        compare(case, got, sizes)


def simple(made: Built) -> Built:
    """What the renderers get."""
    return Built(tuple(map(decompose, made.launches)), made.temporaries)


def arrays(case: Case, sizes: Sizes) -> list[Array]:
    return case.arguments(sizes, np.random.default_rng(7))


def compare(case: Case, buffers: list[Array], sizes: Sizes) -> None:
    for slot, want in case.wanted(arrays(case, sizes), sizes).items():
        assert off(buffers[slot], want) <= NEAR_NUMPY, (sizes, slot)


def off(got: Array, want: Array) -> float:
    """The largest distance, as a share of the largest value."""
    if not want.size:
        return 0.0
    size = np.abs(want).max()
    return float(
        np.abs(got.reshape(want.shape).astype(np.float64) - want).max()
        / max(size, 1e-30)
    )
