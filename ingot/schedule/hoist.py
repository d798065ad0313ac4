"""Work that moves out of a SCAN. In: a SCAN of primitives. Out: the same, with products of the slices computed at once.

    scan(body(carry, x): ... x @ w ...; xs)   ->   scan(body(carry, p): ... p ...; xs @ w)

What a body computes of slices alone, without the carry, is the same for all slices at once, with one axis more in front.
That pays where there is a reduction in it: a thousand small products become a large one. Cheap work stays inside,
because what moves out has to be stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    ELEMENTWISE,
    MOVEMENT,
    AxesArg,
    FunctionArg,
    Ops,
    ParamArg,
    ReduceArg,
    ScanArg,
    WindowArg,
)
from ingot.ir.region import param, shallow, sizes, unchanged
from ingot.ir.shape import Shape, product
from ingot.ops.lower import inherit
from ingot.schedule.replace import replaced

MOST_GROWTH = 32  # what moves out may be so many times larger than the slices that it is made of
ZERO, ONE = UOp.const(dt.index, 0), UOp.const(dt.index, 1)


def hoisted(scan: UOp) -> UOp:
    """The scan without the reductions that need no carry; itself if there are none."""
    body = _Body(scan)
    found = body.worth_moving()
    if not found:
        return scan
    first = cast(FunctionArg, scan.src[0].arg).n_params
    places = {
        node: param(first + n, node.dtype, node.shape)
        for n, node in enumerate(found)
    }
    inside = replaced(UOp(Ops.SINK, dt.void, scan.src[0].src), places).src
    arg = FunctionArg(cast(FunctionArg, scan.src[0].arg).name, first + len(found))
    function = UOp(Ops.FUNCTION, dt.void, inside, arg)
    stacked = [body.lifted(node) for node in found]
    return scan.replace(src=(function, *scan.src[1:], *stacked))


class _Body:
    """Which nodes of a body need what: `moving` need slices and no carry, `still` neither."""

    def __init__(self, scan: UOp) -> None:
        self.scan = scan
        self.carries = cast(ScanArg, scan.arg).n_carry
        self.kept = unchanged(scan)
        self.length = scan.src[1 + self.carries].shape[0]
        self.moving: dict[UOp, frozenset[UOp]] = {}  # -> the slices that it needs
        self.still: set[UOp] = set()
        self.order = list(shallow(scan.src[0]))[:-1]
        for node in self.order:
            self._sort(node)
        self.lifts: dict[UOp, UOp] = {}

    def _sort(self, node: UOp) -> None:
        if node.op is Ops.PARAM:
            slot = cast(ParamArg, node.arg).slot
            if slot in self.kept:
                self.still.add(node)
            elif slot >= self.carries:
                self.moving[node] = frozenset((node,))
        elif node.op in _STAYS and all(s in self.still for s in _operands(node)):
            self.still.add(node)
        elif node.op in _LIFT and self._needs_no_carry(node):
            slices = [self.moving[s] for s in node.src if s in self.moving]
            self.moving[node] = frozenset().union(*slices)

    def _needs_no_carry(self, node: UOp) -> bool:
        return all(s in self.moving or s in self.still for s in _operands(node))

    # --- what to move -----------------------------------------------------------------------------------------------

    def worth_moving(self) -> list[UOp]:
        """The last nodes that need no carry, where a reduction leads to them."""
        costly: set[UOp] = set()
        last: dict[UOp, None] = {}
        roots = set(self.scan.src[0].src)
        for node in self.order:
            operands = _operands(node)
            if node not in self.moving:
                last.update((s, None) for s in operands if s in costly)
            elif node.op is Ops.REDUCE or not costly.isdisjoint(operands):
                costly.add(node)
                if node in roots:
                    last[node] = None
        seen = dict.fromkeys(_viewed(node) for node in last)
        return [u for u in seen if u.dtype is not dt.void and self._is_small(u)]

    def _is_small(self, node: UOp) -> bool:
        given = [_nbytes(u) for u in self.moving[node]]
        made = _nbytes(node)
        if made is None or any(n is None for n in given):
            return False
        return made <= MOST_GROWTH * sum(cast(list[int], given))

    # --- all slices at once -----------------------------------------------------------------------------------------

    def lifted(self, node: UOp) -> UOp:
        """The value for all slices, along a new first axis."""
        for below in node.toposort(lambda u: u not in self.lifts):
            if below in self.moving or below in self.still:
                self.lifts.setdefault(below, inherit(self._lift(below), below))
        return self.lifts[node]

    def _lift(self, node: UOp) -> UOp:
        """For a node that is still: its value outside, without the axis."""
        if node.op is Ops.PARAM:
            return self.scan.src[1 + cast(ParamArg, node.arg).slot]
        if node in self.still:
            src = tuple(self.lifts.get(s, s) for s in node.src)
            return node if src == node.src else node.replace(src=src)
        return _LIFT[node.op](self, node)

    def along(self, node: UOp) -> UOp:
        """The lifted source; what is still is the same for every slice."""
        made = self.lifts[node]
        if node in self.moving:
            return made
        dims = sizes(node.shape)
        length = sizes((self.length,))
        one = UOp(Ops.RESHAPE, node.dtype, (made, ONE, *dims))
        return UOp(Ops.EXPAND, node.dtype, (one, *length, *dims))

    @property
    def first_axis(self) -> tuple[UOp, ...]:
        return sizes((self.length,))


def _operands(node: UOp) -> tuple[UOp, ...]:
    """The sources that are values of a size: not combines."""
    if node.op is Ops.REDUCE:
        return node.src[: 2 * cast(ReduceArg, node.arg).n]
    return node.src


def _viewed(node: UOp) -> UOp:
    """What a view looks at: views are free, and stay inside."""
    while node.op in MOVEMENT:
        node = node.src[0]
    return node


def _nbytes(node: UOp) -> int | None:
    """Bytes, if they are known."""
    count = product(_most(node.shape))
    return count * node.dtype.itemsize if isinstance(count, int) else None


def _most(shape: Shape) -> Shape:
    """Sizes at their largest."""
    return tuple(n if isinstance(n, int) else _bound(n) for n in shape)


def _bound(size: UOp) -> int | UOp:
    return int(size.vmax) if size.vmax < 1 << 40 else size


# --- one rule per opcode ----------------------------------------------------------------------------------------------


def _same(body: _Body, node: UOp) -> UOp:
    return node.replace(src=tuple(body.along(s) for s in node.src))


def _with_sizes(body: _Body, node: UOp) -> UOp:
    """RESHAPE, EXPAND: one size more."""
    return node.replace(
        src=(body.along(node.src[0]), *body.first_axis, *node.src[1:])
    )


def _permute(body: _Body, node: UOp) -> UOp:
    axes = (0, *(a + 1 for a in cast(AxesArg, node.arg).axes))
    return node.replace(src=(body.along(node.src[0]),), arg=AxesArg(axes))


def _flip(body: _Body, node: UOp) -> UOp:
    axes = tuple(a + 1 for a in cast(AxesArg, node.arg).axes)
    return node.replace(src=(body.along(node.src[0]),), arg=AxesArg(axes))


def _with(*more: Callable[[_Body], UOp]) -> Callable[[_Body, UOp], UOp]:
    """PAD, SHRINK, STRIDE: the amounts of the new axis come first."""

    def rule(body: _Body, node: UOp) -> UOp:
        amounts = [amount(body) for amount in more]
        return node.replace(src=(body.along(node.src[0]), *amounts, *node.src[1:]))

    return rule


def _window(body: _Body, node: UOp) -> UOp:
    axis = cast(WindowArg, node.arg).axis + 1
    return node.replace(
        src=(body.along(node.src[0]), node.src[1]), arg=WindowArg(axis)
    )


def _reduce(body: _Body, node: UOp) -> UOp:
    arg = cast(ReduceArg, node.arg)
    values = tuple(body.along(v) for v in node.src[: arg.n])
    axes = tuple(a + 1 for a in arg.axes)
    return node.replace(
        src=(*values, *node.src[arg.n :]), arg=ReduceArg(axes, arg.n)
    )


def _result(body: _Body, node: UOp) -> UOp:
    return node.replace(src=(body.lifts[node.src[0]],))


_STAYS = (
    ELEMENTWISE
    | MOVEMENT
    | {Ops.CONST, Ops.DEFINE_VAR, Ops.BIND, Ops.OP, Ops.REDUCE, Ops.RESULT}
)
_LIFT: dict[Ops, Callable[[_Body, UOp], UOp]] = {
    **dict.fromkeys(ELEMENTWISE | {Ops.CONTIGUOUS}, _same),
    Ops.RESHAPE: _with_sizes,
    Ops.EXPAND: _with_sizes,
    Ops.PERMUTE: _permute,
    Ops.FLIP: _flip,
    Ops.PAD: _with(lambda body: ZERO, lambda body: ZERO),
    Ops.SHRINK: _with(lambda body: ZERO, lambda body: body.first_axis[0]),
    Ops.STRIDE: _with(lambda body: ONE),
    Ops.WINDOW: _window,
    Ops.REDUCE: _reduce,
    Ops.RESULT: _result,
}
