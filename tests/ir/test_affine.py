"""split_affine: coefficients by axis, or None."""

from __future__ import annotations

import pytest

from ingot.ir import dtype as dt
from ingot.ir.affine import split_affine
from ingot.ir.algebra import simplify
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, ParamArg
from ingot.ir.polynomial import build, lower, polynomial, upper

I, J, K = UOp.axis(0), UOp.axis(1), UOp.axis(2)
N = UOp.variable("n", 1, 4096)
P = UOp(Ops.PARAM, dt.index, (), ParamArg(0))


def number(value: int) -> UOp:
    return UOp.const(dt.index, value)


def test_coefficients_and_rest() -> None:
    found = split_affine((I * 16 + J) * N + K // 4 + 3, (I, J))
    assert found is not None
    coefficients, rest = found
    assert coefficients == {I: N * 16, J: N}
    assert rest is simplify(K // 4 + 3)


def test_axes_that_are_not_used_are_absent() -> None:
    assert split_affine(I * 2 - J + J, (I, J, K)) == ({I: number(2)}, number(0))
    assert split_affine(N * 3, (I,)) == ({}, N * 3)


def test_negative_coefficients() -> None:
    assert split_affine(N - I, (I,)) == ({I: number(-1)}, N)


@pytest.mark.parametrize(
    "expr",
    [I * J, I * I, I // 4, (I + J) % 3, I.minimum(J), UOp(Ops.LOAD, dt.index, (P, I)), (I < 3).where(I, J)],
)
def test_not_affine(expr: UOp) -> None:
    assert split_affine(expr, (I, J)) is None


def test_other_axes_may_be_anything() -> None:
    found = split_affine(I * 4 + (J // 3) * K, (I,))
    assert found is not None
    assert found[0] == {I: number(4)}


def test_the_parts_add_up() -> None:
    expr = (I * 3 + J) * (N + 2) - K * 5 + 7
    found = split_affine(expr, (I, J, K))
    assert found is not None
    total = found[1]
    for axis, coefficient in found[0].items():
        total = total + axis * coefficient
    assert simplify(total) is simplify(expr)


def test_polynomials_are_unique() -> None:
    a, b = (I + J) * (I - J), I * I - J * J
    assert polynomial(a) == polynomial(b)
    assert build(polynomial(a)) is build(polynomial(b))
    assert polynomial(I - I) == {}


def test_bounds_know_loops() -> None:
    i, j = UOp.axis(0, extent=N), UOp.axis(1, extent=number(16))
    assert upper(polynomial(i - N)) == -1
    assert upper(polynomial(i * 16 + j - N * 16)) == -1
    assert lower(polynomial(N - i)) == 1
    assert upper(polynomial(N % 7)) == 6
    assert upper(polynomial(j * 3 + 1)) == 46
