"""Opcodes over a batch. In: an opcode's node. Out: the same opcode, with the batch as its first axis."""

from __future__ import annotations

from typing import cast

from ingot.autograd.lanes import Batch, Lane, Rule, every_result
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    ELEMENTWISE,
    AxesArg,
    Ops,
    PrefixArg,
    ReduceArg,
    ResultArg,
    WindowArg,
)
from ingot.ir.region import function, param, results, scan
from ingot.ir.shape import dim
from ingot.ops.creation import counter
from ingot.ops.elementwise import constant
from ingot.ops.movement import broadcast_to, permute, reshape, size
from ingot.ops.reduce import all_, argmin, sum_


def _elementwise(walk: Batch, node: UOp) -> UOp:
    return node.replace(src=tuple(walk.full(s) for s in node.src))


# --- moves --------------------------------------------------------------------------------------------------------


def _sizes(walk: Batch, node: UOp) -> list[UOp]:
    """The sizes that a move names: they are the same for every example."""
    return [walk.plain(size) for size in node.src[1:]]


def _reshape(walk: Batch, node: UOp) -> UOp:
    shape = (walk.length, *map(dim, _sizes(walk, node)))
    return reshape(walk.full(node.src[0]), shape)


def _expand(walk: Batch, node: UOp) -> UOp:
    shape = (walk.length, *map(dim, _sizes(walk, node)))
    return broadcast_to(walk.full(node.src[0]), shape)


def _permute(walk: Batch, node: UOp) -> UOp:
    return permute(walk.full(node.src[0]), (0, *_behind(node)))


def _flip(walk: Batch, node: UOp) -> UOp:
    return node.replace(src=(walk.full(node.src[0]),), arg=AxesArg(_behind(node)))


def _behind(node: UOp) -> tuple[int, ...]:
    """The axes that a node names, counted with the batch in front."""
    return tuple(a + 1 for a in cast(AxesArg, node.arg).axes)


def _with_sizes(*first: int | None) -> Rule:
    """A move with sizes for each axis: those of the batch come first, and None is its length."""

    def rule(walk: Batch, node: UOp) -> UOp:
        ahead = [size(walk.length if n is None else n) for n in first]
        x = walk.full(node.src[0])
        return node.replace(src=(x, *ahead, *_sizes(walk, node)))

    return rule


def _window(walk: Batch, node: UOp) -> UOp:
    axis = cast(WindowArg, node.arg).axis
    sources = (walk.full(node.src[0]), *_sizes(walk, node))
    return node.replace(src=sources, arg=WindowArg(axis + 1))


def _take(walk: Batch, node: UOp) -> UOp:
    """The batch is in the places, in what they are taken from, or in both: then each example takes from its own."""
    x, *places = node.src
    axes = cast(AxesArg, node.arg).axes
    if not walk.is_batched(x):
        return node.replace(src=(walk.lane(x).node, *map(walk.full, places)))
    behind = tuple(a + 1 for a in axes)
    if any(walk.is_batched(i) for i in places):
        full = [walk.full(i) for i in places]
        own = counter(full[0].shape, 0, full[0].dtype)
        return node.replace(
            src=(walk.full(x), own, *full), arg=AxesArg((0, *behind))
        )
    steady = [walk.lane(i).node for i in places]
    made = node.replace(src=(walk.full(x), *steady), arg=AxesArg(behind))
    at, rank = len(places[0].shape), len(made.shape)
    return permute(made, (at, *(a for a in range(rank) if a != at)))


# --- the rest -----------------------------------------------------------------------------------------------------


def _reduce(walk: Batch, node: UOp) -> UOp | tuple[Lane, ...]:
    arg = cast(ReduceArg, node.arg)
    values = [walk.full(v) for v in node.src[: arg.n]]
    rest = [walk.plain(s) for s in node.src[arg.n :]]
    axes = tuple(a + 1 for a in arg.axes)
    made = node.replace(src=(*values, *rest), arg=ReduceArg(axes, arg.n))
    return made if arg.n == 1 else every_result(made)


def _prefix(walk: Batch, node: UOp) -> UOp | tuple[Lane, ...]:
    arg = cast(PrefixArg, node.arg)
    values = [walk.full(v) for v in node.src[: arg.n]]
    rest = [walk.plain(s) for s in node.src[arg.n :]]
    moved = arg._replace(axis=arg.axis + 1)
    made = node.replace(src=(*values, *rest), arg=moved)
    return made if arg.n == 1 else every_result(made)


def _assert(walk: Batch, node: UOp) -> tuple[Lane, ...]:
    """All examples have to pass; the details are those of the first that does not."""
    cond, *details = (walk.full(s) for s in node.src)
    failed = argmin(cond.cast(dt.int32), axis=0)
    here = counter(cond.shape, 0).eq(
        broadcast_to(reshape(failed, (1,)), cond.shape)
    )
    told = [sum_(here.where(d, _zeros(d))).cast(d.dtype) for d in details]
    return (Lane(node.replace(src=(all_(cond), *told)), False),)


def _zeros(like: UOp) -> UOp:
    return constant(0, like.dtype, like.shape)


def _size_of(walk: Batch, node: UOp) -> tuple[Lane, ...]:
    return (Lane(node.replace(src=tuple(map(walk.plain, node.src))), False),)


def _result(walk: Batch, node: UOp) -> tuple[Lane, ...]:
    return (walk.made[node.src[0]][cast(ResultArg, node.arg).index],)


def _sink(walk: Batch, node: UOp) -> tuple[Lane, ...]:
    return tuple(walk.lane(s) for s in node.src)


def _after(walk: Batch, node: UOp) -> tuple[Lane, ...]:
    value, batched = walk.lane(node.src[0])
    effects = [walk.lane(s).node for s in node.src[1:]]
    return (Lane(node.replace(src=(value, *effects)), batched),)


def one_by_one(walk: Batch, node: UOp) -> UOp | tuple[Lane, ...]:
    """The node once for each example: a SCAN along the batch, which carries what is the same for all."""
    sources = [s for s in dict.fromkeys(node.src) if s.op is not Ops.CONST]
    steady = [s for s in sources if not walk.is_batched(s)]
    varying = [s for s in sources if walk.is_batched(s)]
    places = {
        s: param(slot, s.dtype, s.shape)
        for slot, s in enumerate((*steady, *varying))
    }
    once = node.replace(src=tuple(places.get(s, s) for s in node.src))
    several = len(node.results) > 1
    params = list(places.values())
    outcomes = (*params[: len(steady)], *(results(once) if several else (once,)))
    body = function("one_by_one", params, outcomes)
    carry = [walk.lane(s).node for s in steady]
    made = scan(body, carry, [walk.full(s) for s in varying])[len(carry) :]
    return tuple(Lane(y, True) for y in made) if several else made[0]


OPCODE_RULES: dict[Ops, Rule] = {
    **dict.fromkeys(ELEMENTWISE, _elementwise),
    Ops.RESHAPE: _reshape,
    Ops.EXPAND: _expand,
    Ops.PERMUTE: _permute,
    Ops.FLIP: _flip,
    Ops.PAD: _with_sizes(0, 0),
    Ops.SHRINK: _with_sizes(0, None),
    Ops.STRIDE: _with_sizes(1),
    Ops.WINDOW: _window,
    Ops.CONTIGUOUS: _elementwise,
    Ops.TAKE: _take,
    Ops.REDUCE: _reduce,
    Ops.PREFIX: _prefix,
    Ops.ASSERT: _assert,
    Ops.SIZE_OF: _size_of,
    Ops.RESULT: _result,
    Ops.SINK: _sink,
    Ops.AFTER: _after,
    Ops.EXTERN: one_by_one,
}
