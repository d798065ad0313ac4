"""Sums and products of index expressions in one canonical order. In: ADD, SUB, NEG, MUL. Out: one form.

Like terms are combined, constants distributed, and the two halves of a division put together again:

    k*n*(x // n) + k*(x % n)            ->  k*x
    k*n*((x // n) % m) + k*(x % n)      ->  k*(x % (n*m))
"""

from __future__ import annotations

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.pattern import PatternMatcher, UPat
from ingot.ir.polynomial import (
    Monomial,
    Polynomial,
    build,
    form,
    plus,
    polynomial,
    times,
    without,
)

s = UPat((Ops.ADD, Ops.SUB, Ops.NEG, Ops.MUL), dt.index, name="s")


def canonical(s: UOp) -> UOp | None:
    """The one way to write a sum; tensors of indices are left alone."""
    if s.shape:
        return None
    known = form(s)
    if known.canonical:
        return None
    made = build(rejoin(polynomial(s)))
    if made is s:
        known.canonical = True
    return made


def rejoin(p: Polynomial) -> Polynomial:
    """Quotients and remainders of the same division, put together."""
    for monomial, coefficient in p.items():
        for atom in monomial:
            if atom.op is Ops.MOD:
                joined = _join(p, monomial, coefficient, atom)
                if joined is not None:
                    return rejoin(joined)
    return p


def _join(
    p: Polynomial, monomial: Monomial, coefficient: int, mod: UOp
) -> Polynomial | None:
    rest = without(monomial, (mod,))
    assert rest is not None
    whole = _whole_quotient(p, {rest: coefficient}, mod) or _part_quotient(
        p, {rest: coefficient}, mod
    )
    if whole is None:
        return None
    gone, instead = whole
    left = plus(p, plus({monomial: coefficient}, gone), -1)
    return plus(left, times({rest: coefficient}, instead))


def _whole_quotient(
    p: Polynomial, outer: Polynomial, mod: UOp
) -> tuple[Polynomial, Polynomial] | None:
    """x // n times n, beside x % n. By the IR's rule x // 0 and x % 0 are 0, so that n must not be 0."""
    x, n = mod.src
    if n.vmin <= 0 <= n.vmax:
        return None
    for quotient in _atoms(p, Ops.IDIV):
        if quotient.src[0] is x and quotient.src[1] is n:
            gone = times(times(outer, polynomial(n)), {(quotient,): 1})
            return (gone, polynomial(x)) if _contains(p, gone) else None
    return None


def _part_quotient(
    p: Polynomial, outer: Polynomial, mod: UOp
) -> tuple[Polynomial, Polynomial] | None:
    """(x // n) % m times n, beside x % n."""
    x, n = mod.src
    for part in _atoms(p, Ops.MOD):
        inner = part.src[0]
        if (
            inner.op is Ops.IDIV
            and inner.src[0] is x
            and inner.src[1] is n
            and part.src[1].vmin > 0
        ):
            gone = times(times(outer, polynomial(n)), {(part,): 1})
            if _contains(p, gone):
                return gone, {
                    (x % build(times(polynomial(n), polynomial(part.src[1]))),): 1
                }
    return None


def _atoms(p: Polynomial, op: Ops) -> list[UOp]:
    return [atom for monomial in p for atom in monomial if atom.op is op]


def _contains(p: Polynomial, part: Polynomial) -> bool:
    return all(p.get(m) == v for m, v in part.items())


INDEX_SUMS = PatternMatcher(
    [
        (s, canonical),
    ]
)
