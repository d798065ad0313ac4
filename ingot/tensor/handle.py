"""The handle under every Tensor, and how Python values become nodes. In: tensors, numbers, arrays. Out: nodes.

A handle holds one program node and nothing else. Values are immutable: what looks like a change gives the handle
another node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, cast

import numpy as np

import ingot.ops  # noqa: F401  # fills the registry
from ingot import pipeline
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Scalar
from ingot.ir.node import UOp
from ingot.ir.shape import Shape
from ingot.ops.elementwise import node_of
from ingot.ops.movement import Dim, permute
from ingot.ops.op import REGISTRY, Op
from ingot.ops.promotion import Operand
from ingot.runtime.buffer import Buffer

Array = np.ndarray[Any, Any]


Kind = tuple[DType, Shape]
_kinds: dict[Kind, Kind] = {}


def kind_of(dtype: DType, shape: Shape) -> Kind:
    """The one object for this type and shape, so that `is` compares them."""
    return _kinds.setdefault((dtype, shape), (dtype, shape))


class Handle:
    """One program node, by reference; or memory, whose node is made when somebody builds on it."""

    __slots__ = ("__weakref__", "_uop", "buffer", "kind")
    _uop: UOp | None
    buffer: Buffer | None
    kind: Kind | None

    @classmethod
    def of(cls, uop: UOp) -> Self:
        """The tensor of a node."""
        made = object.__new__(cls)
        made._uop = uop
        made.buffer = made.kind = None
        return made

    @classmethod
    def holding(cls, buffer: Buffer, kind: Kind) -> Self:
        """The tensor of a value in memory."""
        made = object.__new__(cls)
        made._uop = None
        made.buffer = buffer
        made.kind = kind
        return made

    @property
    def uop(self) -> UOp:
        """The program node."""
        if self._uop is None and self.buffer is not None and self.kind is not None:
            self._uop = pipeline.buffer_node(self.buffer, *self.kind, borrow=True)
        return cast(UOp, self._uop)

    @uop.setter
    def uop(self, node: UOp) -> None:
        self._uop = node
        self.buffer = self.kind = None

    def hold(self) -> None:
        """Note where an evaluated value lies, so that replaying a program need not look it up."""
        if self.buffer is None:
            self.kind = kind_of(self.uop.dtype, self.uop.shape)
            self.buffer = pipeline.memory(self.uop)


Value = (
    Handle | Array | Scalar | np.generic
)  # what stands for a tensor: itself, an array, a number


def operand(value: Value) -> Operand:
    """A tensor or an array as a node; a number stays a number, which takes the type of the tensor that it meets."""
    if isinstance(value, Handle):
        return value.uop
    if isinstance(value, np.ndarray):
        return array_node(value, borrow=False)
    # What is no number either is reported by the op, which knows its own name.
    number: Operand = value.item() if isinstance(value, np.generic) else value
    return number


def node(value: Value) -> UOp:
    """A tensor, an array or a number as a node."""
    found = operand(value)
    return found if isinstance(found, UOp) else node_of("tensor", found)


def optional(value: Value | None) -> UOp | None:
    """An input that may be left out."""
    return None if value is None else node(value)


def optional_operand(value: Value | None) -> Operand | None:
    """An operand that may be left out."""
    return None if value is None else operand(value)


def spread(given: tuple[Dim | Sequence[Dim], ...]) -> tuple[Dim, ...]:
    """x.reshape(2, 3) and x.reshape((2, 3)) are the same."""
    if len(given) == 1 and isinstance(given[0], Sequence):
        return tuple(given[0])
    return tuple(n for n in given if not isinstance(n, Sequence))


def array_node(array: Array, *, borrow: bool) -> UOp:
    """The node of a NumPy array: a copy of its memory, or the memory itself."""
    dtype = dt.from_numpy(array.dtype)
    order = _memory_order(array)
    stored = array.transpose(order)
    whole = stored.flags.c_contiguous
    memory = stored if whole else np.ascontiguousarray(stored)
    made = pipeline.buffer_node(
        memory, dtype, memory.shape, borrow=borrow or not whole
    )
    return permute(made, np.argsort(order).tolist())


def _memory_order(array: Array) -> list[int]:
    """The axes from the largest step in memory to the smallest: a transposed array is borrowed as it lies."""
    return sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))


def _builder(op: Op) -> Callable[..., UOp]:
    """What builds the node: of a primitive its function itself, which checks its own operands."""
    if op.is_named:
        return op
    primitive: Any = op.build
    found: Callable[..., UOp] = primitive
    return found


build: dict[str, Callable[..., UOp]] = {
    name: _builder(op) for name, op in REGISTRY.items()
}
