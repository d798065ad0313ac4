"""Memory stays bounded: evaluations without end, many programs, pending consumers, dropped graphs, pending updates.

INGOT_LONG_TESTS=1 runs a million evaluations in place of fewer.
"""

from __future__ import annotations

import gc
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ingot as ig
from ingot.ir.node import live_nodes
from ingot.runtime.buffer import allocator
from ingot.settings import settings
from ingot.tensor.dirty import MOST_CHANGES

MIB = 1 << 20
EVALUATIONS = 1_000_000 if os.environ.get("INGOT_LONG_TESTS") else 5_000


@pytest.fixture(autouse=True)
def compiled(interpreter: None) -> Iterator[None]:
    with settings.override(device="CPU"):
        yield
    gc.collect()


def resident() -> int:
    """Bytes of memory that this process occupies now."""
    statistics = Path("/proc/self/statm")
    if not statistics.exists():
        pytest.skip("the system does not say how much memory a process has now")
    return int(statistics.read_text().split()[1]) * resource.getpagesize()


class Growth:
    """How much there is more of than at the start."""

    def __init__(self) -> None:
        gc.collect()
        self.nodes = live_nodes()
        self.bytes = resident()

    def check(self, nodes: int, mebibytes: int) -> None:
        gc.collect()
        assert live_nodes() - self.nodes <= nodes
        assert resident() - self.bytes <= mebibytes * MIB


def test_evaluations_without_end() -> None:
    x, y = ig.ones((16, 16)).realize(), ig.ones(16).realize()

    def run(times: int) -> None:
        for _ in range(times):
            value = ig.relu(x * 2 + y)
            value.realize()

    run(2000)
    growth = Growth()
    run(EVALUATIONS)
    growth.check(nodes=100, mebibytes=4)


def test_replays_without_end() -> None:
    x = ig.ones((16, 16)).realize()
    step = ig.jit(lambda v: ig.relu(v * 0.5 + 0.5))
    for _ in range(2000):
        x = step(x)
    growth = Growth()
    for _ in range(10 * EVALUATIONS):
        x = step(x)
    growth.check(nodes=100, mebibytes=4)


def test_large_results_are_given_back() -> None:
    x = ig.ones(MIB).realize()
    (x + 1).realize()
    growth = Growth()
    for _ in range(300):
        (x + 1).realize()
    growth.check(nodes=100, mebibytes=64)
    assert allocator.cached_bytes <= allocator.limit_bytes


def test_dropped_graphs_are_freed() -> None:
    x = ig.ones((4, 4)).realize()
    growth = Growth()
    for _ in range(200):
        value = x
        for _ in range(200):
            value = value * 1.5 + 0.5
        del value
    growth.check(nodes=100, mebibytes=16)


def test_pending_consumers_of_what_was_evaluated_hold_its_memory_alone() -> None:
    x = ig.ones((64, 64)).realize()
    (x + 1).realize()
    growth = Growth()
    pending: list[ig.Tensor] = []
    for _ in range(500):
        value = x + 1
        consumer = value * 2
        value.realize()
        pending = [*pending[-3:], consumer]
    assert all(p.numpy()[0, 0] == 4 for p in pending)
    del pending, consumer, value
    growth.check(nodes=150, mebibytes=16)


def test_a_chain_of_evaluated_values_keeps_none_of_its_past() -> None:
    value = ig.ones((8, 8)).realize()
    (value * 0.5 + 1).realize()
    growth = Growth()
    for _ in range(3000):
        value = (value * 0.5 + 1).realize()
    growth.check(nodes=100, mebibytes=8)
    assert value.numpy()[0, 0] == pytest.approx(2)


def test_a_sum_of_ten_thousand_steps_without_an_evaluation() -> None:
    running, most = ig.zeros(()), 0
    loss = ig.ones(()).realize()
    running += loss
    running.realize()
    growth = Growth()
    for step in range(10_000):
        running += loss
        if step % 64 == 0:
            most = max(most, live_nodes() - growth.nodes)
    assert most <= 3 * MOST_CHANGES
    assert running.item() == 10_001
    growth.check(nodes=3 * MOST_CHANGES, mebibytes=64)  # two programs are kept


def test_a_loop_that_looks_only_at_its_loss_does_not_pile_up_updates() -> None:
    weight, target = ig.zeros(8), ig.ones(8).realize()
    speed = ig.zeros(8)
    growth = Growth()
    loss = 0.0
    for _ in range(500):
        difference = weight - target
        speed *= 0.5
        speed += difference * 0.1
        weight -= speed
        loss = (difference * difference).sum().item()
    growth.check(nodes=200, mebibytes=16)
    assert loss < 1e-6


def test_random_draws_without_end() -> None:
    ig.rand(100).realize()
    growth = Growth()
    for _ in range(3000):
        ig.rand(100).realize()
    growth.check(nodes=100, mebibytes=8)


def test_many_distinct_programs() -> None:
    """Each size is a program of its own; kernels are shared, schedules are kept up to a bound."""
    programs = 10_000 if os.environ.get("INGOT_LONG_TESTS") else 400
    for size in range(1, 100):
        (ig.ones(size) * 2).sum().realize()
    growth = Growth()
    for size in range(100, 100 + programs):
        (ig.ones(size) * 2).sum().realize()
    gc.collect()
    each = (resident() - growth.bytes) / programs
    assert each < 40_000
    assert live_nodes() - growth.nodes < 60_000


def test_what_was_handed_out_outlives_its_tensor() -> None:
    arrays = [(ig.ones(1000) * i).numpy() for i in range(200)]
    assert all((a == i).all() for i, a in enumerate(arrays))
    x = ig.from_numpy(np.arange(5.0))
    gc.collect()
    assert (x + 1).tolist() == [1, 2, 3, 4, 5]
