"""What has been computed, by node. In: pending nodes. Out: BUFFER nodes that hold their values.

The table is weak: a pending consumer of an evaluated tensor still names the node that was evaluated, and reads its
memory instead of computing it again. An entry dies with the last such consumer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary

from ingot import pipeline
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.rewrite import substitute

_evaluated: WeakKeyDictionary[UOp, UOp] = WeakKeyDictionary()


def compute(nodes: Iterable[UOp]) -> None:
    """Memory for every node that has none yet, all in one program."""
    roots = [node for node in dict.fromkeys(nodes) if not is_computed(node)]
    if not roots:
        return
    programs = over_memory(roots) if _evaluated else roots
    for root, buffer in zip(roots, pipeline.realize(programs), strict=True):
        made = pipeline.buffer_node(buffer, root.dtype, root.shape, borrow=True)
        # Two threads may have computed the same node: both go on with the memory that came first.
        _evaluated.setdefault(root, made)


def is_computed(node: UOp) -> bool:
    """The value lies in memory."""
    return node.op is Ops.BUFFER or node in _evaluated


def in_memory(node: UOp) -> UOp:
    """The BUFFER node with the value of this node, or the node itself while it is pending."""
    return _evaluated.get(node, node)


def pending_below(roots: Sequence[UOp]) -> dict[UOp, None]:
    """Every node that computing these would visit: not what lies under memory."""
    sink = UOp(Ops.SINK, dt.void, tuple(roots))
    return sink.toposort(
        gate=lambda node: node not in _evaluated and node.op is not Ops.FUNCTION
    )


def has_values(node: UOp) -> bool:
    """It can be computed: not so while a function is traced, whose arguments have no values yet."""
    reached = node.toposort(
        gate=lambda n: n.op is not Ops.FUNCTION and n not in _evaluated
    )
    return not any(map(is_missing, reached))


def is_missing(node: UOp) -> bool:
    """A place for a value that is not there yet."""
    if node.op is Ops.BUFFER:
        return not pipeline.has_memory(node)
    return node.op is Ops.PARAM


def over_memory(roots: Sequence[UOp]) -> list[UOp]:
    """The same programs, reading what has been computed before."""
    found = {node: _evaluated.get(node) for node in pending_below(roots)}
    known = {
        node: memory
        for node, memory in found.items()
        if memory is not None and not _is_number(node)
    }
    if not known:
        return list(roots)
    # A function is closed: what it computes of constants is its own, though it may be the same node.
    known |= {node: node for node in found if node.op is Ops.FUNCTION}
    return list(substitute(UOp(Ops.SINK, dt.void, tuple(roots)), known).src)


def _is_number(node: UOp) -> bool:
    """One number, or one that is repeated: it stays one, for the same node may be where a reduction starts."""
    while node.op in (Ops.RESHAPE, Ops.EXPAND):
        node = node.src[0]
    return node.op is Ops.CONST
