"""Sizes in C. In: index expressions over a model's open sizes. Out: C text, all of it int64_t and never negative."""

from __future__ import annotations

from typing import cast

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, VarArg

_INFIX = {
    Ops.ADD: "+",
    Ops.SUB: "-",
    Ops.MUL: "*",
    Ops.IDIV: "/",
    Ops.MOD: "%",
    Ops.CMPLT: "<",
    Ops.CMPEQ: "==",
    Ops.CMPNE: "!=",
    Ops.AND: "&&",
    Ops.OR: "||",
}
_CHOSEN = {Ops.MAX: ">", Ops.MIN: "<"}


def expression(size: UOp) -> str:
    """The expression as C. Sizes are not negative, so / and % are floor division and its remainder."""
    op, src = size.op, size.src
    if op is Ops.CONST:
        return str(int(size.value))
    if op is Ops.DEFINE_VAR:
        return cast(VarArg, size.arg).name
    if op in _INFIX:
        return f"({expression(src[0])} {_INFIX[op]} {expression(src[1])})"
    if op in _CHOSEN:
        a, b = expression(src[0]), expression(src[1])
        return f"({a} {_CHOSEN[op]} {b} ? {a} : {b})"
    if op is Ops.WHERE:
        return "({} ? {} : {})".format(*map(expression, src))
    if op is Ops.NOT:
        return f"!{expression(src[0])}"
    raise AssertionError(f"{op.name} in a size")


def scalar_word(value: UOp) -> str:
    """A scalar argument as the 64 bits that a kernel reads."""
    if value.dtype is dt.index:
        return f"(uint64_t){expression(value)}"
    assert value.op is Ops.CONST
    return f"{dt.to_bits(value.dtype, value.value):#x}u"
