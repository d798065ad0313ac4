"""Floor division and remainder of index expressions. In: x // d and x % d with d > 0. Out: fewer of them.

(d*q + r) // d    ->  q + r // d                   (d*q + r) % d     ->  r % d
(g*a + s) // g*d  ->  a // d        0 <= s < g     (g*a + s) % g*d   ->  g * (a % d) + s
x // d -> 0,  x % d -> x            0 <= x < d     also where d is a size and x < d follows from loop extents
(x // a) // b     ->  x // (a*b)                   (x % (a*b)) // a  ->  (x // a) % b
(x % (a*b)) % b   ->  x % b
"""

from __future__ import annotations

import math

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.pattern import PatternMatcher, UPat
from ingot.ir.polynomial import (
    Polynomial,
    build,
    content,
    divide,
    interval,
    lower,
    plus,
    polynomial,
    times,
    upper,
)

x, d = (
    UPat.var("x", dt.index),
    UPat.var("d", dt.index, when=lambda node: node.vmin > 0),
)
a = UPat.cvar("a", dt.index, when=lambda node: int(node.value) > 0)
c = UPat.cvar("c", dt.index, when=lambda node: int(node.value) > 0)
e = UPat.var("e", dt.index, when=lambda node: node.vmin > 0)


def fits(p: Polynomial, divisor: Polynomial) -> bool:
    """0 <= p < divisor, proven."""
    return upper(plus(p, divisor, -1)) < 0 and lower(p) >= 0


def quotient(x: UOp, d: UOp) -> UOp | None:
    """x // d with what d divides taken out."""
    p, divisor = polynomial(x), polynomial(d)
    if fits(p, divisor):
        return UOp.const(dt.index, 0)
    if len(divisor) != 1:
        return None
    q, r = divide(p, divisor)
    if q:
        return build(q) + build(r) // d
    return _quotient_by_number(p, int(d.value)) if d.op is Ops.CONST else None


def remainder(x: UOp, d: UOp) -> UOp | None:
    """x % d without the multiples of d."""
    p, divisor = polynomial(x), polynomial(d)
    if fits(p, divisor):
        return x
    if len(divisor) != 1:
        return None
    q, r = divide(p, divisor)
    if q:
        return build(r) % d
    return _remainder_by_number(p, int(d.value)) if d.op is Ops.CONST else None


def _quotient_by_number(p: Polynomial, d: int) -> UOp | None:
    low, high = interval(p)
    if math.isfinite(low) and math.isfinite(high) and low // d == high // d:
        return UOp.const(dt.index, int(low // d))
    for scale in _scales(p, d):
        coarse, fine = _split(p, scale)
        if fits(fine, {(): scale}):
            return build(coarse) // (d // scale)
    return None


def _remainder_by_number(p: Polynomial, d: int) -> UOp | None:
    low, high = interval(p)
    if math.isfinite(low) and math.isfinite(high) and low // d == high // d:
        return build(plus(p, {(): int(low // d) * d}, -1))
    for scale in _scales(p, d):
        coarse, fine = _split(p, scale)
        if fits(fine, {(): scale}):
            inner = build(coarse) % (d // scale)
            return build(plus(times(polynomial(inner), {(): scale}), fine))
    return _shrunk(p, d)


def _scales(p: Polynomial, d: int) -> list[int]:
    """Common divisors of d and some coefficients, the largest first: how coarse the large terms are."""
    coefficients = [abs(v) for m, v in p.items() if m]
    found = {math.gcd(v, d) for v in coefficients} | {math.gcd(content(p), d)}
    return sorted((s for s in found if s > 1), reverse=True)


def _split(p: Polynomial, scale: int) -> tuple[Polynomial, Polynomial]:
    """(a, s) with p == a * scale + s"""
    coarse, fine = divide(p, {(): scale})
    return coarse, fine


def _shrunk(p: Polynomial, d: int) -> UOp | None:
    """Coefficients beyond d, reduced: 17*i % 16 -> i % 16."""
    small = {m: v % d if v > 0 else -(-v % d) for m, v in p.items()}
    if small == p:
        return None
    return build({m: v for m, v in small.items() if v}) % d


INDEX_DIVISION = PatternMatcher(
    [
        (x // UPat.const(dt.index, 0), UPat.const(None, 0)),
        (x % UPat.const(dt.index, 0), UPat.const(None, 0)),
        ((x // d) // e, x // (d * e)),
        (
            (x % a) // c,
            lambda x, a, c: (x // c) % (int(a.value) // int(c.value)),
            lambda a, c: _divides(c, a),
        ),
        ((x % a) % c, x % c, lambda a, c: _divides(c, a)),
        (x // d, quotient),
        (x % d, remainder),
    ]
)


def _divides(c: UOp, a: UOp) -> bool:
    return int(a.value) % int(c.value) == 0
