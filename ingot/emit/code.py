"""Pieces of source text and the rows of a target's table. In: texts of operands. Out: the text of an operation.

A row of a table is a function of a `Call`. Most rows are made by the small functions at the end:

    "add":     infix("+")                         x + y
    "exp":     function("np.exp")                 np.exp(x)
    "sum":     function("np.sum", "axis", "keepdims=False")     np.sum(x, axis=1): what is usual is not said
    "softmax": helper("softmax", "axis")          softmax(x, axis=1), and the file gets the text of softmax
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.text import expr_text

ATOM = 100  # how tightly a piece of text holds together: a name, a call
POWER, UNARY, PRODUCT, SUM, SHIFT, BIT_AND, BIT_XOR, BIT_OR, COMPARE = range(
    90, 0, -10
)


class Code(NamedTuple):
    """Text of an expression, and how tightly its outermost operator binds."""

    text: str
    level: int = ATOM

    def at(self, level: int) -> str:
        """The text as an operand of something that binds this tightly."""
        return self.text if self.level >= level else f"({self.text})"


class Call(NamedTuple):
    """One operation to be written: texts of its inputs, its attributes, its node, and what else the row may ask."""

    args: tuple[Code, ...]
    attrs: Mapping[str, Any]
    inputs: tuple[UOp, ...]
    node: UOp
    writer: Writing

    def literal(self, value: Any) -> str:
        return self.writer.literal(value)

    def named(self, attrs: Sequence[str]) -> list[str]:
        """These attributes as keyword arguments. `axis:dim` renames; `eps=1e-5` is left out where it is so anyway."""
        made = []
        for attr in attrs:
            rest, _, usual = attr.partition("=")
            name, _, spelled = rest.partition(":")
            text = self.literal(self.attrs[name])
            if text not in (usual, "None"):
                made.append(f"{spelled or name}={text}")
        return made


class Writing:
    """What a row may ask of the file that is being written: helpers, spelling of values."""

    def __init__(self, dtypes: Mapping[str, str], array: str) -> None:
        self.dtypes = dtypes
        self.array = array  # "np.array({}, dtype={})"
        self.needed: dict[str, None] = {}
        self.functions: dict[UOp, str] = {}  # FUNCTION -> its name in the file

    def need(self, helper: str) -> None:
        """The file will hold this helper."""
        self.needed[helper] = None

    def dtype(self, dtype: DType) -> str:
        """How the target spells an element type."""
        return self.dtypes[dtype.name]

    def moved(
        self, code: Code, source: tuple[int, ...], to: tuple[int, ...]
    ) -> Code:
        """Axes of an array in other places."""
        self.need("moveaxis")
        return Code(f"moveaxis({code.text}, {source}, {to})")

    def scalar(self, text: str, dtype: DType) -> str:
        """A number as an array without axes."""
        return self.array.format(text, self.dtype(dtype))

    def literal(self, value: Any) -> str:
        """A value as Python source."""
        if isinstance(value, tuple | list):
            inside = ", ".join(self.literal(item) for item in value)
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        if isinstance(value, UOp):
            return self.size(value)
        if isinstance(value, DType):
            return self.dtype(value)
        return json.dumps(value) if isinstance(value, str) else repr(value)

    def size(self, size: int | UOp) -> str:
        """A dimension: a number, or arithmetic over the symbolic sizes."""
        if isinstance(size, int):
            return str(size)
        if size.op is Ops.CONST:
            return str(size.value)
        return expr_text(size)


Row = Callable[[Call], Code]
Table = Mapping[str, Row]


def infix(operator: str, level: int) -> Row:
    """left operator right; operators of one level are read from the left, comparisons never without brackets."""

    def row(call: Call) -> Code:
        left, right = call.args
        near = level + 1 if level == COMPARE else level
        return Code(f"{left.at(near)} {operator} {right.at(level + 1)}", level)

    return row


def prefix(operator: str) -> Row:
    def row(call: Call) -> Code:
        return Code(f"{operator}{call.args[0].at(UNARY)}", UNARY)

    return row


def function(name: str, *attrs: str) -> Row:
    """name(inputs, attribute=value)"""

    def row(call: Call) -> Code:
        parts = [arg.text for arg in call.args] + call.named(attrs)
        return Code(f"{name}({', '.join(parts)})")

    return row


def method(name: str, *attrs: str) -> Row:
    """first.name(other inputs, attribute=value)"""

    def row(call: Call) -> Code:
        first, *others = call.args
        parts = [arg.text for arg in others] + call.named(attrs)
        return Code(f"{first.at(ATOM)}.{name}({', '.join(parts)})")

    return row


def helper(name: str, *attrs: str) -> Row:
    """A function whose text the file will hold."""
    plain = function(name, *attrs)

    def row(call: Call) -> Code:
        call.writer.need(name)
        return plain(call)

    return row


def template(text: str, level: int = ATOM) -> Row:
    """{0} and {1} are inputs, {axis} an attribute."""

    def row(call: Call) -> Code:
        values = {name: call.literal(value) for name, value in call.attrs.items()}
        spelled = [
            arg.at(level) if f"{{{n}}}." in text else arg.text
            for n, arg in enumerate(call.args)
        ]
        return Code(text.format(*spelled, **values), level)

    return row
