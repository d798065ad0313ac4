"""Sizes that are computed: programs in phases. A compacting function of the host stands for any that counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot import pipeline
from ingot.errors import KernelFault
from ingot.ir import dtype as dt
from ingot.ir.region import size_of
from ingot.pipeline.session import Session
from ingot.settings import settings

Array = np.ndarray[Any, Any]
CALLS: list[int] = []


def compact(x: Array) -> tuple[Array, Array]:
    """Where x is not zero, and how often; the rest of the room holds anything."""
    CALLS.append(len(x))
    where = np.flatnonzero(x)
    room = np.full(x.size, -1, np.int64)
    room[: len(where)] = where
    return room, np.array(len(where), np.int64)


def nonzero(x: ig.Tensor, limit: int | None = None) -> Any:
    length = pipeline.size(x.shape[0])
    room, count = ig.extern(
        "test_sizes_compact", compact, (x,), [("int64", (length,)), ("int64", ())]
    )
    size = size_of(count.uop, length if limit is None else limit)
    return room.shrink(((0, size),))


def sample(seed: int, count: int = 50) -> Array:
    values: Array = (
        np.random.default_rng(seed).integers(0, 2, count).astype(np.float32)
    )
    return values


@pytest.mark.parametrize("device", ["CPU", "PYTHON"])
def test_the_shape_is_known_after_evaluation(session: Session, device: str) -> None:
    x = sample(0)
    with settings.override(device=device):
        found = nonzero(ig.tensor(x))
        made = (found * 2 + 1).realize()
        assert made.shape == (int(x.sum()),)
        np.testing.assert_array_equal(made.numpy(), np.flatnonzero(x) * 2 + 1)


def test_the_count_and_the_rest_share_their_work(session: Session) -> None:
    CALLS.clear()
    found = nonzero(ig.tensor(sample(1)) * 3)
    both = ig.stack([found.sum(), (found * found).sum()])
    where = np.flatnonzero(sample(1))
    np.testing.assert_array_equal(both.numpy(), [where.sum(), (where**2).sum()])
    assert CALLS == [50]


def test_other_sizes_are_the_same_kernels(session: Session) -> None:
    (nonzero(ig.tensor(sample(2))) + 1).numpy()
    compiled, schedules = session.forge().compiled, len(session.forge().schedules)
    for seed in (3, 4, 5):
        made = (nonzero(ig.tensor(sample(seed))) + 1).numpy()
        np.testing.assert_array_equal(made, np.flatnonzero(sample(seed)) + 1)
    assert session.forge().compiled == compiled
    assert len(session.forge().schedules) == schedules


def test_a_size_that_needs_a_size(session: Session) -> None:
    """Three phases: the numbers that are not zero, how many of them are odd, so many more numbers."""
    CALLS.clear()
    first = nonzero(ig.tensor(sample(6)))
    odd = (first % 2).sum().astype("int64")
    second = ig.arange(50).shrink(((0, size_of(odd.uop, 50)),))
    where = np.flatnonzero(sample(6))
    both = ig.stack([second.sum(), first.sum()])
    count = int((where % 2).sum())
    np.testing.assert_array_equal(both.numpy(), [sum(range(count)), where.sum()])
    np.testing.assert_array_equal(second.numpy(), np.arange(count))
    assert CALLS == [50, 50]


def test_nothing_and_everything(session: Session) -> None:
    assert nonzero(ig.zeros(7)).numpy().shape == (0,)
    assert nonzero(ig.ones(7)).numpy().tolist() == list(range(7))
    assert nonzero(ig.zeros(7)).sum().item() == 0


def test_the_number_of_a_dimension(session: Session) -> None:
    found = nonzero(ig.tensor(sample(7)))
    (size,) = found.uop.shape
    assert not isinstance(size, int)
    count = int(sample(7).sum())
    assert size.bounds == (0, 50)
    assert (pipeline.size(size), pipeline.size(size * 2 + 1)) == (
        count,
        2 * count + 1,
    )
    assert pipeline.size(5) == 5


def test_pending_consumers_of_an_evaluated_tensor(session: Session) -> None:
    found = nonzero(ig.tensor(sample(8)))
    later = found + 1
    found.realize()
    np.testing.assert_array_equal(later.numpy(), np.flatnonzero(sample(8)) + 1)


def test_a_captured_function(session: Session) -> None:
    total = ig.jit(lambda x: nonzero(x).sum())
    for seed in range(4):
        assert (
            total(ig.tensor(sample(seed))).item()
            == np.flatnonzero(sample(seed)).sum()
        )


def test_a_size_above_its_limit(session: Session) -> None:
    for device in ("CPU", "PYTHON"):
        with settings.override(device=device):
            with pytest.raises(
                KernelFault, match="a computed size is 4; wanted 0 to 3"
            ):
                nonzero(ig.ones(4), limit=3).numpy()


def test_the_device_that_runs_nothing(session: Session) -> None:
    with settings.override(device="NULL"):
        assert nonzero(ig.ones(4)).realize().dtype is dt.int64
