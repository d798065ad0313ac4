"""Lowering: program graph to primitive graph. In: nodes with OP among them. Out: opcodes, which remember their op.

A lowered node knows the ops that it came from, outermost first, so that a kernel can say `softmax > exp`. This is kept
beside the graph, by weak reference: it is a hint for people, and never changes what a node is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast
from weakref import WeakKeyDictionary

from ingot.ir.node import UOp, set_spot
from ingot.ir.opcode import MOVEMENT, OpArg, Ops, ResultArg
from ingot.ops.op import Op, find
from ingot.place import Spot

_origins: WeakKeyDictionary[UOp, tuple[str, ...]] = WeakKeyDictionary()
_UNNAMED = MOVEMENT | {
    Ops.CONST,
    Ops.DEFINE_VAR,
    Ops.BUFFER,
    Ops.PARAM,
    Ops.STATE,
    Ops.SINK,
}


def origin(node: UOp) -> tuple[str, ...]:
    """The ops that this node was lowered from, outermost first."""
    return _origins.get(node, ())


def describe(node: UOp) -> str:
    """`softmax > exp`."""
    own = cast(OpArg, node.arg).name if node.op is Ops.OP else node.op.name.lower()
    return " > ".join((*origin(node), own))


def lower(node: UOp) -> UOp:
    """An OP node one level down; several results become a SINK of them. Any other node is itself."""
    if node.op is not Ops.OP:
        return node
    return _expand(find(cast(OpArg, node.arg).name), node, node.src)


def lower_all(root: UOp, keeps: Callable[[str], bool] = lambda name: False) -> UOp:
    """The same program in primitives, and in the operations that whoever asks keeps."""
    done: dict[UOp, UOp] = {}
    below: dict[UOp, UOp] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        waiting = [s for s in node.src if s not in done]
        if node in done:
            stack.pop()
        elif node in below:
            done[node] = done[below[node]]
            stack.pop()
        elif waiting:
            stack.extend(waiting)
        else:
            _visit(node, done, below, stack, keeps)
    return done[root]


def _visit(
    node: UOp,
    done: dict[UOp, UOp],
    below: dict[UOp, UOp],
    stack: list[UOp],
    keeps: Callable[[str], bool],
) -> None:
    """All sources are done: rebuild the node over them, or put what it lowers to on the stack."""
    sources = tuple(done[s] for s in node.src)
    declared = _lowering(node, keeps)
    if declared is not None:
        below[node] = _expand(declared, node, sources)
        stack.append(below[node])
    elif node.op is Ops.RESULT and sources[0].op is Ops.SINK:
        done[node] = sources[0].src[cast(ResultArg, node.arg).index]
    elif sources == node.src:
        done[node] = node
    else:
        done[node] = _rebuilt(node, sources)


def _rebuilt(node: UOp, sources: tuple[UOp, ...]) -> UOp:
    return inherit(node.replace(src=sources), node)


def inherit(made: UOp, node: UOp) -> UOp:
    """`made`, which stands for `node`, and so comes from the same op and line."""
    if node.spot is not None:
        set_spot(made, node.spot)
    path = _origins.get(node)
    if path is not None:
        _origins.setdefault(made, path)
    return made


def _lowering(node: UOp, keeps: Callable[[str], bool]) -> Op | None:
    """The op to take apart here, if any."""
    if node.op is not Ops.OP:
        return None
    declared = find(cast(OpArg, node.arg).name)
    return None if declared.basic or keeps(declared.name) else declared


def _expand(declared: Op, node: UOp, sources: tuple[UOp, ...]) -> UOp:
    """What `node` is, one level down, over `sources`."""
    attrs = dict(cast(OpArg, node.arg).attrs)
    made = declared.build(*sources, **attrs)
    lowered = made if isinstance(made, UOp) else made[0].sink(*made[1:])
    _remember(lowered, sources, (*origin(node), declared.name), node.spot)
    return lowered


def _remember(
    lowered: UOp, inputs: Iterable[UOp], path: tuple[str, ...], spot: Spot | None
) -> None:
    """Every node between the inputs and the result came from `path`, and from a line of the user's."""
    outside = set(inputs)
    if lowered in outside:
        return
    for made in lowered.toposort(gate=lambda node: node not in outside):
        if made not in outside and made.op not in _UNNAMED:
            _origins.setdefault(made, path)
            if spot is not None:
                set_spot(made, spot)
