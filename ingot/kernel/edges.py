"""Partial tiles. In: a loop whose body asks `inside the extent?`. Out: full tiles that do not ask, then the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from ingot.ir import dtype as dt
from ingot.ir.algebra import simplify
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopArg, LoopKind, Ops, Scope, StageArg
from ingot.ir.rewrite import substitute
from ingot.kernel.nest import Loop

REST = 1 << 20  # the axes of rest loops: far from all others
TRUE = UOp.const(dt.boolean, True)


def all_of(conditions: list[UOp]) -> UOp | None:
    """The conjunction of conditions, None if there are none."""
    result: UOp | None = None
    for condition in dict.fromkeys(conditions):
        result = condition if result is None else result & condition
    return result


def loop_node(loop: Loop, extent: UOp, body: tuple[UOp, ...]) -> UOp:
    return UOp(
        Ops.LOOP, dt.void, (extent, *body), LoopArg(loop.axis, loop.kind, loop.name)
    )


Extents = Mapping[UOp, UOp | int]


def peeled(
    loop: Loop, tails: list[Loop], body: tuple[UOp, ...], most: Extents
) -> list[UOp]:
    """for io in 0..tiles: ask   ->   for io in 0..full: do not ask;  if full < tiles: io = full, ask

    In the last tile, an unrolled loop over nothing but memory becomes a loop that ends where the extent does.
    """
    assert loop.full is not None
    answers = in_full_tiles(loop, tails, most)
    main = tuple(settled(s, answers) for s in body)
    plain = [
        t for t in tails if t.kind is LoopKind.UNROLL and not _in_a_tile(t, body)
    ]
    rest = tuple(
        _rolled(settled(s, {t.inside: TRUE for t in plain}), plain) for s in body
    )
    last = tuple(substitute(s, {loop.counter: loop.full}) for s in rest)
    more = loop.full < loop.extent
    return [loop_node(loop, loop.full, main), UOp(Ops.WHEN, dt.void, (more, *last))]


def _in_a_tile(loop: Loop, body: tuple[UOp, ...]) -> bool:
    """The loop's counter chooses a register, or what is written in a tile: readers may ask for all of it."""
    for node in UOp(Ops.SINK, dt.void, body).toposort():
        if (
            node.op not in (Ops.LOAD, Ops.STORE)
            or loop.counter not in node.src[1].toposort()
        ):
            continue
        if _is_register(node.src[0]) or (
            node.op is Ops.STORE and node.src[0].op is Ops.STAGE
        ):
            return True
    return False


def _is_register(buffer: UOp) -> bool:
    return (
        buffer.op is Ops.STAGE
        and cast(StageArg, buffer.arg).scope is Scope.REGISTER
    )


def _rolled(statement: UOp, loops: list[Loop]) -> UOp:
    """Unrolled loops written as loops with their exact extents, and with counters of their own."""
    own = {
        lp.axis: replace(
            lp, axis=lp.axis + REST, name=f"{lp.name}_rest", kind=LoopKind.LOOP
        )
        for lp in loops
    }
    changed: dict[UOp, UOp] = {lp.counter: own[lp.axis].counter for lp in loops}
    extents = {a: substitute(lp.extent, changed) for a, lp in own.items()}
    for node in statement.toposort():
        if node in changed:
            continue
        src = tuple(changed[s] for s in node.src)
        arg = node.arg
        if isinstance(arg, LoopArg) and arg.axis in own:
            changed[node] = loop_node(own[arg.axis], extents[arg.axis], src[1:])
        else:
            changed[node] = node if src == node.src else node.replace(src=src)
    return changed[statement]


def in_full_tiles(loop: Loop, tails: list[Loop], most: Extents) -> dict[UOp, UOp]:
    """What `inside the extent?` becomes in a full tile: true, unless a further split has a partial tile of its own."""
    if loop.tile is None:
        return {}
    short, whole = loop.tile
    answers: dict[UOp, UOp] = {}
    for tail in tails:
        asked = substitute(tail.extent, {short: whole})
        if asked is not tail.extent:
            answers[tail.inside] = simplify(tail.counter < asked, most)
    return answers


def settled(statement: UOp, answers: Mapping[UOp, UOp]) -> UOp:
    """The statement with the answers in place of their questions."""
    changed: dict[UOp, UOp] = dict(answers)
    for node in statement.toposort():
        if node not in changed:
            changed[node] = _without_true(node, tuple(changed[s] for s in node.src))
    return changed[statement]


def _without_true(node: UOp, src: tuple[UOp, ...]) -> UOp:
    if node.op is Ops.AND and TRUE in src:
        return src[1] if src[0] is TRUE else src[0]
    if node.op is Ops.WHERE and src[0] is TRUE:
        return src[1]
    if node.op is Ops.LOAD and len(src) == 4 and src[2] is TRUE:
        return node.replace(src=src[:2])
    if node.op is Ops.STORE and len(src) == 4 and src[3] is TRUE:
        return node.replace(src=src[:3])
    return node if src == node.src else node.replace(src=src)
