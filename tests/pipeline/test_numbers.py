"""Numbers in programs."""

import numpy as np

import ingot as ig


def test_a_number_that_was_evaluated_stays_a_number_for_others() -> None:
    """The start of a sum is the same node as a tensor of one zero, which may lie in memory by then."""
    zero = ig.zeros(())
    held = zero.uop
    assert zero.item() == 0.0
    x = ig.tensor(np.arange(57, dtype=np.float32))
    total = (x * 0.0 + 2.0).sum() / 3.0
    assert held in total.uop.toposort()
    assert total.item() == 57 * 2 / 3


def test_zeros_that_were_evaluated_are_not_read_from_memory_by_others() -> None:
    zeros = ig.zeros(57)
    held = zeros.uop
    zeros.realize()
    x = ig.tensor(np.arange(57, dtype=np.float32) - 20)
    largest = ig.maximum(x, 0.0)
    assert held in largest.uop.toposort()
    (item,) = largest.schedule()
    assert item.nbytes == 2 * 57 * 4  # x is read, the result is written
    np.testing.assert_array_equal(largest.numpy(), np.maximum(x.numpy(), 0))
