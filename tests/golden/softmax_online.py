"""Softmax in one pass for maximum and sum: when a block raises the maximum, the sum so far is rescaled to follow it."""

from __future__ import annotations

from ingot.ir.opcode import LoopKind
from ingot.kernel.moves import bind, split, unroll, vector
from ingot.kernel.nest import Kernel
from ingot.kernel.reduction import online, rfactor
from ingot.kernel.staging import compute_at
from tests.golden.softmax import SIZES as SIZES
from tests.golden.softmax import arguments as arguments
from tests.golden.softmax import naive as naive
from tests.golden.softmax import wanted as wanted
from tests.golden.steps import vectors


def program() -> Kernel:
    k = naive()
    k = compute_at(k, "total", "out", "i")
    k = compute_at(k, "top", "out", "i")

    k = split(k, "top_j", 64, "block", "top_k")
    k = split(k, "total_j", 64, "total_block", "total_k")
    k = online(k, ("top", "total"), ("block", "total_block"))
    k = block_lanes(k, "top.part", "top_k")
    k = block_lanes(k, "total.part", "total_k")
    return bind(vectors(k, "j"), "i", LoopKind.CHUNK)


def block_lanes(k: Kernel, nest: str, loop: str) -> Kernel:
    """A reduction over 64 elements: the four vectors one after another, then the lanes."""
    k = split(k, loop, 16, f"{loop}_u", f"{loop}_v")
    k = rfactor(k, nest, f"{loop}_v", name=f"{nest}_lanes")
    return vector(unroll(k, f"{loop}_u"), f"{loop}_v")
