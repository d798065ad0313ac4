"""Tensors that were changed and wait for their value. In: a handle that was rebound. Out: which ones an evaluation passes.

A loop that looks only at its loss would pile up updates: the weights of this step depend on those of all steps before.
So what is evaluated also stores the changed tensors that it passes, in the value they have now or had on the way to it,
and they go on from there; and it takes along those that need what it computes, which is then computed once. A tensor that
nothing passes is stored when it has been changed often enough. Each thread cares for what it changed itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from threading import get_ident
from typing import TYPE_CHECKING, cast
from weakref import ref

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import ELEMENTWISE, Ops
from ingot.tensor.computed import is_computed, is_missing

if TYPE_CHECKING:
    from ingot.tensor.handle import Handle

MOST_CHANGES = 256
MOST_FOLLOWED = 16  # what was changed oftener is not looked for any more: it waits for nobody's loop


class Change(ref["Handle"]):
    """A rebound handle, how often it was rebound since it had a value in memory, the nodes it had, and who did it."""

    __slots__ = ("count", "key", "past", "thread")
    count: int
    key: int
    past: deque[ref[UOp]]
    thread: int


# By identity: a weak dictionary would compare the tensors themselves, element by element.
_dirty: dict[int, Change] = {}


def _forget(change: ref[Handle]) -> None:
    _dirty.pop(cast(Change, change).key, None)


def note_change(handle: Handle, node: UOp) -> int:
    """The handle got another node that is pending; how often that happened since it had a value."""
    change = _dirty.get(id(handle))
    if change is None:
        change = Change(handle, _forget)
        change.key = id(handle)
        change.count = 0
        change.past = deque(maxlen=MOST_FOLLOWED)
        _dirty[change.key] = change
    change.count += 1
    change.past.append(ref(node))
    change.thread = get_ident()
    return change.count


def note_value(handle: Handle) -> None:
    """The handle waits for nothing any more."""
    _dirty.pop(id(handle), None)


def note_part(handle: Handle, node: UOp) -> None:
    """A node that the handle had on the way has its value: the handle goes on from there, as `node`."""
    change = _dirty.get(id(handle))
    if change is not None:
        change.count = 1
        change.past.clear()
        change.past.append(ref(node))


def changes_of(handle: Handle) -> int:
    """How often a handle was rebound since it had a value."""
    change = _dirty.get(id(handle))
    return 0 if change is None else change.count


def any_dirty() -> bool:
    """Some tensor waits for the value of an update."""
    return bool(_dirty)


def dirty_handles() -> list[Handle]:
    """The tensors that wait for the value of an update."""
    handles = [change() for change in list(_dirty.values())]
    return [h for h in handles if h is not None]


def passed_by(nodes: Container[UOp]) -> list[tuple[Handle, UOp]]:
    """The waiting tensors that an evaluation of these nodes passes, each with the last of its nodes among them."""
    found = []
    for handle, change in _of_this_thread():
        node = _last_among(change.past, nodes)
        if node is not None:
            found.append((handle, node))
    return found


def _of_this_thread() -> list[tuple[Handle, Change]]:
    me = get_ident()
    pairs = [(change(), change) for change in list(_dirty.values())]
    return [(h, c) for h, c in pairs if h is not None and c.thread == me]


def _last_among(past: deque[ref[UOp]], nodes: Container[UOp]) -> UOp | None:
    for reference in reversed(past):
        node = reference()
        if node is not None and node in nodes:
            return node
    return None


# --- what is computed once if it is computed together ---------------------------------------------------------------


def sharing(work: Container[UOp]) -> list[tuple[Handle, UOp]]:
    """The waiting tensors that need something which an evaluation of these nodes computes, with their nodes."""
    waiting = [
        (handle, handle.uop)
        for handle, change in _of_this_thread()
        if change.count <= MOST_FOLLOWED
    ]
    sink = UOp(Ops.SINK, dt.void, tuple(node for _, node in waiting))
    needs: set[UOp] = set()
    without: set[UOp] = (
        set()
    )  # they need arguments of a function that is being traced
    combining: set[UOp] = (
        set()
    )  # how a reduction combines: many share it, and it is no work
    for node in sink.toposort(gate=_is_open):
        if is_missing(node) or not without.isdisjoint(node.src):
            without.add(node)
        elif node.op is Ops.STATE or (
            node.op in ELEMENTWISE and not combining.isdisjoint(node.src)
        ):
            combining.add(node)
        elif _is_open(node) and (
            not needs.isdisjoint(node.src) or (node in work and _takes_time(node))
        ):
            needs.add(node)
    return [(h, n) for h, n in waiting if n in needs and n not in without]


def _is_open(node: UOp) -> bool:
    """It is not in memory, and its sources are part of the same program."""
    return node.op is not Ops.FUNCTION and not is_computed(node)


def _takes_time(node: UOp) -> bool:
    """No constant, size or move."""
    if node.op in (Ops.OP, Ops.REDUCE):
        return bool(node.src)
    return node.op in ELEMENTWISE and node.dtype is not dt.index
