"""Evaluation. In: tensors with pending nodes. Out: the same tensors over memory (see computed.py)."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any, cast

import numpy as np

from ingot import pipeline
from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, VarArg
from ingot.tensor.computed import compute, in_memory, is_computed, pending_below
from ingot.tensor.dirty import any_dirty, passed_by, sharing
from ingot.tensor.handle import Array, Handle
from ingot.tensor.leaves import tracked

__all__ = ["eval"]


def evaluate(*values: Handle | Iterable[Any]) -> None:
    """Compute all of these at once, sharing what they share. Tensors may stand in lists.

    Pending updates of other tensors that lie on the way are stored too.
    """
    journal = Handle.journal
    if journal is not None and journal.defers and journal.is_mine():
        return  # a captured function runs when it is replayed
    handles = [h for h in _flat(values) if h.buffer is None]
    pending = [h.uop for h in handles if h.uop.op is not Ops.BUFFER]
    if not pending:
        return
    passed = _taken_along(pending_below(pending)) if any_dirty() else []
    nodes = [*pending, *(node for _, node in passed)]
    compute(nodes)
    kept = tracked([*nodes, *(h.uop for h, _ in passed)])
    for handle in handles:
        handle.settle(handle.uop in kept)
    for handle, node in passed:
        if handle.uop is node:
            handle.settle(node in kept)
        elif not is_evaluated(handle):
            handle.go_on_from(handle.uop in kept)


def _taken_along(work: Container[UOp]) -> list[tuple[Handle, UOp]]:
    """Changed tensors that are stored with what is evaluated, each in one value."""
    found = {id(handle): (handle, node) for handle, node in passed_by(work)}
    found |= {id(handle): (handle, node) for handle, node in sharing(work)}
    return list(found.values())


def _flat(values: Iterable[Any]) -> Iterable[Handle]:
    for value in values:
        if isinstance(value, Handle):
            yield value
        else:
            yield from _flat(value)


def is_evaluated(handle: Handle) -> bool:
    """The value lies in memory."""
    return handle.buffer is not None or is_computed(handle.uop)


def to_array(handle: Handle) -> Array:
    """The value as a NumPy array of its own; bfloat16, which NumPy lacks, as float32."""
    if Handle.journal is not None:
        Handle.journal.look(handle)
    evaluate(handle)
    node = in_memory(handle.uop)
    shape = tuple(pipeline.size(n) for n in node.shape)
    stored = pipeline.memory(node).as_array(dt.to_numpy(node.dtype), shape)
    if node.dtype is dt.bfloat16:
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.copy()


def bound_size(size: UOp) -> int:
    """The number that a symbolic size stands for: all its variables are bound."""
    low, high = size.bounds
    if low != high:
        names = ", ".join(cast(VarArg, v.arg).name for v in size.variables())
        raise ArgumentError(
            f"a size depends on {names}, which has no value",
            fix="bind it: n.bind(5)",
        )
    return int(low)


eval = evaluate  # the public name: `ig.eval(x, y)`
