"""The handle under every Tensor, and how Python values become nodes. In: tensors, numbers, arrays. Out: nodes.

Values are immutable: a handle holds one program node, and what looks like a change gives the handle another node
(`rebind`, the one road for it). A rebound handle that waits for its value is *dirty*: whatever is evaluated also stores
the dirty handles that it passes, so that a loop that looks only at its loss does not pile up pending updates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import _getframe
from threading import RLock, get_ident
from types import FunctionType
from typing import Any, ClassVar, Self, cast
from weakref import ref

import numpy as np

from ingot import pipeline
from ingot.errors import ArgumentError, DTypeError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Scalar
from ingot.ir.node import UOp, set_spot
from ingot.ir.opcode import Ops
from ingot.ir.shape import Shape
from ingot.ops.elementwise import node_of
from ingot.ops.movement import Dim, permute
from ingot.ops.op import REGISTRY, Op
from ingot.ops.promotion import Operand
from ingot.runtime.buffer import Buffer
from ingot.tensor.computed import compute, has_values, in_memory, over_memory
from ingot.tensor.dirty import MOST_CHANGES, note_change, note_part, note_value
from ingot.tensor.foreign import foreign, is_foreign
from ingot.tensor.leaves import leaves, tracked
from ingot.tensor.recording import leaf_value, unfollowed
from ingot.tensor.recording import state as recording
from ingot.tensor.spot import note_spot, user_files

Array = np.ndarray[Any, Any]


Kind = tuple[DType, Shape]
_kinds: dict[Kind, Kind] = {}


def kind_of(dtype: DType, shape: Shape) -> Kind:
    """The one object for this type and shape, so that `is` compares them."""
    return _kinds.setdefault((dtype, shape), (dtype, shape))


class Marks:
    """What few tensors have: they take part in training, or have a name."""

    __slots__ = ("grad", "name", "requires_grad")

    def __init__(self) -> None:
        self.requires_grad = False
        self.grad: Handle | None = None
        self.name: str | None = None


# The journal of handles is one for the process, so one thread traces a function at a time.
tracing = RLock()


class Journal:
    """Which handles were rebound while a capture ran in this thread, and the node that each had before."""

    defers = False  # values are computed later: a captured function runs when it is replayed

    def __init__(self, outer: Journal | None = None) -> None:
        self.thread = get_ident()
        self.before: dict[int, tuple[Handle, UOp]] = {}
        self.outer = outer  # the journal of a capture that this one is part of
        if outer is not None:
            self.defers = outer.defers

    def is_mine(self) -> bool:
        """This thread captures."""
        return get_ident() == self.thread

    def note(self, handle: Handle, before: UOp) -> None:
        """A handle is about to get another node; only what it had at the start is kept."""
        if get_ident() == self.thread:
            self.before.setdefault(id(handle), (handle, before))

    def read(self, handle: Handle, node: UOp) -> UOp:
        """Somebody builds on a handle: the node to build on."""
        return node if self.outer is None else self.outer.read(handle, node)

    def look(self, handle: Handle) -> None:
        """Somebody asks for a value, which a captured function cannot give."""
        if self.outer is not None:
            self.outer.look(handle)


def _named_for_users(cls: type) -> None:
    """Methods stand in many classes, but belong to Tensor: Python's own errors, help and pickle say so."""
    for name, value in vars(cls).items():
        if isinstance(value, FunctionType):
            value.__qualname__ = f"Tensor.{name}"
            value.__module__ = "ingot.tensor.tensor"


class Handle:
    """One program node, by reference; or memory, whose node is made when somebody builds on it."""

    __slots__ = ("__weakref__", "_uop", "buffer", "kind", "marks")
    journal: ClassVar[Journal | None] = None
    _uop: UOp | None
    buffer: Buffer | None
    kind: Kind | None
    marks: Marks | None

    def __init_subclass__(cls) -> None:
        if cls.__module__.startswith("ingot."):
            _named_for_users(cls)

    @classmethod
    def of(cls, uop: UOp) -> Self:
        """The tensor of a node."""
        made = object.__new__(cls)
        if not recording.is_on:
            uop = unfollowed(uop)
        made._uop = uop
        made.buffer = made.kind = made.marks = None
        # Errors at evaluation name the line of whoever called the op that called us.
        if uop.spot is None:
            try:
                frame = _getframe(2)
            except ValueError:  # nobody: called from the top level of a file
                return made
            code = frame.f_code
            if code.co_filename in user_files:
                set_spot(uop, (code, frame.f_lasti))
            else:
                note_spot(uop, frame)
        return made

    @classmethod
    def holding(cls, buffer: Buffer, kind: Kind) -> Self:
        """The tensor of a value in memory."""
        made = object.__new__(cls)
        made._uop = made.marks = None
        made.buffer = buffer
        made.kind = kind
        return made

    @property
    def uop(self) -> UOp:
        """The program node."""
        node = self._uop
        if node is None:
            node = self._buffer_node()
        return node if Handle.journal is None else Handle.journal.read(self, node)

    def _buffer_node(self) -> UOp:
        """The node of the memory that the handle holds."""
        buffer, kind = cast(Buffer, self.buffer), cast(Kind, self.kind)
        node = self._uop = pipeline.buffer_node(buffer, *kind, borrow=True)
        self._note_leaf(node)
        return node

    # --- another node ---------------------------------------------------------------------------------------------

    def rebind(self, node: UOp) -> None:
        """The handle gets another value: the one road for everything that looks like a change in place."""
        before = self.uop
        if before is node:
            return
        if self.journal is not None:
            self.journal.note(self, before)
        node = self._followed(node)
        self._point_to(node)
        changes = note_change(self, node)
        if changes >= MOST_CHANGES and self.journal is None and has_values(node):
            compute([node])
            self.settle(node in tracked([node]))

    def _followed(self, node: UOp) -> UOp:
        """A new value as gradients see it. A leaf is changed only where they are not followed, and stays a leaf."""
        if not self._is_leaf():
            return node if recording.is_on else unfollowed(node)
        if recording.is_on:
            raise ArgumentError(
                "a tensor with requires_grad is changed in place, and gradients could not follow",
                wanted="the change inside `with ig.no_grad():`",
                fix="or compute a new tensor: y = x + 1 in place of x += 1",
            )
        return leaf_value(node, self._is_taken)

    def _is_taken(self, node: UOp) -> bool:
        """The node is that of another leaf."""
        other = leaves.get(node)
        holder = None if other is None else other()
        return holder is not None and holder is not self

    def restore(self, node: UOp) -> None:
        """Back to a node that the handle had: a captured function runs when it is replayed, not while it is captured."""
        self._point_to(node)
        note_value(self)

    def rename(self, node: UOp) -> None:
        """The same value, written as another node."""
        self._point_to(node)

    def settle(self, keeps_node: bool = False) -> None:
        """Read the value from memory from now on, if it has been computed; it stays the same value.

        The node is kept where gradients have to find the way back through it.
        """
        node = in_memory(self.uop)
        if keeps_node and not self._is_leaf():
            self.hold()
        elif node is not self._uop:
            self._point_to(pipeline.settled(node))
        note_value(self)

    def go_on_from(self, keeps_node: bool) -> None:
        """Some value that the tensor had before its last changes has been computed: they start from memory."""
        if keeps_node and not self._is_leaf():
            return
        (node,) = over_memory([self.uop])
        self._point_to(node)
        note_part(self, node)

    def hold(self) -> None:
        """Note where an evaluated value lies, so that replaying a program need not look it up."""
        if self.buffer is None:
            node = in_memory(self.uop)
            self.kind = kind_of(node.dtype, node.shape)
            self.buffer = pipeline.memory(node)

    def plain_memory(self) -> Buffer | None:
        """The memory, if the value lies there and nobody has to see how it is read: no capture, no gradient."""
        node = self._uop
        if Handle.journal is not None:
            return None
        if node is not None:
            if node.op is not Ops.BUFFER or node in leaves:
                return None
            if not pipeline.has_memory(node):
                return None
        self.hold()
        return self.buffer

    def move(self, buffer: Buffer, kind: Kind) -> None:
        """The handle gets a value that lies in memory already: what a replayed program wrote for it."""
        self._uop = None
        self.buffer = buffer
        self.kind = kind
        note_value(self)
        if self.marks is not None:
            _ = self.uop  # a leaf is found by its node

    def _point_to(self, node: UOp) -> None:
        self._uop = node
        self.buffer = self.kind = None
        self._note_leaf(node)

    # --- leaves of differentiation --------------------------------------------------------------------------------

    def require_grad(self, wanted: bool = True) -> None:
        """Make the tensor a leaf: gradients of what is built on it from now on arrive here."""
        if wanted and not self.uop.dtype.is_float:
            raise DTypeError(
                f"requires_grad: the tensor is {self.uop.dtype}, which has no gradient",
                wanted="a float type",
                fix="convert it first: x.float()",
            )
        marks = self.marked()
        if wanted and not marks.requires_grad:
            self._own_node()
        marks.requires_grad = wanted
        if wanted:
            self._note_leaf(self.uop)
        else:
            leaves.pop(self.uop, None)

    def marked(self) -> Marks:
        """The marks of this tensor, made when first asked for."""
        if self.marks is None:
            self.marks = Marks()
        return self.marks

    def _own_node(self) -> None:
        """Equal nodes are one object, so a leaf lies in memory under a number of its own."""
        compute([self.uop])
        node = in_memory(self.uop)
        kind = node.dtype, node.shape
        self._point_to(
            pipeline.buffer_node(pipeline.memory(node), *kind, borrow=True)
        )
        note_value(self)

    def _is_leaf(self) -> bool:
        return self.marks is not None and self.marks.requires_grad

    def _note_leaf(self, node: UOp) -> None:
        if self._is_leaf():
            leaves[node] = ref(self)


Value = (
    Handle | Array | Scalar | np.generic
)  # what stands for a tensor: itself, an array, a number


def operand(value: Value) -> Operand:
    """A tensor or an array as a node; a number stays a number, which takes the type of the tensor that it meets."""
    if isinstance(value, Handle):
        return value.uop
    if isinstance(value, np.ndarray):
        return array_node(value, borrow=False)
    if not isinstance(value, bool | int | float | np.generic) and is_foreign(value):
        return array_node(*foreign(value), borrow=False)
    # What is no number either is reported by the op, which knows its own name.
    number: Operand = value.item() if isinstance(value, np.generic) else value
    return number


def beside(own: Handle, value: Value) -> Operand:
    """What stands beside a tensor in an operator: floats of other libraries take its type, as Python's do."""
    if isinstance(value, Handle):
        return value.uop
    found = operand(value)
    if isinstance(found, UOp) and found.dtype.is_float and own.uop.dtype.is_float:
        return found.cast(own.uop.dtype)
    return found


def node(value: Value) -> UOp:
    """A tensor, an array or a number as a node."""
    found = operand(value)
    if isinstance(found, UOp):
        return found
    if isinstance(found, bool | int | float):
        return node_of("tensor", found)
    raise not_an_input(_getframe(1).f_code.co_name, found)


def not_an_input(op: str, value: object) -> DTypeError:
    """What was given where an op takes a tensor. The op is known by the function that asked."""
    kind = "None" if value is None else type(value).__name__
    lists = isinstance(value, list | tuple)
    return DTypeError(
        f"{op}: an input is {kind}; wanted a tensor, an array or a number",
        fix="make a tensor of it with ig.tensor(...)"
        + (
            ", and give the tensor first, other arguments after it" if lists else ""
        ),
    )


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


def array_node(array: Array, dtype: DType | None = None, *, borrow: bool) -> UOp:
    """The node of a NumPy array: a copy of its memory, or the memory itself; `dtype` where NumPy has no name for it."""
    dtype = dtype or dt.from_numpy(array.dtype)
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


def _builder(op: Op) -> Callable[..., Any]:
    """What builds the node: of a primitive its function itself, which checks its own operands."""
    if op.is_named:
        return op.results if op.several else op
    return op.build


class Builders(dict[str, Callable[..., Any]]):
    """What builds the node of each op; looked up in the registry once, when first asked for."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        made = self[name] = _builder(REGISTRY[name])
        return made


build = Builders()
