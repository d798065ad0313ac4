"""Models as JSON, and back. In: a graph. Out: text that holds the whole model, without its parameters' values."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.text import eval_text, text
from ingot.model.graph import Array, Graph, Kind, Port

FORMAT = "ingot-model-1"


def to_json(graph: Graph) -> str:
    """The text of a graph."""
    nodes = _nodes(graph)
    sink = UOp(Ops.SINK, dt.void, nodes)
    return json.dumps(
        {
            "format": FORMAT,
            "name": graph.name,
            "ports": [
                [p.name, p.kind.value, _stored(p.value)] for p in graph.ports
            ],
            "outputs": list(graph.outputs),
            "updates": list(graph.updates),
            "names": list(graph.names),
            "graph": text(sink).split("\n"),
        },
        indent=1,
    )


def _nodes(graph: Graph) -> tuple[UOp, ...]:
    ports = (port.node for port in graph.ports)
    parts = (graph.outputs, graph.updates, graph.names)
    return (*ports, *(node for part in parts for node in part.values()))


def from_json(given: str) -> Graph:
    """The inverse of `to_json`."""
    try:
        found = json.loads(given)
    except json.JSONDecodeError as error:
        raise ArgumentError(f"the model's text is no JSON: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ArgumentError(
            "this is no model of ours",
            given=f"format {found.get('format') if isinstance(found, dict) else None!r}",
            wanted=repr(FORMAT),
        )
    nodes = iter(eval_text("\n".join(found["graph"])).src)
    ports = tuple(
        Port(name, Kind(kind), next(nodes), _loaded(value))
        for name, kind, value in found["ports"]
    )
    parts = [
        {name: next(nodes) for name in found[part]}
        for part in ("outputs", "updates", "names")
    ]
    return Graph(found["name"], ports, *parts)


def _stored(value: Array | None) -> Any:
    if value is None:
        return None
    data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
    return [value.dtype.str, list(value.shape), data]


def _loaded(value: Any) -> Array | None:
    if value is None:
        return None
    kind, shape, data = value
    flat = np.frombuffer(base64.b64decode(data), np.dtype(kind))
    return flat.reshape(shape).copy()
