"""Where gradients arrive. In: nodes. Out: the tensor that a node stands for, and which nodes gradients flow through.

A tensor with requires_grad is a leaf: its node is in the table, pending or in memory. A value that was computed out of
leaves keeps its node, so that a gradient finds the way back; all others only keep their memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import local
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, ref

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import OpArg, Ops

if TYPE_CHECKING:
    from ingot.tensor.handle import Handle

leaves: WeakKeyDictionary[UOp, ref[Handle]] = WeakKeyDictionary()


class _Depth(local):
    """How many functions are being differentiated in this thread, one inside the other."""

    now = 0


depth = _Depth()


def tracked(roots: Sequence[UOp]) -> set[UOp]:
    """Those of these nodes that depend on a leaf, or on an argument of a function that is being differentiated."""
    if not leaves and not depth.now:
        return set()
    reached = UOp(Ops.SINK, dt.void, tuple(roots)).toposort(gate=_is_passed)
    found: set[UOp] = set()
    for node in reached:
        if is_leaf(node) or (_is_passed(node) and not found.isdisjoint(node.src)):
            found.add(node)
    return found.intersection(roots)


def is_leaf(node: UOp) -> bool:
    """Gradients arrive at this node: a tensor with requires_grad, or an argument of what is being differentiated."""
    return node in leaves or _name(node) == "input"


def _is_passed(node: UOp) -> bool:
    """Gradients go on to the sources of this node."""
    if not node.dtype.is_float and node.dtype is not dt.void:
        return False
    if node.op is Ops.OP:
        return _name(node) not in ("detach", "input")
    return node.op not in (Ops.BUFFER, Ops.FUNCTION)


def _name(node: UOp) -> str:
    return node.arg.name if isinstance(node.arg, OpArg) else ""
