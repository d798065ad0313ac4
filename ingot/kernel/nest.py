"""A kernel before it is a tree: loops, and nests that share them. In: schedule/. Out: what the moves rewrite.

A nest computes one value (or stores one output) inside a list of loops, outermost first. Nests are kept in the order in
which they run, and two neighbours that name the same loops share them: `[i, j1]` and `[i, j2]` are one loop `i` with two
loops inside. A nest reads another by VALUE(*indices), one index per axis in the other's `dims`.

    m    [i, j1]  m[i]  = max over j1 of x[i, j1]
    s    [i, j2]  s[i]  = sum over j2 of exp(x[i, j2] - m[i])          one loop over i, three inside
    out  [i, j]   out[i, j] = exp(x[i, j] - m[i]) / s[i]

Where a value is stored follows from this: an axis that the nest shares with all readers needs no storage.
Extents are run-time values; `capacity` is what a loop's extent can at most be, without any loop counter in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import cast
from weakref import WeakKeyDictionary

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import AxisArg, LoopKind, Ops, Scope, StateArg, ValueArg
from ingot.ir.rewrite import substitute


class Edge(Enum):
    """What happens to the last, partial tile of a loop."""

    MASK = "mask"  # every iteration asks whether it is inside
    PEEL = "peel"  # full tiles ask nothing; the partial one runs after them
    CLAMP = "clamp"  # past the end the last element is read again, and what comes of it is stored nowhere


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop. Its counter in expressions is AXIS(axis)."""

    axis: int
    name: str
    extent: UOp
    capacity: UOp
    kind: LoopKind = LoopKind.LOOP
    edge: Edge = Edge.MASK
    full: UOp | None = None  # of the outer loop of a split: how many tiles are full
    tile: tuple[UOp, UOp] | None = (
        None  # and how long its tiles are: this one, and a full one
    )

    @property
    def counter(self) -> UOp:
        return UOp.axis(self.axis, self.name)

    @property
    def guarded(self) -> bool:
        """Runs its whole capacity, so that statements must ask whether they are inside the extent."""
        return self.kind in WHOLE and self.extent is not self.capacity

    @property
    def inside(self) -> UOp:
        return self.counter < self.extent

    def substituted(self, mapping: Mapping[UOp, UOp]) -> Loop:
        """The loop with counters of other loops replaced in its extent."""
        full = None if self.full is None else substitute(self.full, mapping)
        tile = (
            None
            if self.tile is None
            else (
                substitute(self.tile[0], mapping),
                substitute(self.tile[1], mapping),
            )
        )
        return replace(
            self, extent=substitute(self.extent, mapping), full=full, tile=tile
        )


WHOLE = frozenset({LoopKind.UNROLL, LoopKind.VECTOR, LoopKind.WARP, LoopKind.LANE})
THREADS = frozenset({LoopKind.WARP, LoopKind.LANE})
GRID = frozenset({LoopKind.CHUNK, LoopKind.BLOCK})


@dataclass(frozen=True, slots=True)
class Store:
    """An output: buffer[offset] = value."""

    buffer: UOp
    offset: UOp
    value: UOp
    uncached: bool = False  # written past the caches


@dataclass(frozen=True, slots=True)
class Map:
    """A value kept for others to read."""

    value: UOp


@dataclass(frozen=True, slots=True)
class Reduce:
    """A tuple state folded over `axes`.

    `combines` merge two states: STATE(0..n-1) and STATE(n..2n-1). A step merges the state with `values`; a running
    reduction, which has `steps` instead, gives its next state directly as expressions over STATE(0..n-1).
    """

    axes: tuple[int, ...]
    inits: tuple[UOp, ...]
    values: tuple[UOp, ...]
    combines: tuple[UOp, ...]
    steps: tuple[UOp, ...] = ()

    @property
    def n(self) -> int:
        return len(self.inits)


@dataclass(frozen=True, slots=True)
class Prefix(Reduce):
    """A reduction over one axis that stores its state after every step: buffers[j][offset] = state j.

    `lanes`: the loop whose neighbours run side by side in a vector, if any (see prefix.py).
    """

    buffers: tuple[UOp, ...] = ()
    offset: UOp = field(default_factory=lambda: UOp.const(dt.index, 0))
    reverse: bool = False
    lanes: int | None = None


Body = Store | Map | Reduce


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a tile keeps the value at its counters, if that is not row by row: padded rows, swizzled columns."""

    offset: UOp
    size: UOp


@dataclass(frozen=True, slots=True)
class Ahead:
    """A tile filled `depth - 1` iterations of a loop before it is read; it has room for `depth` of them."""

    axis: int
    depth: int


@dataclass(frozen=True, slots=True)
class Nest:
    """One value in its loops."""

    id: int
    name: str
    loops: tuple[int, ...]
    dims: tuple[int, ...]
    body: Body
    scope: Scope | None = None
    conditions: tuple[
        UOp, ...
    ] = ()  # it acts only where these hold, beside the extents of its loops
    layout: Layout | None = None
    ahead: Ahead | None = None

    @property
    def reduced(self) -> tuple[int, ...]:
        return self.body.axes if isinstance(self.body, Reduce) else ()

    @property
    def types(self) -> tuple[dt.DType, ...]:
        if isinstance(self.body, Reduce):
            return tuple(i.dtype for i in self.body.inits)
        return (self.body.value.dtype,)

    def expressions(self) -> tuple[UOp, ...]:
        """Everything that it evaluates."""
        body = self.body
        if isinstance(body, Store):
            return body.offset, body.value
        if isinstance(body, Map):
            return (body.value,)
        if isinstance(body, Prefix):
            return body.offset, *body.inits, *body.values
        return *body.inits, *body.values, *body.steps

    def value(self, *indices: UOp, slot: int = 0) -> UOp:
        """A read of this nest."""
        return UOp(Ops.VALUE, self.types[slot], indices, ValueArg(self.id, slot))

    def map(self, change: Callable[[UOp], UOp]) -> Nest:
        """The same nest with its expressions changed."""
        conditions = tuple(map(change, self.conditions))
        layout = (
            None
            if self.layout is None
            else replace(self.layout, offset=change(self.layout.offset))
        )
        return replace(
            self,
            body=_changed(self.body, change),
            conditions=conditions,
            layout=layout,
        )


def _changed(body: Body, change: Callable[[UOp], UOp]) -> Body:
    if isinstance(body, Store):
        return replace(body, offset=change(body.offset), value=change(body.value))
    if isinstance(body, Map):
        return Map(change(body.value))
    if isinstance(body, Prefix):
        values = tuple(map(change, body.values))
        return replace(body, offset=change(body.offset), values=values)
    return replace(
        body,
        values=tuple(map(change, body.values)),
        steps=tuple(map(change, body.steps)),
    )


@dataclass(frozen=True, slots=True)
class Kernel:
    """Loops by axis, nests in running order, buffers and the moves made so far."""

    name: str
    loops: Mapping[int, Loop]
    nests: tuple[Nest, ...]
    params: tuple[UOp, ...]
    moves: tuple[str, ...] = ()
    guards: tuple[UOp, ...] = ()
    grouped: bool = False
    trail: tuple[Kernel, ...] = field(
        default=(), compare=False, repr=False
    )  # the kernel after each of its moves

    def nest(self, name: str) -> Nest:
        """The nest called `name`."""
        found = [n for n in self.nests if n.name == name]
        if len(found) != 1:
            raise KeyError(
                f"{len(found)} nests are called {name!r} in {self.name}; there are {[n.name for n in self.nests]}"
            )
        return found[0]

    def loop(self, name: str) -> Loop:
        """The loop called `name`."""
        found = [lp for lp in self.loops.values() if lp.name == name]
        if len(found) != 1:
            names = sorted(lp.name for lp in self.loops.values())
            raise KeyError(
                f"{len(found)} loops are called {name!r} in {self.name}; there are {names}"
            )
        return found[0]

    def by_id(self, number: int) -> Nest:
        return next(n for n in self.nests if n.id == number)

    def readers(self, nest: Nest) -> Iterator[tuple[Nest, UOp]]:
        """(reader, VALUE node) of every read."""
        for other in self.nests:
            for expression in other.expressions():
                for node in values_in(expression):
                    if cast(ValueArg, node.arg).nest == nest.id:
                        yield other, node

    def reads(self) -> dict[int, list[tuple[Nest, UOp]]]:
        """Nest id -> (reader, VALUE node) of every read of it."""
        found: dict[int, list[tuple[Nest, UOp]]] = {n.id: [] for n in self.nests}
        for other in self.nests:
            for expression in other.expressions():
                for node in values_in(expression):
                    found[cast(ValueArg, node.arg).nest].append((other, node))
        return found

    def with_nest(self, changed: Nest) -> Kernel:
        return replace(
            self,
            nests=tuple(changed if n.id == changed.id else n for n in self.nests),
        )

    def with_loops(self, *loops: Loop, without: Iterable[int] = ()) -> Kernel:
        table = {a: lp for a, lp in self.loops.items() if a not in set(without)}
        return replace(self, loops=table | {lp.axis: lp for lp in loops})

    def fresh_axis(self) -> int:
        return 1 + max(self.loops, default=-1)

    def fresh_nest(self) -> int:
        return 1 + max((n.id for n in self.nests), default=-1)

    def noted(self, move: str) -> Kernel:
        """The kernel with one more line in its list of moves; what it is now is kept for whoever looks for a wrong move."""
        return replace(
            self,
            moves=(*self.moves, move),
            trail=(*self.trail, replace(self, trail=())),
        )


def values_in(expression: UOp) -> list[UOp]:
    """The reads of other nests in an expression."""
    return [u for u in expression.toposort() if u.op is Ops.VALUE]


_axes: WeakKeyDictionary[UOp, frozenset[int]] = WeakKeyDictionary()


def axes_in(expression: UOp) -> frozenset[int]:
    """The loops whose counters an expression uses."""
    found = _axes.get(expression)
    if found is None:
        counters = (u.arg for u in expression.toposort() if u.op is Ops.AXIS)
        found = _axes[expression] = frozenset(
            cast(AxisArg, arg).id for arg in counters
        )
    return found


def steps_of(body: Reduce) -> tuple[UOp, ...]:
    """The next state over STATE(0..n-1): the combine with this iteration's values put in."""
    if body.steps:
        return body.steps
    by_slot = {body.n + j: value for j, value in enumerate(body.values)}
    return tuple(fill_states(c, by_slot) for c in body.combines)


def fill_states(expression: UOp, by_slot: Mapping[int, UOp]) -> UOp:
    """Put values where STATE placeholders stand."""
    states = [u for u in expression.toposort() if u.op is Ops.STATE]
    slots = {u: cast(StateArg, u.arg).slot for u in states}
    return substitute(
        expression, {u: by_slot[s] for u, s in slots.items() if s in by_slot}
    )


def sum_combine(dtype: dt.DType) -> UOp:
    return UOp.state(dtype, 0) + UOp.state(dtype, 1)


def max_combine(dtype: dt.DType) -> UOp:
    return UOp.state(dtype, 0).maximum(UOp.state(dtype, 1))
