"""What must be known of a kernel tree before it is written. In: the KERNEL. Out: kinds of axes, offsets, stores.

Unrolled loops are written out while the tree is walked, so nothing here expands them: an offset keeps its unrolled axes
as factors, and `Offset.at` puts their values in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from ingot.errors import CompileError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    AxisArg,
    ConstArg,
    FoldArg,
    LoopArg,
    LoopKind,
    Ops,
    ParamArg,
    Scope,
    StageArg,
)
from ingot.ir.polynomial import polynomial
from ingot.render.value import Key

Scalar = tuple[int, tuple[UOp, ...]]  # a factor, and values that it multiplies
Unrolled = Mapping[int, int]  # axis -> its value in the copy being written


@dataclass(frozen=True, slots=True)
class Term:
    """coefficient * the unrolled axes * (the vector axis) * the rest"""

    coefficient: int
    unrolled: tuple[int, ...]
    lane: bool
    rest: tuple[UOp, ...]
    by_lane: bool  # no simple multiple of the vector axis


@dataclass(slots=True)
class Placed:
    """An offset with the unrolled axes put in: constant + stride * lane + scalar terms + terms that differ by lane."""

    constant: int
    stride: int
    scalars: list[Scalar]
    vectors: list[tuple[int, tuple[UOp, ...], bool]]


class Offset:
    """An index expression as a sum: constant + stride * lane + multiples of unrolled axes + other terms."""

    __slots__ = ("constant", "inner", "others", "steps", "stride")

    def __init__(self, terms: list[Term], inner: tuple[int, ...]) -> None:
        self.inner = (
            inner  # unrolled axes inside factors that are no axes themselves
        )
        self.constant = 0
        self.stride = 0
        self.steps: list[tuple[int, int]] = []  # (axis, coefficient)
        self.others: list[Term] = []
        for term in terms:
            self._sort(term)

    def _sort(self, term: Term) -> None:
        if term.rest or len(term.unrolled) + term.lane > 1:
            self.others.append(term)
        elif term.lane:
            self.stride += term.coefficient
        elif term.unrolled:
            self.steps.append((term.unrolled[0], term.coefficient))
        else:
            self.constant += term.coefficient

    def fixed(self, unrolled: Unrolled) -> int:
        """The constant part, unrolled axes included."""
        total = self.constant
        for axis, coefficient in self.steps:
            total += coefficient * unrolled[axis]
        return total

    def at(self, unrolled: Unrolled) -> Placed:
        placed = Placed(self.fixed(unrolled), self.stride, [], [])
        for term in self.others:
            factor = term.coefficient
            for axis in term.unrolled:
                factor *= unrolled[axis]
            if factor:
                _add_term(placed, factor, term)
        return placed


def _add_term(placed: Placed, factor: int, term: Term) -> None:
    if term.by_lane:
        placed.vectors.append((factor, term.rest, term.lane))
    elif term.rest:
        placed.scalars.append((factor, term.rest))
    elif term.lane:
        placed.stride += factor
    else:
        placed.constant += factor


@dataclass(frozen=True, slots=True)
class RegisterStore:
    """A store to a register tile: where, how many lanes, and the unrolled loops inside the statement asked about."""

    stage: UOp
    offset: UOp
    lanes: int
    loops: tuple[tuple[int, int], ...]  # (axis, extent)


def buffer_key(buffer: UOp) -> Key:
    """What a PARAM or STAGE is known by."""
    if buffer.op is Ops.PARAM:
        return "param", cast(ParamArg, buffer.arg).slot
    return "stage", cast(StageArg, buffer.arg).id


def is_register(buffer: UOp) -> bool:
    return (
        buffer.op is Ops.STAGE
        and cast(StageArg, buffer.arg).scope is Scope.REGISTER
    )


def children(statement: UOp) -> tuple[UOp, ...]:
    """The statements inside a statement."""
    if statement.op is Ops.KERNEL:
        return statement.src
    return statement.src[1:] if statement.op in (Ops.LOOP, Ops.WHEN) else ()


def targets(statement: UOp) -> list[tuple[UOp, UOp]]:
    """(buffer, offset) of what a STORE or FOLD writes."""
    if statement.op is Ops.STORE:
        return [(statement.src[0], statement.src[1])]
    if statement.op is Ops.FOLD:
        count = cast(FoldArg, statement.arg).n
        return [(t.src[0], t.src[1]) for t in statement.src[1 : 1 + count]]
    return []


def whole(extent: UOp) -> int:
    """The extent of an unrolled or vector loop."""
    if extent.op is not Ops.CONST:
        raise CompileError(
            f"an unrolled or vector loop needs a constant extent, not {extent!r}"
        )
    return cast(ConstArg, extent.arg).bits


class Analysis:
    """Facts about one kernel."""

    def __init__(self, kernel: UOp) -> None:
        self.kinds: dict[int, LoopKind] = {}
        self._offsets: dict[UOp, Offset] = {}
        self._axes: dict[UOp, frozenset[int]] = {}
        self._stored: dict[UOp, frozenset[Key]] = {}
        self._register_stores: dict[UOp, tuple[RegisterStore, ...]] = {}
        self._loads: dict[UOp, tuple[tuple[int, ...], tuple[Key, ...]]] = {}
        self._orders: dict[UOp, tuple[UOp, ...]] = {}
        self._changing: dict[tuple[Scalar, ...], tuple[Key, ...]] = {}
        self._find_kinds(kernel)
        self.stored = self.stored_in(kernel)

    def _find_kinds(self, kernel: UOp) -> None:
        stack = [kernel]
        while stack:
            statement = stack.pop()
            if statement.op is Ops.LOOP or statement.op is Ops.FOLD:
                arg = cast(LoopArg | FoldArg, statement.arg)
                self.kinds[arg.axis] = arg.kind
            stack.extend(children(statement))

    # --- statements ---

    def stored_in(self, statement: UOp) -> frozenset[Key]:
        """The buffers that a statement writes."""
        found = self._stored.get(statement)
        if found is None:
            inside = [self.stored_in(child) for child in children(statement)]
            own = frozenset(buffer_key(buffer) for buffer, _ in targets(statement))
            found = self._stored[statement] = own.union(*inside)
        return found

    def register_stores(self, statement: UOp) -> tuple[RegisterStore, ...]:
        """The stores to register tiles that a statement does to tiles declared outside it."""
        found = self._register_stores.get(statement)
        if found is None:
            found = self._register_stores[statement] = tuple(
                self._find_register_stores(statement)
            )
        return found

    def all_register_stores(self, kernel: UOp) -> Iterator[RegisterStore]:
        """Every store to any register tile."""
        return self._find_register_stores(kernel, everything=True)

    def _find_register_stores(
        self, root: UOp, everything: bool = False
    ) -> Iterator[RegisterStore]:
        declared: set[Key] = set()
        stack: list[tuple[UOp, int, tuple[tuple[int, int], ...]]] = [(root, 1, ())]
        while stack:
            statement, lanes, loops = stack.pop()
            if statement.op is Ops.STAGE:
                declared.add(buffer_key(statement))
            for buffer, offset in targets(statement):
                if is_register(buffer) and (
                    everything or buffer_key(buffer) not in declared
                ):
                    yield RegisterStore(buffer, offset, lanes, loops)
            lanes, loops = self._inside(statement, lanes, loops)
            stack.extend(
                (child, lanes, loops) for child in reversed(children(statement))
            )

    def _inside(
        self, statement: UOp, lanes: int, loops: tuple[tuple[int, int], ...]
    ) -> tuple[int, tuple[tuple[int, int], ...]]:
        if statement.op is not Ops.LOOP:
            return lanes, loops
        arg = cast(LoopArg, statement.arg)
        if arg.kind is LoopKind.VECTOR:
            return whole(statement.src[0]), loops
        if arg.kind is LoopKind.UNROLL:
            return lanes, (*loops, (arg.axis, whole(statement.src[0])))
        return lanes, loops

    # --- expressions ---

    def axes(self, expression: UOp) -> frozenset[int]:
        """The loops that an expression depends on."""
        found = self._axes.get(expression)
        if found is not None:
            return found
        for node in expression.toposort(lambda n: n not in self._axes):
            if node not in self._axes:
                own = (cast(AxisArg, node.arg).id,) if node.op is Ops.AXIS else ()
                self._axes[node] = frozenset(own).union(
                    *(self._axes[s] for s in node.src)
                )
        return self._axes[expression]

    def differs_by_lane(self, expression: UOp) -> bool:
        return any(
            self.kinds.get(a) is LoopKind.VECTOR for a in self.axes(expression)
        )

    def unrolled_axes(self, expression: UOp) -> tuple[int, ...]:
        return tuple(
            sorted(
                a
                for a in self.axes(expression)
                if self.kinds.get(a) is LoopKind.UNROLL
            )
        )

    def offset(self, expression: UOp) -> Offset:
        found = self._offsets.get(expression)
        if found is None:
            found = self._offsets[expression] = self._take_apart(expression)
        return found

    def _take_apart(self, expression: UOp) -> Offset:
        terms = [
            self._term(atoms, factor)
            for atoms, factor in polynomial(expression).items()
        ]
        inner = {
            axis
            for term in terms
            for atom in term.rest
            for axis in self.unrolled_axes(atom)
        }
        return Offset(terms, tuple(sorted(inner)))

    def _term(self, atoms: tuple[UOp, ...], factor: int) -> Term:
        unrolled: list[int] = []
        rest: list[UOp] = []
        lane = False
        for atom in atoms:
            kind = (
                self.kinds.get(cast(AxisArg, atom.arg).id)
                if atom.op is Ops.AXIS
                else None
            )
            if kind is LoopKind.UNROLL:
                unrolled.append(cast(AxisArg, atom.arg).id)
            elif kind is LoopKind.VECTOR and not lane:
                lane = True
            else:
                rest.append(atom)
        by_lane = bool(lane and rest) or any(
            self.differs_by_lane(atom) for atom in rest
        )
        return Term(factor, tuple(unrolled), lane, tuple(rest), by_lane)

    def load_facts(self, load: UOp) -> tuple[tuple[int, ...], tuple[Key, ...]]:
        """The unrolled axes that a LOAD depends on, and the buffers it reads that the kernel also writes."""
        found = self._loads.get(load)
        if found is None:
            read = {
                buffer_key(n.src[0]) for n in load.toposort() if n.op is Ops.LOAD
            }
            changing = tuple(sorted(read & self.stored, key=repr))
            found = self._loads[load] = (self.unrolled_axes(load), changing)
        return found

    def changing_in(self, terms: tuple[Scalar, ...]) -> tuple[Key, ...]:
        """The buffers that parts of an offset read and the kernel also writes."""
        found = self._changing.get(terms)
        if found is None:
            loads = [
                u
                for _, atoms in terms
                for atom in atoms
                for u in atom.toposort()
                if u.op is Ops.LOAD
            ]
            keys = {key for u in loads for key in self.load_facts(u)[1]}
            found = self._changing[terms] = tuple(sorted(keys, key=repr))
        return found

    def order(self, expression: UOp) -> tuple[UOp, ...]:
        """The nodes of an expression, sources first. Loads and lane masks stand for themselves: they look at their
        sources when they are written."""
        found = self._orders.get(expression)
        if found is None:
            found = self._orders[expression] = tuple(
                expression.toposort(self._has_plain_sources)
            )
        return found

    def _has_plain_sources(self, node: UOp) -> bool:
        return node.op is not Ops.LOAD and not self.is_lane_mask(node)

    def is_lane_mask(self, node: UOp) -> bool:
        """A comparison of indices that differ by lane."""
        return (
            node.op is Ops.CMPLT
            and node.src[0].dtype is dt.index
            and self.differs_by_lane(node)
        )
