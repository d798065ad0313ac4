"""Functions for control flow: Python functions as closed graphs. In: a function and stand-ins. Out: its results, and what
it takes from outside.

The function runs once, over tensors without values. A tensor that it uses without being given it becomes an argument
more. Loops are given whole values: what does not change from turn to turn is computed once, before the loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from ingot import pipeline
from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir import region
from ingot.ir.node import UOp
from ingot.ir.opcode import MOVEMENT, Ops
from ingot.ir.rewrite import substitute
from ingot.tensor.handle import Handle, Journal, tracing
from ingot.tensor.handle import node as node_of
from ingot.tensor.leaves import is_leaf
from ingot.tensor.tensor import Tensor
from ingot.tensor.trace import close, stand_in, tensors
from ingot.tensor.tree import leaves, mapped

__all__: list[str] = []


def name_of(function: Callable[..., Any]) -> str:
    """What the user calls the function."""
    name = getattr(function, "__qualname__", None) or type(function).__name__
    return str(name).rpartition("<locals>.")[2].strip("<>")


class Traced(NamedTuple):
    """What a function returned over stand-ins: a tree, and the nodes of its tensors."""

    name: str
    places: tuple[UOp, ...]
    result: Any
    nodes: tuple[UOp, ...]


def trace(
    what: str,
    function: Callable[..., Any],
    given: Sequence[Any],
    places: Sequence[Tensor],
) -> Traced:
    """Run the function once over stand-ins (`places` are those in `given`)."""
    name = f"{what} of {name_of(function)}"
    if not callable(function):
        raise ArgumentError(
            f"{what}: a function is wanted", given=type(function).__name__
        )
    with tracing, _nothing_changed(name) as inside:
        result = _numbers_as_tensors(function(*given))
        inside.extend(id(leaf) for leaf in leaves((given, result)))
    for leaf in leaves(result):
        if leaf is not None and not isinstance(leaf, Tensor):
            raise ArgumentError(
                f"{name}: it returns a {type(leaf).__name__}",
                wanted="tensors and numbers, in tuples, lists and dictionaries",
            )
    stands = tuple(p.uop for p in places)
    nodes = _with_known_sizes(name, [t.uop for t in tensors(result)], stands)
    return Traced(name, stands, result, nodes)


def _numbers_as_tensors(tree: Any) -> Any:
    """Numbers in a tree as constants of the program, arrays as tensors."""
    return mapped(lambda v: v if _is_no_number(v) else Tensor.of(node_of(v)), tree)


def _is_no_number(value: object) -> bool:
    return value is None or not isinstance(
        value, bool | int | float | np.generic | np.ndarray
    )


def _with_known_sizes(
    name: str, nodes: Sequence[UOp], places: Sequence[UOp]
) -> tuple[UOp, ...]:
    """Computed sizes that come from outside are computed now, because a body is compiled for its sizes."""
    sink = UOp(Ops.SINK, dt.void, tuple(nodes))
    computed = [u for u in region.shallow(sink) if u.op is Ops.SIZE_OF]
    for one in computed:
        if not region.shallow(one).keys().isdisjoint(places):
            raise ArgumentError(
                f"{name}: it computes a size, and a body is compiled for its sizes",
                fix="work with a fixed upper size and a mask, or compute the size outside",
            )
    numbers = {u: UOp.const(dt.index, pipeline.size(u)) for u in computed}
    return substitute(sink, numbers).src if numbers else tuple(nodes)


@contextmanager
def _nothing_changed(name: str) -> Iterator[list[int]]:
    """Tensors that live on after the function, and were changed by it, are set back and reported."""
    journal = Handle.journal = Journal(Handle.journal)
    inside: list[int] = []
    try:
        yield inside
    finally:
        close(journal)
        changed = [
            (ref(handle), before)
            for key, (handle, before) in journal.before.items()
            if key not in inside
        ]
        journal.before.clear()
    wrong = [(h(), before) for h, before in changed]
    living = [(h, before) for h, before in wrong if h is not None]
    for handle, before in living:
        handle.restore(before)
    if living:
        raise ArgumentError(
            f"{name}: it changes a tensor from outside (shape {living[0][1].shape})",
            fix="return the new value, and carry it; random numbers go in as arguments",
        )


# --- what a function takes from outside -------------------------------------------------------------------------------


def captured(parts: Iterable[Traced], whole: bool) -> list[UOp]:
    """The values from outside that these functions read: leaves, or whole values where `whole`."""
    found: dict[UOp, None] = {}
    for part in parts:
        found.update(dict.fromkeys(_captured(part, whole)))
    return list(found)


def _captured(part: Traced, whole: bool) -> Iterator[UOp]:
    sink = UOp(Ops.SINK, dt.void, part.nodes)
    inside: set[UOp] = set(part.places)  # what depends on the arguments
    outside: dict[UOp, None] = {}  # what depends on memory alone
    for node in sink.toposort(
        lambda u: u.op is not Ops.FUNCTION and not is_leaf(u)
    ):
        if node.op is Ops.BUFFER or is_leaf(node):
            if node not in inside:
                outside[node] = None
            continue
        if not inside.isdisjoint(node.src) or node is sink:
            inside.add(node)
            yield from _values(node.src, outside) if whole else ()
        elif any(s in outside for s in node.src):
            outside[node] = None
    if not whole:
        yield from (u for u in outside if u.op is Ops.BUFFER or is_leaf(u))


def _values(sources: Iterable[UOp], outside: Container[UOp]) -> Iterator[UOp]:
    """What of these sources comes from outside; of an assertion, what it looks at."""
    for source in sources:
        if source in outside and source.op is Ops.ASSERT:
            yield from _values(source.src, outside)
        elif source in outside:
            yield _viewed(source)


def _viewed(node: UOp) -> UOp:
    """What a view looks at: views are free, and stay inside."""
    while node.op in MOVEMENT and not is_leaf(node):
        node = node.src[0]
    return node


def closed_function(
    part: Traced, extra: Sequence[UOp], passed: bool = False
) -> UOp:
    """The FUNCTION over the stand-ins and what comes from outside, which it may pass on unchanged."""
    short = re.sub(r"\W+", "_", part.name.rpartition(" of ")[2])
    results = (*part.nodes, *extra) if passed else part.nodes
    return region.function(short, (*part.places, *extra), results)


# --- stand-ins --------------------------------------------------------------------------------------------------------


def settled(given: Sequence[Tensor]) -> list[UOp]:
    """The nodes of arguments; sizes of theirs that are computed are computed now."""
    for tensor in given:
        if any(
            not isinstance(n, int) and _is_computed(n) for n in tensor.uop.shape
        ):
            tensor.realize()
    return [tensor.uop for tensor in given]


def _is_computed(size: UOp) -> bool:
    return any(u.op is Ops.SIZE_OF for u in size.toposort())


def places_for(nodes: Sequence[UOp], drop: int = 0) -> list[Tensor]:
    """Stand-ins for these values, or for their slices along the first axis."""
    return [stand_in(u.dtype, u.shape[drop:]) for u in nodes]
