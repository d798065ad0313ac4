"""Causal attention in one pass over the keys: no matrix of scores is stored.

    scores = q k' * scale, -inf where key > query;   out = softmax(scores) v

Blocks of 8 keys: scores, grown maximum, exponentials; the sum and the mix of values are rescaled when the
maximum grows. Queries are the lanes, so that maxima and sums need no work across them.
"""

from __future__ import annotations

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Scope
from ingot.kernel.moves import bind, fuse, reorder, split, vector
from ingot.kernel.nest import Kernel, Reduce
from ingot.kernel.reduction import online
from ingot.kernel.staging import compute_at, layout, share, stage
from tests.golden.case import Array, Sizes
from tests.kernel.sketch import Sketch, exp

SIZES: tuple[Sizes, ...] = (
    {"heads": 1, "queries": 5, "depth": 3, "scale": 0.5},
    {"heads": 2, "queries": 21, "depth": 4, "scale": 0.25},
)
BLOCK = 8


def naive() -> Kernel:
    s = Sketch("attention")
    heads, queries, depth = s.sizes("heads", "queries", "depth")
    (scale,) = s.scalars("scale")
    q, k, v, out = s.input(), s.input(), s.input(), s.output()

    def at(h: UOp, i: UOp, d: UOp) -> UOp:
        return (h * queries + i) * depth + d

    h, i, j, d = s.loops(
        score_h=heads, score_i=queries, score_j=queries, score_d=depth
    )
    score = s.sum("score", (h, i, j), (d,), q[at(h, i, d)] * k[at(h, j, d)])

    def masked(h: UOp, i: UOp, j: UOp) -> UOp:
        return (i < j).where(
            UOp.const(dt.float32, float("-inf")), score(h, i, j) * scale
        )

    h, i, j = s.loops(top_h=heads, top_i=queries, top_j=queries)
    top = s.max("top", (h, i), (j,), masked(h, i, j))

    h, i, j = s.loops(total_h=heads, total_i=queries, total_j=queries)
    total = s.sum("total", (h, i), (j,), exp(masked(h, i, j) - top(h, i)))

    h, i, d, j = s.loops(mix_h=heads, mix_i=queries, mix_d=depth, mix_j=queries)
    share_of = exp(masked(h, i, j) - top(h, i)) / total(h, i)
    mix = s.sum("mix", (h, i, d), (j,), share_of * v[at(h, j, d)])

    h, i, d = s.loops(h=heads, i=queries, d=depth)
    s.store("out", (h, i, d), out[at(h, i, d)], mix(h, i, d))
    return s.kernel()


def program() -> Kernel:
    k = naive()
    for nest in ("mix", "total", "top", "score"):
        k = compute_at(k, nest, "out" if nest == "mix" else "mix", "i")
    k = by_blocks_of_keys(k)
    k = queries_as_lanes(k)
    k = fuse(k, "h", "io", "block")
    return bind(k, "block", LoopKind.CHUNK)


def by_blocks_of_keys(k: Kernel) -> Kernel:
    for loop in ("score_j", "top_j", "total_j", "mix_j"):
        k = split(k, loop, BLOCK, f"{loop}b", f"{loop}k")
    k = online(k, ("top", "total", "mix"), ("top_jb", "total_jb", "mix_jb"))
    k = compute_at(k, "score", "top.part", "top_jb")
    terms = k.nest("total.part").body
    assert isinstance(terms, Reduce)
    k = stage(k, "total.part", terms.values[0], "top_jb", "p", Scope.STACK)
    return share(k, "p", "mix.part", "mix_jk", "p.total_jk")


def queries_as_lanes(k: Kernel) -> Kernel:
    """for i: s   ->   for io: s in lanes iv, innermost and stored next to each other"""
    k = split(k, "i", 16, "io", "iv")
    for nest in k.nests:
        loops = [k.loops[a].name for a in nest.loops if k.loops[a].name != "iv"]
        k = reorder(k, nest.name, *loops, "iv")
        dims = [k.loops[a].name for a in nest.dims if k.loops[a].name != "iv"]
        if len(dims) < len(nest.dims):
            k = layout(k, nest.name, *dims, "iv")
    return vector(k, "iv")


def arguments(sizes: Sizes, rng: np.random.Generator) -> list[Array]:
    shape = tuple(int(sizes[name]) for name in ("heads", "queries", "depth"))
    given = [rng.normal(0, 2, shape).astype(np.float32) for _ in range(3)]
    return [*given, np.zeros(shape, np.float32)]


def wanted(buffers: list[Array], sizes: Sizes) -> dict[int, Array]:
    q, k, v = (b.astype(np.float64) for b in buffers[:3])
    scores = q @ k.transpose(0, 2, 1) * sizes["scale"]
    scores[:, ~np.tri(scores.shape[1], dtype=bool)] = -np.inf
    e = np.exp(scores - scores.max(2, keepdims=True))
    return {3: e / e.sum(2, keepdims=True) @ v}
