"""Streaming: contraction, softmax and contraction in one pass. In: the four nests. Out: one loop over blocks of keys.

Everything is in vectors along the query axis, so that maxima and sums need no work across lanes, keys and values are read as
they lie in memory, and only the queries are packed.

    for a block of queries: for a block of keys: scores; grown maximum; p = exp(scores - maximum); sums and mix rescaled
"""

from __future__ import annotations

from collections.abc import Mapping

from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Scope
from ingot.kernel.align import fuse_all
from ingot.kernel.maps import lanes
from ingot.kernel.moves import bind, detach, edge, reorder, split, unroll, vector
from ingot.kernel.nest import Edge, Kernel, Nest, Reduce, axes_in
from ingot.kernel.plan import Plan
from ingot.kernel.reduction import hold, online
from ingot.kernel.staging import compute_at, layout, share, stage
from ingot.kernel.structure import Stream, streams
from ingot.target import Target

KEYS = 64  # in a block: scores of a block stay in the first-level cache
KEY_ROWS = 8
QUERY_VECTORS = 3


def plan(kernel: Kernel, hints: Mapping[UOp, int], target: Target) -> Plan:
    """Share the query loops, run the softmax online, tile both contractions."""
    found = streams(kernel)
    assert found is not None
    return Plan(
        _Streaming(kernel, found, lanes(target, found.scores.types[0])).run()
    )


class _Streaming:
    def __init__(self, kernel: Kernel, found: Stream, wide: int) -> None:
        self.wide = wide
        self.scores, self.top = found.scores.name, found.top.name
        self.total, self.mixed = found.total.name, found.mixed.name
        self.out = kernel.nests[-1].name
        self.kernel = self._shared(kernel)
        self.batch = self._names(self._nest(self.out).loops[: self._depth - 1])
        self.query = self.kernel.loops[
            self._nest(self.out).loops[self._depth - 1]
        ].name

    @property
    def _depth(self) -> int:
        """How many loops the output shares with the mix: batch and query."""
        mine, theirs = self._nest(self.out).loops, self._nest(self.mixed).loops
        return sum(1 for a, b in zip(mine, theirs, strict=False) if a == b)

    def _nest(self, name: str) -> Nest:
        return self.kernel.nest(name)

    def _names(self, axes: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(self.kernel.loops[a].name for a in axes)

    def _shared(self, kernel: Kernel) -> Kernel:
        """All nests inside the loops over batch and query."""
        top, mixed = kernel.nest(self.top), kernel.nest(self.mixed)
        at = len(top.dims) - 1
        query = kernel.loops[kernel.nest(self.out).loops[at]].name
        kernel = compute_at(kernel, self.mixed, self.out, query)
        inner = kernel.loops[kernel.nest(self.mixed).loops[at]].name
        assert inner == query
        assert len(mixed.dims) == len(top.dims) + 1
        for name in (self.total, self.top, self.scores):
            kernel = compute_at(kernel, name, self.mixed, query)
        return kernel

    def run(self) -> Kernel:
        self._online()
        self._queries()
        self._score_tiles()
        self._mix_tiles()
        self._output()
        return self._chunks()

    def _reduced(self, name: str) -> str:
        return self._names(self._nest(name).reduced)[0]

    def _online(self) -> None:
        """Blocks of keys; maximum, sum and mix follow each other inside each block."""
        names = (self.top, self.total, self.mixed)
        loops = [self._reduced(n) for n in names]
        keys = self._names(self._nest(self.scores).dims[-1:])[0]
        for loop in (*loops, keys):
            self.kernel = split(self.kernel, loop, KEYS, f"{loop}_b", f"{loop}_k")
        self.block = f"{loops[0]}_b"
        self.kernel = online(self.kernel, names, tuple(f"{n}_b" for n in loops))
        self.kernel = compute_at(
            self.kernel, self.scores, f"{self.top}.part", self.block
        )
        self.keys, self.top_keys = f"{keys}_k", f"{loops[0]}_k"
        self.sum_keys, self.mix_keys = f"{loops[1]}_k", f"{loops[2]}_k"
        body = self._nest(f"{self.total}.part").body
        assert isinstance(body, Reduce)
        self.kernel = stage(
            self.kernel,
            f"{self.total}.part",
            body.values[0],
            self.block,
            "p",
            Scope.STACK,
        )
        self.kernel = share(
            self.kernel,
            "p",
            f"{self.mixed}.part",
            self.mix_keys,
            f"p.{self.sum_keys}",
        )

    def _queries(self) -> None:
        """The query axis as block, vectors, lanes; lanes innermost everywhere."""
        self.kernel = split(
            self.kernel, self.query, QUERY_VECTORS * self.wide, "q_b", "q_t"
        )
        self.kernel = split(self.kernel, "q_t", self.wide, "q_u", "q_v")
        for nest in self.kernel.nests:
            names = self._names(nest.loops)
            rest = [n for n in names if n not in (*self.batch, "q_b", "q_u", "q_v")]
            self.kernel = reorder(
                self.kernel, nest.name, *self.batch, "q_b", *rest, "q_u", "q_v"
            )
            dims = self._names(nest.dims)
            if {"q_u", "q_v"} <= set(dims):
                first = [d for d in dims if d not in ("q_u", "q_v")]
                self.kernel = layout(self.kernel, nest.name, *first, "q_u", "q_v")
        self.kernel = vector(unroll(self.kernel, "q_u"), "q_v")

    def _score_tiles(self) -> None:
        """KEY_ROWS keys against the vectors of queries, summed over the depth."""
        depth = self._reduced(self.scores)
        self.kernel = split(self.kernel, self.keys, KEY_ROWS, "key_o", "key_r")
        self.kernel = reorder(
            self.kernel,
            self.scores,
            *self.batch,
            "q_b",
            self.block,
            "key_o",
            depth,
            "key_r",
            "q_u",
            "q_v",
        )
        self.kernel = edge(unroll(self.kernel, "key_r"), "key_o", Edge.PEEL)
        self.kernel = hold(self.kernel, self.scores, f"{self.scores}.sum")
        query = self._operand(f"{self.scores}.sum", "q_v")
        self.kernel = stage(
            self.kernel,
            f"{self.scores}.sum",
            query,
            "q_b",
            "queries",
            Scope.PACKED,
            (depth, "q_u", "q_v"),
        )
        self.kernel = vector(unroll(self.kernel, "queries.q_u"), "queries.q_v")

    def _operand(self, name: str, loop: str) -> UOp:
        """The factor of a contraction that varies along a loop."""
        body = self._nest(name).body
        assert isinstance(body, Reduce)
        axis = self.kernel.loop(loop).axis
        return next(s for s in body.values[0].src if axis in axes_in(s))

    def _mix_tiles(self) -> None:
        """KEY_ROWS features against the vectors of queries, summed over the keys of the block."""
        part = f"{self.mixed}.part"
        feature = self._names(self._nest(part).dims)
        own = next(
            n
            for n in feature
            if n not in (*self.batch, "q_b", "q_u", "q_v", self.block)
        )
        self.kernel = split(self.kernel, own, KEY_ROWS, "f_o", "f_r")
        front = (*self.batch, "q_b", self.block, "f_o")
        self.kernel = reorder(
            self.kernel, part, *front, self.mix_keys, "f_r", "q_u", "q_v"
        )
        self.kernel = reorder(self.kernel, self.mixed, *front, "f_r", "q_u", "q_v")
        self.kernel = edge(unroll(self.kernel, "f_r"), "f_o", Edge.PEEL)

    def _output(self) -> None:
        """The mix lies feature by feature; square tiles turned in registers store it query by query."""
        own = next(
            n
            for n in self._names(self._nest(self.out).loops)
            if n not in (*self.batch, "q_b", "q_u", "q_v")
        )
        self.kernel = split(self.kernel, own, self.wide, "o_o", "o_t")
        self.kernel = unroll(detach(self.kernel, self.out, "q_v", "o_q"), "o_q")
        self.kernel = reorder(
            self.kernel, self.out, *self.batch, "q_b", "o_o", "q_u", "o_q", "o_t"
        )
        value = self._nest(self.out).expressions()[1]
        self.kernel = stage(
            self.kernel,
            self.out,
            value,
            "q_u",
            "turn",
            Scope.REGISTER,
            ("o_t", "o_q"),
        )
        self.kernel = vector(unroll(self.kernel, "turn.o_t"), "turn.o_q")
        self.kernel = vector(self.kernel, "o_t")

    def _chunks(self) -> Kernel:
        axes = tuple(self.kernel.loop(n).axis for n in (*self.batch, "q_b"))
        kernel, chunk = fuse_all(self.kernel, axes, "tile")
        return bind(kernel, chunk, LoopKind.CHUNK)
