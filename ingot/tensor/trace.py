"""Tracing: a function as the program that it builds. In: a function and arguments. Out: its results over stand-ins.

The function runs once, on tensors that have a type and a shape but no value. What it changes outside of itself would
hold a stand-in for ever, so that is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import ref

import numpy as np

from ingot import pipeline
from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.rewrite import substitute
from ingot.ir.shape import Shape
from ingot.tensor.handle import Handle, Journal, tracing
from ingot.tensor.tensor import Tensor
from ingot.tensor.tree import leaves, mapped

__all__: list[str] = []


def stand_in(dtype: DType, shape: Shape) -> Tensor:
    """A tensor without a value."""
    return Tensor.of(pipeline.placeholder(dtype, shape))


def as_tensors(tree: Any) -> Any:
    """Arrays in a tree as tensors; anything else as it is."""
    return mapped(lambda v: Tensor(v) if isinstance(v, np.ndarray) else v, tree)


def numbers_too(tree: Any) -> Any:
    """Arrays and numbers in a tree as tensors."""
    kinds = (np.ndarray, np.generic, bool, int, float)
    return mapped(lambda v: Tensor(v) if isinstance(v, kinds) else v, tree)


def tensors(tree: Any) -> list[Tensor]:
    """The tensors of a tree, in order."""
    return [leaf for leaf in leaves(tree) if isinstance(leaf, Tensor)]


def filled(tree: Any, made: Sequence[Any]) -> Any:
    """The tree with these in the places of its tensors."""
    rest = iter(made)
    return mapped(lambda v: next(rest) if isinstance(v, Tensor) else v, tree)


def traced(
    name: str, function: Callable[..., Any], *args: Any, **named: Any
) -> Any:
    """What the function returns; `name` is the transform that asks."""
    with tracing, _unchanged_outside(name) as inside:
        result = as_tensors(function(*args, **named))
        inside.extend(id(leaf) for leaf in leaves((args, named, result)))
    return result


class _Watch(Journal):
    """Notes what is rebound, also for the capture that runs around it."""

    def note(self, handle: Handle, before: UOp) -> None:
        super().note(handle, before)
        if self.outer is not None:
            self.outer.note(handle, before)


def close(journal: Journal) -> None:
    """End a journal. Other threads may have begun theirs meanwhile: each takes only its own away."""
    above = Handle.journal
    while above is not None and journal not in (above, above.outer):
        above = above.outer
    if above is journal:
        Handle.journal = journal.outer
    elif above is not None:
        above.outer = journal.outer


@contextmanager
def _unchanged_outside(name: str) -> Iterator[list[int]]:
    """Tensors that live on after the function, and were changed by it, are set back and reported."""
    inside: list[int] = []
    journal = Handle.journal = _Watch(Handle.journal)
    try:
        yield inside
    except BaseException:
        _set_back(list(journal.before.values()))
        raise
    finally:
        close(journal)
    changed = [
        (ref(handle), before)
        for key, (handle, before) in journal.before.items()
        if key not in inside
    ]
    journal.before.clear()
    kept = [(handle(), before) for handle, before in changed]
    wrong = _set_back([(h, before) for h, before in kept if h is not None])
    if wrong:
        raise ArgumentError(
            f"{name}: the function changes a tensor from outside",
            given=f"a tensor of shape {wrong[0].shape}",
            fix="return the new value in place of writing it",
        )


def _set_back(changed: Sequence[tuple[Handle, UOp]]) -> list[UOp]:
    """The nodes that tensors have again; those whose new value is whole keep it."""
    wrong = [(handle, before) for handle, before in changed if _waits(handle.uop)]
    for handle, before in wrong:
        handle.restore(before)
    return [before for _, before in wrong]


def _waits(node: UOp) -> bool:
    """Something below has no value yet."""
    return any(
        u.op is Ops.BUFFER and not pipeline.has_memory(u) for u in node.toposort()
    )


def over(nodes: Sequence[UOp], values: Mapping[UOp, UOp]) -> list[UOp]:
    """The nodes with values in place of their stand-ins."""
    return list(substitute(UOp(Ops.SINK, dt.void, tuple(nodes)), values).src)
