"""Buffers: aligned, borrowed or leased, and reused."""

import gc
import threading
from itertools import pairwise

import numpy as np
import pytest

from ingot.errors import ArgumentError
from ingot.runtime.buffer import Allocator, Buffer, size_class


@pytest.mark.parametrize(
    "nbytes", [0, 1, 63, 64, 65, 1000, 40_000, 1 << 20, (4 << 20) + 1]
)
def test_blocks_are_aligned_and_large_enough(nbytes: int) -> None:
    buffer = Buffer.allocate(nbytes)
    assert buffer.address % 64 == 0
    array = buffer.as_array(np.uint8, (nbytes,))
    array[:] = 7
    assert (array == 7).all()
    assert buffer.nbytes == nbytes


def test_size_classes_waste_at_most_a_quarter() -> None:
    for nbytes in range(1, 5_000_000, 777):
        capacity = size_class(nbytes)
        assert nbytes <= capacity <= max(1.25 * nbytes + 4096, 64)
        assert size_class(capacity) == capacity
    assert all(a <= b for a, b in pairwise(size_class(n) for n in range(100_000)))


def test_live_blocks_do_not_overlap() -> None:
    """More than a slab of each small size."""
    buffers = [
        Buffer.allocate(nbytes)
        for nbytes in [100] * 3000 + [1000] * 600 + [10_000, 100_000] * 40
    ]
    spans = sorted((b.address, b.address + b.nbytes) for b in buffers)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


@pytest.mark.parametrize("nbytes", [100, 1 << 20, 8 << 20])
def test_a_freed_block_is_given_out_again(nbytes: int) -> None:
    address = Buffer.allocate(nbytes).address
    assert Buffer.allocate(nbytes).address == address


def test_a_view_keeps_the_memory() -> None:
    buffer = Buffer.allocate(4000)
    address = buffer.address
    part = buffer.as_array(np.float32, (10, 100))[3]
    del buffer
    gc.collect()
    assert Buffer.allocate(4000).address != address
    part[:] = 1.0
    del part
    assert Buffer.allocate(4000).address == address


def test_a_borrowed_array_is_shared_both_ways() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    buffer = Buffer.from_array(array)
    assert buffer.owner is array
    buffer.as_array(np.float32, (6,))[4] = 40
    assert array[1, 1] == 40
    array.flags.writeable = False
    frozen = Buffer.from_array(array)
    assert not frozen.writable
    assert not frozen.as_array(np.float32, (6,)).flags.writeable


def test_a_strided_array_is_copied_not_borrowed() -> None:
    array = np.arange(6.0).reshape(2, 3).T
    with pytest.raises(ArgumentError, match="contiguous"):
        Buffer.from_array(array)
    copy = Buffer.copy_of(array)
    assert (copy.as_array(np.float64, (3, 2)) == array).all()


def test_a_view_larger_than_the_buffer_is_refused() -> None:
    with pytest.raises(ArgumentError, match="at most 100 bytes"):
        Buffer.allocate(100).as_array(np.float64, (13,))
    with pytest.raises(ArgumentError, match="0 or more"):
        Buffer.allocate(-1)


def test_versions_count_changes() -> None:
    buffer = Buffer.allocate(8)
    buffer.changed()
    assert buffer.version == 1


def test_what_is_kept_is_bounded() -> None:
    allocator = Allocator(limit_bytes=1 << 20)
    leases = [allocator.lease(200_000) for _ in range(10)]
    assert allocator.cached_bytes == 0
    del leases
    assert 0 < allocator.cached_bytes <= 1 << 20
    for _ in range(20):
        lease = allocator.lease(200_000)
        held = allocator.cached_bytes
        del lease
        assert allocator.cached_bytes > held
    lease = allocator.lease(4 << 20)
    del lease
    assert allocator.cached_bytes <= 1 << 20, (
        "a block above the limit goes back to the system"
    )
    allocator.trim()
    assert allocator.cached_bytes == 0


def test_threads_share_the_allocator() -> None:
    def work(seed: int) -> None:
        sizes = np.random.default_rng(seed).integers(1, 300_000, 400)
        for nbytes in sizes.tolist():
            array = Buffer.allocate(nbytes).as_array(np.uint8, (nbytes,))
            array[:: max(1, nbytes // 50)] = seed
            if not (array[:: max(1, nbytes // 50)] == seed).all():
                wrong.append(nbytes)

    wrong: list[int] = []
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
