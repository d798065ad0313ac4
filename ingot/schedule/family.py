"""Families: a kernel without its sizes. In: a Draft. Out: the kernel with sizes as arguments, and this program's values of them.

Extents, strides, offsets and Python scalars become variables, so that another shape is the same kernel. What stays in the
kernel is structure: a stride of one, an axis of one element (it has no loop), 0, 1, -1 and infinities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import cast

from ingot.errors import MoveError
from ingot.ir import dtype as dt
from ingot.ir.affine import split_affine
from ingot.ir.algebra import simplify
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, ValueArg, VarArg
from ingot.kernel.moves import fuse
from ingot.kernel.nest import Kernel, Loop, Nest, Prefix, Store
from ingot.kernel.skeleton.form import Skeleton, variables
from ingot.schedule.nests import Draft

LIMIT = 1 << 40
ZERO = UOp.const(dt.index, 0)
Value = int | float | UOp


@dataclass(frozen=True, slots=True)
class Family:
    """A kernel for all sizes, and the values of its variables here (ints, scalar bits as floats, or symbolic sizes)."""

    kernel: Kernel
    values: dict[UOp, Value]


_families: dict[
    int, tuple[Kernel, Family]
] = {}  # by identity of the draft's kernel, which is held here
KEPT = 8192


def family(made: Draft) -> Family:
    """Merge loops that run through memory without a gap, then turn sizes into arguments. The same draft is lifted once."""
    if isinstance(made.kernel, Skeleton):
        return _of_algorithm(made.kernel)
    known = _families.get(id(made.kernel))
    if known is None:
        if len(_families) >= KEPT:
            _families.pop(next(iter(_families)))
        known = _families[id(made.kernel)] = (
            made.kernel,
            _Lifting(merged(made.kernel)).run(),
        )
    return known[1]


def _of_algorithm(kernel: Skeleton) -> Family:
    values = {v: _plain(n.simplify()) for v, n in variables(kernel).items()}
    return Family(kernel.without_sizes(), values)


def merged(kernel: Kernel) -> Kernel:
    """Neighbouring loops become one where every access stays a plain stride, and a nest is read at plain places."""
    apart: frozenset[str] = frozenset()
    plain = _read_plainly(kernel)
    while True:
        made = _merged(kernel, apart)
        spoilt = plain - _read_plainly(made)
        if not spoilt:
            return made
        apart |= spoilt


def _read_plainly(kernel: Kernel) -> frozenset[str]:
    """The nests whose values are read at the counters of loops alone."""
    counters = {lp.counter for lp in kernel.loops.values()}
    found = {nest.name for nest in kernel.nests}
    for nest in kernel.nests:
        for node in (u for e in nest.expressions() for u in e.toposort()):
            if node.op is Ops.VALUE and not counters.issuperset(node.src):
                found.discard(kernel.by_id(cast(ValueArg, node.arg).nest).name)
    return frozenset(found)


def _merged(kernel: Kernel, apart: frozenset[str]) -> Kernel:
    """Loops of the nests `apart` stay as they are: those that read them could not follow."""
    changed = True
    while changed:
        changed = False
        for nest in kernel.nests:
            if nest.name in apart:
                continue
            for outer, inner in pairwise(nest.loops):
                joined = _joined(kernel, kernel.loops[outer], kernel.loops[inner])
                if joined is not None:
                    kernel, changed = joined, True
                    break
            if changed:
                break
    return replace(kernel, moves=(), trail=())


def _joined(kernel: Kernel, outer: Loop, inner: Loop) -> Kernel | None:
    try:
        joined = fuse(kernel, outer.name, inner.name, outer.name)
    except MoveError:
        return None
    extents: dict[UOp, UOp | int] = {
        lp.counter: lp.extent
        for lp in joined.loops.values()
        if lp.extent is not ZERO
    }
    simple = replace(
        joined,
        nests=tuple(n.map(lambda e: simplify(e, extents)) for n in joined.nests),
    )
    counter = joined.loop(outer.name).counter
    return (
        None
        if any(_divides(e, counter) for n in simple.nests for e in n.expressions())
        else simple
    )


def _divides(expression: UOp, counter: UOp) -> bool:
    return any(
        u.op in (Ops.IDIV, Ops.MOD) and counter in u.toposort()
        for u in expression.toposort()
    )


def same_extents(kernel: Kernel) -> dict[int, int]:
    """Axis -> the first axis known to have the same extent: both run along one axis of a nest, or of a buffer."""
    same = {a: a for a in kernel.loops}

    def root(axis: int) -> int:
        while same[axis] != axis:
            axis = same[axis]
        return axis

    def unite(a: int, b: int) -> None:
        if kernel.loops[a].extent is kernel.loops[b].extent:
            first, second = sorted((root(a), root(b)))
            same[second] = first

    counters = {lp.counter: lp.axis for lp in kernel.loops.values()}
    along: dict[tuple[UOp, UOp], int] = {}
    for nest in kernel.nests:
        for node in (u for e in nest.expressions() for u in e.toposort()):
            for place, axis in _places(kernel, node, counters):
                unite(along.setdefault(place, axis), axis)
    return {a: root(a) for a in same}


def _places(
    kernel: Kernel, node: UOp, counters: dict[UOp, int]
) -> list[tuple[tuple[UOp, UOp], int]]:
    """(what an axis runs along, axis) for a read of a nest or a buffer."""
    if node.op is Ops.VALUE:
        dims = kernel.by_id(cast(ValueArg, node.arg).nest).dims
        own = [
            ((kernel.loops[d].counter, kernel.loops[d].counter), d) for d in dims
        ]
        return own + [
            ((kernel.loops[d].counter,) * 2, counters[at])
            for d, at in zip(dims, node.src, strict=True)
            if at in counters
        ]
    if node.op is not Ops.LOAD:
        return []
    found = split_affine(node.src[1], list(counters))
    return (
        []
        if found is None
        else [
            ((node.src[0], stride), counters[c]) for c, stride in found[0].items()
        ]
    )


KEPT_INTS = frozenset({-1, 0, 1})


class _Lifting:
    """Replaces numbers by variables, one nest and one buffer at a time, in an order that depends on structure alone."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.values: dict[UOp, Value] = {}
        self.known: dict[tuple[object, UOp], UOp] = {}
        self.same = same_extents(kernel)

    def run(self) -> Family:
        loops = {a: self._loop(lp) for a, lp in self.kernel.loops.items()}
        nests = tuple(self._nest(n) for n in self.kernel.nests)
        return Family(
            replace(self.kernel, name=self._name(), loops=loops, nests=nests),
            self.values,
        )

    def _name(self) -> str:
        reductions = sum(bool(n.reduced) for n in self.kernel.nests)
        return f"{'r' * reductions or 'e'}{len(self.kernel.nests[-1].loops)}"

    def _loop(self, loop: Loop) -> Loop:
        extent = self._variable("n", ("extent", self.same[loop.axis]), loop.extent)
        return replace(loop, extent=extent, capacity=extent)

    def _nest(self, nest: Nest) -> Nest:
        def change(expression: UOp) -> UOp:
            return (
                self._offset("store", expression)
                if expression is offset
                else self._lift(expression)
            )

        body = nest.body
        offset = body.offset if isinstance(body, Store | Prefix) else None
        return nest.map(change)

    def _variable(self, kind: str, context: object, value: UOp) -> UOp:
        if value.op is Ops.DEFINE_VAR and value in self.values:
            return value
        key = (context, value)
        if key not in self.known:
            number = sum(
                1 for v in self.values if cast(VarArg, v.arg).name.startswith(kind)
            )
            dtype = dt.index if value.dtype is dt.index else value.dtype
            made = UOp.variable(
                f"{kind}{number}", 0 if kind == "n" else -LIMIT, LIMIT, dtype
            )
            self.known[key] = made
            self.values[made] = _plain(value)
        return self.known[key]

    def _lift(self, expression: UOp) -> UOp:
        """Loads get offsets with variable strides; other numbers become scalar arguments."""
        if expression.dtype is dt.index:
            return self._offset("index", expression)
        done: dict[UOp, UOp] = {}
        for node in expression.toposort(_has_plain_sources):
            if (
                node.op is Ops.CONST
                and node.dtype.is_float
                and not _structural(cast(float, node.value))
            ):
                done[node] = self._variable("c", "scalar", node)
            elif node.op is Ops.LOAD:
                rest = tuple(self._lift(s) for s in node.src[2:])
                done[node] = node.replace(
                    src=(node.src[0], self._offset(node.src[0], node.src[1]), *rest)
                )
            elif node.dtype is dt.index:
                done[node] = self._offset("index", node)
            else:
                src = tuple(done.get(s, s) for s in node.src)
                done[node] = node if src == node.src else node.replace(src=src)
        return done[expression]

    def _offset(self, context: object, expression: UOp) -> UOp:
        """An index expression with its numbers as variables; sizes without a counter in them are one variable."""
        done: dict[UOp, UOp] = {}
        for node in expression.toposort():
            if (
                node.op is Ops.CONST
                and node.dtype is dt.index
                and int(node.value) not in KEPT_INTS
            ):
                done[node] = self._variable("s", context, node)
            elif node.op in (Ops.DEFINE_VAR, Ops.BIND) or _symbolic(node):
                done[node] = (
                    node
                    if node in self.values
                    else self._variable("s", context, node)
                )
            else:
                src = tuple(done[s] for s in node.src)
                done[node] = node if src == node.src else node.replace(src=src)
        return done[expression]


def _has_plain_sources(node: UOp) -> bool:
    return node.op not in (Ops.LOAD, Ops.VALUE) and node.dtype is not dt.index


def _symbolic(node: UOp) -> bool:
    """A size: made of variables and numbers alone."""
    if (
        node.op in (Ops.CONST, Ops.AXIS, Ops.LOAD, Ops.VALUE)
        or node.dtype is not dt.index
    ):
        return False
    nodes = node.toposort()
    return all(u.op not in (Ops.AXIS, Ops.LOAD, Ops.VALUE) for u in nodes)


def _plain(value: UOp) -> Value:
    return value.value if value.op is Ops.CONST else value


def _structural(value: float) -> bool:
    return value in (0.0, 1.0, -1.0) or math.isinf(value) or math.isnan(value)
