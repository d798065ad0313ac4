"""Moves keep the meaning: random sequences of them, on kernels small enough to be run by the interpreter."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.kernel.execute import built, interpret
from tests.kernel.kernels import SMALL
from tests.kernel.random_moves import ATTEMPTS, Mover

SEEDS = range(24)
STEPS = 12


@pytest.mark.parametrize("name", SMALL)
def test_random_moves_keep_the_meaning(name: str) -> None:
    small = SMALL[name]
    plain = built(small.kernel())
    wanted = []
    for sizes in small.sizes:
        wanted.append(small.arguments(sizes))
        interpret(plain, wanted[-1], sizes)
    for seed in SEEDS:
        mover = Mover(small.kernel(), seed)
        moved = mover.run(STEPS)
        for sizes, want in zip(small.sizes, wanted, strict=True):
            got = small.arguments(sizes)
            interpret(moved, got, sizes)
            for one, other in zip(got, want, strict=True):
                np.testing.assert_allclose(
                    one,
                    other,
                    rtol=1e-5,
                    err_msg=f"seed {seed}, {sizes}\n{mover.kernel.moves}",
                )


def test_every_move_is_made_now_and_then() -> None:
    """What is always refused is not tested."""
    made: Counter[str] = Counter()
    for small in SMALL.values():
        for seed in SEEDS:
            mover = Mover(small.kernel(), seed)
            mover.run(STEPS)
            made.update(note.partition("(")[0] for note in mover.kernel.moves)
    wanted = {attempt.__name__.removeprefix("try_") for attempt in ATTEMPTS}
    assert wanted - {"online", "share"} <= {
        name for name, count in made.items() if count >= 3
    }, made
