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
