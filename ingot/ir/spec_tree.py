"""What holds for a kernel tree as a whole: who is inside whom. In: a KERNEL or a statement. Out: faults."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

from ingot.ir.node import UOp
from ingot.ir.opcode import STATEMENTS, AxisArg, FoldArg, LoopArg, LoopKind, Ops

Fault = tuple[UOp, str]


@dataclass(frozen=True)
class _Place:
    """Where a statement stands: the loops around it, and the memory declared before it."""

    axes: frozenset[int] = frozenset()
    kinds: tuple[LoopKind, ...] = ()
    stages: frozenset[UOp] = frozenset()


def tree_faults(root: UOp) -> Iterator[Fault]:
    """The first things wrong with the order and nesting of a tree; a bare expression has none."""
    if root.op is Ops.KERNEL:
        yield from _block(root.src, _Place())
    elif root.op in STATEMENTS:
        yield from _block((root,), _Place())


def _block(nodes: tuple[UOp, ...], place: _Place) -> Iterator[Fault]:
    for node in nodes:
        if node.op is Ops.STAGE:
            yield from _expressions(node, node.src, place)
            place = replace(place, stages=place.stages | {node})
        elif node.op is Ops.LOOP:
            yield from _loop(node, place)
        elif node.op is Ops.WHEN:
            yield from _expressions(node, node.src[:1], place)
            yield from _block(node.src[1:], place)
        elif node.op is Ops.FOLD:
            yield from _fold(node, place)
        else:
            yield from _expressions(node, node.src, place)


def _loop(node: UOp, place: _Place) -> Iterator[Fault]:
    arg = cast(LoopArg, node.arg)
    if arg.axis in place.axes:
        yield node, f"a loop over i{arg.axis} inside a loop over i{arg.axis}"
    if LoopKind.VECTOR in place.kinds:
        yield node, "a loop inside a vector loop"
    if arg.kind is LoopKind.CHUNK and place.kinds:
        yield node, "a chunk loop that is not outermost"
    yield from _expressions(node, node.src[:1], place)
    inner = replace(
        place, axes=place.axes | {arg.axis}, kinds=(*place.kinds, arg.kind)
    )
    yield from _block(node.src[1:], inner)


def _fold(node: UOp, place: _Place) -> Iterator[Fault]:
    arg = cast(FoldArg, node.arg)
    yield from _expressions(node, node.src[: 1 + arg.n], place)
    inner = replace(place, axes=place.axes | {arg.axis})
    yield from _expressions(node, node.src[1 + arg.n : 1 + 2 * arg.n], inner)
    for combine in node.src[1 + 2 * arg.n :]:
        if any(u.op is Ops.LOAD for u in combine.toposort()):
            yield node, "a combine that loads"


def _expressions(
    statement: UOp, roots: tuple[UOp, ...], place: _Place
) -> Iterator[Fault]:
    for root in roots:
        for node in root.toposort(lambda u: u.op is not Ops.STAGE):
            if node.op is Ops.AXIS and cast(AxisArg, node.arg).id not in place.axes:
                yield (
                    node,
                    f"i{cast(AxisArg, node.arg).id} is used outside its loop, in {statement.op.name}",
                )
            if node.op is Ops.STAGE and node not in place.stages:
                yield (
                    node,
                    f"staged memory is used before its place in the tree, in {statement.op.name}",
                )
            if node.op is Ops.STATE and statement.op is not Ops.FOLD:
                yield node, "STATE outside the combine of a FOLD"
