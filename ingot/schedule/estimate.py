"""What a kernel will cost. In: a Draft. Out: arithmetic operations, bytes and nanoseconds, as sizes of the program.

Bytes count every element of a buffer once, however often it is read: what has to come from memory and go there. An
operation is counted once for each setting of the loops that it depends on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, cast

from ingot.ir import dtype as dt
from ingot.ir.affine import split_affine
from ingot.ir.node import UOp
from ingot.ir.opcode import CASTS, ELEMENTWISE, AxisArg, Ops, ParamArg
from ingot.ir.shape import product
from ingot.kernel.nest import Kernel, Nest, Prefix, Reduce, Store
from ingot.kernel.skeleton.form import Skeleton
from ingot.kernel.skeleton.table import nanoseconds
from ingot.schedule.nests import Draft

Size = int | UOp
_FREE = CASTS | {
    Ops.WHERE,
    Ops.CMPLT,
    Ops.CMPEQ,
    Ops.CMPNE,
    Ops.AND,
    Ops.OR,
    Ops.XOR,
    Ops.NOT,
}
_COSTS = {Ops.MULACC: 2}
# Picoseconds of one thread: an element, and a multiply-add in a register tile.
_STEP, _CONTRACTION_STEP = 250, 15


class Estimate(NamedTuple):
    """Sizes may hold the program's variables."""

    flops: UOp
    nbytes: UOp
    nanoseconds: UOp


def estimate(made: Draft) -> Estimate:
    """What the nests of one kernel compute and touch."""
    kernel = made.kernel
    if isinstance(kernel, Skeleton):
        return _of_algorithm(kernel, made)
    flops = _total(_flops(kernel, nest) for nest in kernel.nests)
    nbytes = _total(
        count * made.buffers[slot].dtype.itemsize
        for slot, count in elements(made).items()
    )
    most: Size = 0
    for nest in kernel.nests:
        most = _larger(most, _picoseconds(kernel, nest))
    return Estimate(_node(flops), _node(nbytes), (_node(most) // 1000).simplify())


def _of_algorithm(kernel: Skeleton, made: Draft) -> Estimate:
    nbytes = _total(product(u.shape) * u.dtype.itemsize for u in made.buffers)
    return Estimate(_node(0), _node(nbytes), nanoseconds(kernel).simplify())


def elements(made: Draft) -> dict[int, Size]:
    """Slot -> how many different elements of that buffer the kernel touches."""
    seen: dict[int, dict[object, Size]] = {}
    for nest in made.kernel.nests:
        for param, offset in _accesses(nest):
            pattern, count = _pattern(made.kernel, nest, offset)
            seen.setdefault(cast(ParamArg, param.arg).slot, {})[pattern] = count
    return {
        s: _smaller(_total(c.values()), product(made.buffers[s].shape))
        for s, c in sorted(seen.items())
    }


def _accesses(nest: Nest) -> Iterable[tuple[UOp, UOp]]:
    if isinstance(nest.body, Store):
        yield nest.body.buffer, nest.body.offset
    if isinstance(nest.body, Prefix):
        for buffer in nest.body.buffers:
            yield buffer, nest.body.offset
    for expression in nest.expressions():
        for node in expression.toposort():
            if node.op is Ops.LOAD:
                yield node.src[0], node.src[1]


def _pattern(kernel: Kernel, nest: Nest, offset: UOp) -> tuple[object, Size]:
    """(what tells apart accesses to different elements, how many elements): loops of the same stride overlap."""
    counters = {kernel.loops[a].counter: _extent(kernel, a) for a in nest.loops}
    found = split_affine(offset, list(counters))
    if found is None:
        inside = offset.toposort()
        return offset, _product(
            extent for counter, extent in counters.items() if counter in inside
        )
    strides, start = found
    runs: dict[UOp, list[Size]] = {}
    for counter, stride in strides.items():
        runs.setdefault(stride, []).append(counters[counter])
    count = _product(
        _total(extents) - (len(extents) - 1) for extents in runs.values()
    )
    return (
        start,
        frozenset((stride, tuple(extents)) for stride, extents in runs.items()),
    ), count


def _flops(kernel: Kernel, nest: Nest) -> Size:
    """An operation runs for every value of the loops whose counters it uses; a combine in every step."""
    roots = nest.expressions()
    used: dict[UOp, frozenset[int]] = {}
    total: Size = 0
    for node in UOp(Ops.SINK, dt.void, roots).toposort(
        lambda u: u.dtype is not dt.index
    ):
        own = (
            {cast(AxisArg, u.arg).id for u in node.toposort() if u.op is Ops.AXIS}
            if node.dtype is dt.index
            else set()
        )
        used[node] = frozenset(own).union(
            *(used.get(s, frozenset()) for s in node.src)
        )
        if node.op in ELEMENTWISE and node.op not in _FREE and node.dtype.is_float:
            steps = _product(
                _extent(kernel, a) for a in nest.loops if a in used[node]
            )
            total = total + steps * _COSTS.get(node.op, 1)
    return total + _combining(kernel, nest)


def _combining(kernel: Kernel, nest: Nest) -> Size:
    if not isinstance(nest.body, Reduce):
        return 0
    nodes = {
        u
        for c in nest.body.combines
        for u in c.toposort()
        if u.op in ELEMENTWISE and u.op not in _FREE
    }
    floats = sum(1 for u in nodes if u.dtype.is_float)
    return _product(_extent(kernel, a) for a in nest.loops) * floats


def _picoseconds(kernel: Kernel, nest: Nest) -> Size:
    steps = _product(_extent(kernel, a) for a in nest.loops)
    return steps * (
        _CONTRACTION_STEP if len(nest.loops) > 2 and nest.reduced else _STEP
    )


# --- sizes: Python numbers while they can be ----------------------------------------------------------------------


def _extent(kernel: Kernel, axis: int) -> Size:
    extent = kernel.loops[axis].extent
    return int(extent.value) if extent.op is Ops.CONST else extent


def _product(sizes: Iterable[Size]) -> Size:
    total: Size = 1
    for size in sizes:
        total = total * size
    return total


def _total(sizes: Iterable[Size]) -> Size:
    total: Size = 0
    for size in sizes:
        total = size if isinstance(total, int) and total == 0 else total + size
    return total


def _smaller(a: Size, b: Size) -> Size:
    return (
        min(a, b)
        if isinstance(a, int) and isinstance(b, int)
        else _node(a).minimum(_node(b))
    )


def _larger(a: Size, b: Size) -> Size:
    return (
        max(a, b)
        if isinstance(a, int) and isinstance(b, int)
        else _node(a).maximum(_node(b))
    )


def _node(size: Size) -> UOp:
    return size.simplify() if isinstance(size, UOp) else UOp.const(dt.index, size)
