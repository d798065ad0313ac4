"""Models out of models: one after the other, a part of one, one with its sizes set. In: graphs. Out: graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.region import param
from ingot.ir.rewrite import substitute
from ingot.ir.shape import Shape
from ingot.model.graph import Graph, Kind, Port, closed
from ingot.ops.movement import show


def with_shapes(graph: Graph, shapes: Mapping[str, Sequence[int | None]]) -> Graph:
    """The same graph with sizes of its ports set; None leaves one open."""
    wanted = {}
    for name, shape in shapes.items():
        port = graph.by_name.get(name)
        if port is None:
            raise ArgumentError(
                f"{graph.name} has no port {name!r}",
                wanted="one of " + ", ".join(graph.by_name),
            )
        wanted[name] = _stand_in(port, _filled(port, shape))
    given = {p.name: wanted.get(p.name, p.node) for p in graph.ports}
    return graph.mapped(graph.sizes(given))


def _filled(port: Port, shape: Sequence[int | None]) -> Shape:
    if len(shape) != len(port.shape):
        raise ArgumentError(
            f"with_shapes: {port.name!r}",
            given=tuple(shape),
            wanted=show(port.shape),
        )
    return tuple(
        old if new is None else new
        for old, new in zip(port.shape, shape, strict=True)
    )


def _stand_in(port: Port, shape: Shape) -> UOp:
    return param(0, port.dtype, shape)


# --- one after the other ----------------------------------------------------------------------------------------------


def chained(first: Graph, second: Graph) -> Graph:
    """The outputs of `first` feed the inputs of `second`: by name where names agree, else in order."""
    feeds = _feeds(first, second)
    taken = {port.name for port in first.ports}
    own = [p for p in second.ports if p.name not in feeds]
    renamed = {p.name: _apart(p.name, second.name, taken) for p in own}
    ports = [
        *first.ports,
        *(p._replace(name=renamed[p.name], node=_fresh(p)) for p in own),
    ]
    after = {p.name: p.node for p in ports}
    given = {
        p.name: feeds[p.name] if p.name in feeds else after[renamed[p.name]]
        for p in second.ports
    }
    sized = second.mapped(second.sizes(given))
    change = {p.node: given[p.name] for p in sized.ports}
    moved = sized.mapped(change)
    updates = {renamed[name]: node for name, node in moved.updates.items()}
    names = {name: u for name, u in first.names.items() if name in taken}
    names |= {p.name: p.node for p in ports}
    names |= moved.outputs
    return closed(
        f"{first.name}_{second.name}",
        ports,
        moved.outputs,
        {**first.updates, **updates},
        names,
    )


def _feeds(first: Graph, second: Graph) -> dict[str, UOp]:
    inputs = [p.name for p in second.of(Kind.INPUT)]
    if set(inputs) == set(first.outputs):
        return dict(first.outputs)
    if len(inputs) != len(first.outputs):
        raise ArgumentError(
            f"{first.name} | {second.name}",
            given=f"{len(first.outputs)} outputs for {len(inputs)} inputs",
            wanted="as many outputs as inputs",
        )
    return dict(zip(inputs, first.outputs.values(), strict=True))


def _apart(name: str, model: str, taken: set[str]) -> str:
    """The name, or the name within its model if the other model has one like it."""
    while name in taken:
        name = f"{model}.{name}"
    taken.add(name)
    return name


_fresh_slots = (
    1 << 20
)  # above the slots of any model: a port on its way from one graph into another


def _fresh(port: Port) -> UOp:
    slot = _fresh_slots + port.node.arg.slot  # type: ignore[union-attr]  # a PARAM
    return param(slot, port.dtype, port.shape)


# --- a part -----------------------------------------------------------------------------------------------------------


def part(graph: Graph, starts: Sequence[str], ends: Sequence[str]) -> Graph:
    """The graph from some named tensors to others."""
    for name in (*starts, *ends):
        if name not in graph.names:
            raise ArgumentError(
                f"{graph.name} has no tensor called {name!r}",
                wanted="one of " + ", ".join(graph.names),
                fix="name a tensor with .named(...)",
            )
    cuts = {graph.names[name]: name for name in starts}
    results = {name: graph.names[name] for name in ends}
    inside = _between(list(results.values()), cuts)
    ports = [
        Port(name, Kind.INPUT, param(_fresh_slots + slot, node.dtype, node.shape))
        for slot, (node, name) in enumerate(cuts.items())
    ]
    ports += [p for p in graph.ports if p.node in inside and p.node not in cuts]
    outside = [
        p.name
        for p in ports
        if p.kind in (Kind.INPUT, Kind.STATE) and p.name not in starts
    ]
    if outside:
        raise ArgumentError(
            f"{graph.name}: {', '.join(ends)} also depends on {', '.join(outside)}",
            fix=f"start from {', '.join([*starts, *outside])}",
        )
    change = {node: port.node for node, port in zip(cuts, ports, strict=False)}
    sink = substitute(UOp(Ops.SINK, dt.void, tuple(results.values())), change)
    outputs = dict(zip(results, sink.src, strict=True))
    names = {p.name: p.node for p in ports} | outputs
    title = "_".join((graph.name, *starts, "to", *ends)).replace(".", "_")
    return closed(title, ports, outputs, {}, names)


def _between(ends: Sequence[UOp], cuts: Mapping[UOp, str]) -> set[UOp]:
    sink = UOp(Ops.SINK, dt.void, tuple(ends))
    return set(sink.toposort(gate=lambda node: node not in cuts))
