"""Sizes on the host. In: index expressions over size variables. Out: Python source, and functions made of it.

Number of chunks, bytes of scratch, guards and the like are small expressions; written as Python they can be stored
beside the compiled code and evaluated without building a node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import cast

from ingot.errors import ArgumentError
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, VarArg

Number = int | float
_INFIX = {
    Ops.ADD: "+",
    Ops.SUB: "-",
    Ops.MUL: "*",
    Ops.IDIV: "//",
    Ops.MOD: "%",
    Ops.CMPLT: "<",
    Ops.CMPEQ: "==",
    Ops.CMPNE: "!=",
    Ops.AND: "&",
    Ops.OR: "|",
}
_CALLS = {Ops.MAX: "max", Ops.MIN: "min"}
_KNOWN = {"__builtins__": {}, "min": min, "max": max}


def source(expression: UOp) -> str:
    """The expression as Python."""
    op, src = expression.op, expression.src
    if op is Ops.CONST:
        return repr(expression.value)
    if op is Ops.DEFINE_VAR:
        return cast(VarArg, expression.arg).name
    if op is Ops.BIND:
        return source(src[0])
    if op in _INFIX:
        return f"({source(src[0])} {_INFIX[op]} {source(src[1])})"
    if op in _CALLS:
        return f"{_CALLS[op]}({source(src[0])}, {source(src[1])})"
    if op is Ops.NEG:
        return f"(-{source(src[0])})"
    if op is Ops.WHERE:
        return f"({source(src[1])} if {source(src[0])} else {source(src[2])})"
    raise AssertionError(f"{op.name} in a size")


@lru_cache(maxsize=4096)
def _compiled(text: str) -> Callable[[Mapping[str, Number]], Number]:
    code = compile(text, "<size>", "eval")
    return lambda names: cast(Number, eval(code, _KNOWN, names))


def evaluate(text: str, names: Mapping[str, Number]) -> int:
    """The value of an expression's source."""
    if text.isdecimal():
        return int(text)
    try:
        return int(_compiled(text)(names))
    except NameError as error:
        raise ArgumentError(
            f"the size {error.name} has no value yet",
            fix=f"bind it: {error.name}.bind(5)",
        ) from None
