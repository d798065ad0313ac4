"""Functions, branches and loops over a batch. In: region nodes. Out: regions whose bodies are batched.

CALL                              the batched function
IF, the same way for all          IF over batched branches
IF, each example its own way      both branches, and WHERE between their results
WHILE, as long for all            WHILE over a batched body
WHILE, each as long as it needs   until all are done; an example that is done keeps its state
SCAN                              SCAN; the batch lies behind the axis that it runs along
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ingot.autograd.lanes import Batch, Lane, Rule, every_result
from ingot.ir.node import UOp
from ingot.ir.opcode import FunctionArg, OpArg, Ops, ParamArg, ScanArg
from ingot.ir.region import (
    call,
    function,
    if_,
    param,
    scan,
    shallow,
    unchanged,
    while_,
)
from ingot.ir.shape import Type
from ingot.ops.movement import broadcast_to, permute, reshape
from ingot.ops.reduce import any_

Flags = tuple[bool, ...]


def _types(nodes: Sequence[UOp]) -> list[Type]:
    return [(u.dtype, u.shape) for u in nodes]


def _flags(walk: Batch, nodes: Sequence[UOp]) -> Flags:
    return tuple(walk.is_batched(u) for u in nodes)


def _params(walk: Batch, types: Sequence[Type], batched: Flags) -> list[UOp]:
    """Parameters of these types; those that are batched have the batch in front."""
    shapes = [
        (walk.length, *shape) if flag else shape
        for (_, shape), flag in zip(types, batched, strict=True)
    ]
    return [
        param(slot, kind, shape)
        for slot, ((kind, _), shape) in enumerate(zip(types, shapes, strict=True))
    ]


def _lanes(
    walk: Batch, made: UOp, params: Sequence[UOp], batched: Flags
) -> list[Lane]:
    """The results of a function over batched parameters."""
    given = {
        u: params[cast(ParamArg, u.arg).slot]
        for u in shallow(made)
        if u.op is Ops.PARAM and batched[cast(ParamArg, u.arg).slot]
    }
    return walk.inside(made.src, given)


def _body(
    walk: Batch,
    made: UOp,
    types: Sequence[Type],
    batched: Flags,
    wanted: Flags | None = None,
) -> tuple[UOp, Flags]:
    """A function over batched parameters, and which of its results are batched; `wanted` ones are in any case."""
    key = (made, batched, wanted)
    if key not in walk.bodies:
        params = _params(walk, types, batched)
        lanes = _lanes(walk, made, params, batched)
        flags = _either([lane.batched for lane in lanes], wanted)
        outcomes = [
            walk.spread(lane) if flag else lane.node
            for lane, flag in zip(lanes, flags, strict=True)
        ]
        name = cast(FunctionArg, made.arg).name
        walk.bodies[key] = function(name, params, outcomes), flags
    return walk.bodies[key]


def _either(a: Sequence[bool], b: Sequence[bool] | None) -> Flags:
    if b is None:
        return tuple(a)
    return tuple(x or y for x, y in zip(a, b, strict=True))


def _lanes_of(made: Sequence[UOp], batched: Flags) -> tuple[Lane, ...]:
    return tuple(Lane(u, flag) for u, flag in zip(made, batched, strict=True))


# --- calls and branches -------------------------------------------------------------------------------------------


def _call(walk: Batch, node: UOp) -> tuple[Lane, ...]:
    made, *args = node.src
    body, flags = _body(walk, made, _types(args), _flags(walk, args))
    return _lanes_of(call(body, *(walk.lane(a).node for a in args)), flags)


def _if(walk: Batch, node: UOp) -> tuple[Lane, ...]:
    cond, then, otherwise, *args = node.src
    types, given = _types(args), _flags(walk, args)
    _, yes = _body(walk, then, types, given)
    _, no = _body(walk, otherwise, types, given)
    wanted = _either(yes, no)
    if walk.is_batched(cond):
        wanted = (True,) * len(wanted)
    branches = [
        _body(walk, part, types, given, wanted)[0] for part in (then, otherwise)
    ]
    values = [walk.lane(a).node for a in args]
    if not walk.is_batched(cond):
        return _lanes_of(if_(walk.lane(cond).node, *branches, *values), wanted)
    pairs = zip(*(call(branch, *values) for branch in branches), strict=True)
    chosen = [_select(walk.full(cond), a, b) for a, b in pairs]
    return _lanes_of(chosen, wanted)


def _select(cond: UOp, yes: UOp, no: UOp) -> UOp:
    """`yes` for the examples whose condition holds."""
    if yes is no:
        return yes
    ones = (1,) * (len(yes.shape) - 1)
    column = reshape(cond, (*cond.shape, *ones))
    return broadcast_to(column, yes.shape).where(yes, no)


# --- loops --------------------------------------------------------------------------------------------------------


def _carried(
    walk: Batch, body: UOp, types: Sequence[Type], batched: Flags, count: int
) -> Flags:
    """Which of the first `count` parameters are batched once the body has run as often as it likes."""
    while True:
        _, made = _body(walk, body, types, batched)
        grown = (*_either(batched[:count], made[:count]), *batched[count:])
        if grown == batched:
            return batched
        batched = grown


def _while(walk: Batch, node: UOp) -> tuple[Lane, ...]:
    cond, body, *state = node.src
    types = _types(state)
    flags = _carried(walk, body, types, _flags(walk, state), len(state))
    goes_on, (differs,) = _body(walk, cond, types, flags)
    if differs:
        steady = unchanged(node)
        flags = tuple(f or slot not in steady for slot, f in enumerate(flags))
        goes_on, step = _masked(walk, cond, body, types, flags)
    else:
        step, _ = _body(walk, body, types, flags, flags)
    return _lanes_of(while_(goes_on, step, *_start(walk, state, flags)), flags)


def _start(walk: Batch, state: Sequence[UOp], batched: Flags) -> list[UOp]:
    """What a loop begins with."""
    return [
        walk.full(s) if flag else walk.lane(s).node
        for s, flag in zip(state, batched, strict=True)
    ]


def _masked(
    walk: Batch, cond: UOp, body: UOp, types: Sequence[Type], batched: Flags
) -> tuple[UOp, UOp]:
    """Goes on while one example does; a step changes only those that do."""
    params = _params(walk, types, batched)
    (active,) = _lanes(walk, cond, params, batched)
    alive = walk.spread(active)
    after = _lanes(walk, body, params, batched)
    kept = [
        _select(alive, walk.spread(a), b) if flag else b
        for a, b, flag in zip(after, params, batched, strict=True)
    ]
    name = cast(FunctionArg, body.arg).name
    return function("any", params, (any_(alive),)), function(name, params, kept)


def _scan(walk: Batch, node: UOp) -> tuple[Lane, ...]:
    body, *args = node.src
    count = cast(ScanArg, node.arg).n_carry
    carry, xs = args[:count], args[count:]
    types = [*_types(carry), *((x.dtype, x.shape[1:]) for x in xs)]
    flags = _carried(walk, body, types, _flags(walk, args), count)
    wanted = (*flags[:count], *((False,) * (len(body.src) - count)))
    step, made = _body(walk, body, types, flags, wanted)
    start = _start(walk, carry, flags[:count])
    along = [_behind_first(walk.lane(x)) for x in xs]
    reverse = cast(ScanArg, node.arg).reverse
    outcomes = scan(step, start, along, reverse=reverse)
    ends = _lanes_of(outcomes[:count], made[:count])
    rows = _lanes_of(outcomes[count:], made[count:])
    return (*ends, *(Lane(_behind_first(y), y.batched) for y in rows))


def _behind_first(lane: Lane) -> UOp:
    """The batch exchanged with the axis that a SCAN runs along."""
    if not lane.batched:
        return lane.node
    rank = len(lane.node.shape)
    return permute(lane.node, (1, 0, *range(2, rank)))


# --- a gradient of its own --------------------------------------------------------------------------------------------


def with_own_gradient(walk: Batch, node: UOp) -> tuple[Lane, ...]:
    """custom_gradient(back, *values, *inputs, *more): the function back is batched, so that it stays the gradient."""
    back, *rest = node.src
    arg = cast(OpArg, node.arg)
    n_values, n_inputs = cast(int, arg["values"]), cast(int, arg["inputs"])
    seeds = [v for v in rest[:n_values] if v.dtype.is_float]
    more = rest[n_values + n_inputs :]
    given = ((True,) * len(seeds), _flags(walk, more))
    wanted = (True,) * len(back.src)
    body, _ = _body(
        walk, back, _types([*seeds, *more]), (*given[0], *given[1]), wanted
    )
    whole = [walk.full(x) for x in rest[: n_values + n_inputs]]
    made = node.replace(src=(body, *whole, *(walk.lane(m).node for m in more)))
    return every_result(made) if n_values > 1 else (Lane(made, True),)


REGION_RULES: dict[Ops, Rule] = {
    Ops.CALL: _call,
    Ops.IF: _if,
    Ops.WHILE: _while,
    Ops.SCAN: _scan,
}
