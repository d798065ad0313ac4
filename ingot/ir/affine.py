"""Index expressions as affine functions of loop counters. In: an expression and axes. Out: coefficients."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.ir.node import UOp
from ingot.ir.polynomial import Monomial, Polynomial, build, polynomial, without

__all__ = ["split_affine"]


def split_affine(
    expr: UOp, axes: Sequence[UOp]
) -> tuple[dict[UOp, UOp], UOp] | None:
    """(coefficients, rest) with expr == sum(coefficients[a] * a) + rest, or None where expr is not affine in `axes`.

    Axes that expr does not use have no coefficient. Coefficients and rest use none of `axes`.
    """
    parts: dict[UOp, Polynomial] = {}
    rest: Polynomial = {}
    for monomial, number in polynomial(expr).items():
        inside = [atom for atom in monomial if atom in axes]
        if len(inside) > 1 or _hidden(monomial, axes):
            return None
        if inside:
            factor = without(monomial, (inside[0],))
            assert factor is not None
            parts.setdefault(inside[0], {})[factor] = number
        else:
            rest[monomial] = number
    return {axis: build(parts[axis]) for axis in axes if axis in parts}, build(rest)


def _hidden(monomial: Monomial, axes: Sequence[UOp]) -> bool:
    """Some axis stands inside another atom: i // 4, a LOAD at i."""
    return any(
        axis in atom.toposort() for atom in monomial if atom.src for axis in axes
    )
