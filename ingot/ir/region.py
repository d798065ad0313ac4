"""Regions: functions, calls, branches, loops and host code as nodes. In: closed graphs. Out: the results of using them.

    layer = function("layer", (param(0, float32, (8, 64)), ...), (result,))      a closed graph
    (y,)  = call(layer, x, w)                     IF, WHILE and SCAN take functions for their parts
    vals, vecs = extern("eigh", (a,), (("float32", (8,)), ("float32", (8, 8))))  host or vendor code, by name

A region node has several results; `results(node)` gives each as a node of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from ingot.errors import ArgumentError, DTypeError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    ExternArg,
    FunctionArg,
    Ops,
    ParamArg,
    ResultArg,
    ScanArg,
)
from ingot.ir.rewrite import substitute
from ingot.ir.shape import Shape, Type, same

__all__ = [
    "EXTERNS",
    "MEANINGS",
    "call",
    "extern",
    "function",
    "if_",
    "param",
    "param_types",
    "register_extern",
    "results",
    "scan",
    "shallow",
    "size_of",
    "sizes",
    "unchanged",
    "while_",
]

EXTERNS: dict[
    str, Callable[..., Any]
] = {}  # host code by name: NumPy arrays in, an array or a tuple of them out


# What an algorithm that kernels know as a whole (ops/algorithm.py) computes, by the name of its op: arrays and
# attributes in, an array or a tuple of them out.
MEANINGS: dict[str, Callable[..., Any]] = {}


def register_extern(name: str, run: Callable[..., Any]) -> None:
    """Says what `EXTERN(name)` does on the host."""
    EXTERNS[name] = run


def sizes(shape: Shape) -> tuple[UOp, ...]:
    """A shape as `index` nodes, the sources of movement opcodes, BUFFER and PARAM."""
    return tuple(UOp.const(dt.index, n) if isinstance(n, int) else n for n in shape)


def param(
    slot: int, dtype: DType, shape: Shape = (), *, writable: bool = False
) -> UOp:
    """Parameter `slot` of a function."""
    return UOp(Ops.PARAM, dtype, sizes(shape), ParamArg(slot, writable))


def results(node: UOp) -> tuple[UOp, ...]:
    """Each result of a node that has several."""
    return tuple(
        UOp(Ops.RESULT, kind, (node,), ResultArg(k))
        for k, (kind, _) in enumerate(node.results)
    )


def size_of(count: UOp, limit: int | UOp) -> UOp:
    """The size that a scalar int64 says once it is computed; memory is planned for `limit`, which it never exceeds."""
    return UOp(Ops.SIZE_OF, dt.index, (count, *sizes((limit,))))


# --- functions --------------------------------------------------------------------------------------------------------


def function(name: str, params: Sequence[UOp], outcomes: Sequence[UOp]) -> UOp:
    """A closed graph from `params` to `outcomes`. Nodes that are no PARAMs become such, by position."""
    slots = {
        node: param(slot, node.dtype, node.shape)
        for slot, node in enumerate(params)
    }
    sink = UOp(Ops.SINK, dt.void, tuple(outcomes))
    # A function that this one uses is closed: its parameters are its own, though they may be the same nodes.
    closed = {u: u for u in shallow(sink) if u.op is Ops.FUNCTION}
    body = substitute(sink, {**slots, **closed}).src
    made = UOp(Ops.FUNCTION, dt.void, body, FunctionArg(name, len(params)))
    _check_closed(made, set(slots.values()))
    return made


def shallow(root: UOp) -> dict[UOp, None]:
    """Every node below, sources first; functions are met, but not entered."""
    return root.toposort(lambda u: u is root or u.op is not Ops.FUNCTION)


def _check_closed(made: UOp, params: set[UOp]) -> None:
    for node in shallow(made):
        if node.op is Ops.BUFFER or (node.op is Ops.PARAM and node not in params):
            name = cast(FunctionArg, made.arg).name
            raise ArgumentError(
                f"function {name} uses {node.op.name} from outside",
                fix="a function is closed: pass it in as a parameter",
            )


def param_types(made: UOp) -> dict[int, Type]:
    """The types of the parameters that a function uses, by slot."""
    used = [u for u in shallow(made) if u.op is Ops.PARAM]
    return {cast(ParamArg, u.arg).slot: (u.dtype, u.shape) for u in used}


def _check_args(made: UOp, args: Sequence[Type]) -> None:
    arg = cast(FunctionArg, made.arg)
    if len(args) != arg.n_params:
        raise ArgumentError(
            f"{arg.name}: arguments", given=len(args), wanted=arg.n_params
        )
    for slot, (kind, shape) in param_types(made).items():
        given_kind, given_shape = args[slot]
        if given_kind is not kind:
            raise DTypeError(
                f"{arg.name}: argument {slot}", given=given_kind, wanted=kind
            )
        if not same(given_shape, shape):
            raise ShapeError(
                f"{arg.name}: argument {slot}", given=given_shape, wanted=shape
            )


def _types(nodes: Sequence[UOp]) -> list[Type]:
    return [(u.dtype, u.shape) for u in nodes]


def _check_same_types(
    what: str, given: Sequence[Type], wanted: Sequence[Type]
) -> None:
    fits = len(given) == len(wanted) and all(
        a[0] is b[0] and same(a[1], b[1])
        for a, b in zip(given, wanted, strict=True)
    )
    if not fits:
        raise ShapeError(what, given=list(given), wanted=list(wanted))


# --- using them -------------------------------------------------------------------------------------------------------


def call(made: UOp, *args: UOp) -> tuple[UOp, ...]:
    """The results of a function on arguments."""
    _check_args(made, _types(args))
    return results(UOp(Ops.CALL, dt.void, (made, *args)))


def if_(cond: UOp, then: UOp, otherwise: UOp, *args: UOp) -> tuple[UOp, ...]:
    """One of two functions on the same arguments, chosen by a scalar bool."""
    _check_condition("if", cond)
    _check_args(then, _types(args))
    _check_args(otherwise, _types(args))
    _check_same_types(
        "if: results of the two branches", _types(otherwise.src), _types(then.src)
    )
    return results(UOp(Ops.IF, dt.void, (cond, then, otherwise, *args)))


def while_(cond: UOp, body: UOp, *state: UOp) -> tuple[UOp, ...]:
    """The state after running `body` on it as long as `cond` of it holds."""
    _check_args(cond, _types(state))
    _check_args(body, _types(state))
    _check_condition("while", cond.src[0])
    _check_same_types("while: results of the body", _types(body.src), _types(state))
    return results(UOp(Ops.WHILE, dt.void, (cond, body, *state)))


def _is_param(node: UOp, slot: int) -> bool:
    return node.op is Ops.PARAM and cast(ParamArg, node.arg).slot == slot


def unchanged(loop: UOp) -> frozenset[int]:
    """The carries of a SCAN, or the state of a WHILE, that every turn hands on as they came: values from outside."""
    body = loop.src[0] if loop.op is Ops.SCAN else loop.src[1]
    count = (
        cast(ScanArg, loop.arg).n_carry
        if loop.op is Ops.SCAN
        else len(loop.src) - 2
    )
    return frozenset(
        slot for slot in range(count) if _is_param(body.src[slot], slot)
    )


def scan(
    body: UOp, carry: Sequence[UOp], xs: Sequence[UOp], *, reverse: bool = False
) -> tuple[UOp, ...]:
    """body(*carry, *slices of xs) for every position along axis 0: the last carry, then each further result stacked."""
    if not xs:
        raise ArgumentError(
            "scan: sequences",
            given=0,
            wanted="at least one",
            fix="its length is that of axis 0",
        )
    slices = [(x.dtype, x.shape[1:]) for x in xs]
    _check_args(body, [*_types(carry), *slices])
    _check_same_types(
        "scan: the carry after a step",
        _types(body.src[: len(carry)]),
        _types(carry),
    )
    arg = ScanArg(len(carry), reverse)
    return results(UOp(Ops.SCAN, dt.void, (body, *carry, *xs), arg))


def extern(
    name: str,
    inputs: Sequence[UOp],
    outcomes: Sequence[tuple[str, tuple[int, ...]]],
) -> tuple[UOp, ...]:
    """Host or vendor code by name; `outcomes` are the types of its results."""
    return results(
        UOp(Ops.EXTERN, dt.void, tuple(inputs), ExternArg(name, tuple(outcomes)))
    )


def _check_condition(what: str, cond: UOp) -> None:
    if cond.dtype is not dt.boolean or cond.shape != ():
        raise DTypeError(
            f"{what}: condition",
            given=(cond.dtype, cond.shape),
            wanted="a bool with shape ()",
        )
