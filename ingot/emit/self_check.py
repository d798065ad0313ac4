"""What a generated program must find. In: a graph. Out: its outputs for the numbers of a small generator.

The generator is written in every target, so that all fill their inputs alike without a file between them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.interpret import interpret
from ingot.model.compose import with_shapes
from ingot.model.graph import Array, Graph
from ingot.ops.lower import lower


def numbers(count: int, state: int) -> tuple[Array, int]:
    """The next numbers of the generator (-1..1), and its state after them."""
    made = np.empty(count, np.float64)
    for place in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        made[place] = (state >> 8) / 8388608.0 - 1.0
    return made, state


def sized(graph: Graph, size: int) -> Graph:
    """The graph with every open size set."""
    shapes = {
        p.name: tuple(n if isinstance(n, int) else size for n in p.shape)
        for p in graph.ports
    }
    return with_shapes(graph, shapes)


def filled(graph: Graph) -> dict[str, Array]:
    """Inputs and parameters with the generator's numbers, in order of the ports."""
    state = 1
    made: dict[str, Array] = {}
    for port in graph.ports:
        if port.value is not None:
            made[port.name] = port.value
            continue
        shape: Any = port.shape
        flat, state = numbers(int(np.prod(shape)), state)
        made[port.name] = flat.reshape(shape).astype(dt.to_numpy(port.dtype))
    return made


def outcome(graph: Graph, given: dict[str, Array]) -> dict[str, Array]:
    """What the interpreter finds."""
    values = {p.node: given[p.name] for p in graph.ports}
    with np.errstate(all="ignore"):
        found = interpret(graph.sink, values, lower=lower)
    results = found if isinstance(found, tuple) else (found,)
    return dict(zip((*graph.outputs, *graph.updates), results, strict=True))


def expected(graph: Graph, size: int) -> dict[str, tuple[int, float, float]]:
    """For each output: number of elements, their weighted sum, and what it would be without signs."""
    here = sized(graph, size)
    found = outcome(here, filled(here))
    return {n: _signature(found[n]) for n in graph.outputs}


def _signature(value: Array) -> tuple[int, float, float]:
    """Weights 1..7 in turn, so that exchanged elements show."""
    flat = value.astype(np.float64).reshape(-1)
    weights = np.arange(flat.size) % 7 + 1
    return flat.size, float(flat @ weights), float(np.abs(flat) @ weights)
