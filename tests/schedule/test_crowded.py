"""Kernels with many operations: where they are cut."""

from __future__ import annotations

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.region import param
from ingot.ops.creation import positions
from ingot.ops.op import REGISTRY, apply
from ingot.schedule.fuse import Fusion
from tests.schedule.run import fused, heuristically, run

key = param(0, dt.uint64, (2,))
other = param(1, dt.uint64, (2,))
w = param(2, dt.float32, (8, 8))


def drawn(source: UOp, *shape: int) -> UOp:
    return apply("random_uniform", source, positions(shape))


def stored(fusion: Fusion) -> list[str]:
    return [why for why in fusion.reasons.values() if why != "asked for"]


def test_what_has_room_is_fused() -> None:
    assert stored(fused(apply("sum", drawn(key, 8, 8)))) == []


def test_what_would_be_cut_in_the_middle_is_cut_before_it() -> None:
    both = apply("multiply", drawn(key, 8, 8), drawn(other, 8, 8))
    (why,) = stored(fused(apply("sum", both)))
    assert "do not fit into a kernel" in why


def test_how_a_reduction_combines_is_never_stored() -> None:
    """Two products in one program share the node that adds; in a crowded kernel it is no place to cut."""
    hidden = apply("relu", apply("matmul", drawn(key, 8, 8), w))
    fusion = fused(apply("softmax", apply("matmul", hidden, drawn(other, 8, 8))))
    assert all(Ops.STATE not in {s.op for s in u.src} for u in fusion.reasons)


def test_an_operand_that_is_long_to_compute_is_computed_once() -> None:
    fusion = fused(apply("matmul", drawn(key, 8, 8), w))
    assert "many operations, whose result is read again and again" in stored(fusion)


def test_cut_kernels_compute_the_same() -> None:
    both = apply("add", drawn(key, 8, 8), drawn(other, 8, 8))
    keys = {key: np.array([1, 0], np.uint64), other: np.array([2, 5], np.uint64)}
    (got,) = run(fused(both), keys, heuristically)
    at = np.arange(64, dtype=np.uint64).reshape(8, 8)
    one, two = (REGISTRY["random_uniform"].ref(k, at) for k in keys.values())
    assert np.array_equal(got, np.float32(one) + np.float32(two))
