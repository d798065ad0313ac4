"""The meaning of programs, in NumPy. In: a graph and values for its inputs. Out: its value. Slow, and the definition.

Program graphs and primitive graphs alike; a named operation is lowered by the function that is passed in. Reductions
run in order from the first element to the last. bfloat16 goes in and out as its bits (uint16).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from ingot.errors import ArgumentError, DTypeError, KernelFault, ShapeError
from ingot.ir import dtype as dt
from ingot.ir import meaning
from ingot.ir.assertion import failure
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    ELEMENTWISE,
    AssertArg,
    AxesArg,
    ExternArg,
    FunctionArg,
    OpArg,
    Ops,
    ParamArg,
    PrefixArg,
    ReduceArg,
    ResultArg,
    ScanArg,
    StateArg,
    VarArg,
    WindowArg,
)
from ingot.ir.region import EXTERNS, MEANINGS

__all__ = ["interpret"]

Array = np.ndarray[Any, np.dtype[Any]]
Value = Any  # an array or scalar as in meaning.py, or a tuple of them for a node with several results
Lower = Callable[[UOp], UOp]
Extern = Callable[..., Any]


def interpret(
    node: UOp,
    values: Mapping[UOp, Any] | None = None,
    *,
    sizes: Mapping[str, int] | None = None,
    lower: Lower | None = None,
    externs: Mapping[str, Extern] | None = None,
) -> Any:
    """The value of a node; a tuple for a SINK or a node with several results.

    `values` gives BUFFER and PARAM nodes their arrays, `sizes` variables their numbers.
    """
    world = _World(
        {**bound_sizes(node), **(sizes or {})},
        lower,
        {**EXTERNS, **(externs or {})},
    )
    frame = _Frame(world, {})
    for leaf, given in (values or {}).items():
        frame.made[leaf] = _given(leaf, given)
    with np.errstate(all="ignore"):
        return _outside(node, frame.value(node))


class _World:
    """What holds for a whole interpretation."""

    def __init__(
        self,
        sizes: dict[str, int],
        lower: Lower | None,
        externs: Mapping[str, Extern],
    ) -> None:
        self.sizes = sizes
        self.lower = lower
        self.externs = externs


class _Frame:
    """The values of one activation: the program, or one call of a function with its arguments by slot."""

    def __init__(self, world: _World, args: Mapping[int, Value]) -> None:
        self.world = world
        self.args = args
        self.made: dict[UOp, Value] = {}

    def value(self, root: UOp) -> Value:
        stack = [root]
        while stack:
            node = stack[-1]
            missing = [s for s in needs(node) if s not in self.made]
            if node in self.made:
                stack.pop()
            elif missing:
                stack.extend(missing)
            else:
                self.made[node] = self.compute(node)
                stack.pop()
        return self.made[root]

    def compute(self, node: UOp) -> Value:
        if node.op in ELEMENTWISE:
            values = [self.made[s] for s in node.src]
            return meaning.apply(node.op, node.dtype, node.src[0].dtype, *values)
        rule = _RULES.get(node.op)
        if rule is None:
            raise ArgumentError(
                f"interpret: {node.op.name} is no part of a program; kernels run in interpret_tree"
            )
        return rule(self, node)

    def sources(self, node: UOp, start: int = 0) -> list[Value]:
        return [self.made[s] for s in node.src[start:]]

    def ints(self, node: UOp, start: int = 1) -> list[int]:
        return [int(v) for v in self.sources(node, start)]


def needs(node: UOp) -> tuple[UOp, ...]:
    """The sources that have a value here: functions run when called, combines when their reduction does."""
    if node.op in (Ops.REDUCE, Ops.PREFIX):
        return node.src[: 2 * cast(ReduceArg | PrefixArg, node.arg).n]
    if node.op is Ops.BIND:
        return node.src[-1:]
    return tuple([s for s in node.src if s.op is not Ops.FUNCTION])


def bound_sizes(root: UOp) -> dict[str, int]:
    """What the BINDs of a graph say about its variables."""
    binds = [u for u in root.toposort() if u.op is Ops.BIND and len(u.src) > 1]
    return {cast(VarArg, u.src[0].arg).name: int(u.src[1].value) for u in binds}


# --- values at the border ---------------------------------------------------------------------------------------------


def _given(leaf: UOp, value: Any) -> Value:
    wanted = dt.to_numpy(leaf.dtype)
    array = np.asarray(value)
    if array.dtype != wanted:
        raise DTypeError(
            f"interpret: value of {leaf.op.name}", given=array.dtype, wanted=wanted
        )
    fits = array.ndim == len(leaf.shape) and all(
        a == b
        for a, b in zip(array.shape, leaf.shape, strict=True)
        if isinstance(b, int)
    )
    if not fits:
        raise ShapeError(
            f"interpret: value of {leaf.op.name}",
            given=array.shape,
            wanted=leaf.shape,
        )
    return meaning.load(leaf.dtype, array)


def _outside(node: UOp, value: Value) -> Any:
    if node.op is Ops.SINK:
        return tuple(_outside(s, v) for s, v in zip(node.src, value, strict=True))
    if isinstance(value, tuple):
        return tuple(
            np.asarray(meaning.store(kind, v))
            for (kind, _), v in zip(node.results, value, strict=True)
        )
    kind = node.dtype
    return np.asarray(meaning.store(kind, value), dt.to_numpy(kind))


# --- leaves -----------------------------------------------------------------------------------------------------------


def _constant(frame: _Frame, node: UOp) -> Value:
    return meaning.constant(node.dtype, node.value)


def _variable(frame: _Frame, node: UOp) -> Value:
    name = cast(VarArg, node.arg).name
    if name not in frame.world.sizes:
        raise ArgumentError(
            f"interpret: variable {name}",
            given="no value",
            wanted=f"sizes={{{name!r}: n}}",
        )
    return meaning.constant(node.dtype, frame.world.sizes[name])


def _bind(frame: _Frame, node: UOp) -> Value:
    return frame.made[node.src[-1]]


def _memory(frame: _Frame, node: UOp) -> Value:
    raise ArgumentError(
        f"interpret: no value given for {node!r}", fix="put it into `values`"
    )


def _param(frame: _Frame, node: UOp) -> Value:
    slot = cast(ParamArg, node.arg).slot
    if slot not in frame.args:
        return _memory(frame, node)
    return frame.args[slot]


def _state(frame: _Frame, node: UOp) -> Value:
    return frame.args[-1 - cast(StateArg, node.arg).slot]


# --- movement ---------------------------------------------------------------------------------------------------------


def _reshape(frame: _Frame, node: UOp) -> Value:
    return np.reshape(frame.made[node.src[0]], frame.ints(node))


def _expand(frame: _Frame, node: UOp) -> Value:
    return np.broadcast_to(frame.made[node.src[0]], frame.ints(node))


def _permute(frame: _Frame, node: UOp) -> Value:
    return np.transpose(frame.made[node.src[0]], cast(AxesArg, node.arg).axes)


def _flip(frame: _Frame, node: UOp) -> Value:
    return np.flip(frame.made[node.src[0]], cast(AxesArg, node.arg).axes)


def _pad(frame: _Frame, node: UOp) -> Value:
    amounts = frame.ints(node)
    if not amounts:  # NumPy takes no widths of no axes
        return frame.made[node.src[0]]
    return np.pad(
        frame.made[node.src[0]], list(zip(amounts[::2], amounts[1::2], strict=True))
    )


def _shrink(frame: _Frame, node: UOp) -> Value:
    ends = frame.ints(node)
    return frame.made[node.src[0]][
        tuple(slice(a, b) for a, b in zip(ends[::2], ends[1::2], strict=True))
    ]


def _stride(frame: _Frame, node: UOp) -> Value:
    return frame.made[node.src[0]][
        tuple(slice(None, None, step) for step in frame.ints(node))
    ]


def _window(frame: _Frame, node: UOp) -> Value:
    axis = cast(WindowArg, node.arg).axis
    return np.lib.stride_tricks.sliding_window_view(
        frame.made[node.src[0]], frame.ints(node)[0], axis=axis
    )


def _first(frame: _Frame, node: UOp) -> Value:
    return frame.made[node.src[0]]


def _take(frame: _Frame, node: UOp) -> Value:
    axes = cast(AxesArg, node.arg).axes
    x, *places = (np.asarray(v) for v in frame.sources(node))
    kept = [a for a in range(x.ndim) if a not in axes]
    return np.transpose(x, [*axes, *kept])[tuple(places)]


# --- reductions -------------------------------------------------------------------------------------------------------


def _reduce(frame: _Frame, node: UOp) -> Value:
    arg = cast(ReduceArg, node.arg)
    n = arg.n
    rows = [_rows(frame.made[v], arg.axes) for v in node.src[:n]]
    shape = rows[0].shape[1:]
    state = tuple(
        np.broadcast_to(frame.made[init], shape) for init in node.src[n : 2 * n]
    )
    combine = UOp(Ops.SINK, dt.void, node.src[2 * n :])
    for k in range(len(rows[0])):
        state = _combine(frame, combine, (*state, *(r[k] for r in rows)))
    return state if n > 1 else state[0]


def _prefix(frame: _Frame, node: UOp) -> Value:
    arg = cast(PrefixArg, node.arg)
    n = arg.n
    rows = [
        np.moveaxis(np.asarray(frame.made[v]), arg.axis, 0) for v in node.src[:n]
    ]
    state = tuple(
        np.broadcast_to(frame.made[init], rows[0].shape[1:])
        for init in node.src[n : 2 * n]
    )
    combine = UOp(Ops.SINK, dt.void, node.src[2 * n :])
    kept = [np.zeros_like(r) for r in rows]
    steps = range(len(rows[0]))
    for k in reversed(steps) if arg.reverse else steps:
        state = _combine(frame, combine, (*state, *(r[k] for r in rows)))
        for j, value in enumerate(state):
            kept[j][k] = value
    made = tuple(np.moveaxis(values, 0, arg.axis) for values in kept)
    return made if n > 1 else made[0]


def _rows(value: Value, axes: tuple[int, ...]) -> Array:
    """The reduced axes as one, in front."""
    array = np.asarray(value)
    kept = [a for a in range(array.ndim) if a not in axes]
    moved = np.transpose(array, [*sorted(axes), *kept])
    return (
        moved.reshape((-1, *(array.shape[a] for a in kept)))
        if array.size
        else _no_rows(array, axes, kept)
    )


def _no_rows(array: Array, axes: tuple[int, ...], kept: list[int]) -> Array:
    count = int(np.prod([array.shape[a] for a in axes]))
    return np.zeros((count, *(array.shape[a] for a in kept)), array.dtype)


def _combine(
    frame: _Frame, combine: UOp, states: tuple[Value, ...]
) -> tuple[Value, ...]:
    inner = _Frame(
        frame.world,
        {**frame.args, **{-1 - slot: value for slot, value in enumerate(states)}},
    )
    made = inner.value(combine)
    return tuple(np.broadcast_to(v, np.shape(states[0])) for v in made)


# --- programs and regions ---------------------------------------------------------------------------------------------


def _op(frame: _Frame, node: UOp) -> Value:
    arg = cast(OpArg, node.arg)
    algorithm = MEANINGS.get(arg.name)
    if algorithm is not None:
        return _algorithm(frame, node, algorithm, dict(arg.attrs))
    if frame.world.lower is None:
        raise ArgumentError(
            f"interpret: {node.arg} is a named operation",
            fix="pass lower=, which decomposes it",
        )
    return frame.value(frame.world.lower(node))


def _algorithm(
    frame: _Frame, node: UOp, meaning_of: Extern, attrs: Mapping[str, Any]
) -> Value:
    made = meaning_of(*frame.sources(node), **attrs)
    wanted = [meaning.held(kind) for kind, _ in node.results]
    if len(wanted) == 1:
        return np.asarray(made, wanted[0])
    return tuple(np.asarray(v, kind) for v, kind in zip(made, wanted, strict=True))


def _result(frame: _Frame, node: UOp) -> Value:
    return frame.made[node.src[0]][cast(ResultArg, node.arg).index]


def _size_of(frame: _Frame, node: UOp) -> Value:
    count, limit = (int(v) for v in frame.sources(node))
    if not 0 <= count <= limit:
        raise KernelFault(f"a computed size is {count}; wanted 0 to {limit}")
    return count


def _assert(frame: _Frame, node: UOp) -> Value:
    cond, *details = frame.sources(node)
    if not cond:
        arg = cast(AssertArg, node.arg)
        numbers = [np.asarray(value).item() for value in details]
        raise failure(arg.error, arg.message, numbers, node.spot)
    return True


def _after(frame: _Frame, node: UOp) -> Value:
    """A buffer after an assignment to it holds what was assigned."""
    writes = [
        e for e in node.src[1:] if e.op is Ops.ASSIGN and e.src[0] is node.src[0]
    ]
    return frame.made[writes[-1] if writes else node.src[0]]


def _sink(frame: _Frame, node: UOp) -> Value:
    return tuple(frame.sources(node))


def _call(frame: _Frame, function: UOp, args: list[Value]) -> tuple[Value, ...]:
    wanted = cast(FunctionArg, function.arg).n_params
    if len(args) != wanted:
        raise ArgumentError(
            f"interpret: arguments of {function.arg}",
            given=len(args),
            wanted=wanted,
        )
    inner = _Frame(frame.world, dict(enumerate(args)))
    return tuple(inner.value(UOp(Ops.SINK, dt.void, function.src)))


def _call_node(frame: _Frame, node: UOp) -> Value:
    return _call(frame, node.src[0], frame.sources(node, 1))


def _if(frame: _Frame, node: UOp) -> Value:
    chosen = node.src[1] if frame.made[node.src[0]] else node.src[2]
    return _call(frame, chosen, frame.sources(node, 3))


def _while(frame: _Frame, node: UOp) -> Value:
    cond, body = node.src[:2]
    state: tuple[Value, ...] = tuple(frame.sources(node, 2))
    while _call(frame, cond, list(state))[0]:
        state = _call(frame, body, list(state))
    return state


def _scan(frame: _Frame, node: UOp) -> Value:
    count = cast(ScanArg, node.arg).n_carry
    given = frame.sources(node, 1)
    carry, xs = list(given[:count]), given[count:]
    rows: list[tuple[Value, ...]] = []
    steps = range(len(xs[0]))
    backwards = cast(ScanArg, node.arg).reverse
    for k in reversed(steps) if backwards else steps:
        made = _call(frame, node.src[0], [*carry, *(x[k] for x in xs)])
        carry = list(made[:count])
        rows.append(made[count:])
    if backwards:
        rows.reverse()
    stacked = [
        _stack([row[j] for row in rows], r)
        for j, r in enumerate(node.src[0].src[count:])
    ]
    return (*carry, *stacked)


def _stack(rows: list[Value], result: UOp) -> Array:
    if rows:
        return np.stack(
            [np.asarray(row, meaning.held(result.dtype)) for row in rows]
        )
    return np.zeros(
        (0, *(int(n) for n in result.shape if isinstance(n, int))),
        meaning.held(result.dtype),
    )


def _extern(frame: _Frame, node: UOp) -> Value:
    name = cast(ExternArg, node.arg).name
    if name not in frame.world.externs:
        known = sorted(frame.world.externs)
        raise ArgumentError(
            f"interpret: extern {name!r}", given=known, wanted="a registered name"
        )
    given = [
        meaning.store(s.dtype, v)
        for s, v in zip(node.src, frame.sources(node), strict=True)
    ]
    made = frame.world.externs[name](*given)
    made = made if isinstance(made, tuple) else (made,)
    return tuple(
        meaning.load(kind, np.asarray(v))
        for (kind, _), v in zip(node.results, made, strict=True)
    )


_RULES: dict[Ops, Callable[[_Frame, UOp], Value]] = {
    Ops.CONST: _constant,
    Ops.DEFINE_VAR: _variable,
    Ops.BIND: _bind,
    Ops.BUFFER: _memory,
    Ops.PARAM: _param,
    Ops.STATE: _state,
    Ops.RESHAPE: _reshape,
    Ops.EXPAND: _expand,
    Ops.PERMUTE: _permute,
    Ops.FLIP: _flip,
    Ops.PAD: _pad,
    Ops.SHRINK: _shrink,
    Ops.STRIDE: _stride,
    Ops.WINDOW: _window,
    Ops.CONTIGUOUS: _first,
    Ops.TAKE: _take,
    Ops.REDUCE: _reduce,
    Ops.PREFIX: _prefix,
    Ops.OP: _op,
    Ops.RESULT: _result,
    Ops.ASSIGN: lambda frame, node: frame.made[node.src[1]],
    Ops.AFTER: _after,
    Ops.SINK: _sink,
    Ops.ASSERT: _assert,
    Ops.SIZE_OF: _size_of,
    Ops.CALL: _call_node,
    Ops.IF: _if,
    Ops.WHILE: _while,
    Ops.SCAN: _scan,
    Ops.EXTERN: _extern,
}
