"""Threads build and evaluate at once: right results, one node for one content, nobody waits for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pytest

import ingot as ig
from ingot.ir.node import UOp
from ingot.settings import settings

T = TypeVar("T")
THREADS = 8
PATIENCE = 60


@pytest.fixture(autouse=True)
def compiled(interpreter: None) -> Iterator[None]:
    with settings.override(device="CPU"):
        yield


def at_once(work: Callable[[int], T], threads: int = THREADS) -> list[T]:
    """work(0), work(1), ... started together; what they return. An error in one of them is raised here."""
    start = threading.Barrier(threads)

    def run(number: int) -> T:
        start.wait(PATIENCE)
        return work(number)

    crew = ThreadPoolExecutor(threads)
    futures = [crew.submit(run, number) for number in range(threads)]
    crew.shutdown(wait=False)
    return [future.result(PATIENCE) for future in futures]


def test_different_programs() -> None:
    def work(number: int) -> list[float]:
        x = ig.arange(50 + number).float()
        return [((x * i + number).sum() / (number + 1)).item() for i in range(15)]

    for number, got in enumerate(at_once(work)):
        x = np.arange(50 + number, dtype=np.float64)
        want = [(x * i + number).sum() / (number + 1) for i in range(15)]
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_shared_tensors() -> None:
    shared = ig.arange(1000).float().realize()
    weights = ig.ones((1000, 16)).realize()

    def work(number: int) -> list[float]:
        return [((shared * (number + i)) @ weights)[0].item() for i in range(10)]

    for number, got in enumerate(at_once(work)):
        assert got == [499_500.0 * (number + i) for i in range(10)]


def test_the_first_evaluation_of_one_pending_tensor() -> None:
    for attempt in range(20):
        x = ig.arange(300 + attempt).float()
        pending = (x * 3).sum()
        got = at_once(lambda _, p=pending: p.item(), threads=4)  # type: ignore[misc]
        n = 300 + attempt
        assert set(got) == {3.0 * n * (n - 1) / 2}
        assert pending.is_evaluated()


def test_one_content_is_one_node_whoever_builds_it() -> None:
    x = ig.arange(7).float().realize()
    _ = x.uop

    def work(number: int) -> list[UOp]:
        return [((x * i + 1).exp() - i).uop for i in range(200)]

    first, *others = at_once(work)
    for nodes in others:
        assert all(a is b for a, b in zip(first, nodes, strict=True))


def test_nodes_that_die_and_are_built_again() -> None:
    """Interning is weak: a node may be dropped by one thread while another builds it."""
    x = ig.arange(3).float().realize()
    _ = x.uop

    def work(number: int) -> bool:
        for i in range(2000):
            one, two = (x + i % 5).uop, (x + i % 5).uop
            if one is not two:
                return False
        return True

    assert all(at_once(work))


def test_updates_of_tensors_of_their_own() -> None:
    shared = ig.ones(10).realize()

    def work(number: int) -> float:
        mine = ig.zeros(10)
        for i in range(400):
            mine += shared * number
            if i % 100 == 50:
                mine.realize()
        return float(mine.sum())

    assert at_once(work) == [4000.0 * n for n in range(THREADS)]


def test_random_numbers_are_never_drawn_twice() -> None:
    ig.manual_seed(99)

    def work(number: int) -> list[tuple[float, ...]]:
        return [tuple(ig.rand(4).tolist()) for _ in range(25)]

    drawn = [row for rows in at_once(work) for row in rows]
    assert len(set(drawn)) == THREADS * 25
    ig.manual_seed(99)
    assert {tuple(ig.rand(4).tolist()) for _ in range(THREADS * 25)} == set(drawn)


def test_replays_of_one_captured_function() -> None:
    double = ig.jit(lambda x: x * 2 + 1)
    double(ig.zeros(64).realize())

    def work(number: int) -> float:
        x = ig.full((64,), float(number)).realize()
        total = 0.0
        for _ in range(50):
            total += double(x)[0].item()
        return total

    assert at_once(work) == [50.0 * (2 * n + 1) for n in range(THREADS)]


def test_the_same_answers_as_one_after_the_other() -> None:
    """Reductions do not depend on how many threads of ours run beside each other."""
    data = ig.Tensor(
        np.random.default_rng(0).standard_normal((200, 300)).astype("f4")
    )
    data.realize()
    alone = ig.softmax(data, axis=-1).sum(axis=0).tolist()
    for got in at_once(lambda _: ig.softmax(data, axis=-1).sum(axis=0).tolist()):
        assert got == alone
