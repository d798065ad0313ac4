"""What a model holds, as a table: operations with shapes, types, parameters and arithmetic. In: a graph. Out: text."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import CASTS, ELEMENTWISE, MOVEMENT, Ops
from ingot.ir.region import shallow
from ingot.ir.rewrite import substitute
from ingot.ir.shape import product
from ingot.ir.text import expr_text
from ingot.model.graph import Graph, Kind
from ingot.ops.lower import lower_all
from ingot.ops.movement import show
from ingot.ops.words import word

Size = int | UOp
_HIDDEN = MOVEMENT | {
    Ops.CONST,
    Ops.PARAM,
    Ops.SINK,
    Ops.DEFINE_VAR,
    Ops.STATE,
    Ops.FUNCTION,
}
_TITLES = ("tensor", "operation", "shape", "type", "parameters", "operations")


def summary(graph: Graph) -> str:
    """One line for each operation that computes, then the totals."""
    called = {node: name for name, node in graph.names.items()}
    rows = [_TITLES]
    total: Size = 0
    for port in graph.ports:
        own = _count(product(port.shape)) if port.kind is Kind.PARAMETER else ""
        rows.append(
            (port.name, port.kind.value, show(port.shape), str(port.dtype), own, "")
        )
    for node in shallow(graph.sink):
        if node.op in _HIDDEN or node.dtype in (dt.index, dt.void):
            continue
        flops = operations(node)
        total = total + flops
        name = called.get(node, "")
        rows.append(
            (
                name,
                _said(node),
                show(node.shape),
                str(node.dtype),
                "",
                _count(flops),
            )
        )
    weights = _total([product(p.shape) for p in graph.of(Kind.PARAMETER)])
    end = f"{_count(weights)} parameters, {_count(total)} operations"
    return "\n".join([graph.name, *_aligned(rows), end])


def _said(node: UOp) -> str:
    said = word(node)
    function = said.attrs.get("function")
    return said.name if function is None else str(function.arg.name)


def operations(node: UOp) -> Size:
    """Arithmetic operations of one node, as sizes of the model."""
    leaves = {
        source: UOp(Ops.PARAM, source.dtype, _dims(source), None)
        for source in node.src
        if source.shape and source.op is not Ops.CONST
    }
    alone = substitute(node, leaves) if leaves else node
    lowered = lower_all(alone)
    counts: list[Size] = []
    for part in lowered.toposort():
        if part.op is Ops.REDUCE:
            counts.append(product(part.src[0].shape))
        elif part.op in ELEMENTWISE - CASTS and part.shape:
            counts.append(product(part.shape))
    return _total(counts)


def _dims(node: UOp) -> tuple[UOp, ...]:
    return tuple(
        n if isinstance(n, UOp) else UOp.const(dt.index, n) for n in node.shape
    )


def _total(sizes: Sequence[Size]) -> Size:
    total: Size = 0
    for size in sizes:
        total = total + size
    return total.simplify() if isinstance(total, UOp) else total


def _count(size: Size) -> str:
    return f"{size:,}" if isinstance(size, int) else expr_text(size.simplify())


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(_TITLES))]
    lines = [
        "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        )
        for row in rows
    ]
    rule = "  ".join("-" * width for width in widths)
    return [line.rstrip() for line in (lines[0], rule, *lines[1:])]
