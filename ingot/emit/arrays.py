"""Rows that array libraries share: operators of Python, and slices. In: calls. Out: their text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingot.emit.code import (
    ATOM,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    COMPARE,
    POWER,
    PRODUCT,
    SHIFT,
    SUM,
    Call,
    Code,
    Row,
    function,
    infix,
    method,
    prefix,
    template,
)
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops


def reshape(call: Call) -> Code:
    """x.reshape(2, -1)"""
    return Code(f"{call.args[0].at(ATOM)}.reshape({sizes(call) or '()'})")


def sizes(call: Call) -> str:
    """The new shape of a reshape; one unknown size may be left to the library."""
    shape = call.attrs["shape"]
    known = [-1 if isinstance(n, UOp) else n for n in shape]
    return ", ".join(
        call.literal(n) for n in (shape if known.count(-1) > 1 else known)
    )


def shrink(call: Call) -> Code:
    """x[1:3, :5]"""
    shape = call.inputs[0].shape
    parts = []
    for (start, end), size in zip(call.attrs["bounds"], shape, strict=True):
        first, last = call.literal(start), call.literal(end)
        whole = last == call.writer.size(size)
        parts.append(f"{'' if first == '0' else first}:{'' if whole else last}")
    return _indexed(call, parts)


def stride(call: Call) -> Code:
    """x[::2]"""
    steps = [call.literal(step) for step in call.attrs["steps"]]
    return _indexed(call, [":" if step == "1" else f"::{step}" for step in steps])


def _indexed(call: Call, parts: list[str]) -> Code:
    """Whole axes at the end need not be said."""
    while len(parts) > 1 and parts[-1] == ":":
        parts = parts[:-1]
    return Code(f"{call.args[0].at(ATOM)}[{', '.join(parts)}]")


def linear(call: Call) -> Code:
    """x @ weight.T + bias"""
    x, weight, *bias = call.args
    product = f"{x.at(PRODUCT)} @ {weight.at(ATOM)}.T"
    if not bias:
        return Code(product, PRODUCT)
    return Code(f"{product} + {bias[0].at(SUM + 1)}", SUM)


def where(name: str) -> Row:
    """name(condition, x, y). Two numbers would take the library's default type, so one gets its own."""

    def row(call: Call) -> Code:
        condition, yes, no = call.args
        test, *sides = call.inputs
        if test.op is Ops.CONST:
            return yes if test.value else no
        if all(side.op is Ops.CONST for side in sides):
            yes = Code(call.writer.scalar(yes.text, call.node.dtype))
        return Code(f"{name}({condition.text}, {yes.text}, {no.text})")

    return row


def multiply_add(call: Call) -> Code:
    """x * y + z"""
    x, y, z = call.args
    text = f"{x.at(PRODUCT)} * {y.at(PRODUCT + 1)} + {z.at(SUM + 1)}"
    return Code(text, SUM)


def take(call: Call) -> Code:
    """x[i] along the first axes."""
    first, *places = call.args
    axes = call.attrs["axes"]
    if axes != tuple(range(len(axes))):
        skipped = ", ".join(
            place.text if axis in axes else ":"
            for axis, place in _along(axes, places)
        )
        front = len(call.inputs[1].shape)
        if axes == tuple(range(axes[0], axes[0] + len(axes))):
            moved = tuple(range(axes[0], axes[0] + front)), tuple(range(front))
            return call.writer.moved(Code(f"{first.at(ATOM)}[{skipped}]"), *moved)
        return Code(f"{first.at(ATOM)}[{skipped}]")
    return Code(f"{first.at(ATOM)}[{', '.join(p.text for p in places)}]")


def _along(
    axes: tuple[int, ...], places: Sequence[Code]
) -> Iterator[tuple[int, Code]]:
    """Every axis up to the last that has a place."""
    by_axis = dict(zip(axes, places, strict=True))
    return ((axis, by_axis.get(axis, Code(":"))) for axis in range(max(axes) + 1))


OPERATORS: dict[str, Row] = {
    "add": infix("+", SUM),
    "subtract": infix("-", SUM),
    "multiply": infix("*", PRODUCT),
    "divide": infix("/", PRODUCT),
    "floor_divide": infix("//", PRODUCT),
    "remainder": infix("%", PRODUCT),
    "matmul": infix("@", PRODUCT),
    "pow": infix("**", POWER),
    "less": infix("<", COMPARE),
    "less_equal": infix("<=", COMPARE),
    "equal": infix("==", COMPARE),
    "not_equal": infix("!=", COMPARE),
    "logical_and": infix("&", BIT_AND),
    "logical_or": infix("|", BIT_OR),
    "logical_xor": infix("^", BIT_XOR),
    "bitwise_and": infix("&", BIT_AND),
    "bitwise_or": infix("|", BIT_OR),
    "bitwise_xor": infix("^", BIT_XOR),
    "bitwise_left_shift": infix("<<", SHIFT),
    "bitwise_right_shift": infix(">>", SHIFT),
    "negative": prefix("-"),
    "logical_not": prefix("~"),
    "bitwise_invert": prefix("~"),
    "multiply_add": multiply_add,
    "same": template("{0}"),
    "detach": template("{0}"),
    "input": template("{0}"),
    "take": take,
    "reshape": reshape,
    "shrink": shrink,
    "stride": stride,
}


def _concat(np: str) -> Row:
    def row(call: Call) -> Code:
        parts = ", ".join(arg.text for arg in call.args)
        axis = call.attrs["axis"]
        tail = "" if axis == 0 else f", axis={axis}"
        return Code(
            f"{np}.concatenate(({parts},){tail})"
            if len(call.args) == 1
            else f"{np}.concatenate(({parts}){tail})"
        )

    return row


def _ordered(np: str, name: str) -> Row:
    """Both sort the small ones first and keep equals in order when asked to."""

    def row(call: Call) -> Code:
        axis = call.attrs["axis"]
        rank = len(call.inputs[0].shape)
        where = "" if axis in (-1, rank - 1) else f", axis={axis}"
        return Code(f"{np}.{name}({call.args[0].text}{where}, stable=True)")

    return row


_ALIKE = (
    "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh abs sign floor trunc round maximum minimum "
    "reciprocal logaddexp copysign nextafter"
).split()
_ARC = ("asin", "acos", "atan", "asinh", "acosh", "atanh")
AXIS = ("axis", "keepdims=False")


def numpy_like(np: str) -> dict[str, Row]:
    """Rows that NumPy and its likes share."""
    rows = {name: function(f"{np}.{name}") for name in _ALIKE}
    rows |= {name: function(f"{np}.arc{name[1:]}") for name in _ARC}
    reductions = "sum prod max min any all mean argmax argmin".split()
    rows |= {name: method(name, *AXIS) for name in reductions}
    return rows | {
        "where": where(f"{np}.where"),
        "atan2": function(f"{np}.arctan2"),
        "at_least": function(f"{np}.maximum"),
        "at_most": function(f"{np}.minimum"),
        "rest_of": template("{0} % {1}", PRODUCT),
        "astype": template("{0}.astype({dtype})"),
        "bitcast": template("{0}.view({dtype})"),
        "broadcast_to": template(f"{np}.broadcast_to({{0}}, {{shape}})"),
        "flip": template(f"{np}.flip({{0}}, axis={{axes}})"),
        "pad": template(f"{np}.pad({{0}}, {{widths}})"),
        "iota": template(f"{np}.arange({{size}})"),
        "concat": _concat(np),
        "cumsum": template(f"{np}.cumsum({{0}}, axis={{axis}})"),
        "cumprod": template(f"{np}.cumprod({{0}}, axis={{axis}})"),
        "linear": linear,
    }
