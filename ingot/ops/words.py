"""Words: what people call the nodes of a program. In: a node. Out: an operation by name, with its inputs and attributes.

A named operation is a word as it stands. Opcodes have their words in a table. What the graph says in several nodes and
libraries say in one is put together again: an operand that is repeated to a shape is left to broadcasting, a reduction
that keeps its axes is one word, `a < b or a == b` is `a <= b`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    AxesArg,
    OpArg,
    Ops,
    PrefixArg,
    ReduceArg,
    ResultArg,
    WindowArg,
)
from ingot.ir.shape import Shape, same_dim


class Word(NamedTuple):
    """An operation as a person would say it. Inputs are nodes; a CONST among them is a number."""

    name: str
    inputs: tuple[UOp, ...]
    attrs: Mapping[str, Any] = {}  # a named tuple has no factories


_PLAIN = {
    Ops.NEG: "negative",
    Ops.RECIP: "reciprocal",
    Ops.SQRT: "sqrt",
    Ops.EXP: "exp",
    Ops.EXP2: "exp2",
    Ops.LOG: "log",
    Ops.LOG2: "log2",
    Ops.SIN: "sin",
    Ops.COS: "cos",
    Ops.TANH: "tanh",
    Ops.ERF: "erf",
    Ops.FLOOR: "floor",
    Ops.TRUNC: "trunc",
    Ops.ROUND: "round",
    Ops.ADD: "add",
    Ops.SUB: "subtract",
    Ops.MUL: "multiply",
    Ops.FDIV: "divide",
    Ops.IDIV: "floor_divide",
    Ops.MOD: "remainder",
    Ops.MAX: "maximum",
    Ops.MIN: "minimum",
    Ops.POW: "pow",
    Ops.SHL: "bitwise_left_shift",
    Ops.SHR: "bitwise_right_shift",
    Ops.CMPLT: "less",
    Ops.CMPEQ: "equal",
    Ops.CMPNE: "not_equal",
    Ops.WHERE: "where",
    Ops.MULACC: "multiply_add",
}
_LOGICAL = {
    Ops.NOT: ("logical_not", "bitwise_invert"),
    Ops.AND: ("logical_and", "bitwise_and"),
    Ops.OR: ("logical_or", "bitwise_or"),
    Ops.XOR: ("logical_xor", "bitwise_xor"),
}
_REDUCED = {
    Ops.ADD: "sum",
    Ops.MUL: "prod",
    Ops.MAX: "max",
    Ops.MIN: "min",
    Ops.OR: "any",
    Ops.AND: "all",
}


ELEMENTWISE = frozenset(
    {
        *_PLAIN.values(),
        *(name for pair in _LOGICAL.values() for name in pair),
        "less_equal",
    }
)  # words whose inputs may be bare numbers, as long as one is not


def word(node: UOp) -> Word:
    """What a node is called."""
    if node.op is Ops.OP:
        arg = cast(OpArg, node.arg)
        if arg.name == "iota":
            return Word("iota", (), {"size": node.src[0]})
        return Word(arg.name, node.src, dict(arg.attrs))
    if node.op is Ops.CALL:
        return Word("call", node.src[1:], {"function": node.src[0]})
    found = _compared(node) or _kept_axes(node)
    if found is not None:
        return found
    if node.op in _PLAIN or node.op in _LOGICAL:
        return Word(_elementwise(node), operands(node))
    rule = _RULES.get(node.op)
    if rule is None:
        raise ArgumentError(
            f"{node.op.name} has no word",
            fix="it belongs to a level below programs, or to a region",
        )
    return rule(node)


def _elementwise(node: UOp) -> str:
    if node.op in _PLAIN:
        return _PLAIN[node.op]
    return _LOGICAL[node.op][node.dtype is not dt.boolean]


def _compared(node: UOp) -> Word | None:
    """a < b or a == b of floats, not(b < a) of whole numbers: `a <= b`."""
    if node.op is Ops.OR and {s.op for s in node.src} == {Ops.CMPLT, Ops.CMPEQ}:
        less = next(s for s in node.src if s.op is Ops.CMPLT)
        equal = next(s for s in node.src if s.op is Ops.CMPEQ)
        if set(less.src) == set(equal.src):
            return Word("less_equal", operands(less))
    if node.op is Ops.NOT and node.src[0].op is Ops.CMPLT:
        right, left = node.src[0].src
        if not right.dtype.is_float:
            return Word("less_equal", _brought(node.shape, (left, right)))
    return None


# --- broadcasting -----------------------------------------------------------------------------------------------------


def operands(node: UOp) -> tuple[UOp, ...]:
    """The sources of an elementwise node, left to broadcasting where that gives the same shape."""
    return _brought(node.shape, node.src)


def _brought(shape: Shape, sources: tuple[UOp, ...]) -> tuple[UOp, ...]:
    bare = tuple(unexpanded(source) for source in sources)
    if _broadcasts(bare, shape):
        return bare
    # One operand must have the whole shape: all others may stay bare.
    for keep, source in enumerate(sources):
        mixed = (*bare[:keep], source, *bare[keep + 1 :])
        if _broadcasts(mixed, shape):
            return mixed
    return sources


def unexpanded(node: UOp) -> UOp:
    """What a node repeats: without EXPAND, and without axes of size 1 in front."""
    found = node.src[0] if node.op is Ops.EXPAND else node
    while found.op is Ops.RESHAPE and _adds_leading(found):
        found = found.src[0]
    return found


def _adds_leading(node: UOp) -> bool:
    before, after = node.src[0].shape, node.shape
    extra = len(after) - len(before)
    return (
        extra > 0
        and all(n == 1 for n in after[:extra] if isinstance(n, int))
        and all(isinstance(n, int) for n in after[:extra])
        and all(same_dim(a, b) for a, b in zip(after[extra:], before, strict=True))
    )


def _broadcasts(nodes: tuple[UOp, ...], shape: Shape) -> bool:
    """These meet in exactly this shape by the rules that all array libraries share."""
    if max((len(u.shape) for u in nodes), default=0) != len(shape):
        return False
    for axis in range(1, len(shape) + 1):
        sizes = [u.shape[-axis] for u in nodes if len(u.shape) >= axis]
        wanted = shape[-axis]
        if not any(same_dim(size, wanted) for size in sizes):
            return False
    return True


# --- the rest ---------------------------------------------------------------------------------------------------------


def _kept_axes(node: UOp) -> Word | None:
    """A reduction whose axes come back with size 1."""
    if node.op is not Ops.RESHAPE or node.src[0].op is not Ops.REDUCE:
        return None
    reduced = node.src[0]
    whole = reduced.src[0].shape
    axes = cast(ReduceArg, reduced.arg).axes
    kept = tuple(1 if axis in axes else n for axis, n in enumerate(whole))
    if len(kept) != len(node.shape) or not all(map(same_dim, kept, node.shape)):
        return None
    found = _reduce(reduced)
    return found._replace(attrs={**found.attrs, "keepdims": True})


def _reduce(node: UOp) -> Word:
    arg = cast(ReduceArg, node.arg)
    combine = node.src[-1]
    name = _REDUCED.get(combine.op)
    if arg.n != 1 or name is None:
        raise ArgumentError("a reduction over several values has no word")
    return Word(name, (node.src[0],), {"axis": arg.axes, "keepdims": False})


def _moved(name: str, attr: str) -> Callable[[UOp], Word]:
    def rule(node: UOp) -> Word:
        return Word(name, node.src[:1], {attr: node.shape})

    return rule


def _axes(name: str) -> Callable[[UOp], Word]:
    def rule(node: UOp) -> Word:
        return Word(name, node.src, {"axes": cast(AxesArg, node.arg).axes})

    return rule


def _pairs(name: str, attr: str) -> Callable[[UOp], Word]:
    def rule(node: UOp) -> Word:
        numbers = node.src[1:]
        pairs = tuple(zip(numbers[::2], numbers[1::2], strict=True))
        return Word(name, node.src[:1], {attr: pairs})

    return rule


def _prefix(node: UOp) -> Word:
    arg = cast(PrefixArg, node.arg)
    name = _RUNNING.get(node.src[-1].op)
    if arg.n != 1 or name is None:
        raise ArgumentError("a running value over several has no word")
    attrs = {"axis": arg.axis}
    return Word(f"{name}_reversed" if arg.reverse else name, (node.src[0],), attrs)


_RUNNING = {
    Ops.ADD: "cumsum",
    Ops.MUL: "cumprod",
    Ops.MAX: "running_max",
    Ops.MIN: "running_min",
}


def _stride(node: UOp) -> Word:
    return Word("stride", node.src[:1], {"steps": node.src[1:]})


def _window(node: UOp) -> Word:
    axis = cast(WindowArg, node.arg).axis
    return Word("window", node.src[:1], {"size": node.src[1], "axis": axis})


def _cast(name: str) -> Callable[[UOp], Word]:
    def rule(node: UOp) -> Word:
        return Word(name, node.src, {"dtype": node.dtype})

    return rule


def _result(node: UOp) -> Word:
    source = node.src[0]
    if source.op is Ops.CALL and len(source.results) == 1:
        return word(source)
    return Word("result", node.src, {"index": cast(ResultArg, node.arg).index})


_RULES: dict[Ops, Callable[[UOp], Word]] = {
    Ops.RESHAPE: _moved("reshape", "shape"),
    Ops.EXPAND: _moved("broadcast_to", "shape"),
    Ops.PERMUTE: _axes("permute"),
    Ops.FLIP: _axes("flip"),
    Ops.PAD: _pairs("pad", "widths"),
    Ops.SHRINK: _pairs("shrink", "bounds"),
    Ops.STRIDE: _stride,
    Ops.WINDOW: _window,
    Ops.TAKE: _axes("take"),
    Ops.PREFIX: _prefix,
    Ops.AFTER: lambda node: Word("same", node.src[:1]),
    Ops.CONTIGUOUS: lambda node: Word("contiguous", node.src),
    Ops.CAST: _cast("astype"),
    Ops.BITCAST: _cast("bitcast"),
    Ops.REDUCE: _reduce,
    Ops.RESULT: _result,
}
