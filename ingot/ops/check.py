"""Assertions in a program. In: a value, and what has to hold before anybody reads it. Out: the value, guarded.

    index = checked(index, all_below, "ArgumentError", "index {0} is outside of 0 .. {1}", largest, last)

Nothing is computed or copied for a guarded value; whatever reads it runs after the check.
"""

from __future__ import annotations

from ingot.errors import DTypeError
from ingot.ir import dtype as dt
from ingot.ir.assertion import error_class
from ingot.ir.node import UOp
from ingot.ir.opcode import AssertArg, Ops


def checked(value: UOp, cond: UOp, error: str, message: str, *details: UOp) -> UOp:
    """`value` if `cond` holds, else the error with `message.format(*details)`."""
    error_class(error)  # a wrong name is told here, not when the check fails
    if cond.dtype is not dt.boolean or cond.shape != ():
        raise DTypeError(
            "checked: condition",
            given=(cond.dtype, cond.shape),
            wanted="a bool with shape ()",
        )
    wrong = [d for d in details if d.shape != ()]
    if wrong:
        raise DTypeError(
            "checked: details", given=wrong[0].shape, wanted="shape ()"
        )
    effect = UOp(Ops.ASSERT, dt.void, (cond, *details), AssertArg(error, message))
    return UOp(Ops.AFTER, value.dtype, (value, effect))
