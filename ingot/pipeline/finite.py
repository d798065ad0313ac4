"""DEBUG_NAN=1: evaluation that stops at the first NaN or infinity. In: program nodes. Out: their values, or the op that
spoiled them.

Every value on the way is stored and looked at, sources first. An infinity that the program was given, or that its code says,
is meant (a mask is often -inf); one that an operation makes of finite numbers is not, and neither is any NaN.
Loaded when the switch is on: it is slow, and takes memory for everything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ingot.errors import NotFiniteError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import MOVEMENT, Ops, PrefixArg, ReduceArg
from ingot.ir.region import shallow
from ingot.ir.rewrite import substitute
from ingot.ir.text import type_text
from ingot.pipeline.buffers import buffer_node, has_memory, memory
from ingot.pipeline.host import evaluate, source
from ingot.pipeline.lines import carry
from ingot.pipeline.normalise import normalise
from ingot.place import Place
from ingot.runtime.buffer import Buffer
from ingot.schedule.label import name_of

Array = np.ndarray[Any, Any]
Compute = Callable[[Sequence[UOp]], list[Buffer]]


class Found(NamedTuple):
    """What is not finite in a value."""

    nans: int
    infinities: int
    text: str


FINE = Found(0, 0, "")
_FOLDS = (ReduceArg, PrefixArg)


def checked(roots: Sequence[UOp], compute: Compute) -> list[Buffer]:
    """The values of these nodes, after a look at everything that they are made of."""
    if not roots:
        return []
    carry(roots, roots)
    order = list(shallow(UOp(Ops.SINK, dt.void, tuple(roots))))[:-1]
    order = _without_combines(order)
    looked_at = [node for node in order if _is_value(node)]
    asked = list(dict.fromkeys((*looked_at, *roots)))
    values = dict(zip(asked, compute(asked), strict=True))
    check = _Check(order, values)
    for node in order:
        check.visit(node)
    return [values[root] for root in roots]


class Finite:
    """A program that is looked at each time it runs, for jit."""

    def __init__(self, roots: Sequence[UOp], compute: Compute) -> None:
        self.roots = roots
        self.compute = compute
        self.leaves = normalise(roots)[1].buffers

    def run(self, inputs: Sequence[Buffer]) -> list[Buffer]:
        """Run once with these inputs."""
        given = {
            leaf: buffer_node(memory, leaf.dtype, leaf.shape, borrow=True)
            for leaf, memory in zip(self.leaves, inputs, strict=True)
        }
        sink = UOp(Ops.SINK, dt.void, tuple(self.roots))
        return checked(substitute(sink, given).src, self.compute)

    def run_sized(
        self, inputs: Sequence[Buffer]
    ) -> tuple[list[Buffer], dict[UOp, int]]:
        return self.run(inputs), {}


def _without_combines(order: Sequence[UOp]) -> list[UOp]:
    """What reductions do with two partial results is no value of the program."""
    combines: set[UOp] = set()
    for node in order:
        if node.op is Ops.STATE or (
            not isinstance(node.arg, _FOLDS) and not combines.isdisjoint(node.src)
        ):
            combines.add(node)
    return [node for node in order if node not in combines]


def _inputs(node: UOp) -> list[UOp]:
    """The values that a node is made of; a reduction has starting values and combines beside them."""
    sources = node.src[: node.arg.n] if isinstance(node.arg, _FOLDS) else node.src
    return [s for s in sources if s.dtype.is_float]


def _is_value(node: UOp) -> bool:
    """A float that an operation computes: not memory, a constant, or either in another shape."""
    leaves = MOVEMENT | {
        Ops.BUFFER,
        Ops.CONST,
        Ops.PARAM,
        Ops.CONTIGUOUS,
        Ops.AFTER,
    }
    return node.dtype.is_float and node.op not in leaves


class _Check:
    def __init__(self, order: Sequence[UOp], values: dict[UOp, Buffer]) -> None:
        self.values = values
        self.variables = normalise(order[-1:])[1].variables
        self.found: dict[UOp, Found] = {}

    def visit(self, node: UOp) -> None:
        """All sources are known: raise if this node is the first that is not finite."""
        self.found[node] = here = self._look(node)
        if not _is_value(node):
            return
        inputs = _inputs(node)
        for number, one in enumerate(inputs, 1):
            if self.found[one].nans:
                raise self._error(node, f"input {number} of", one, inputs)
        known = any(self.found[one].infinities for one in inputs)
        if here.nans or (here.infinities and not known):
            raise self._error(node, "", node, inputs)

    def _look(self, node: UOp) -> Found:
        if not node.dtype.is_float:
            return FINE
        if node.op is Ops.CONST:
            value = float(node.value)
            return Found(math.isnan(value), math.isinf(value), repr(value))
        if node in self.values:
            return look(self._array(node, self.values[node]))
        if node.op is Ops.BUFFER and has_memory(node):
            return look(self._array(node, memory(node)))
        return self.found.get(node.src[0], FINE) if node.src else FINE

    def _array(self, node: UOp, buffer: Buffer) -> Array:
        shape = tuple(
            n if isinstance(n, int) else evaluate(source(n), self.variables)
            for n in normalise([node])[0].src[0].shape
        )
        stored = buffer.as_array(dt.to_numpy(node.dtype), shape)
        if node.dtype is dt.bfloat16:
            return (stored.astype(np.uint32) << 16).view(np.float32)
        return stored

    def _error(
        self, node: UOp, which: str, bad: UOp, inputs: Sequence[UOp]
    ) -> NotFiniteError:
        name = name_of(node) or node.op.name.lower()
        found = self.found[bad]
        subject = (
            f"{which} {name}, {type_text(bad)}, holds" if which else f"{name} gave"
        )
        states = () if which else enumerate(inputs, 1)
        lines = [f"input {n}, {type_text(u)}: {self._state(u)}" for n, u in states]
        error = NotFiniteError(f"{subject} {found.text}", fix="\n  ".join(lines))
        if node.spot is not None:
            error.built_at(Place.of(node.spot))
        return error

    def _state(self, node: UOp) -> str:
        """What can be said of an input: its range where it is finite."""
        found = self.found[node]
        if found.nans or found.infinities:
            return f"holds {found.text}"
        while node.op in MOVEMENT and node not in self.values:
            node = node.src[0]
        if node.op is Ops.CONST:
            return f"{node.value:.6g}"
        held = self._held(node)
        if held is None or not held.size:
            return "finite"
        return f"finite, from {held.min():.6g} to {held.max():.6g}"

    def _held(self, node: UOp) -> Array | None:
        if node in self.values:
            return self._array(node, self.values[node])
        return self._array(node, memory(node)) if node.op is Ops.BUFFER else None


def look(array: Array) -> Found:
    """How many elements are NaN or infinite, in words, and where the first is."""
    nans, infinities = np.isnan(array), np.isinf(array)
    count, endless = int(nans.sum()), int(infinities.sum())
    if not count and not endless:
        return FINE
    word, where = ("NaN", nans) if count else ("an infinity", infinities)
    first = [int(n) for n in np.unravel_index(int(where.argmax()), array.shape)]
    amount = f"in {count or endless} of {array.size} values, first at {first}"
    return Found(count, endless, f"{word} {amount}" if array.ndim else word)
