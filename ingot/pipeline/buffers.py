"""Memory of program nodes. In: arrays and buffers. Out: BUFFER nodes, and the memory behind them.

A BUFFER node has an identity and a type; where its bytes are stands in a table beside the graph, and dies with the
node.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import BufferArg, Ops
from ingot.runtime.buffer import Buffer

Array = np.ndarray[Any, Any]

_memory: WeakKeyDictionary[UOp, Buffer] = WeakKeyDictionary()
_gone: WeakKeyDictionary[UOp, str] = WeakKeyDictionary()
_numbers = itertools.count()


def buffer_node(
    data: Array | Buffer,
    dtype: dt.DType,
    shape: Sequence[int | UOp],
    *,
    borrow: bool,
) -> UOp:
    """The node of this memory; an array is copied unless it is borrowed."""
    dims = tuple(n if isinstance(n, UOp) else UOp.const(dt.index, n) for n in shape)
    node = UOp(Ops.BUFFER, dtype, dims, BufferArg(next(_numbers)))
    _memory[node] = data if isinstance(data, Buffer) else _from_array(data, borrow)
    return node


def _from_array(array: Array, borrow: bool) -> Buffer:
    if borrow:
        return Buffer.from_array(array)
    made = Buffer.allocate(array.nbytes)
    np.copyto(made.as_array(array.dtype, array.shape), array)
    return made


def placeholder(dtype: dt.DType, shape: Sequence[int | UOp]) -> UOp:
    """A BUFFER node without memory: stands for an argument while a function is captured."""
    dims = tuple(n if isinstance(n, UOp) else UOp.const(dt.index, n) for n in shape)
    return UOp(Ops.BUFFER, dtype, dims, BufferArg(next(_numbers)))


def has_memory(node: UOp) -> bool:
    """A BUFFER node that is no placeholder."""
    return node in _memory


def gone(dtype: dt.DType, shape: Sequence[int | UOp], why: str) -> UOp:
    """A BUFFER node whose memory was given away; whoever asks for it is told so."""
    node = placeholder(dtype, shape)
    _gone[node] = why
    return node


def memory(node: UOp) -> Buffer:
    """The memory of a BUFFER node."""
    found = _memory.get(node)
    if found is None:
        raise _no_memory(node)
    return found


def _no_memory(node: UOp) -> ArgumentError:
    why = _gone.get(node)
    if why is not None:
        return ArgumentError(
            f"{why}: it has no value any more",
            fix="use the result instead, or do not donate it",
        )
    return ArgumentError(
        "a value was asked for while a function is captured: its arguments have none yet",
        fix="in functions for ig.jit, ig.scan, ig.cond and their like, use ig.where or ig.cond instead of `if`,"
        " and call .item() and .numpy() outside",
    )
