"""threefry2x32: known answers, and what is made of its bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir.interpret_tree import run_tree
from ingot.ir.node import UOp, arena
from ingot.kernel.launches import Built
from ingot.ops.creation import positions
from ingot.ops.lower import lower_all
from ingot.ops.op import REGISTRY
from ingot.ops.random import (
    random_bits,
    random_integers,
    random_normal,
    random_uniform,
)
from ingot.pipeline import buffer_node, stages
from ingot.pipeline.host import evaluate, source
from ingot.pipeline.normalise import normalise
from ingot.target import host
from tests.ops.evaluate import Inputs, names_of
from tests.render.native import LANGUAGES, call, compiled

# (key, counter, words), low word first, of the published test vectors for 20 rounds
KNOWN = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


def _word(halves: tuple[int, int]) -> int:
    return halves[0] | halves[1] << 32


@pytest.mark.parametrize(("key", "counter", "words"), KNOWN)
def test_known_answers(
    key: tuple[int, int], counter: tuple[int, int], words: tuple[int, int]
) -> None:
    inputs = Inputs()
    state = inputs.node(np.array([_word(key), 0], np.uint64))
    at = inputs.node(np.array([_word(counter)], np.uint64))
    left, right = random_bits.results(state, at)
    assert (int(inputs.run(left)[0]), int(inputs.run(right)[0])) == words
    assert (
        random_bits.ref(
            np.array([_word(key), 0], np.uint64),
            np.array([_word(counter)], np.uint64),
        )
        == words
    )


def test_the_counter_of_the_key_moves_the_positions() -> None:
    inputs = Inputs()
    at = inputs.node(np.arange(8, dtype=np.uint64))
    early = inputs.node(np.array([7, 3], np.uint64))
    late = inputs.node(np.array([7, 5], np.uint64))
    a, b = (inputs.run(random_uniform(key, at)) for key in (early, late))
    assert a[2:].tolist() == b[:-2].tolist()
    assert a[:2].tolist() != b[:2].tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_numbers_stay_below_one_in_every_type(dtype: str) -> None:
    inputs = Inputs()
    key = inputs.node(np.array([1, 0], np.uint64))
    at = inputs.node(np.arange(20_000, dtype=np.uint64))
    made = np.asarray(inputs.run(random_uniform(key, at, dtype=dtype)))
    values = (
        (made.astype(np.uint32) << 16).view(np.float32)
        if dtype == "bfloat16"
        else made.astype(np.float64)
    )
    assert values.min() >= 0
    assert values.max() < 1
    assert abs(values.mean() - 0.5) < 0.01


def test_the_largest_bits_give_numbers_too() -> None:
    """The logarithm of 0 and the sine of a whole turn are never asked for."""
    inputs = Inputs()
    key = inputs.node(np.array([3, 0], np.uint64))
    at = inputs.node(np.arange(20_000, dtype=np.uint64))
    for dtype in ("float32", "float64"):
        made = inputs.run(random_normal(key, at, dtype=dtype))
        assert np.isfinite(made).all()
        assert 3.5 < np.abs(made).max() < 7


def test_whole_numbers_reach_both_ends() -> None:
    inputs = Inputs()
    key = inputs.node(np.array([3, 0], np.uint64))
    at = inputs.node(np.arange(1000, dtype=np.uint64))
    made = inputs.run(random_integers(key, at, low=-2, high=3))
    assert sorted(set(made.tolist())) == [-2, -1, 0, 1, 2]
    whole = inputs.run(random_integers(key, at, low=-(2**63), high=2**63))
    assert whole.min() < -(2**62)
    assert whole.max() > 2**62


def test_numbers_are_named_until_they_are_lowered() -> None:
    inputs = Inputs()
    key = inputs.node(np.array([3, 0], np.uint64))
    at = inputs.node(np.arange(4, dtype=np.uint64))
    made = random_normal(key, at)
    assert names_of(made) == {"random_normal"}
    assert names_of(lower_all(made)) == set()


# --- the same bits in every language --------------------------------------------------------------------------------


def _kernel(node: UOp) -> tuple[Built, dict[str, Any]]:
    """The loop tree of a program that is one kernel, and the values of its arguments."""
    work = stages.Work(host())
    sink, _ = normalise([node])
    with arena():
        (draft,) = stages.fused(sink, work).drafts
        family = stages.FAMILY(draft, work)
        built = stages.forged(family, work).simple
    sizes = {u.arg.name: v for u, v in family.values.items()}  # type: ignore[union-attr]
    return built, sizes


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["random_uniform", "random_normal"])
def test_compiled_languages_draw_the_bits_of_the_loop_tree(
    language: str, name: str
) -> None:
    state = np.array([77, 5], np.uint64)
    key = buffer_node(state, dt.uint64, (2,), borrow=True)
    built, sizes = _kernel(REGISTRY[name](key, positions((1000,))))
    (launch,) = built.launches
    arg: Any = launch.arg
    meant, got = np.zeros(1000, np.float32), np.zeros(1000, np.float32)
    run_tree(launch, [state, meant], sizes)
    scalars = [sizes[v.arg.name] for v in arg.sizes]
    chunks = evaluate(source(arg.chunks), sizes)
    call(compiled(launch, language), [state, got], scalars, int(chunks))
    assert np.array_equal(got.view(np.uint32), meant.view(np.uint32))
    assert len(set(got.tolist())) > 990
