"""The outside of a kernel: its launches and their arguments. In: finished loop trees. Out: KERNEL nodes.

Every launch of a kernel has the same arguments: buffers, temporaries between launches, sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    KernelArg,
    LoopArg,
    LoopKind,
    Ops,
    Scope,
    StageArg,
    VarArg,
)
from ingot.ir.rewrite import substitute
from ingot.kernel.edges import loop_node
from ingot.kernel.nest import (
    Kernel,
    Loop,
)
from ingot.kernel.storage import (
    Place,
)

ZERO = UOp.const(dt.index, 0)
ONE = UOp.const(dt.index, 1)
GRID_AXIS = 1 << 21


@dataclass(frozen=True, slots=True)
class Built:
    """The launches of one kernel and the temporary buffers between them (dtype, elements)."""

    launches: tuple[UOp, ...]
    temporaries: tuple[tuple[dt.DType, UOp], ...]


def one_grid(body: tuple[UOp, ...]) -> tuple[UOp, ...]:
    """Several loops over chunks as one: chunks 0..a belong to the first, a..a+b to the second, and so on."""
    whole = Loop(GRID_AXIS, "chunk", ZERO, ZERO, LoopKind.CHUNK)
    start = ZERO
    parts: list[UOp] = []
    for statement in body:
        arg = cast(LoopArg, statement.arg)
        end = (start + statement.src[0]).simplify()
        mine = ((start - 1 < whole.counter) & (whole.counter < end)).simplify()
        counter = UOp.axis(arg.axis, arg.name)
        own = (whole.counter - start).simplify()
        inside = (substitute(s, {counter: own}) for s in statement.src[1:])
        parts.append(UOp(Ops.WHEN, dt.void, (mine, *inside)))
        start = end
    return (loop_node(whole, start, tuple(parts)),)


def interface(
    kernel: Kernel, bodies: list[tuple[UOp, ...]], places: dict[int, Place]
) -> Built:
    """Give every launch the same arguments."""
    temporary = [p for p in places.values() if p.is_temporary]
    params = (*kernel.params, *(b for p in temporary for b in p.buffers))
    return Built(
        launched(kernel.name, bodies, params),
        tuple((b.dtype, p.size) for p in temporary for b in p.buffers),
    )


def launched(
    name: str, bodies: Sequence[tuple[UOp, ...]], params: tuple[UOp, ...]
) -> tuple[UOp, ...]:
    """A KERNEL per body; the sizes that any of them uses are arguments of all."""
    probe = UOp(Ops.SINK, dt.void, tuple(s for body in bodies for s in body))
    sizes = tuple(u for u in probe.toposort() if u.op is Ops.DEFINE_VAR)
    sizes = tuple(sorted(sizes, key=lambda u: _natural(cast(VarArg, u.arg).name)))
    return tuple(
        _kernel(name if number == 0 else f"{name}_{number}", body, params, sizes)
        for number, body in enumerate(bodies)
    )


def _natural(name: str) -> tuple[str, int]:
    head = name.rstrip("0123456789")
    return head, int(name[len(head) :] or 0)


def _kernel(
    name: str,
    body: tuple[UOp, ...],
    params: tuple[UOp, ...],
    sizes: tuple[UOp, ...],
) -> UOp:
    chunks = ONE
    for statement in body:
        if statement.op is Ops.LOOP and statement.arg.kind is LoopKind.CHUNK:  # type: ignore[union-attr]
            chunks = statement.src[0]
    return UOp(
        Ops.KERNEL,
        dt.void,
        body,
        KernelArg(name, params, sizes, chunks, _scratch(body)),
    )


def _scratch(body: tuple[UOp, ...]) -> UOp:
    """Bytes of scratch: each PACKED stage starts at a multiple of 64."""
    total = ZERO
    for node in UOp(Ops.SINK, dt.void, body).toposort():
        if node.op is Ops.STAGE and cast(StageArg, node.arg).scope is Scope.PACKED:
            total = total + (node.src[0] * node.dtype.itemsize + 63) // 64 * 64
    return total.simplify()
