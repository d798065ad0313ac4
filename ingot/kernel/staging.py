"""Moves of values: tiles that are filled before they are used, and where a value is computed and how it lies.

Like the moves of loops (moves.py), each is named by loops and nests, checks that it is legal, and notes itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from ingot.errors import MoveError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, Scope, ValueArg
from ingot.ir.rewrite import substitute
from ingot.kernel.nest import (
    Kernel,
    Layout,
    Loop,
    Map,
    Nest,
    axes_in,
    values_in,
)


def stage(
    kernel: Kernel,
    nest: str,
    value: UOp,
    at: str | None,
    name: str,
    scope: Scope = Scope.PACKED,
    layout: tuple[str, ...] = (),
    pad: tuple[int, ...] = (),
) -> Kernel:
    """for i: ... for k: s(v(i, k))   ->   for i: t[k] = v(i, k) for all k; ... for k: s(t[k])

    The value's loops inside `at` become the axes of the tile, stored in the order of `layout` (their
    names); `pad`, one number a loop, leaves elements unused after each run of that loop. The fill has loops
    of its own, called `name.loop`. Whatever computes the value (cast, dequantise, im2col) runs as the tile
    is filled. Needs: `value` occurs in the nest, and is no part of a running state.
    """
    user = kernel.nest(nest)
    if not any(value in e.toposort() for e in user.expressions()):
        raise MoveError(f"stage {name}: the value does not occur in nest {nest}")
    if any(u.op is Ops.STATE for u in value.toposort()):
        raise MoveError(
            f"stage {name}: the value is part of the running state of {nest}"
        )
    prefix = _prefix(kernel, user, at)
    inner = [a for a in user.loops if a not in prefix and a in axes_in(value)]
    order = _layout(kernel, inner, layout)
    fresh, mapping = _fresh_loops(kernel, order, name)
    fill = Nest(
        kernel.fresh_nest(),
        name,
        (*prefix, *(lp.axis for lp in fresh)),
        (),
        Map(substitute(value, mapping)),
        scope,
    )
    shared = tuple(a for a in prefix if a in axes_in(value))
    conditions = (
        *_inherited(user, name, {*prefix, *inner}, mapping),
        *_asked_around(kernel, prefix, mapping),
    )
    rows = _padded(fresh, pad) if pad else None
    fill = replace(
        fill,
        dims=(*shared, *(lp.axis for lp in fresh)),
        conditions=conditions,
        layout=rows,
    )
    indices = (
        *(kernel.loops[a].counter for a in shared),
        *(kernel.loops[a].counter for a in order),
    )
    read = fill.value(*indices)
    nests: list[Nest] = []
    for old in kernel.nests:
        if old.id == user.id:
            nests.append(fill)
            old = old.map(lambda e: substitute(e, {value: read}))
        nests.append(old)
    changed = replace(kernel.with_loops(*fresh), nests=tuple(nests))
    padding = f", pad={pad}" if pad else ""
    return changed.noted(
        f"stage({nest!r}, at={at!r}, name={name!r}, scope={scope.value!r}, layout={layout}{padding})"
    )


def _inherited(
    user: Nest, name: str, loops: set[int], mapping: dict[UOp, UOp]
) -> tuple[UOp, ...]:
    """The conditions of the user that speak of the tile's loops."""
    own = set(mapping)
    kept: list[UOp] = []
    for condition in user.conditions:
        if axes_in(condition) <= loops:
            kept.append(substitute(condition, mapping))
        elif own & set(condition.toposort()):
            raise MoveError(
                f"stage {name}: a condition of {user.name} ties the tile's loops to others; stage before that"
            )
    return tuple(kept)


def _asked_around(
    kernel: Kernel, prefix: tuple[int, ...], mapping: dict[UOp, UOp]
) -> tuple[UOp, ...]:
    """An unrolled loop around a tile may end where a loop inside it says; it asks the tile's own loops the same."""
    counters = set(mapping)
    loops = [kernel.loops[a] for a in prefix if kernel.loops[a].guarded]
    return tuple(
        substitute(lp.inside, mapping)
        for lp in loops
        if counters & set(lp.extent.toposort())
    )


def _padded(loops: list[Loop], pad: tuple[int, ...]) -> Layout:
    """Row by row, with `pad` unused elements after each run of a loop."""
    offset, stride = UOp.const(dt.index, 0), UOp.const(dt.index, 1)
    for loop, more in reversed(list(zip(loops, pad, strict=True))):
        offset = loop.counter * stride + offset
        stride = stride * loop.capacity + more
    return Layout(offset.simplify(), stride.simplify())


def _prefix(kernel: Kernel, nest: Nest, at: str | None) -> tuple[int, ...]:
    if at is None:
        return ()
    axis = kernel.loop(at).axis
    if axis not in nest.loops:
        raise MoveError(
            f"nest {nest.name} has no loop {at}; it has {[kernel.loops[a].name for a in nest.loops]}"
        )
    return nest.loops[: nest.loops.index(axis) + 1]


def _layout(kernel: Kernel, inner: list[int], layout: tuple[str, ...]) -> list[int]:
    if not layout:
        return inner
    order = [kernel.loop(n).axis for n in layout]
    if sorted(order) != sorted(inner):
        raise MoveError(
            f"stage: layout {layout} must name the loops {[kernel.loops[a].name for a in inner]}, each once"
        )
    return order


def _fresh_loops(
    kernel: Kernel, axes: list[int], name: str
) -> tuple[list[Loop], dict[UOp, UOp]]:
    first = kernel.fresh_axis()
    mapping: dict[UOp, UOp] = {}
    made: list[Loop] = []
    for number, axis in enumerate(axes):
        old = kernel.loops[axis]
        loop = replace(old, axis=first + number, name=f"{name}.{old.name}")
        mapping[old.counter] = loop.counter
        made.append(loop)
    return [lp.substituted(mapping) for lp in made], mapping


def compute_at(kernel: Kernel, nest: str, user: str, at: str) -> Kernel:
    """for i: p[i] = ...;  for j: s(p[j])   ->   for j: p = ...; s(p)

    The producer's axes that the user reads exactly at its own loop counters become those loops, down to
    `at`; a loop of the user that the producer does not have makes it run again in each iteration. Needs: no
    other nest is inside the loops that go away.
    """
    old, reader = kernel.nest(nest), kernel.nest(user)
    prefix = _prefix(kernel, reader, at)
    mapping = _same_axes(kernel, old, reader, prefix)
    inside = [
        n.name
        for n in kernel.nests
        if n.id != old.id and set(mapping) & set(n.loops)
    ]
    if inside:
        raise MoveError(
            f"compute_at {nest}: {inside[0]} is inside its loops; compute it at {user} before that"
        )
    renamed = {
        kernel.loops[mine].counter: kernel.loops[theirs].counter
        for mine, theirs in mapping.items()
    }
    loops = (
        *prefix,
        *(a for a in old.loops if a not in mapping and a not in prefix),
    )
    dims = tuple(mapping.get(a, a) for a in old.dims)
    moved = replace(old, loops=loops, dims=dims).map(
        lambda e: substitute(e, renamed)
    )
    changed = replace(
        kernel.with_nest(moved), loops=_rename_extents(kernel, renamed, mapping)
    )
    return changed.noted(f"compute_at({nest!r}, {user!r}, {at!r})")


def _rename_extents(
    kernel: Kernel, renamed: dict[UOp, UOp], gone: dict[int, int]
) -> dict[int, Loop]:
    kept = {a: lp for a, lp in kernel.loops.items() if a not in gone}
    return {a: lp.substituted(renamed) for a, lp in kept.items()}


def _same_axes(
    kernel: Kernel, nest: Nest, reader: Nest, prefix: tuple[int, ...]
) -> dict[int, int]:
    """The nest's axes -> the reader's loops of the same extent, where every read of the nest uses just that counter."""
    reads = list(kernel.readers(nest))
    mapping: dict[int, int] = {}
    renamed: dict[UOp, UOp] = {}
    for position, mine in sorted(
        enumerate(nest.dims), key=lambda item: nest.loops.index(item[1])
    ):
        own = kernel.loops[mine]
        for theirs in (kernel.loops[a] for a in prefix if a != mine):
            same = (
                substitute(own.extent, renamed).simplify()
                is theirs.extent.simplify()
            )
            if same and all(r.src[position] is theirs.counter for _, r in reads):
                mapping[mine] = theirs.axis
                renamed[own.counter] = theirs.counter
    return mapping


def share(
    kernel: Kernel,
    staged: str,
    nest: str,
    loop: str | tuple[str, ...],
    along: str | tuple[str, ...],
) -> Kernel:
    """t[k] = v(k) ...; s(v(j))   ->   t[k] = v(k) ...; s(t[j])

    `loop` is the nest's counter that stands where the staged nest has `along`; there may be several of each. Needs: the
    value occurs in the nest, which runs after the staged one.
    """
    tile, user = kernel.nest(staged), kernel.nest(nest)
    if not isinstance(tile.body, Map):
        raise MoveError(f"share: {staged} is not a staged value")
    if kernel.nests.index(user) <= kernel.nests.index(tile):
        raise MoveError(f"share: {nest} does not run after {staged}")
    here, there = (
        (names,) if isinstance(names, str) else names for names in (loop, along)
    )
    mapping = {
        kernel.loop(b).counter: kernel.loop(a).counter
        for a, b in zip(here, there, strict=True)
    }
    value = substitute(tile.body.value, mapping).simplify()
    user = user.map(UOp.simplify)
    if not any(value in e.toposort() for e in user.expressions()):
        raise MoveError(f"share: what {staged} holds does not occur in {nest}")
    indices = (substitute(kernel.loops[a].counter, mapping) for a in tile.dims)
    read = tile.value(*indices)
    changed = user.map(lambda e: substitute(e, {value: read}))
    return kernel.with_nest(changed).noted(
        f"share({staged!r}, {nest!r}, {loop!r}, {along!r})"
    )


def layout(kernel: Kernel, nest: str, *names: str) -> Kernel:
    """t[i][j]   ->   t[j][i]: the order in which a nest's axes are stored, the last one next to each other

    Needs: a permutation of the nest's axes.
    """
    old = kernel.nest(nest)
    axes = tuple(kernel.loop(n).axis for n in names)
    if sorted(axes) != sorted(old.dims):
        raise MoveError(
            f"layout {nest}: given {list(names)}, wanted a permutation of {[kernel.loops[a].name for a in old.dims]}"
        )
    position = [old.dims.index(a) for a in axes]

    def change(expression: UOp) -> UOp:
        reads = [
            u for u in values_in(expression) if cast(ValueArg, u.arg).nest == old.id
        ]
        return substitute(
            expression,
            {u: u.replace(src=tuple(u.src[p] for p in position)) for u in reads},
        )

    nests = tuple(
        (replace(n, dims=axes) if n.id == old.id else n).map(change)
        for n in kernel.nests
    )
    return replace(kernel, nests=nests).noted(
        f"layout({nest!r}, {', '.join(map(repr, names))})"
    )
