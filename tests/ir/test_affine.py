"""split_affine: coefficients by axis, or None."""

from __future__ import annotations

import pytest

from ingot.ir import dtype as dt
from ingot.ir.affine import split_affine
from ingot.ir.algebra import simplify
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, ParamArg
from ingot.ir.polynomial import build, lower, polynomial, upper

U, V, W = UOp.axis(0), UOp.axis(1), UOp.axis(2)
N = UOp.variable("n", 1, 4096)
P = UOp(Ops.PARAM, dt.index, (), ParamArg(0))


def number(value: int) -> UOp:
    return UOp.const(dt.index, value)


def test_coefficients_and_rest() -> None:
    found = split_affine((U * 16 + V) * N + W // 4 + 3, (U, V))
    assert found is not None
    coefficients, rest = found
    assert coefficients == {U: N * 16, V: N}
    assert rest is simplify(W // 4 + 3)


def test_axes_that_are_not_used_are_absent() -> None:
    assert split_affine(U * 2 - V + V, (U, V, W)) == ({U: number(2)}, number(0))
    assert split_affine(N * 3, (U,)) == ({}, N * 3)


def test_negative_coefficients() -> None:
    assert split_affine(N - U, (U,)) == ({U: number(-1)}, N)


@pytest.mark.parametrize(
    "expr",
    [
        U * V,
        U * U,
        U // 4,
        (U + V) % 3,
        U.minimum(V),
        UOp(Ops.LOAD, dt.index, (P, U)),
        (U < 3).where(U, V),
    ],
)
def test_not_affine(expr: UOp) -> None:
    assert split_affine(expr, (U, V)) is None


def test_other_axes_may_be_anything() -> None:
    found = split_affine(U * 4 + (V // 3) * W, (U,))
    assert found is not None
    assert found[0] == {U: number(4)}


def test_the_parts_add_up() -> None:
    expr = (U * 3 + V) * (N + 2) - W * 5 + 7
    found = split_affine(expr, (U, V, W))
    assert found is not None
    total = found[1]
    for axis, coefficient in found[0].items():
        total = total + axis * coefficient
    assert simplify(total) is simplify(expr)


def test_polynomials_are_unique() -> None:
    a, b = (U + V) * (U - V), U * U - V * V
    assert polynomial(a) == polynomial(b)
    assert build(polynomial(a)) is build(polynomial(b))
    assert polynomial(U - U) == {}


def test_bounds_know_loops() -> None:
    i, j = UOp.axis(0, extent=N), UOp.axis(1, extent=number(16))
    assert upper(polynomial(i - N)) == -1
    assert upper(polynomial(i * 16 + j - N * 16)) == -1
    assert lower(polynomial(N - i)) == 1
    assert upper(polynomial(N % 7)) == 6
    assert upper(polynomial(j * 3 + 1)) == 46
