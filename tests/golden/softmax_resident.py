"""Softmax that keeps its row: maximum, exponentials and their sum, quotient; x is read once from memory, then from cache.

The exponentials of a row are staged, so that they are computed once. Sums run in 16 lanes and 4 vectors side by side.
"""

from __future__ import annotations

from ingot.ir.opcode import LoopKind, Scope
from ingot.kernel.moves import bind, compute_at, edge, share, split, stage, unroll, vector
from ingot.kernel.nest import Edge, Kernel, Reduce
from ingot.kernel.reduction import rfactor
from tests.golden.softmax import SIZES as SIZES
from tests.golden.softmax import arguments as arguments
from tests.golden.softmax import naive as naive
from tests.golden.softmax import wanted as wanted


def program() -> Kernel:
    k = naive()
    k = compute_at(k, "total", "out", "i")
    k = compute_at(k, "top", "out", "i")

    terms = k.nest("total").body
    assert isinstance(terms, Reduce)
    k = stage(k, "total", terms.values[0], "i", "row", Scope.PACKED)
    k = share(k, "row", "out", "j", "row.total_j")

    k = lanes(k, "top", "top_j")
    k = vectors(k, "row.total_j")
    k = lanes(k, "total", "total_j")
    k = vectors(k, "j")
    k = split(k, "i", 4, "chunk", "row_in")
    return bind(k, "chunk", LoopKind.CHUNK)


def lanes(k: Kernel, nest: str, loop: str) -> Kernel:
    """A reduction in 4 x 16 accumulators: over the tiles, then over the 4 vectors, then over the 16 lanes."""
    k = split(k, loop, 64, f"{loop}_o", f"{loop}_t")
    k = split(k, f"{loop}_t", 16, f"{loop}_u", f"{loop}_v")
    k = rfactor(k, nest, f"{loop}_u", f"{loop}_v", name=f"{nest}_parts")
    k = rfactor(k, nest, f"{loop}_v", name=f"{nest}_lanes")
    k = vector(unroll(k, f"{loop}_u"), f"{loop}_v")
    return edge(k, f"{loop}_o", Edge.PEEL)


def vectors(k: Kernel, loop: str) -> Kernel:
    """16 neighbours at once, the last ones under a mask."""
    k = split(k, loop, 16, f"{loop}_o", f"{loop}_v")
    return edge(vector(k, f"{loop}_v"), f"{loop}_o", Edge.PEEL)
