"""Algorithms among the kernels. In: an op that is a kernel as a whole. Out: its Draft, over what it reads and stores.

Its inputs lie in memory as they are: a reshape of a stored value is that value.
"""

from __future__ import annotations

from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.kernel.skeleton.table import is_algorithm, skeleton
from ingot.schedule.nests import Draft, stored_by

_NUMBERS = frozenset({Ops.CONST, Ops.DEFINE_VAR, Ops.BIND})


def drafted_algorithm(node: UOp) -> Draft:
    """The kernel of an algorithm; results that nobody reads get memory too."""
    outputs = stored_by(node)
    inputs = tuple(in_memory(s) for s in node.src)
    return Draft(skeleton(node), (*inputs, *outputs), outputs, {})


def by_algorithm(node: UOp) -> bool:
    """A value that an algorithm, or a running value along an axis, stores as one of its results."""
    if node.op not in _MAKERS:
        return False
    maker = node.src[0] if node.op is Ops.RESULT else node
    several = node.op is Ops.RESULT
    return several == (len(maker.results) > 1) and (
        is_algorithm(maker) or maker.op is Ops.PREFIX
    )


_MAKERS = frozenset({Ops.RESULT, Ops.OP, Ops.PREFIX})


def in_memory(node: UOp) -> UOp:
    """The node whose memory holds these elements in this order. A number has none: it may stand anywhere in a kernel."""
    while node.op is Ops.RESHAPE and node.src[0].op not in _NUMBERS:
        node = node.src[0]
    return node
