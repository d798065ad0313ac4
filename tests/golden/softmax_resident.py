"""Softmax that keeps its row: maximum, exponentials and their sum, quotient.

x is read once from memory, then from cache. The exponentials of a row are staged, so that they are computed
once. Sums run in 16 lanes and 4 vectors side by side.
"""

from __future__ import annotations

from ingot.ir.opcode import LoopKind, Scope
from ingot.kernel.moves import bind, split
from ingot.kernel.nest import Kernel, Reduce
from ingot.kernel.staging import compute_at, share, stage
from tests.golden.softmax import SIZES as SIZES
from tests.golden.softmax import arguments as arguments
from tests.golden.softmax import naive as naive
from tests.golden.softmax import wanted as wanted
from tests.golden.steps import lanes, vectors


def program() -> Kernel:
    k = naive()
    k = compute_at(k, "total", "out", "i")
    k = compute_at(k, "top", "out", "i")

    terms = k.nest("total").body
    assert isinstance(terms, Reduce)
    k = stage(k, "total", terms.values[0], "i", "row", Scope.PACKED)
    k = share(k, "row", "out", "j", "row.total_j")

    k = lanes(k, "top", "top_j", 4)
    k = vectors(k, "row.total_j")
    k = lanes(k, "total", "total_j", 4)
    k = vectors(k, "j")
    k = split(k, "i", 4, "chunk", "row_in")
    return bind(k, "chunk", LoopKind.CHUNK)
