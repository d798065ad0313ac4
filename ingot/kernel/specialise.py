"""Moves that know more about sizes: each adds a guard to the kernel, or turns a loop's extent into a condition.

multiple_of(k, "n", 4)      n is (n // 4) * 4        guard: n % 4 == 0
at_most(k, "j", 8)          j has room for 8         guard: extent <= 8
equal_to(k, "s", 2)         s is 2                   guard: s == 2
predicate(k, "j")           for j in 0..min(8, n - 8*i): s   ->   for j in 0..8: if 8*i + j < n: s
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from ingot.errors import MoveError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, VarArg
from ingot.ir.polynomial import build, lower, plus, polynomial
from ingot.ir.rewrite import substitute
from ingot.kernel.nest import Kernel, Loop, Nest


def multiple_of(kernel: Kernel, size: UOp, by: int) -> Kernel:
    """s(n)   ->   s(n // by * by): offsets and extents show the factor          guard: n % by == 0"""
    if size.op is not Ops.DEFINE_VAR:
        raise MoveError(f"multiple_of: {size!r} is not a size argument")
    mapping = {size: (size // by) * by}

    def change(expression: UOp) -> UOp:
        return substitute(expression, mapping).simplify()

    loops = {a: _shown(lp, mapping) for a, lp in kernel.loops.items()}
    nests = tuple(n.map(change) for n in kernel.nests)
    guard = (size % by).eq(0)
    changed = replace(
        kernel,
        loops=loops,
        nests=nests,
        guards=tuple(dict.fromkeys((*kernel.guards, guard))),
    )
    return changed.noted(f"multiple_of({cast(VarArg, size.arg).name!r}, {by})")


def equal_to(kernel: Kernel, size: UOp, value: int) -> Kernel:
    """s(n)   ->   s(value)          guard: n == value"""
    if size.op is not Ops.DEFINE_VAR:
        raise MoveError(f"equal_to: {size!r} is not a size argument")
    mapping = {size: UOp.const(size.dtype, value)}

    def change(expression: UOp) -> UOp:
        return substitute(expression, mapping).simplify()

    loops = {a: _shown(lp, mapping) for a, lp in kernel.loops.items()}
    nests = tuple(n.map(change) for n in kernel.nests)
    guards = tuple(dict.fromkeys((*kernel.guards, size.eq(value))))
    changed = replace(kernel, loops=loops, nests=nests, guards=guards)
    return changed.noted(f"equal_to({cast(VarArg, size.arg).name!r}, {value})")


def _shown(loop: Loop, mapping: dict[UOp, UOp]) -> Loop:
    moved = loop.substituted(mapping)
    extent, capacity = (
        moved.extent.simplify(),
        substitute(loop.capacity, mapping).simplify(),
    )
    return replace(
        moved,
        extent=extent,
        capacity=extent if loop.extent is loop.capacity else capacity,
    )


def at_most(kernel: Kernel, loop: str, count: int) -> Kernel:
    """for i in 0..e: s   ->   the same, with room for `count` iterations and no more          guard: e <= count

    Needs: an extent that is known before the kernel starts.
    """
    old = kernel.loop(loop)
    if old.capacity is not old.extent:
        raise MoveError(
            f"at_most: the extent of {loop} changes while the kernel runs; limit the loop it was split from"
        )
    guard = old.extent < count + 1
    changed = kernel.with_loops(replace(old, capacity=UOp.const(dt.index, count)))
    return replace(
        changed, guards=tuple(dict.fromkeys((*kernel.guards, guard)))
    ).noted(f"at_most({loop!r}, {count})")


def predicate(kernel: Kernel, loop: str) -> Kernel:
    """for j in 0..min(8, n - 8*i): s   ->   for j in 0..8: if 8*i + j < n: s

    The condition follows the loop through later splits. Needs: a constant capacity.
    """
    old = kernel.loop(loop)
    if old.capacity.op is not Ops.CONST:
        raise MoveError(
            f"predicate: loop {loop} has no constant capacity; split it first or limit it with at_most"
        )
    whole = kernel.with_loops(replace(old, extent=old.capacity, full=None))
    if old.extent is old.capacity:
        return whole
    condition = _asked(old.counter, _limit(old))
    nests = tuple(
        _with(n, condition) if old.axis in n.loops else n for n in kernel.nests
    )
    return replace(whole, nests=nests).noted(f"predicate({loop!r})")


def _limit(loop: Loop) -> UOp:
    """The extent without the part of it that the capacity says already."""
    if loop.extent.op is Ops.MIN and loop.capacity in loop.extent.src:
        return next(s for s in loop.extent.src if s is not loop.capacity)
    return loop.extent


def _asked(counter: UOp, limit: UOp) -> UOp:
    """counter < limit; of a quotient, i < x // f - r, it is (i + r)*f + f - 1 < x: no division is left to run."""
    difference = polynomial(counter - limit)
    for monomial, number in difference.items():
        if number == -1 and len(monomial) == 1 and _by_constant(monomial[0]):
            quotient = monomial[0]
            whole, factor = quotient.src
            rest = build(plus(difference, {monomial: 1}))
            return (rest * factor + (factor - 1) < whole).simplify()
    return (counter < limit).simplify()


def _by_constant(atom: UOp) -> bool:
    return (
        atom.op is Ops.IDIV and atom.src[1].op is Ops.CONST and atom.src[1].vmin > 0
    )


def _with(nest: Nest, condition: UOp) -> Nest:
    """The nest with one more condition, and without those that others imply."""
    every = list(dict.fromkeys((*nest.conditions, condition)))
    kept = [
        c for c in every if not any(o is not c and _implies(o, c) for o in every)
    ]
    return replace(nest, conditions=tuple(kept))


def _implies(strong: UOp, weak: UOp) -> bool:
    """a < b follows from c < d where a - b is never above c - d."""
    if strong.op is not Ops.CMPLT or weak.op is not Ops.CMPLT:
        return False
    a, b = weak.src
    c, d = strong.src
    return lower(polynomial((c - d) - (a - b))) >= 0
