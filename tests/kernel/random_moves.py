"""Random schedules. In: a kernel and a seed. Out: the kernel after a few random moves; illegal ones are left out."""

from __future__ import annotations

import random
from collections.abc import Callable

from ingot.errors import MoveError
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Ops, Scope
from ingot.kernel.launches import Built
from ingot.kernel.moves import (
    bind,
    detach,
    edge,
    fuse,
    reorder,
    split,
    unroll,
    vector,
)
from ingot.kernel.nest import Edge, Kernel, Map, Nest, Reduce
from ingot.kernel.pipeline import pipeline
from ingot.kernel.reduction import hold, online, rfactor
from ingot.kernel.specialise import predicate
from ingot.kernel.staging import compute_at, layout, share, stage
from tests.kernel.execute import built


class Mover:
    """Tries random moves; what raises MoveError, now or when the tree is built, was no move."""

    def __init__(self, kernel: Kernel, seed: int) -> None:
        self.random = random.Random(seed)
        self.kernel = kernel
        self.built = built(kernel)
        self.count = 0
        self.trying: tuple[str, ...] = ()
        self.refused: list[str] = []

    def run(self, steps: int) -> Built:
        for _ in range(steps):
            self.step()
        return self.built

    def step(self) -> None:
        attempt = self.random.choice(ATTEMPTS)
        try:
            moved = attempt(self)
            if moved is None:
                return
            self.trying = moved.moves
            made = built(moved)
        except MoveError as error:
            self.refused.append(f"{attempt.__name__}: {error}")
            return
        self.kernel, self.built = moved, made

    # --- what to move ---------------------------------------------------------------------------------------------

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def loop(self) -> str:
        return self.random.choice([lp.name for lp in self.kernel.loops.values()])

    def short_loop(self) -> str:
        """One that a split has given a constant capacity, if there is one."""
        short = [
            lp.name
            for lp in self.kernel.loops.values()
            if lp.capacity.op is Ops.CONST
        ]
        return self.random.choice(short) if short else self.loop()

    def nest(self) -> Nest:
        return self.random.choice(self.kernel.nests)

    def loops_of(self, axes: tuple[int, ...]) -> list[str]:
        return [self.kernel.loops[a].name for a in axes]

    def shuffled(self, names: list[str]) -> list[str]:
        return self.random.sample(names, len(names))

    def value(self, nest: Nest) -> UOp | None:
        """A part of what a nest computes: a load or an operation on one."""
        nodes = {u: None for e in nest.expressions() for u in e.toposort()}
        fitting = [
            u
            for u in nodes
            if u.dtype.is_float
            and (u.op is Ops.LOAD or (u.src and u.op in (Ops.MUL, Ops.EXP)))
        ]
        return self.random.choice(fitting) if fitting else None


# --- one attempt a move -----------------------------------------------------------------------------------------------


def try_split(m: Mover) -> Kernel:
    return split(
        m.kernel,
        m.loop(),
        m.random.choice((2, 3, 4, 16)),
        m.fresh("o"),
        m.fresh("i"),
    )


def try_reorder(m: Mover) -> Kernel:
    nest = m.nest()
    return reorder(m.kernel, nest.name, *m.shuffled(m.loops_of(nest.loops)))


def try_vector(m: Mover) -> Kernel:
    """Most often the innermost loop of a nest, split if need be."""
    names = m.loops_of(m.nest().loops)
    if not names or m.random.random() < 0.2:
        return vector(m.kernel, m.short_loop())
    inner = m.kernel.loop(names[-1])
    if inner.capacity.op is Ops.CONST:
        return vector(m.kernel, inner.name)
    lane = m.fresh("v")
    return vector(split(m.kernel, inner.name, 4, m.fresh("o"), lane), lane)


def try_unroll(m: Mover) -> Kernel:
    return unroll(m.kernel, m.short_loop())


def try_bind(m: Mover) -> Kernel:
    return bind(m.kernel, m.loop(), LoopKind.CHUNK)


def try_edge(m: Mover) -> Kernel:
    return edge(m.kernel, m.loop(), m.random.choice((Edge.PEEL, Edge.MASK)))


def try_predicate(m: Mover) -> Kernel:
    return predicate(m.kernel, m.short_loop())


def try_stage(m: Mover) -> Kernel | None:
    nest = m.nest()
    names = m.loops_of(nest.loops)
    at = m.random.choice([None, *names])
    scope = m.random.choice((Scope.REGISTER, Scope.STACK, Scope.PACKED))
    value = m.value(nest)
    return (
        stage(m.kernel, nest.name, value, at, m.fresh("t"), scope)
        if value is not None
        else None
    )


def try_share(m: Mover) -> Kernel | None:
    tiles = [n for n in m.kernel.nests if isinstance(n.body, Map) and n.dims]
    others = [n for n in m.kernel.nests if n.loops]
    if not tiles:
        return None
    tile, user = m.random.choice(tiles), m.random.choice(others)
    along = m.random.choice(m.loops_of(tile.dims))
    return share(
        m.kernel,
        tile.name,
        user.name,
        m.random.choice(m.loops_of(user.loops)),
        along,
    )


def try_compute_at(m: Mover) -> Kernel | None:
    pairs = [
        (n, r) for n in m.kernel.nests for r, _ in m.kernel.readers(n) if r.loops
    ]
    if not pairs:
        return None
    nest, reader = m.random.choice(pairs)
    return compute_at(
        m.kernel, nest.name, reader.name, m.random.choice(m.loops_of(reader.loops))
    )


def try_fuse(m: Mover) -> Kernel | None:
    names = m.loops_of(m.nest().loops)
    if len(names) < 2:
        return None
    at = m.random.randrange(len(names) - 1)
    return fuse(m.kernel, names[at], names[at + 1], m.fresh("c"))


def try_layout(m: Mover) -> Kernel | None:
    nest = m.nest()
    return (
        layout(m.kernel, nest.name, *m.shuffled(m.loops_of(nest.dims)))
        if len(nest.dims) > 1
        else None
    )


def try_detach(m: Mover) -> Kernel | None:
    nest = m.nest()
    names = m.loops_of(nest.loops)
    return (
        detach(m.kernel, nest.name, m.random.choice(names), m.fresh("d"))
        if names
        else None
    )


def reduction(m: Mover) -> Nest:
    return m.random.choice(
        [n for n in m.kernel.nests if isinstance(n.body, Reduce)]
        or list(m.kernel.nests)
    )


def try_rfactor(m: Mover) -> Kernel | None:
    nest = reduction(m)
    names = m.loops_of(nest.reduced)
    if len(names) < 2:
        return None
    kept = m.random.sample(names, m.random.randrange(1, len(names)))
    return rfactor(m.kernel, nest.name, *kept, name=m.fresh("part"))


def try_hold(m: Mover) -> Kernel:
    return hold(m.kernel, reduction(m).name, m.fresh("acc"))


def try_online(m: Mover) -> Kernel | None:
    names = {n.name: n for n in m.kernel.nests if n.reduced}
    if not {"top", "total"} <= set(names):
        return None
    kernel = m.kernel
    for nest in ("total", "top"):
        kernel = compute_at(
            kernel, nest, "out", m.loops_of(kernel.nest("out").loops)[0]
        )
    pick = [
        m.random.choice(m.loops_of(kernel.nest(n).reduced))
        for n in ("top", "total")
    ]
    return online(kernel, ("top", "total"), (pick[0], pick[1]))


def try_pipeline(m: Mover) -> Kernel:
    return pipeline(m.kernel, m.nest().name, m.random.choice((2, 3)))


ATTEMPTS: tuple[Callable[[Mover], Kernel | None], ...] = (
    *(
        try_split,
        try_split,
        try_split,
        try_reorder,
        try_reorder,
        try_compute_at,
        try_compute_at,
        try_stage,
        try_stage,
    ),
    *(
        try_vector,
        try_unroll,
        try_bind,
        try_edge,
        try_predicate,
        try_share,
        try_fuse,
        try_layout,
        try_detach,
    ),
    *(try_rfactor, try_rfactor, try_hold, try_online, try_pipeline),
)
