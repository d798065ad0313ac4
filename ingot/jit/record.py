"""What happens while a function is captured. In: reads and changes of tensors. Out: which tensors are inputs, which are state.

A tensor that exists outside of the function is an input if it is read, and state if it is changed. Tensors that the function
makes for itself are neither: they are gone when it has returned, so they are told apart by weak references.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from weakref import ref

from ingot import pipeline
from ingot.errors import ArgumentError
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.place import is_ours
from ingot.tensor.computed import compute
from ingot.tensor.handle import Handle, Journal

# By the method that asked: what the user wrote, and what to write instead.
_ASKED = {
    "__bool__": (
        "the truth of a tensor",
        "instead of `if`, `while`, `and` or `not` use ig.where(condition, a, b) for elements, ig.cond for branches",
    ),
    "__repr__": (
        "the text of a tensor",
        "print outside of the function: return the tensor, or print its shape and dtype alone",
    ),
}
_ASKED |= dict.fromkeys(("__str__", "__format__"), _ASKED["__repr__"])
_NUMBERS = (
    "the value of a tensor",
    "work with the tensor itself (x / x.max()), or call .item() and .numpy() outside of the function",
)


class Record(Journal):
    """The journal of one capture. `places` are the placeholders of its arguments."""

    defers = True

    def __init__(self, name: str, places: Sequence[UOp]) -> None:
        super().__init__()
        self.name = name
        self.sources: dict[UOp, ref[Handle]] = {}
        self.first: dict[int, tuple[ref[Handle], UOp]] = {}
        self._inside: set[UOp] = set(places)

    def note(self, handle: Handle, before: UOp) -> None:
        """A handle is about to get another node."""
        if not self.is_mine():
            return
        known = self.first.get(id(handle))
        if known is None or known[0]() is not handle:  # the identity of a dead one
            self.first[id(handle)] = (ref(handle), before)

    def read(self, handle: Handle, node: UOp) -> UOp:
        """A handle of the outside is known by the memory that it stands for: no two share a node."""
        if node in self._inside or not self.is_mine():
            return node
        if node.op is Ops.BUFFER:
            if not pipeline.has_memory(node):
                return node  # stands for an argument of a function inside
        elif self._is_outside(node):
            node = self._settled(handle, node)
        else:
            return node
        known = self.sources.get(node)
        if known is not None and known() is None:
            known = None
        if known is None:
            self.sources[node] = ref(handle)
        elif known() is not handle:
            node = self._own(handle, node)
        return node

    def look(self, handle: Handle) -> None:
        """Values are not there yet; those of state would be frozen into the program."""
        node = handle._uop
        if not self.is_mine():
            return
        if node is None or not _is_constant(node):
            raise self._no_value()
        self._settled(handle, node)

    def _no_value(self) -> ArgumentError:
        what, fix = next(
            (_ASKED[name] for name in _methods_above() if name in _ASKED), _NUMBERS
        )
        return ArgumentError(
            f"jit: {what} was asked for while {self.name} is captured; a replay would not ask again",
            fix=fix,
        )

    def _is_outside(self, node: UOp) -> bool:
        """It depends on no argument, and reads memory that nobody has read in this capture: it was built before."""
        reached = node.toposort(gate=lambda u: u not in self._inside)
        buffers = [u for u in reached if u.op is Ops.BUFFER]
        if (
            not any(u in self._inside or u.op is Ops.PARAM for u in reached)
            and all(pipeline.has_memory(u) for u in buffers)
            and any(u not in self.sources for u in buffers)
        ):
            return True
        self._inside.add(node)
        return False

    def _settled(self, handle: Handle, node: UOp) -> UOp:
        Handle.journal = None
        try:
            compute([node])
            handle.settle()
            return handle.uop
        finally:
            Handle.journal = self

    def _own(self, handle: Handle, node: UOp) -> UOp:
        """Two tensors over one node may go different ways: the second gets a node of its own over the same memory."""
        made = pipeline.buffer_node(
            pipeline.memory(node), node.dtype, node.shape, borrow=True
        )
        handle.restore(made)
        self.sources[made] = ref(handle)
        return made

    def undo(self) -> None:
        """Every handle as it was."""
        for handle, before in self.changed():
            handle.restore(before)

    def changed(self) -> list[tuple[Handle, UOp]]:
        """The handles that were changed and are still there, with the nodes that they had."""
        alive = [(handle(), before) for handle, before in self.first.values()]
        return [
            (handle, before)
            for handle, before in alive
            if handle is not None and handle._uop is not before
        ]


def _is_constant(node: UOp) -> bool:
    """It depends on nothing but what the code says."""
    return not any(u.op in (Ops.BUFFER, Ops.PARAM) for u in node.toposort())


def _methods_above() -> Iterator[str]:
    """The names of the functions that led here, from the inside out, up to the user's."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and is_ours(frame.f_code.co_filename):
        yield frame.f_code.co_name
        frame = frame.f_back
