"""Index expressions as polynomials. In: nodes of dtype `index`. Out: integer coefficients by monomial, and back.

    i*16 + n*(j + 2) - 3     is     {(i,): 16, (n, j): 1, (n,): 2, (): -3}

An atom is any node that is not a sum, difference or product: AXIS, DEFINE_VAR, `x // n`, LOAD ... The polynomial of a
node is unique, and so is the node built from a polynomial: two index expressions are equal where these are.
`index` arithmetic never wraps, so that the laws of integers hold.
"""

from __future__ import annotations

import math
from typing import cast

from ingot.ir import dtype as dt
from ingot.ir.bounds import Bound, Interval
from ingot.ir.node import UOp
from ingot.ir.opcode import AxisArg, Ops, VarArg

Monomial = tuple[UOp, ...]
Polynomial = dict[Monomial, int]

MOST_PRODUCTS = 32  # a product of two longer sums is left alone
_SIZES = frozenset({Ops.DEFINE_VAR, Ops.BIND, Ops.SIZE_OF})


def order(atom: UOp) -> tuple[int, str, bytes]:
    """Sizes first, by name; loop counters last, by number; the same in every process."""
    if atom.op is Ops.DEFINE_VAR:
        return 0, cast(VarArg, atom.arg).name, b""
    if atom.op is Ops.AXIS:
        return 2, f"{cast(AxisArg, atom.arg).id:09d}", b""
    return 1, atom.op.name, atom.digest


# --- nodes to polynomials ---------------------------------------------------------------------------------------------


class Form:
    """What a sum or product is, kept on the node. An atom's would hold the node itself, a cycle, and is made anew."""

    __slots__ = ("canonical", "polynomial")

    def __init__(self, made: Polynomial) -> None:
        self.polynomial = made
        self.canonical = (
            False  # the node is the one that `build` makes of its polynomial
        )


_SUMS = frozenset({Ops.ADD, Ops.SUB, Ops.NEG, Ops.MUL})
_set_form = UOp.__dict__["_form"].__set__


def form(node: UOp) -> Form:
    """The form of a node that is a sum or product."""
    if not hasattr(node, "_form"):
        for part in node.toposort(
            lambda u: u.op in _SUMS and not hasattr(u, "_form")
        ):
            if part.op in _SUMS and not hasattr(part, "_form"):
                _set_form(part, Form(_combined(part)))
    return cast(Form, node._form)


def polynomial(node: UOp) -> Polynomial:
    """What an index expression is, whatever way it was written. Shared: not to be changed."""
    if node.op is Ops.CONST:
        value = int(node.value)
        return {(): value} if value else {}
    if node.op not in _SUMS:
        return {(node,): 1}
    return form(node).polynomial or _itself(node)


def _itself(node: UOp) -> Polynomial:
    """The zero polynomial, or a product too long to multiply out, which is an atom."""
    return {} if node.op is not Ops.MUL or _is_zero(node) else {(node,): 1}


def _is_zero(product: UOp) -> bool:
    return not polynomial(product.src[0]) or not polynomial(product.src[1])


def _combined(node: UOp) -> Polynomial:
    left = polynomial(node.src[0])
    if node.op is Ops.NEG:
        return plus({}, left, -1)
    right = polynomial(node.src[1])
    if node.op is not Ops.MUL:
        return plus(left, right, 1 if node.op is Ops.ADD else -1)
    if len(left) > 1 and len(right) > 1 and len(left) * len(right) > MOST_PRODUCTS:
        return {}
    return times(left, right)


def add_into(total: Polynomial, other: Polynomial, factor: int = 1) -> None:
    """total += factor * other"""
    for monomial, coefficient in other.items():
        value = total.get(monomial, 0) + factor * coefficient
        if value:
            total[monomial] = value
        else:
            total.pop(monomial, None)


def plus(a: Polynomial, b: Polynomial, factor: int = 1) -> Polynomial:
    """a + factor * b"""
    total = dict(a)
    add_into(total, b, factor)
    return total


def times(a: Polynomial, b: Polynomial) -> Polynomial:
    """a * b"""
    total: Polynomial = {}
    for m, c in a.items():
        for n, d in b.items():
            add_into(total, {merge(m, n): c * d})
    return total


def merge(a: Monomial, b: Monomial) -> Monomial:
    """The product of two monomials."""
    if not a or not b:
        return a or b
    return tuple(sorted(a + b, key=order))


def without(monomial: Monomial, factor: Monomial) -> Monomial | None:
    """monomial / factor, None if it does not divide."""
    left = list(monomial)
    for atom in factor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


# --- polynomials to nodes ---------------------------------------------------------------------------------------------


def build(p: Polynomial) -> UOp:
    """The one node that stands for a polynomial: positive terms, then negative ones, then the constant."""
    terms = sorted(
        ((m, c) for m, c in p.items() if m),
        key=lambda term: [order(a) for a in term[0]],
    )
    constant = p.get((), 0)
    positive = [term for term in terms if term[1] > 0]
    negative = [term for term in terms if term[1] < 0]
    if not positive and negative:
        if constant > 0:
            return _subtract(UOp.const(dt.index, constant), negative)
        positive, negative = negative[:1], negative[1:]
    if not positive:
        return UOp.const(dt.index, constant)
    total = build_term(*positive[0])
    for monomial, coefficient in positive[1:]:
        total = total + build_term(monomial, coefficient)
    total = _subtract(total, negative)
    return total + constant if constant else total


def _subtract(total: UOp, negative: list[tuple[Monomial, int]]) -> UOp:
    for monomial, coefficient in negative:
        total = total - build_term(monomial, -coefficient)
    return total


def build_term(monomial: Monomial, coefficient: int) -> UOp:
    """Counters times (sizes times number): what does not change in a loop is one factor."""
    sizes = [a for a in monomial if a.op in _SIZES]
    others = [a for a in monomial if a.op not in _SIZES]
    scale = _product(sizes)
    if coefficient != 1 or not monomial:
        number = UOp.const(dt.index, coefficient)
        scale = number if scale is None else scale * number
    moving = _product(others)
    if moving is None:
        return cast(UOp, scale)
    return moving if scale is None else moving * scale


def _product(atoms: list[UOp]) -> UOp | None:
    total: UOp | None = None
    for atom in atoms:
        total = atom if total is None else total * atom
    return total


# --- what is known about values ---------------------------------------------------------------------------------------


def interval(p: Polynomial) -> Interval:
    """Bounds from the bounds of the atoms, each term by itself."""
    low: Bound = 0
    high: Bound = 0
    for monomial, coefficient in p.items():
        a, b = _term_interval(monomial, coefficient)
        low += a
        high += b
    return low, high


def _term_interval(monomial: Monomial, coefficient: int) -> Interval:
    a: Bound = coefficient
    b: Bound = coefficient
    for atom in monomial:
        lo, hi = atom.bounds
        corners = (_times(a, lo), _times(a, hi), _times(b, lo), _times(b, hi))
        a, b = min(corners), max(corners)
    return a, b


def _times(x: Bound, y: Bound) -> Bound:
    return 0 if x == 0 or y == 0 else x * y


def upper(p: Polynomial, depth: int = 6) -> Bound:
    """An upper bound that knows loops: a counter is below its extent, x % n below n, min(a, b) at most a and b."""
    best = interval(p)[1]
    if best < 0 or depth == 0:
        return best
    for atom in {a: None for monomial in p for a in monomial}:
        larger = _larger(p, atom)
        if larger:
            return min(best, *(upper(q, depth - 1) for q in larger))
    return best


def lower(p: Polynomial) -> Bound:
    """A lower bound that knows loops."""
    return -upper(plus({}, p, -1))


def _larger(p: Polynomial, atom: UOp) -> list[Polynomial]:
    """Polynomials without an atom that are at least p."""
    tops = _tops(atom)
    if not tops and atom.op is not Ops.IDIV:
        return []
    factor = _factor_of(p, atom)
    if factor is None:
        return []
    if atom.op is Ops.IDIV:
        return _without_quotient(p, atom, factor)
    return [put(p, atom, top) for top in tops] if interval(factor)[0] >= 0 else []


def _tops(atom: UOp) -> list[Polynomial]:
    """Polynomials that an atom never exceeds."""
    if atom.op is Ops.AXIS and atom.src:
        return [plus(polynomial(atom.src[0]), {(): -1})]
    if atom.op is Ops.MOD and atom.src[1].vmin > 0:
        return [plus(polynomial(atom.src[1]), {(): -1})]
    if atom.op is Ops.MIN:
        return [polynomial(atom.src[0]), polynomial(atom.src[1])]
    return []


def _factor_of(p: Polynomial, atom: UOp) -> Polynomial | None:
    """What multiplies an atom, None if p is not linear in it."""
    factor: Polynomial = {}
    for monomial, coefficient in p.items():
        rest = without(monomial, (atom,))
        if rest is not None:
            if atom in rest:
                return None
            factor[rest] = coefficient
    return factor


def _without_quotient(
    p: Polynomial, quotient: UOp, factor: Polynomial
) -> list[Polynomial]:
    """k*d*(x // d) is at most k*x."""
    x, divisor = quotient.src[0], polynomial(quotient.src[1])
    if quotient.src[1].vmin <= 0 or len(divisor) != 1:
        return []
    times_divisor, left = divide(factor, divisor)
    if left or interval(times_divisor)[0] < 0:
        return []
    rest = put(p, quotient, {})
    return [plus(rest, times(times_divisor, polynomial(x)))]


def put(p: Polynomial, atom: UOp, value: Polynomial) -> Polynomial:
    """p with a polynomial in place of an atom."""
    total: Polynomial = {}
    for monomial, coefficient in p.items():
        rest = without(monomial, (atom,))
        if rest is None:
            add_into(total, {monomial: coefficient})
        else:
            add_into(total, times({rest: coefficient}, value))
    return total


def divide(p: Polynomial, divisor: Polynomial) -> tuple[Polynomial, Polynomial]:
    """(q, r) with p == q * divisor + r; `divisor` has one term. A constant remainder is in 0..divisor-1."""
    ((factor, scale),) = divisor.items()
    q: Polynomial = {}
    r: Polynomial = {}
    for monomial, coefficient in p.items():
        rest = without(monomial, factor)
        if not monomial and not factor:
            add_into(q, {(): coefficient // scale} if coefficient // scale else {})
            add_into(r, {(): coefficient % scale} if coefficient % scale else {})
        elif rest is None or coefficient % scale:
            r[monomial] = coefficient
        else:
            q[rest] = coefficient // scale
    return q, r


def content(p: Polynomial) -> int:
    """The greatest common divisor of the coefficients, the constant left out."""
    return math.gcd(*(c for m, c in p.items() if m))
