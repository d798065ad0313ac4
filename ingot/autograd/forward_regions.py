"""Derivatives through functions, branches and loops, forward. In: region nodes. Out: regions of values and tangents.

A body is extended: it takes the tangents of what changes after its own arguments, and gives tangents after its own
results. So values and tangents are computed side by side, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ingot.autograd.duals import Dual, Forward, Rule, Tangents, zeros
from ingot.ir.node import UOp
from ingot.ir.opcode import FunctionArg, Ops, ParamArg, ScanArg
from ingot.ir.region import call, function, if_, param, scan, shallow, while_
from ingot.ir.shape import Type

Flags = tuple[bool, ...]


def _types(nodes: Sequence[UOp]) -> list[Type]:
    return [(u.dtype, u.shape) for u in nodes]


def _chosen(flags: Sequence[bool]) -> list[int]:
    return [place for place, flag in enumerate(flags) if flag]


def _either(a: Flags, b: Flags) -> Flags:
    return tuple(x or y for x, y in zip(a, b, strict=True))


class Extended:
    """A function over arguments of these types, `moving` of which come with a tangent."""

    def __init__(
        self, walk: Forward, made: UOp, types: Sequence[Type], moving: Flags
    ) -> None:
        self.name = cast(FunctionArg, made.arg).name
        own = [param(slot, *kind) for slot, kind in enumerate(types)]
        extra = [
            param(len(types) + k, *types[slot])
            for k, slot in enumerate(_chosen(moving))
        ]
        self.params = (*own, *extra)
        places = dict(zip(_chosen(moving), extra, strict=True))
        given = {
            u: places[cast(ParamArg, u.arg).slot]
            for u in shallow(made)
            if u.op is Ops.PARAM and cast(ParamArg, u.arg).slot in places
        }
        self.duals = walk.inside(made.src, given)
        self.moves: Flags = tuple(d.tangent is not None for d in self.duals)

    def values(self) -> list[UOp]:
        """The function's own results."""
        return [d.primal for d in self.duals]

    def tangents(self, wanted: Flags) -> list[UOp]:
        """The tangents of the results that are wanted; zeros where there is none."""
        return [
            self.duals[j].tangent or zeros(self.duals[j].primal)
            for j in _chosen(wanted)
        ]


def _paired(
    values: Sequence[UOp], tangents: Sequence[UOp], wanted: Flags
) -> tuple[Dual, ...]:
    """Results with their tangents."""
    found = dict(zip(_chosen(wanted), tangents, strict=True))
    return tuple(Dual(value, found.get(j)) for j, value in enumerate(values))


def _present(tangents: Tangents) -> list[UOp]:
    return [t for t in tangents if t is not None]


def _moving(tangents: Tangents) -> Flags:
    return tuple(t is not None for t in tangents)


def _call(walk: Forward, node: UOp, tangents: Tangents) -> tuple[Dual, ...]:
    made, *args = node.src
    body = Extended(walk, made, _types(args), _moving(tangents[1:]))
    outcomes = (*body.values(), *body.tangents(body.moves))
    both = function(body.name, body.params, outcomes)
    found = call(both, *args, *_present(tangents[1:]))
    n = len(body.duals)
    return _paired(found[:n], found[n:], body.moves)


def _if(walk: Forward, node: UOp, tangents: Tangents) -> tuple[Dual, ...]:
    cond, then, otherwise, *args = node.src
    moving = _moving(tangents[3:])
    branches = [
        Extended(walk, part, _types(args), moving) for part in (then, otherwise)
    ]
    wanted = _either(branches[0].moves, branches[1].moves)
    both = [
        function(b.name, b.params, (*b.values(), *b.tangents(wanted)))
        for b in branches
    ]
    found = if_(cond, *both, *args, *_present(tangents[3:]))
    n = len(wanted)
    return _paired(found[:n], found[n:], wanted)


def _settled(
    walk: Forward, body: UOp, types: Sequence[Type], moving: Flags, count: int
) -> Extended:
    """The body of a loop, once it is known which of its first `count` arguments come to move."""
    while True:
        found = Extended(walk, body, types, moving)
        grown = (*_either(moving[:count], found.moves[:count]), *moving[count:])
        if grown == moving:
            return found
        moving = grown


def _while(walk: Forward, node: UOp, tangents: Tangents) -> tuple[Dual, ...]:
    cond, body, *state = node.src
    n = len(state)
    types = _types(state)
    step = _settled(walk, body, types, _moving(tangents[2:]), n)
    wanted = tuple(
        given is not None or moves
        for given, moves in zip(tangents[2:], step.moves, strict=True)
    )
    start = [tangents[2 + j] or zeros(state[j]) for j in _chosen(wanted)]
    goes_on = function(cast(FunctionArg, cond.arg).name, step.params, cond.src)
    both = function(
        step.name, step.params, (*step.values(), *step.tangents(wanted))
    )
    found = while_(goes_on, both, *state, *start)
    return _paired(found[:n], found[n:], wanted)


def _scan(walk: Forward, node: UOp, tangents: Tangents) -> tuple[Dual, ...]:
    """A step takes (carry, its tangents, slices, theirs), and gives (carry, its tangents, rows, theirs)."""
    body, *args = node.src
    arg = cast(ScanArg, node.arg)
    n, given = arg.n_carry, tangents[1:]
    carry, xs = args[:n], args[n:]
    types = [*_types(carry), *((x.dtype, x.shape[1:]) for x in xs)]
    step = _settled(walk, body, types, _moving(given), n)
    moved = _either(_moving(given[:n]), step.moves[:n])
    start = [given[j] or zeros(carry[j]) for j in _chosen(moved)]
    own, extra = step.params[: len(types)], step.params[len(types) :]
    split = len(start)
    params = (*own[:n], *extra[:split], *own[n:], *extra[split:])
    values, changes = step.values(), step.tangents((*moved, *step.moves[n:]))
    outcomes = (*values[:n], *changes[:split], *values[n:], *changes[split:])
    both = function(step.name, params, outcomes)
    along = (*xs, *_present(given[n:]))
    found = scan(both, (*carry, *start), along, reverse=arg.reverse)
    rows = split + len(values)
    ends = (*found[:n], *found[n + split : rows])
    slopes = (*found[n : n + split], *found[rows:])
    return _paired(ends, slopes, (*moved, *step.moves[n:]))


REGION_RULES: dict[Ops, Rule] = {
    Ops.CALL: _call,
    Ops.IF: _if,
    Ops.WHILE: _while,
    Ops.SCAN: _scan,
}
