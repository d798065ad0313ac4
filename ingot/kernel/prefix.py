"""Running values along an axis: cumsum and its like. In: a kernel of one Prefix. Out: loop trees.

    columns   another axis runs through memory: its elements are the lanes of a vector, each with a state of its own
    strands   rows run through memory: a row is cut into parts, the totals of the parts are added up, and every part begins
              with what comes before it. A part is a chain in which each step waits for the last one, so several go side
              by side.

How a row is cut follows from its length alone: a result has the same bits whoever computes a part, and a row of at most
`PART` elements is one part, from the first element to the last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, ParamArg
from ingot.ir.rewrite import substitute
from ingot.kernel.launches import Built, launched
from ingot.kernel.nest import Kernel, Loop, Nest, Prefix, fill_states
from ingot.kernel.plan import Plan, expected
from ingot.kernel.skeleton.write import (
    ONE,
    Author,
    Register,
    ceil_div,
    load,
    number,
    store,
    when,
)
from ingot.kernel.structure import unit_axis

PART = (
    1 << 13
) - 16  # parts side by side begin in different lines of the first cache
SIDE_BY_SIDE = 8
LANES = 16
BLOCK = 4  # vectors that a chunk of columns has
WORK = 1 << 15  # elements of a chunk, about


def is_running(kernel: Kernel) -> bool:
    return any(isinstance(nest.body, Prefix) for nest in kernel.nests)


def plan(kernel: Kernel, hints: Mapping[UOp, int]) -> Plan:
    """Columns where a vector's worth of them lie side by side."""
    nest = kernel.nests[-1]
    body = cast(Prefix, nest.body)
    unit = unit_axis(kernel, nest, body.offset)
    if unit is None or unit in body.axes:
        return Plan(kernel.noted("strands"))
    wide = kernel.loops[unit].extent < LANES
    if expected(wide, hints):
        return Plan(kernel.noted("strands"), (wide,))
    moved = kernel.with_nest(replace(nest, body=replace(body, lanes=unit)))
    return Plan(moved.noted("columns"), (wide.ne(True),))


def build(kernel: Kernel) -> Built:
    """The trees of a running value."""
    nest = kernel.nests[-1]
    lanes = cast(Prefix, nest.body).lanes
    return (
        Columns(kernel, nest).built()
        if lanes is not None
        else Strands(kernel, nest).built()
    )


class Running:
    """What both ways share: the loops, and one step of the chain."""

    def __init__(self, kernel: Kernel, nest: Nest) -> None:
        self.kernel = kernel
        self.body = cast(Prefix, nest.body)
        self.axis = kernel.loops[self.body.axes[0]]
        self.length = self.axis.extent
        apart = {self.axis.axis, self.body.lanes}
        self.outer = [kernel.loops[a] for a in nest.loops if a not in apart]
        self.rows = ONE
        for loop in self.outer:
            self.rows = self.rows * loop.extent

    def place(self, position: UOp) -> UOp:
        """The element that step `position` reads."""
        return self.length - 1 - position if self.body.reverse else position

    def coordinates(self, row: UOp) -> dict[UOp, UOp]:
        """The counters of the other loops in a row."""
        found: dict[UOp, UOp] = {}
        for loop in reversed(self.outer):
            only = loop is self.outer[0]
            found[loop.counter] = row if only else row % loop.extent
            row = row // loop.extent
        return found

    def step(
        self,
        at: Mapping[UOp, UOp],
        states: Sequence[Register],
        nexts: Sequence[Register],
    ) -> list[UOp]:
        """The states after one more element."""
        olds = {j: state.get() for j, state in enumerate(states)}
        values = [substitute(v, at) for v in self.body.values]
        given = olds | {len(olds) + j: v for j, v in enumerate(values)}
        news = [fill_states(c, given) for c in self.body.combines]
        if len(news) == 1:
            return [states[0].put(news[0])]
        return [
            *(n.put(new) for n, new in zip(nexts, news, strict=True)),
            *(s.put(n.get()) for s, n in zip(states, nexts, strict=True)),
        ]

    def kept(self, at: Mapping[UOp, UOp], states: Sequence[Register]) -> list[UOp]:
        offset = substitute(self.body.offset, at)
        return [
            store(b, offset, s.get())
            for b, s in zip(self.body.buffers, states, strict=True)
        ]

    def registers(self, author: Author, name: str, lanes: int = 1) -> list[UOp]:
        types = [init.dtype for init in self.body.inits]
        return [
            author.register(t, f"{name}{j}", lanes).stage
            for j, t in enumerate(types)
        ]


def _at(stages: Sequence[UOp], offset: UOp) -> list[Register]:
    return [Register(stage, offset) for stage in stages]


class Columns(Running):
    """Lanes with a state each; chunks are rows, and blocks of lanes in them."""

    def built(self) -> Built:
        author = Author()
        lanes = self.kernel.loops[cast(int, self.body.lanes)]
        wide = LANES * BLOCK
        blocks = ceil_div(lanes.extent, wide)

        def chunk(c: UOp) -> list[UOp]:
            start = c % blocks * wide
            at = self.coordinates(c // blocks)
            full = (start + wide - 1) < lanes.extent
            rest = lanes.extent - start
            vectors = ceil_div(rest.minimum(wide), LANES)
            whole = self.walk(
                author, lanes, at, lambda u: start + u * LANES, BLOCK, None
            )
            part = author.loop(
                vectors,
                lambda b: self.walk(
                    author,
                    lanes,
                    at,
                    lambda u: start + b * LANES,
                    1,
                    rest - b * LANES,
                ),
            )
            return [when(full, *whole), when(full.ne(True), part)]

        body = author.chunks(self.rows * blocks, chunk)
        return Built(launched(self.kernel.name, [(body,)], self.kernel.params), ())

    def walk(
        self,
        author: Author,
        lanes: Loop,
        row: Mapping[UOp, UOp],
        first: Callable[[UOp], UOp],
        vectors: int,
        rest: UOp | None,
    ) -> list[UOp]:
        """Down the columns of some vectors; with `rest`, so many lanes are left."""
        states = self.registers(author, "state", LANES * vectors)
        nexts = self.registers(author, "next", LANES * vectors)

        def clear(u: UOp, v: UOp) -> list[UOp]:
            at = u * LANES + v
            return [
                s.put(i)
                for s, i in zip(_at(states, at), self.body.inits, strict=True)
            ]

        def lane(j: UOp, u: UOp, v: UOp) -> list[UOp]:
            here = {
                **row,
                self.axis.counter: self.place(j),
                lanes.counter: first(u) + v,
            }
            own, new = _at(states, u * LANES + v), _at(nexts, u * LANES + v)
            made = [*self.step(here, own, new), *self.kept(here, own)]
            return made if rest is None else [masked(s, v < rest) for s in made]

        def each(body: Callable[[UOp, UOp], list[UOp]]) -> UOp:
            return author.unroll(
                vectors, lambda u: [author.vector(LANES, partial(body, u))]
            )

        down = author.loop(self.length, lambda j: [each(partial(lane, j))])
        return [*states, *nexts, each(clear), down]


def masked(statement: UOp, inside: UOp) -> UOp:
    """A store, and its loads from memory, only where a lane is inside."""
    changed: dict[UOp, UOp] = {}
    for node in statement.toposort():
        src = tuple(changed.get(s, s) for s in node.src)
        made = node if src == node.src else node.replace(src=src)
        if node.op is Ops.LOAD and node.src[0].op is Ops.PARAM:
            made = _masked_load(made, inside)
        if made is not node:
            changed[node] = made
    made = changed.get(statement, statement)
    in_memory = statement.src[0].op is Ops.PARAM
    return made.replace(src=(*made.src, inside)) if in_memory else made


def _masked_load(load_: UOp, inside: UOp) -> UOp:
    if len(load_.src) == 2:
        return load_.replace(src=(*load_.src, inside, UOp.const(load_.dtype, 0)))
    return load_.replace(src=(*load_.src[:2], load_.src[2] & inside, load_.src[3]))


@dataclass(frozen=True, slots=True)
class Strand:
    """One part of one row."""

    row: UOp
    start: UOp
    index: UOp


class Strands(Running):
    """Parts of rows, several side by side."""

    def __init__(self, kernel: Kernel, nest: Nest) -> None:
        super().__init__(kernel, nest)
        self.parts = ceil_div(self.length, PART).maximum(1)
        self.count = self.rows * self.parts
        slot = len(kernel.params)
        types = [init.dtype for init in self.body.inits]
        self.totals = [
            UOp(Ops.PARAM, t, (), ParamArg(slot + j, True))
            for j, t in enumerate(types)
        ]

    def built(self) -> Built:
        bodies = [self.walked(stores=False), self.added(), self.walked(stores=True)]
        params = (*self.kernel.params, *self.totals)
        made = launched(self.kernel.name, bodies, params)
        return Built(made, tuple((t.dtype, self.count) for t in self.totals))

    def strand(self, index: UOp) -> Strand:
        return Strand(index // self.parts, index % self.parts * PART, index)

    def walked(self, *, stores: bool) -> tuple[UOp, ...]:
        """Every part from its first element to its last. The totals of rows that are one part are asked for by nobody."""
        author = Author()
        long = self.length.minimum(PART)
        groups = (number(WORK) // (long * SIDE_BY_SIDE).maximum(1)).maximum(1)
        all_groups = ceil_div(self.count, SIDE_BY_SIDE)

        def chunk(c: UOp) -> list[UOp]:
            left = (all_groups - c * groups).minimum(groups)
            return [author.loop(left, lambda g: group(c * groups + g))]

        def group(g: UOp) -> list[UOp]:
            first = g * SIDE_BY_SIDE
            last = self.strand(first + (SIDE_BY_SIDE - 1))
            even = (last.index < self.count) & self._whole(first)
            together = self.together(author, first, long, stores)
            alone = author.loop(
                (self.count - first).minimum(SIDE_BY_SIDE),
                lambda u: self.alone(author, first + u, stores),
            )
            return [when(even, *together), when(even.ne(True), alone)]

        body = author.chunks(ceil_div(all_groups, groups), chunk)
        if stores:
            return (body,)
        return (body.replace(src=(self._if_cut(body.src[0]), *body.src[1:])),)

    def _if_cut(self, chunks: UOp) -> UOp:
        """No chunks at all where rows are not cut."""
        return chunks * (self.parts - 1).minimum(1)

    def _whole(self, first: UOp) -> UOp:
        """No strand of a group is shorter than the others."""
        whole = self.parts.eq(1)
        ends = [self.strand(first + u).start + PART for u in range(SIDE_BY_SIDE)]
        shortest = ends[0]
        for end in ends[1:]:
            shortest = shortest.maximum(end)
        return whole | (shortest - 1 < self.length)

    def together(
        self, author: Author, first: UOp, long: UOp, stores: bool
    ) -> list[UOp]:
        states = self.registers(author, "state", SIDE_BY_SIDE)
        nexts = self.registers(author, "next", SIDE_BY_SIDE)

        def begin(u: UOp) -> list[UOp]:
            return self.begun(self.strand(first + u), _at(states, u), stores)

        def step(j: UOp, u: UOp) -> list[UOp]:
            own = self.strand(first + u)
            return self.stepped(own, j, _at(states, u), _at(nexts, u), stores)

        def end(u: UOp) -> list[UOp]:
            return (
                []
                if stores
                else self.totalled(self.strand(first + u), _at(states, u))
            )

        each = partial(author.unroll, SIDE_BY_SIDE)
        walk = author.loop(long, lambda j: [each(partial(step, j))])
        closing = [] if stores else [each(end)]
        return [*states, *nexts, each(begin), walk, *closing]

    def alone(self, author: Author, index: UOp, stores: bool) -> list[UOp]:
        states = self.registers(author, "own")
        nexts = self.registers(author, "own_next")
        own, new = _at(states, number(0)), _at(nexts, number(0))
        strand = self.strand(index)
        left = (self.length - strand.start).minimum(PART)
        walk = author.loop(
            left, lambda j: self.stepped(strand, j, own, new, stores)
        )
        closing = [] if stores else self.totalled(strand, own)
        return [*states, *nexts, *self.begun(strand, own, stores), walk, *closing]

    def begun(
        self, strand: Strand, states: list[Register], stores: bool
    ) -> list[UOp]:
        """What comes before the strand, or nothing."""
        inits = self.body.inits
        if not stores:
            return [s.put(i) for s, i in zip(states, inits, strict=True)]
        cut = strand.start.ne(0)
        zeros = [UOp.const(i.dtype, 0) for i in inits]
        before = [
            UOp(Ops.LOAD, t.dtype, (t, strand.index, cut, zero))
            for t, zero in zip(self.totals, zeros, strict=True)
        ]
        return [
            s.put(cut.where(b, i))
            for s, b, i in zip(states, before, inits, strict=True)
        ]

    def stepped(
        self,
        strand: Strand,
        j: UOp,
        states: list[Register],
        nexts: list[Register],
        stores: bool,
    ) -> list[UOp]:
        at = {
            **self.coordinates(strand.row),
            self.axis.counter: self.place(strand.start + j),
        }
        made = self.step(at, states, nexts)
        return [*made, *self.kept(at, states)] if stores else made

    def totalled(self, strand: Strand, states: list[Register]) -> list[UOp]:
        return [
            store(t, strand.index, s.get())
            for t, s in zip(self.totals, states, strict=True)
        ]

    def added(self) -> tuple[UOp, ...]:
        """Totals become what comes before each part."""
        author = Author()
        states, held, nexts = (
            _at(self.registers(author, name), number(0))
            for name in ("state", "held", "next")
        )

        def row(r: UOp) -> list[UOp]:
            begin = [s.put(i) for s, i in zip(states, self.body.inits, strict=True)]
            stages = [x.stage for x in (*states, *held, *nexts)]
            return [*stages, *begin, author.loop(self.parts, partial(part, r))]

        def part(r: UOp, p: UOp) -> list[UOp]:
            at = r * self.parts + p
            both = {j: s.get() for j, s in enumerate(states)}
            both |= {len(states) + j: h.get() for j, h in enumerate(held)}
            news = [fill_states(c, both) for c in self.body.combines]
            return [
                *(
                    h.put(load(t, at))
                    for h, t in zip(held, self.totals, strict=True)
                ),
                *(
                    store(t, at, s.get())
                    for t, s in zip(self.totals, states, strict=True)
                ),
                *(n.put(new) for n, new in zip(nexts, news, strict=True)),
                *(s.put(n.get()) for s, n in zip(states, nexts, strict=True)),
            ]

        body = author.chunks(self._if_cut(self.rows), row)
        return (body,)
