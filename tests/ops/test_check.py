"""Assertions in a program: how they are built, and what is refused."""

from __future__ import annotations

import pytest

from ingot.errors import ArgumentError, DTypeError
from ingot.ir import dtype as dt
from ingot.ir.opcode import AssertArg, Ops
from ingot.ir.region import param
from ingot.ir.spec import PRIMITIVE, verify
from ingot.ops.check import checked

X = param(0, dt.float32, (3,))
COND = param(1, dt.boolean)
MOST = param(2, dt.int64)


def test_a_guarded_value() -> None:
    made = checked(X, COND, "ShapeError", "at most {0}", MOST)
    assert (made.op, made.dtype, made.shape) == (Ops.AFTER, dt.float32, (3,))
    assert made.src[0] is X
    assert made.src[1].arg == AssertArg("ShapeError", "at most {0}")
    verify(made, PRIMITIVE)


def test_what_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no error called 'Missing'"):
        checked(X, COND, "Missing", "")
    with pytest.raises(DTypeError, match="condition"):
        checked(X, MOST, "ShapeError", "")
    with pytest.raises(DTypeError, match="details"):
        checked(X, COND, "ShapeError", "", X)
