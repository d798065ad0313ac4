"""Evaluation. In: tensors with pending nodes. Out: the same tensors over memory.

What has been computed is remembered by node, weakly: a pending consumer of an evaluated tensor still names the node
that was evaluated, and reads its memory instead of computing it again. An entry dies with the last such consumer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from ingot import pipeline
from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, VarArg
from ingot.ir.rewrite import substitute
from ingot.tensor.handle import Array, Handle

_evaluated: WeakKeyDictionary[UOp, UOp] = WeakKeyDictionary()


def evaluate(*values: Handle | Iterable[Any]) -> None:
    """Compute all of these at once, sharing what they share. Tensors may stand in lists."""
    handles = [h for h in _flat(values) if h.buffer is None]
    pending = {h.uop: None for h in handles if h.uop.op is not Ops.BUFFER}
    if pending:
        _compute(list(pending))
    for handle in handles:
        handle.uop = _evaluated.get(handle.uop, handle.uop)


def _flat(values: Iterable[Any]) -> Iterable[Handle]:
    for value in values:
        if isinstance(value, Handle):
            yield value
        else:
            yield from _flat(value)


def _compute(nodes: Sequence[UOp]) -> None:
    """Memory for every node that has none yet."""
    roots = [node for node in nodes if node not in _evaluated]
    programs = [_over_memory(root) for root in roots] if _evaluated else roots
    for root, buffer in zip(roots, pipeline.realize(programs), strict=True):
        _evaluated[root] = pipeline.buffer_node(
            buffer, root.dtype, root.shape, borrow=True
        )


def _over_memory(root: UOp) -> UOp:
    """The same program, reading what has been computed before."""
    reached = root.toposort(gate=lambda node: node not in _evaluated)
    found = {node: _evaluated.get(node) for node in reached}
    return substitute(
        root, {node: memory for node, memory in found.items() if memory is not None}
    )


def is_evaluated(handle: Handle) -> bool:
    """The value lies in memory."""
    return handle.uop.op is Ops.BUFFER or handle.uop in _evaluated


def to_array(handle: Handle) -> Array:
    """The value as a NumPy array of its own; bfloat16, which NumPy lacks, as float32."""
    evaluate(handle)
    node = handle.uop
    shape = tuple(n if isinstance(n, int) else bound_size(n) for n in node.shape)
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
