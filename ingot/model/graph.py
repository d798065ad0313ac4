"""The graph of a model: closed, immutable, and known by its content. In: nodes over ports. Out: a Graph.

A port is what a model is given: inputs at every call, parameters and constants once, state carried from call to call.
In the graph a port is a PARAM node whose slot is its position, so equal models have equal graphs in every process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from ingot.errors import ArgumentError, DTypeError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.region import param, sizes
from ingot.ir.rewrite import substitute
from ingot.ir.shape import Shape
from ingot.ops.movement import show

Array = np.ndarray[Any, Any]


class Kind(Enum):
    """What a port is for."""

    INPUT = "input"
    PARAMETER = "parameter"
    CONSTANT = "constant"
    STATE = "state"


class Port(NamedTuple):
    """One thing that a model is given. `value` is the content of a constant, or where a state begins."""

    name: str
    kind: Kind
    node: UOp
    value: Array | None = None

    @property
    def shape(self) -> Shape:
        return self.node.shape

    @property
    def dtype(self) -> dt.DType:
        return self.node.dtype


@dataclass(frozen=True)
class Graph:
    """`updates`: what each state becomes. `names`: every tensor that has a name, ports and outputs among them."""

    name: str
    ports: tuple[Port, ...]
    outputs: Mapping[str, UOp]
    updates: Mapping[str, UOp]
    names: Mapping[str, UOp]

    @cached_property
    def by_name(self) -> dict[str, Port]:
        return {port.name: port for port in self.ports}

    def of(self, kind: Kind) -> tuple[Port, ...]:
        """The ports of one kind, in order."""
        return tuple(port for port in self.ports if port.kind is kind)

    @cached_property
    def results(self) -> tuple[UOp, ...]:
        """What one call computes: outputs, then states."""
        return (*self.outputs.values(), *self.updates.values())

    @cached_property
    def sink(self) -> UOp:
        return UOp(Ops.SINK, dt.void, self.results)

    @cached_property
    def variables(self) -> tuple[UOp, ...]:
        """The symbolic sizes, in order of the ports that have them."""
        found: dict[UOp, None] = {}
        for port in self.ports:
            for size in port.shape:
                if isinstance(size, UOp):
                    found.update(dict.fromkeys(size.variables()))
        return tuple(found)

    @cached_property
    def version(self) -> str:
        """Known by content: structure and names, and the constants."""
        total = blake2b(self.sink.digest, digest_size=8)
        for port in self.ports:
            total.update(f"{port.name} {port.kind.value};".encode())
            if port.value is not None:
                total.update(port.value.tobytes())
        return total.hexdigest()

    def mapped(self, change: Mapping[UOp, UOp]) -> Graph:
        """The same graph with nodes replaced, ports among them."""
        parts = (self.outputs, self.updates, self.names)
        nodes = [node for part in parts for node in part.values()]
        nodes += [port.node for port in self.ports]
        sink = UOp(Ops.SINK, dt.void, tuple(nodes))
        after = dict(zip(nodes, substitute(sink, change).src, strict=True))
        return Graph(
            self.name,
            tuple(p._replace(node=after[p.node]) for p in self.ports),
            {name: after[u] for name, u in self.outputs.items()},
            {name: after[u] for name, u in self.updates.items()},
            {name: after[u] for name, u in self.names.items()},
        )

    def applied(self, given: Mapping[str, UOp]) -> tuple[UOp, ...]:
        """The results with every port replaced by a node; symbolic sizes take the sizes of what is given."""
        sized = self.mapped(self.sizes(given))
        ports = {port.node: given[port.name] for port in sized.ports}
        return substitute(sized.sink, ports).src

    def sizes(self, given: Mapping[str, UOp]) -> dict[UOp, UOp]:
        """What the symbolic sizes stand for, so that the ports have the shapes of what is given."""
        found: dict[UOp, UOp] = {}
        for port in self.ports:
            self._check(port, given)
            shape = given[port.name].shape
            if len(shape) != len(port.shape):
                raise self._misfit(port, shape)
            for wanted, size in zip(sizes(port.shape), sizes(shape), strict=True):
                expected = substitute(wanted, found).simplify()
                if expected.op is Ops.DEFINE_VAR:
                    found[expected] = size
                elif expected is not size:
                    raise self._misfit(port, shape)
        return found

    def _check(self, port: Port, given: Mapping[str, UOp]) -> None:
        if port.name not in given:
            raise ArgumentError(
                f"{self.name}: {port.kind.value} {port.name!r} is missing",
                wanted=f"{port.dtype} {show(port.shape)}",
            )
        if given[port.name].dtype is not port.dtype:
            raise DTypeError(
                f"{self.name}: {port.kind.value} {port.name!r}",
                given=given[port.name].dtype,
                wanted=port.dtype,
                fix=f"convert it with .astype({port.dtype.name!r})",
            )

    def _misfit(self, port: Port, shape: Shape) -> ShapeError:
        return ShapeError(
            f"{self.name}: {port.kind.value} {port.name!r}",
            given=show(shape),
            wanted=show(port.shape),
        )


def closed(
    name: str,
    ports: Sequence[Port],
    outputs: Mapping[str, UOp],
    updates: Mapping[str, UOp],
    names: Mapping[str, UOp],
) -> Graph:
    """The graph over PARAM nodes of a model that was built over placeholders."""
    slots = {
        port.node: param(slot, port.dtype, port.shape)
        for slot, port in enumerate(ports)
    }
    return Graph(name, tuple(ports), outputs, updates, names).mapped(slots)
