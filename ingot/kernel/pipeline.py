"""Running ahead: a tile is filled before the one in front of it is used. In: a staged nest. Out: it, ahead."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from ingot.errors import MoveError
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Ops, ValueArg
from ingot.kernel.nest import Ahead, Kernel, Loop, Map, Nest, Store, values_in


def pipeline(kernel: Kernel, staged: str, depth: int = 2) -> Kernel:
    """for k: t = v(k); s(t)   ->   t[0] = v(0);  for k: t[(k+1) % 2] = v(k+1) if k+1 < n; s(t[k % 2])

    Here with depth 2: the tile has room for `depth` iterations, and the first `depth - 1` are filled before
    the loop, which is the innermost one that the fill shares with its readers. Needs: a staged value that
    depends on that loop, which runs in order, and on nothing that is computed or stored inside it. Split that
    loop before, not after.
    """
    fill = kernel.nest(staged)
    if not isinstance(fill.body, Map):
        raise MoveError(f"pipeline: {staged} is not a staged value")
    if depth < 2:
        raise MoveError(f"pipeline {staged}: given depth {depth}, wanted 2 or more")
    loop = _shared_loop(kernel, fill)
    made = replace(fill, ahead=Ahead(loop.axis, depth))
    check_ahead(kernel, made)
    return kernel.with_nest(made).noted(f"pipeline({staged!r}, {depth})")


def check_ahead(kernel: Kernel, nest: Nest) -> None:
    """What pipeline needs still holds, whatever moves came after it."""
    if nest.ahead is not None:
        loop = kernel.loops.get(nest.ahead.axis)
        if loop is None or loop.axis != _shared_loop(kernel, nest).axis:
            raise MoveError(
                f"{nest.name} runs ahead in a loop that it shares no more; change that loop before pipeline"
            )
        _check_independent(kernel, nest, loop)


def _shared_loop(kernel: Kernel, fill: Nest) -> Loop:
    """The innermost loop that the fill shares with everyone who reads it."""
    common = fill.loops
    for reader, _ in kernel.readers(fill):
        same = [a == b for a, b in zip(common, reader.loops, strict=False)]
        common = common[: same.index(False) if False in same else len(same)]
    loop = kernel.loops[common[-1]] if common else None
    if loop is None or loop.kind is not LoopKind.LOOP:
        raise MoveError(
            f"pipeline {fill.name}: it shares no loop that runs in order with its readers; stage it inside one"
        )
    if loop.axis not in fill.dims:
        raise MoveError(
            f"pipeline {fill.name}: its value is the same in every iteration of {loop.name}"
        )
    return loop


def _check_independent(kernel: Kernel, fill: Nest, loop: Loop) -> None:
    """Nothing that the fill reads changes inside the loop."""
    written = {n.body.buffer for n in kernel.nests if isinstance(n.body, Store)}
    for expression in fill.expressions():
        inside = [
            n for n in _read_nests(kernel, expression) if loop.axis in n.loops
        ]
        loads = [
            u
            for u in expression.toposort()
            if u.op is Ops.LOAD and u.src[0] in written
        ]
        if inside or loads:
            what = inside[0].name if inside else "a buffer that this kernel writes"
            raise MoveError(
                f"pipeline {fill.name}: it reads {what}, which is not known an iteration of {loop.name} ahead"
            )


def _read_nests(kernel: Kernel, expression: UOp) -> list[Nest]:
    return [kernel.by_id(cast(ValueArg, u.arg).nest) for u in values_in(expression)]
