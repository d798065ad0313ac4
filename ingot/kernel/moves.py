"""The moves: each takes a kernel and gives an equal one that runs otherwise. A schedule is a list of them.

Every move is named by loops and nests, checks that it is legal, and notes itself in `kernel.moves`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from ingot.errors import MoveError
from ingot.ir import dtype as dt
from ingot.ir.algebra import simplify
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Ops, ValueArg
from ingot.ir.polynomial import polynomial
from ingot.ir.rewrite import substitute
from ingot.kernel.nest import (
    GRID,
    THREADS,
    Edge,
    Kernel,
    Loop,
    Nest,
    Reduce,
    Store,
    axes_in,
    values_in,
)


def index(value: int) -> UOp:
    return UOp.const(dt.index, value)


def split(
    kernel: Kernel,
    loop: str,
    by: int | UOp,
    outer: str | None = None,
    inner: str | None = None,
) -> Kernel:
    """for i in 0..n: s(i)   ->   for io in 0..ceil(n/by): for ii in 0..min(by, n - io*by): s(io*by + ii)

    Always legal: the last tile may be partial.
    """
    old = kernel.loop(loop)
    factor = index(by) if isinstance(by, int) else by
    first = kernel.fresh_axis()
    out = Loop(
        first,
        outer or f"{loop}o",
        _tiles(old.extent, factor),
        _tiles(old.capacity, factor),
    )
    rest = (
        factor
        if _divides(factor, old.extent)
        else factor.minimum(old.extent - out.counter * factor).simplify()
    )
    out = replace(out, full=(old.extent // factor).simplify(), tile=(rest, factor))
    inn = Loop(first + 1, inner or f"{loop}i", rest, factor)
    whole = out.counter * factor + inn.counter
    changed = _replace_axis(kernel, old, (out, inn), whole, factor)
    return changed.noted(
        f"split({loop!r}, {_text(by)}, {out.name!r}, {inn.name!r})"
    )


def _tiles(extent: UOp, factor: UOp) -> UOp:
    return ((extent + (factor - 1)) // factor).simplify()


def _divides(factor: UOp, extent: UOp) -> bool:
    """Every term of the extent has the factor in it."""
    if factor.op is not Ops.CONST:
        return False
    terms = polynomial(extent).values()
    return all(number % int(factor.value) == 0 for number in terms)


def _text(by: int | UOp) -> str:
    return str(by) if isinstance(by, int) else "..."


def _replace_axis(
    kernel: Kernel, old: Loop, new: tuple[Loop, Loop], whole: UOp, factor: UOp
) -> Kernel:
    """Rewrite one axis as two in loops, nests and reads."""
    mapping = {old.counter: whole}
    table = {
        a: lp.substituted(mapping)
        for a, lp in kernel.loops.items()
        if a != old.axis
    }
    table |= {lp.axis: lp for lp in new}
    split_dims = {
        n.id: [d == old.axis for d in n.dims]
        for n in kernel.nests
        if old.axis in n.dims
    }

    within: dict[UOp, UOp | int] = {
        lp.counter: lp.capacity for lp in table.values()
    }

    def change(expression: UOp) -> UOp:
        before = _split_reads(
            kernel, expression, split_dims, old.counter, new, factor
        )
        after = substitute(before, mapping)
        return after if after is before else _plain_reads(after, new, within)

    nests = tuple(
        _split_nest(n, old.axis, (new[0].axis, new[1].axis)).map(change)
        for n in kernel.nests
    )
    return replace(kernel, loops=table, nests=nests)


def _plain_reads(
    expression: UOp, new: tuple[Loop, Loop], within: dict[UOp, UOp | int]
) -> UOp:
    """Reads of nests at (o*8 + i) // 8 are reads at o."""
    axes = {loop.axis for loop in new}

    def plain(at: UOp) -> UOp:
        apart = axes_in(at) & axes and any(
            u.op in (Ops.IDIV, Ops.MOD) for u in at.toposort()
        )
        return simplify(at, within) if apart else at

    changes: dict[UOp, UOp] = {}
    for node in values_in(expression):
        indices = tuple(map(plain, node.src))
        if indices != node.src:
            changes[node] = node.replace(src=indices)
    return substitute(expression, changes) if changes else expression


def _split_nest(nest: Nest, axis: int, pair: tuple[int, int]) -> Nest:
    def spread(axes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(b for a in axes for b in (pair if a == axis else (a,)))

    body = (
        replace(nest.body, axes=spread(nest.body.axes))
        if isinstance(nest.body, Reduce)
        else nest.body
    )
    return replace(
        nest, loops=spread(nest.loops), dims=spread(nest.dims), body=body
    )


def _split_reads(
    kernel: Kernel,
    expression: UOp,
    split_dims: dict[int, list[bool]],
    counter: UOp,
    new: tuple[Loop, Loop],
    factor: UOp,
) -> UOp:
    """Reads of a nest whose axis was split get two indices instead of one."""
    changes: dict[UOp, UOp] = {}
    for node in values_in(expression):
        owner = cast(ValueArg, node.arg).nest
        if owner not in split_dims:
            continue
        indices: list[UOp] = []
        for is_split, at in zip(split_dims[owner], node.src, strict=True):
            indices.extend(
                _two_indices(kernel, at, counter, new, factor)
                if is_split
                else (at,)
            )
        changes[node] = node.replace(src=tuple(indices))
    return substitute(expression, changes) if changes else expression


def _two_indices(
    kernel: Kernel, at: UOp, counter: UOp, new: tuple[Loop, Loop], factor: UOp
) -> tuple[UOp, UOp]:
    if at is counter:
        return new[0].counter, new[1].counter
    within: dict[UOp, UOp | int] = {
        lp.counter: lp.capacity for lp in kernel.loops.values()
    }
    return simplify(at // factor, within), simplify(at % factor, within)


def reorder(kernel: Kernel, nest: str, *names: str) -> Kernel:
    """for i: for j: s   ->   for j: for i: s

    Needs: a permutation of the nest's loops in which no sequential extent depends on a loop further in.
    """
    old = kernel.nest(nest)
    axes = tuple(kernel.loop(n).axis for n in names)
    if sorted(axes) != sorted(old.loops):
        have = [kernel.loops[a].name for a in old.loops]
        raise MoveError(
            f"reorder {nest}: given loops {list(names)}, wanted a permutation of {have}"
        )
    _check_order(kernel, nest, axes)
    return kernel.with_nest(replace(old, loops=axes)).noted(
        f"reorder({nest!r}, {', '.join(map(repr, names))})"
    )


def _check_order(kernel: Kernel, nest: str, axes: tuple[int, ...]) -> None:
    seen: set[int] = set()
    for axis in axes:
        loop = kernel.loops[axis]
        later = axes_in(loop.extent) - seen
        if not loop.guarded and later & set(axes):
            raise MoveError(
                f"{nest}: the extent of loop {loop.name} depends on a loop inside it; keep its outer tile outside"
            )
        seen.add(axis)


def _mark(kernel: Kernel, loop: str, kind: LoopKind, move: str) -> Kernel:
    return kernel.with_loops(replace(kernel.loop(loop), kind=kind)).noted(move)


def vector(kernel: Kernel, loop: str) -> Kernel:
    """for i in 0..16: s(i)   ->   s(0..15) at once          needs: a constant capacity"""
    _needs_constant(kernel.loop(loop), "vector")
    return _mark(kernel, loop, LoopKind.VECTOR, f"vector({loop!r})")


def unroll(kernel: Kernel, loop: str) -> Kernel:
    """for i in 0..4: s(i)   ->   s(0); s(1); s(2); s(3)     needs: a constant capacity"""
    _needs_constant(kernel.loop(loop), "unroll")
    return _mark(kernel, loop, LoopKind.UNROLL, f"unroll({loop!r})")


def _needs_constant(loop: Loop, move: str) -> None:
    if loop.capacity.op is not Ops.CONST:
        raise MoveError(
            f"{move}: loop {loop.name} has a run-time extent; split it by a constant and {move} the inner loop"
        )


def bind(kernel: Kernel, loop: str, kind: LoopKind) -> Kernel:
    """for i: s(i)   ->   s(i) on many threads (chunk, block) or lanes (warp, lane), in any order

    Needs: no reduction over this loop in memory that the others see, unless rfactor made its partial
    results private; and no peeled edge, because the rest would run after all of them.
    """
    target = kernel.loop(loop)
    if target.edge is Edge.PEEL:
        raise MoveError(
            f"bind {loop} to {kind.value}: its last tile is peeled; leave that tile masked"
        )
    for nest in kernel.nests:
        if target.axis in nest.reduced and kind in (LoopKind.CHUNK, LoopKind.BLOCK):
            raise MoveError(
                f"bind {loop} to {kind.value}: {nest.name} reduces over it; rfactor it first"
            )
    return _mark(kernel, loop, kind, f"bind({loop!r}, {kind.value!r})")


def edge(kernel: Kernel, loop: str, how: Edge) -> Kernel:
    """for io: for ii: if inside: s   ->   for full io: for ii: s;  then the last io with its question

    `loop` is the outer loop of a split whose inner loop runs its whole capacity (vector, unroll). Needs: a
    loop that runs in order, bound to no threads. To clamp, `loop` is the unrolled loop itself:
    for ii in 0..8: if ii < n: s(x[ii])   ->   for ii in 0..8: s(x[min(ii, n - 1)]), and stores still ask.
    """
    old = kernel.loop(loop)
    if how is Edge.CLAMP and old.kind is not LoopKind.UNROLL:
        raise MoveError(f"edge: {loop} is {old.kind.value}; clamp unrolled loops")
    if how is Edge.PEEL and old.kind in GRID | THREADS:
        raise MoveError(
            f"edge: loop {loop} is bound to {old.kind.value}; its last tile cannot run after the others"
        )
    return kernel.with_loops(replace(old, edge=how)).noted(
        f"edge({loop!r}, {how.value!r})"
    )


def uncached(kernel: Kernel, nest: str) -> Kernel:
    """out[i] = s, through the caches   ->   out[i] = s, past them: memory that is written whole is not read first

    Needs: a nest that stores. Only whole vectors on addresses of their size go past; that is asked as they are stored.
    """
    old = kernel.nest(nest)
    if not isinstance(old.body, Store):
        raise MoveError(f"uncached: {nest} stores nothing")
    body = replace(old.body, uncached=True)
    changed = kernel.with_nest(replace(old, body=body))
    return changed.noted(f"uncached({nest!r})")


def group(kernel: Kernel) -> Kernel:
    """launch A; launch B; launch C   ->   one launch whose chunks are those of A, B and C

    Needs: no nest reads a value that another launch writes.
    """
    for nest in kernel.nests:
        if not isinstance(nest.body, Store):
            continue
        for other in kernel.nests:
            reads = any(_loads(e, nest.body.buffer) for e in other.expressions())
            if other.loops[:1] != nest.loops[:1] and reads:
                raise MoveError(
                    f"group: {other.name} reads what {nest.name} writes; they must stay two launches"
                )
    return replace(kernel, grouped=True).noted("group()")


def _loads(expression: UOp, buffer: UOp) -> bool:
    return any(
        u.op is Ops.LOAD and u.src[0] is buffer for u in expression.toposort()
    )


def fuse(kernel: Kernel, outer: str, inner: str, name: str) -> Kernel:
    """for i in 0..m: for j in 0..n: s(i, j)   ->   for c in 0..m*n: s(c / n, c % n)

    Needs: the inner extent depends on no loop, the outer not on the inner one, and nests that have one of
    the loops have both, next to each other.
    """
    first, second = kernel.loop(outer), kernel.loop(inner)
    pair = (first.axis, second.axis)
    if axes_in(second.extent):
        raise MoveError(f"fuse: the extent of {inner} depends on other loops")
    if second.axis in axes_in(first.extent):
        raise MoveError(f"fuse: the extent of {outer} depends on {inner}")
    for nest in kernel.nests:
        _needs_both(nest, pair, outer, inner)
    size = second.extent
    whole = Loop(
        kernel.fresh_axis(),
        name,
        (first.extent * size).simplify(),
        (first.capacity * size).simplify(),
    )
    mapping = {
        first.counter: whole.counter // size,
        second.counter: whole.counter % size,
    }

    def change(expression: UOp) -> UOp:
        return substitute(_fused_reads(kernel, expression, pair, whole), mapping)

    nests = tuple(
        _fused_nest(n, pair, whole.axis).map(change) for n in kernel.nests
    )
    table = {
        a: lp.substituted(mapping)
        for a, lp in kernel.loops.items()
        if a not in pair
    }
    changed = replace(kernel, loops=table | {whole.axis: whole}, nests=nests)
    return changed.noted(f"fuse({outer!r}, {inner!r}, {name!r})")


def _needs_both(nest: Nest, pair: tuple[int, int], outer: str, inner: str) -> None:
    """Both loops or none, next to each other; of the axes that a value has it may be one."""
    for axes in (nest.loops, nest.dims, nest.reduced):
        places = [axes.index(a) for a in pair if a in axes]
        alone = len(places) == 1 and axes is not nest.dims
        if alone or (len(places) == 2 and places[1] != places[0] + 1):
            raise MoveError(
                f"fuse: nest {nest.name} does not have {inner} directly inside {outer}"
            )


def _fused_nest(nest: Nest, pair: tuple[int, int], axis: int) -> Nest:
    def join(axes: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(axis if a in pair else a for a in axes))

    body = (
        replace(nest.body, axes=join(nest.body.axes))
        if isinstance(nest.body, Reduce)
        else nest.body
    )
    return replace(nest, loops=join(nest.loops), dims=join(nest.dims), body=body)


def _fused_reads(
    kernel: Kernel, expression: UOp, pair: tuple[int, int], whole: Loop
) -> UOp:
    """Reads of a nest that had one axis or both get one index instead."""
    changes: dict[UOp, UOp] = {}
    for node in values_in(expression):
        dims = kernel.by_id(cast(ValueArg, node.arg).nest).dims
        own = [a for a in dims if a in pair]
        if own:
            at = dims.index(own[0])
            one = _one_index(
                kernel, pair, dict(zip(dims, node.src, strict=True)), whole
            )
            changes[node] = node.replace(
                src=(*node.src[:at], one, *node.src[at + len(own) :])
            )
    return substitute(expression, changes) if changes else expression


def _one_index(
    kernel: Kernel, pair: tuple[int, int], indices: dict[int, UOp], whole: Loop
) -> UOp:
    """Where a value with one axis or both is read; where it has one, it is the same all along the other."""
    if all(
        indices.get(a, kernel.loops[a].counter) is kernel.loops[a].counter
        for a in pair
    ):
        return whole.counter
    first, second = (indices.get(a, index(0)) for a in pair)
    return (first * kernel.loops[pair[1]].extent + second).simplify()


def detach(kernel: Kernel, nest: str, loop: str, name: str) -> Kernel:
    """for c: p[c] = ...; s(p[c])   ->   for c: p[c] = ...;  for d: s(p[d])

    The nest gets a loop of its own in place of one that it shared, so the two can be bound differently.
    Needs: no loop that it shares with others ends where this one says; detach such loops first.
    """
    old, user = kernel.loop(loop), kernel.nest(nest)
    if old.axis not in user.loops:
        raise MoveError(f"detach: nest {nest} has no loop {loop}")
    following = [
        kernel.loops[a]
        for a in user.loops
        if old.axis in axes_in(kernel.loops[a].extent)
    ]
    others = {a for n in kernel.nests if n.id != user.id for a in n.loops}
    if any(lp.axis in others for lp in following):
        names = [lp.name for lp in following]
        raise MoveError(
            f"detach {loop}: the extents of {names} depend on it, and other nests share them; detach those first"
        )
    own = replace(old, axis=kernel.fresh_axis(), name=name)

    def axes(before: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(own.axis if a == old.axis else a for a in before)

    body = (
        replace(user.body, axes=axes(user.body.axes))
        if isinstance(user.body, Reduce)
        else user.body
    )
    moved = replace(user, loops=axes(user.loops), dims=axes(user.dims), body=body)
    moved = moved.map(lambda e: substitute(e, {old.counter: own.counter}))
    inner = (lp.substituted({old.counter: own.counter}) for lp in following)
    return (
        kernel.with_loops(own, *inner)
        .with_nest(moved)
        .noted(f"detach({nest!r}, {loop!r}, {name!r})")
    )
