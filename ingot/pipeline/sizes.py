"""Sizes that are computed. In: SIZE_OF nodes. Out: their numbers, and which values to keep on the way to them.

A program with such sizes runs in phases: first what counts, then, with the numbers bound like variables, the rest. What
both need is computed in the first phase and kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast
from weakref import WeakKeyDictionary

from ingot.errors import KernelFault
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import MOVEMENT, Ops
from ingot.ir.region import shallow
from ingot.ir.rewrite import substitute
from ingot.ir.shape import Shape
from ingot.pipeline.buffers import buffer_node, memory
from ingot.runtime.buffer import Buffer

_known: WeakKeyDictionary[UOp, int] = WeakKeyDictionary()
_LEAVES = frozenset({Ops.BUFFER, Ops.PARAM, Ops.CONST, Ops.DEFINE_VAR, Ops.BIND})


def known(size: UOp) -> int | None:
    """The number of a SIZE_OF that was computed before."""
    return _known.get(size)


def remember(numbers: Mapping[UOp, int]) -> None:
    """These SIZE_OF nodes have these numbers from now on."""
    _known.update(numbers)


def checked_number(size: UOp, count: int, limit: int) -> int:
    """The number of a SIZE_OF; memory was planned for `limit`."""
    if not 0 <= count <= limit:
        raise KernelFault(f"a computed size is {count}; wanted 0 to {limit}")
    return count


def unbound(size: UOp) -> UOp:
    """A size expression over variables, without their values."""
    binds = {u: u.src[0] for u in size.toposort() if u.op is Ops.BIND}
    return substitute(size, binds) if binds else size


# --- shapes -----------------------------------------------------------------------------------------------------------


def settled(node: UOp) -> UOp:
    """The same memory with numbers for computed sizes, as far as they are known."""
    if all(isinstance(n, int) for n in node.shape):
        return node
    shape = known_shape(node.shape)
    if shape == node.shape:
        return node
    return buffer_node(memory(node), node.dtype, shape, borrow=True)


def known_shape(shape: Shape) -> Shape:
    """The shape with numbers in place of sizes that were computed before."""
    return settled_shape(shape, _known)


def settled_shape(shape: Shape, numbers: Mapping[UOp, int]) -> Shape:
    """The shape with numbers in place of computed sizes."""
    return tuple(n if isinstance(n, int) else _settled(n, numbers) for n in shape)


def _settled(size: UOp, numbers: Mapping[UOp, int]) -> int | UOp:
    found = {u: numbers.get(u) for u in size.toposort() if u.op is Ops.SIZE_OF}
    constants = {
        u: UOp.const(dt.index, n) for u, n in found.items() if n is not None
    }
    if not constants:
        return size
    made = substitute(size, constants).simplify()
    return int(made.value) if made.op is Ops.CONST else made


# --- phases -----------------------------------------------------------------------------------------------------------


def first_sizes(unknown: Sequence[UOp]) -> list[UOp]:
    """Those that need no other unknown size."""
    waiting = set(unknown)
    return [size for size in unknown if waiting.isdisjoint(shallow(size.src[0]))]


def to_keep(roots: Sequence[UOp], counts: Sequence[UOp]) -> list[UOp]:
    """What the roots read of the values on the way to the counts."""
    below = shallow(UOp(Ops.SINK, dt.void, tuple(counts)))

    def is_border(node: UOp) -> bool:
        return node in below or (node.op is Ops.RESULT and node.src[0] in below)

    closed = (Ops.SIZE_OF, Ops.FUNCTION)
    reached = UOp(Ops.SINK, dt.void, tuple(roots)).toposort(
        lambda u: u.op not in closed and not is_border(u)
    )
    border = [_stored(u) for u in reached if is_border(u)]
    kept = dict.fromkeys(u for u in border if u.op not in _LEAVES)
    return [
        u for u in kept if u.dtype not in (dt.index, dt.void) and not _is_combine(u)
    ]


def _is_combine(node: UOp) -> bool:
    """A part of a reduction, which has no value of its own."""
    return node.shape == () and any(u.op is Ops.STATE for u in shallow(node))


def _stored(node: UOp) -> UOp:
    """What a view looks at: views are free."""
    while node.op in MOVEMENT:
        node = node.src[0]
    return node


def read_count(buffer: Buffer) -> int:
    """The int64 in a buffer."""
    return int(cast(int, buffer.as_array(dt.to_numpy(dt.int64), ()).item()))
