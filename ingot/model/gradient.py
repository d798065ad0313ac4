"""Gradients of a model, as a model: the same inputs, more outputs. In: a graph. Out: a graph with `<parameter>_grad`."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.autograd.backward import gradients
from ingot.errors import ArgumentError
from ingot.ir.node import UOp
from ingot.model.graph import Graph, Kind, Port
from ingot.ops.creation import full


def with_gradients(
    graph: Graph, of: str | None, wrt: Sequence[str] | None
) -> Graph:
    """The graph with the gradients of the sum of an output among its outputs."""
    name = of if of is not None else next(iter(graph.outputs))
    if name not in graph.outputs:
        raise ArgumentError(
            f"{graph.name} has no output {name!r}",
            wanted="one of " + ", ".join(graph.outputs),
        )
    output = graph.outputs[name]
    ports = _ports(graph, wrt)
    ones = full(output.shape, 1, output.dtype)
    found = gradients((output,), (ones,), [p.node for p in ports])
    extra = {
        f"{port.name}_grad": _given(port, node)
        for port, node in zip(ports, found, strict=True)
    }
    outputs = {**graph.outputs, **extra}
    return Graph(
        f"{graph.name}_with_gradients",
        graph.ports,
        outputs,
        graph.updates,
        {**graph.names, **extra},
    )


def _ports(graph: Graph, wrt: Sequence[str] | None) -> list[Port]:
    if wrt is None:
        return [p for p in graph.of(Kind.PARAMETER) if p.dtype.is_float]
    for name in wrt:
        if name not in graph.by_name:
            raise ArgumentError(
                f"{graph.name} has no port {name!r}",
                wanted="one of " + ", ".join(graph.by_name),
            )
    return [graph.by_name[name] for name in wrt]


def _given(port: Port, gradient: UOp | None) -> UOp:
    """A port that the output does not depend on has a gradient of zeros."""
    return full(port.shape, 0, port.dtype) if gradient is None else gradient
