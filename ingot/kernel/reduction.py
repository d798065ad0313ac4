"""Moves on reductions: split one in two (rfactor), and run dependent ones in step (online).

The rescaling table says how a running sum follows a running maximum: a term exp(x - m) becomes exp(x - m') by the factor
exp(m - m'), so the sum so far is multiplied by it whenever the maximum grows. Softmax becomes one pass over its row, and
matmul, softmax, matmul becomes streaming attention. A division by a reduction of the group is pulled out of the sum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from ingot.errors import MoveError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, ValueArg
from ingot.ir.rewrite import substitute
from ingot.kernel.nest import Kernel, Map, Nest, Reduce


def rfactor(kernel: Kernel, nest: str, *loops: str, name: str) -> Kernel:
    """s = fold over k, l of v   ->   p[l] = fold over k of v;  s = fold over l of p[l]

    `loops` (here l) become axes of the partial result `name`. Needs: some, not all, of the nest's reduced loops, and no
    running state, whose steps depend on their order.
    """
    whole = kernel.nest(nest)
    kept = tuple(kernel.loop(n).axis for n in loops)
    body = _fold(whole, "rfactor")
    if not set(kept) < set(body.axes):
        have = [kernel.loops[a].name for a in body.axes]
        raise MoveError(
            f"rfactor {nest}: given {list(loops)}, wanted some, not all, of the reduced loops {have}"
        )
    rest = tuple(a for a in body.axes if a not in kept)
    part = replace(
        whole,
        id=kernel.fresh_nest(),
        name=name,
        dims=(*whole.dims, *kept),
        body=replace(body, axes=rest),
    )
    counters = tuple(kernel.loops[a].counter for a in part.dims)
    values = tuple(part.value(*counters, slot=j) for j in range(body.n))
    final = replace(
        whole,
        loops=tuple(a for a in whole.loops if a not in rest),
        body=replace(body, axes=kept, values=values, steps=()),
    )
    nests = tuple(
        x
        for n in kernel.nests
        for x in ((part, final) if n.id == whole.id else (n,))
    )
    return replace(kernel, nests=nests).noted(
        f"rfactor({nest!r}, {', '.join(map(repr, loops))}, name={name!r})"
    )


def hold(kernel: Kernel, nest: str, name: str) -> Kernel:
    """s[i] = fold over k of v, in memory   ->   a = fold over k of v, in registers;  s[i] = a

    The reduction `name` keeps its state inside its free loops, and the nest stores it when it is complete. Needs: no
    running state, which others read before it is complete.
    """
    whole = kernel.nest(nest)
    body = _fold(whole, "hold")
    if body.n != 1:
        raise MoveError(
            f"hold {nest}: wanted a reduction of one value, it has {body.n}"
        )
    inner = replace(whole, id=kernel.fresh_nest(), name=name)
    read = inner.value(*(kernel.loops[a].counter for a in inner.dims))
    outer = replace(
        whole,
        loops=tuple(a for a in whole.loops if a not in body.axes),
        body=Map(read),
    )
    nests = tuple(
        x
        for n in kernel.nests
        for x in ((inner, outer) if n.id == whole.id else (n,))
    )
    return replace(kernel, nests=nests).noted(f"hold({nest!r}, {name!r})")


def _reduce(nest: Nest) -> Reduce:
    if not isinstance(nest.body, Reduce):
        raise MoveError(f"{nest.name} is not a reduction")
    return nest.body


def _fold(nest: Nest, move: str) -> Reduce:
    body = _reduce(nest)
    if body.steps:
        raise MoveError(
            f"{move} {nest.name}: it is a running reduction; {move} it before online"
        )
    return body


def online(
    kernel: Kernel, nests: tuple[str, ...], loops: tuple[str, ...]
) -> Kernel:
    """m = max over k of x; s = sum over k of exp(x - m)   ->   for k: m' = max(m, x); s = s*exp(m - m') + exp(x - m'); m = m'

    The first nest is the maximum, the others sums that depend on it by the rescaling table; `loops` names,
    nest by nest, the loop that becomes the one they all run in, inside the loops that are around the first
    nest's. What else a nest reduces over becomes a partial reduction inside each iteration. Needs: these
    loops have one extent, all nests are in those around the first, and read the maximum at its own
    counters.
    """
    state = _share_loop(kernel, nests, loops)
    for name in nests:
        state = _partial(state, name, loops[0])
    top = state.nest(nests[0])
    grown, scale = _grown(state, top)
    changed = {top.id: _running(top, grown.value(*_counters(state, grown)))}
    finish: dict[int, list[UOp]] = {}
    for name in nests[1:]:
        part, total = state.nest(f"{name}.part"), state.nest(name)
        rewritten, divisors = _shifted(
            state, part, top, grown, {state.nest(n).id for n in nests}
        )
        changed[part.id] = rewritten
        changed[total.id] = _running(total, _rescaled(state, total, part, scale))
        finish[total.id] = divisors
    ordered = _in_order(state, nests, changed, grown, scale)
    return _finished(replace(state, nests=ordered), finish).noted(
        f"online({nests}, {loops})"
    )


def _share_loop(
    kernel: Kernel, nests: tuple[str, ...], loops: tuple[str, ...]
) -> Kernel:
    for name, loop in zip(nests, loops, strict=True):
        if kernel.loop(loop).axis not in _fold(kernel.nest(name), "online").axes:
            raise MoveError(f"online: {name} does not reduce over {loop}")
    first = kernel.loop(loops[0])
    same = {kernel.loop(n).axis: first.axis for n in loops[1:]}
    if any(kernel.loops[a].extent is not first.extent for a in same):
        raise MoveError(
            f"online: loops {loops} differ in extent, so {nests} cannot run in one of them"
        )
    mapping = {kernel.loops[a].counter: first.counter for a in same}

    def axes(old: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(same.get(a, a) for a in old)

    moved = []
    for nest in kernel.nests:
        body = (
            replace(nest.body, axes=axes(nest.body.axes))
            if isinstance(nest.body, Reduce)
            else nest.body
        )
        kept = replace(
            nest, loops=axes(nest.loops), dims=axes(nest.dims), body=body
        )
        moved.append(kept.map(lambda e: substitute(e, mapping)))
    table = {
        a: lp.substituted(mapping)
        for a, lp in kernel.loops.items()
        if a not in same
    }
    shared = replace(kernel, loops=table, nests=tuple(moved))
    top = shared.nest(nests[0])
    own = tuple(shared.loops[a].counter for a in top.dims)
    if any(read.src != own for _, read in shared.readers(top)) or set(
        top.loops
    ) != {*top.dims, *top.reduced}:
        raise MoveError(
            f"online: {top.name} is not read in the loops that it is in; compute it at its readers first"
        )
    around = top.loops[: top.loops.index(first.axis) + 1]
    for name in nests[1:]:
        shared = shared.with_nest(_inside(shared.nest(name), around))
    return shared


def _inside(nest: Nest, around: tuple[int, ...]) -> Nest:
    """The nest with the loops `around` outermost."""
    if not set(around) <= set(nest.loops):
        raise MoveError(
            f"online: {nest.name} is not in all the loops around the maximum; compute it there first"
        )
    return replace(
        nest, loops=(*around, *(a for a in nest.loops if a not in around))
    )


def _partial(kernel: Kernel, name: str, loop: str) -> Kernel:
    """The nest's work inside one iteration, as a nest of its own."""
    nest = kernel.nest(name)
    if len(_reduce(nest).axes) > 1:
        return rfactor(kernel, name, loop, name=f"{name}.part")
    body = _reduce(nest)
    part = replace(
        nest,
        id=kernel.fresh_nest(),
        name=f"{name}.part",
        dims=nest.loops,
        body=Map(body.values[0]),
    )
    read = part.value(*(kernel.loops[a].counter for a in part.dims))
    final = replace(nest, body=replace(body, values=(read,)))
    nests = tuple(
        x
        for n in kernel.nests
        for x in ((part, final) if n.id == nest.id else (n,))
    )
    return replace(kernel, nests=nests)


def _counters(kernel: Kernel, nest: Nest) -> tuple[UOp, ...]:
    return tuple(kernel.loops[a].counter for a in nest.dims)


def _grown(kernel: Kernel, top: Nest) -> tuple[Nest, Nest]:
    """The maximum after this iteration, and the factor that old sums need."""
    now = top.value(*_counters(kernel, top))
    step = _reduce(top).values[0]
    number = kernel.fresh_nest()
    grown = Nest(
        number, f"{top.name}.next", top.loops, top.dims, Map(now.maximum(step))
    )
    after = grown.value(*_counters(kernel, grown))
    factor = (now - _finite(after)).alu(Ops.EXP)
    return grown, Nest(
        number + 1, f"{top.name}.scale", top.loops, top.dims, Map(factor)
    )


def _finite(maximum: UOp) -> UOp:
    """The maximum, or 0 while nothing but -inf was seen: exp(-inf - 0) is 0, exp(-inf - -inf) would be nan."""
    lowest = UOp.const(maximum.dtype, dt.least(maximum.dtype))
    return maximum.eq(lowest).where(UOp.const(maximum.dtype, 0), maximum)


def _running(nest: Nest, step: UOp) -> Nest:
    return replace(nest, body=replace(_reduce(nest), values=(), steps=(step,)))


def _rescaled(kernel: Kernel, total: Nest, part: Nest, scale: Nest) -> UOp:
    read = part.value(*_counters(kernel, part))
    factor = scale.value(*_counters(kernel, scale))
    return UOp.state(read.dtype, 0) * factor + read


@dataclass(frozen=True, slots=True)
class Factors:
    """A product written as numerators over denominators."""

    over: tuple[UOp, ...]
    under: tuple[UOp, ...]


def factors(expression: UOp) -> Factors:
    """The factors of a product of products and quotients."""
    if expression.op is Ops.MUL:
        a, b = (factors(s) for s in expression.src)
        return Factors((*a.over, *b.over), (*a.under, *b.under))
    if expression.op is Ops.FDIV:
        a = factors(expression.src[0])
        return Factors(a.over, (*a.under, expression.src[1]))
    return Factors((expression,), ())


def _shifted(
    kernel: Kernel, part: Nest, top: Nest, grown: Nest, group: set[int]
) -> tuple[Nest, list[UOp]]:
    """The summand with the running maximum in it, and the divisors that were pulled out of the sum."""
    body = part.body
    value = body.value if isinstance(body, Map) else _reduce(part).values[0]
    parts = factors(value)
    divisors = [
        u
        for u in parts.under
        if u.op is Ops.VALUE and cast(ValueArg, u.arg).nest in group
    ]
    kept = [u for u in parts.under if u not in divisors]
    over = [_follow(u, top, grown) for u in parts.over]
    if sum(u is not v for u, v in zip(over, parts.over, strict=True)) > 1 or any(
        _reads(u, top) for u in kept
    ):
        raise MoveError(
            f"online: {part.name} depends on {top.name} in a way the rescaling table does not know"
        )
    new = over[0]
    for factor in over[1:]:
        new = new * factor
    for divisor in kept:
        new = new / divisor
    if isinstance(body, Map):
        return replace(part, body=Map(new)), divisors
    return replace(part, body=replace(_reduce(part), values=(new,))), divisors


def _follow(factor: UOp, top: Nest, grown: Nest) -> UOp:
    """exp(x - m)   ->   exp(x - m')"""
    if not _reads(factor, top):
        return factor
    shift = factor.src[0] if factor.op is Ops.EXP else None
    if (
        shift is None
        or shift.op is not Ops.SUB
        or _reads(shift.src[0], top)
        or shift.src[1].op is not Ops.VALUE
    ):
        raise MoveError(
            f"online: a factor depends on {top.name} other than as exp(x - {top.name})"
        )
    read = shift.src[1]
    after = read.replace(arg=ValueArg(grown.id, 0))
    return (shift.src[0] - _finite(after)).alu(Ops.EXP)


def _reads(expression: UOp, nest: Nest) -> bool:
    return any(
        u.op is Ops.VALUE and cast(ValueArg, u.arg).nest == nest.id
        for u in expression.toposort()
    )


def _in_order(
    kernel: Kernel,
    nests: tuple[str, ...],
    changed: dict[int, Nest],
    grown: Nest,
    scale: Nest,
) -> tuple[Nest, ...]:
    """Inside the shared loop: the maximum's part, the grown maximum, its factor, the sums, and the maximum last."""
    top = kernel.nest(nests[0])
    result: list[Nest] = []
    last = kernel.nest(nests[-1]).id if len(nests) > 1 else top.id
    for nest in kernel.nests:
        if nest.id == top.id:
            result.extend((grown, scale))
        else:
            result.append(changed.get(nest.id, nest))
        if nest.id == last:
            result.append(changed[top.id])
    return tuple(result)


def _finished(kernel: Kernel, finish: dict[int, list[UOp]]) -> Kernel:
    """Readers of a sum divide by what was pulled out of it."""
    group = set(finish)

    def change(expression: UOp) -> UOp:
        mapping: dict[UOp, UOp] = {}
        for node in expression.toposort():
            if node.op is Ops.VALUE and finish.get(cast(ValueArg, node.arg).nest):
                mapping[node] = _divided(
                    kernel, node, finish[cast(ValueArg, node.arg).nest]
                )
        return substitute(expression, mapping) if mapping else expression

    nests = tuple(n if n.id in group else n.map(change) for n in kernel.nests)
    return replace(kernel, nests=nests)


def _divided(kernel: Kernel, read: UOp, divisors: list[UOp]) -> UOp:
    owner = kernel.by_id(cast(ValueArg, read.arg).nest)
    place = {
        kernel.loops[a].counter: at
        for a, at in zip(owner.dims, read.src, strict=True)
    }
    result = read
    for divisor in divisors:
        result = result / substitute(divisor, place)
    return result
