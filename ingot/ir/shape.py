"""Shape rules: one row per opcode. In: the sources and the arg of a node. Out: the types of its results.

A dimension is an int, or a UOp where a size is symbolic. Named operations register theirs in `NAMED` (see ops/op.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from ingot.errors import ShapeError
from ingot.ir import dtype as dt
from ingot.ir.opcode import (
    ELEMENTWISE,
    MOVEMENT,
    Arg,
    AxesArg,
    ExternArg,
    OpArg,
    Ops,
    PrefixArg,
    ReduceArg,
    ResultArg,
    ScanArg,
    WindowArg,
)

if TYPE_CHECKING:
    from ingot.ir.node import UOp

Dim = "int | UOp"
Shape = tuple["int | UOp", ...]
Type = tuple[dt.DType, Shape]
Sources = tuple["UOp", ...]
NAMED: dict[str, Callable[[OpArg, Sources], tuple[Type, ...]]] = {}


def dim(size: UOp) -> int | UOp:
    """The dimension that an `index` node stands for."""
    return int(size.value) if size.op is Ops.CONST else size


def product(shape: Shape) -> int | UOp:
    """Number of elements."""
    total: int | UOp = 1
    for size in shape:
        total = size if isinstance(total, int) and total == 1 else total * size
    return total


def same(a: Shape, b: Shape) -> bool:
    """Provably the same shape: ints are equal, symbolic sizes are the same node."""
    return len(a) == len(b) and all(
        same_dim(x, y) for x, y in zip(a, b, strict=True)
    )


def same_dim(a: int | UOp, b: int | UOp) -> bool:
    return a is b or (isinstance(a, int) and isinstance(b, int) and a == b)


def _first(src: Sources, arg: Arg | None) -> Shape:
    return src[0].shape if src else ()


def _dims(src: Sources, arg: Arg | None) -> Shape:
    return tuple(dim(s) for s in src)


def _moved(src: Sources, arg: Arg | None) -> Shape:
    return tuple(dim(s) for s in src[1:])


def _permute(src: Sources, arg: Arg | None) -> Shape:
    return tuple(src[0].shape[a] for a in cast(AxesArg, arg).axes)


def _pad(src: Sources, arg: Arg | None) -> Shape:
    lows, highs = src[1::2], src[2::2]
    return tuple(
        padded(n, dim(lo), dim(hi))
        for n, lo, hi in zip(src[0].shape, lows, highs, strict=False)
    )


def padded(size: int | UOp, low: int | UOp, high: int | UOp) -> int | UOp:
    """The size of an axis after padding."""
    return settled(size + low + high)


def _shrink(src: Sources, arg: Arg | None) -> Shape:
    return tuple(
        minus(dim(end), dim(start))
        for start, end in zip(src[1::2], src[2::2], strict=False)
    )


def minus(end: int | UOp, start: int | UOp) -> int | UOp:
    """The length of start..end."""
    if isinstance(start, int) and start == 0:
        return end
    return settled(end - start)


def settled(size: int | UOp) -> int | UOp:
    """A symbolic size in its shortest form: p + 1 - p is 1."""
    return size if isinstance(size, int) else dim(size.simplify())


def _stride(src: Sources, arg: Arg | None) -> Shape:
    return tuple(
        (n + (dim(step) - 1)) // dim(step)
        for n, step in zip(src[0].shape, src[1:], strict=False)
    )


def _window(src: Sources, arg: Arg | None) -> Shape:
    axis, size = cast(WindowArg, arg).axis, dim(src[1])
    shape = src[0].shape
    return (*shape[:axis], shape[axis] - size + 1, *shape[axis + 1 :], size)


def _take(src: Sources, arg: Arg | None) -> Shape:
    taken = cast(AxesArg, arg).axes
    rest = (n for axis, n in enumerate(src[0].shape) if axis not in taken)
    return (*src[1].shape, *rest)


def _reduce(src: Sources, arg: Arg | None) -> Shape:
    gone = cast(ReduceArg, arg).axes
    return tuple(n for axis, n in enumerate(src[0].shape) if axis not in gone)


def _result(src: Sources, arg: Arg | None) -> Shape:
    return src[0].results[cast(ResultArg, arg).index][1]


def _named(src: Sources, arg: Arg | None) -> Shape:
    types = NAMED[cast(OpArg, arg).name](cast(OpArg, arg), src)
    return types[0][1] if len(types) == 1 else ()


def _scalar(src: Sources, arg: Arg | None) -> Shape:
    return ()


Rule = Callable[[Sources, "Arg | None"], Shape]

_RULES: dict[Ops, Rule] = {
    Ops.BUFFER: _dims,
    Ops.PARAM: _dims,
    Ops.RESHAPE: _moved,
    Ops.EXPAND: _moved,
    Ops.PERMUTE: _permute,
    Ops.PAD: _pad,
    Ops.SHRINK: _shrink,
    Ops.STRIDE: _stride,
    Ops.WINDOW: _window,
    Ops.TAKE: _take,
    Ops.REDUCE: _reduce,
    Ops.RESULT: _result,
    Ops.OP: _named,
    Ops.WHERE: lambda src, arg: src[1].shape,
} | dict.fromkeys(
    (
        *(
            Ops.SINK,
            Ops.ASSERT,
            Ops.SIZE_OF,
            Ops.FUNCTION,
            Ops.CALL,
            Ops.IF,
            Ops.WHILE,
            Ops.SCAN,
            Ops.EXTERN,
        ),
        *(
            Ops.KERNEL,
            Ops.LOOP,
            Ops.WHEN,
            Ops.STAGE,
            Ops.STORE,
            Ops.BARRIER,
            Ops.FOLD,
            Ops.AXIS,
            Ops.LOAD,
            Ops.VALUE,
        ),
    ),
    _scalar,
)


def _checked(op: Ops, rule: Rule) -> Rule:
    """A movement rule whose sizes are not negative."""

    def check(src: Sources, arg: Arg | None) -> Shape:
        shape = rule(src, arg)
        if any(isinstance(n, int) and n < 0 for n in shape):
            raise ShapeError(
                f"{op.name.lower()} of {src[0].shape} gives {shape}: a size cannot be negative"
            )
        return shape

    return check


def _rule_of(op: Ops) -> Rule | None:
    if op in MOVEMENT:
        return _checked(op, _RULES.get(op, _first))
    if op in ELEMENTWISE and op not in _RULES:
        return None
    return _RULES.get(op, _first)


# By opcode; None says that the shape is that of the first source.
SHAPE_RULES: list[Rule | None] = [None, *(_rule_of(op) for op in Ops)]


def results_of(node: UOp) -> tuple[Type, ...]:
    """The types of all results of a node."""
    rule = _RESULTS.get(node.op)
    return rule(node) if rule is not None else ((node.dtype, node.shape),)


def _scan(node: UOp) -> tuple[Type, ...]:
    carry = cast(ScanArg, node.arg).n_carry
    types = _returns(node.src[0])
    length = node.src[1 + carry].shape[0]
    return (*types[:carry], *((d, (length, *shape)) for d, shape in types[carry:]))


def _returns(function: UOp) -> tuple[Type, ...]:
    return tuple((r.dtype, r.shape) for r in function.src)


def _extern(node: UOp) -> tuple[Type, ...]:
    return tuple(
        (dt.named(name), shape) for name, shape in cast(ExternArg, node.arg).results
    )


def _reduced(node: UOp) -> tuple[Type, ...]:
    return tuple(
        (v.dtype, node.shape)
        for v in node.src[: cast(ReduceArg | PrefixArg, node.arg).n]
    )


_RESULTS: dict[Ops, Callable[[UOp], tuple[Type, ...]]] = {
    Ops.OP: lambda node: NAMED[cast(OpArg, node.arg).name](
        cast(OpArg, node.arg), node.src
    ),
    Ops.REDUCE: _reduced,
    Ops.PREFIX: _reduced,
    Ops.CALL: lambda node: _returns(node.src[0]),
    Ops.IF: lambda node: _returns(node.src[1]),
    Ops.WHILE: lambda node: _returns(node.src[1]),
    Ops.SCAN: _scan,
    Ops.EXTERN: _extern,
}
