"""The checks that spec tables are made of. In: a node. Out: what is wrong with it in a few words, "" if nothing is."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    STATEMENTS,
    AxesArg,
    ConstArg,
    FoldArg,
    FunctionArg,
    KernelArg,
    LoopArg,
    LoopKind,
    OpArg,
    Ops,
    ParamArg,
    PrefixArg,
    ReduceArg,
    ResultArg,
    ScanArg,
    Scope,
    StageArg,
    StateArg,
    VarArg,
    WindowArg,
)
from ingot.ir.region import MEANINGS
from ingot.ir.shape import NAMED, Shape, Type, product, same, same_dim

Check = Callable[[UOp], str]


def _unless(holds: bool, problem: str) -> str:
    return "" if holds else problem


def _types(nodes: tuple[UOp, ...]) -> str:
    return ", ".join(
        f"{u.dtype.short}{list(u.shape) if u.shape else ''}" for u in nodes
    )


# --- any node ---------------------------------------------------------------------------------------------------------


def arg(kind: type) -> Check:
    return lambda node: _unless(
        isinstance(node.arg, kind),
        f"its arg is {node.arg!r}, not a {kind.__name__}",
    )


def sources(count: int) -> Check:
    return lambda node: _unless(
        len(node.src) == count, f"it has {len(node.src)} sources, not {count}"
    )


def at_least(count: int) -> Check:
    return lambda node: _unless(
        len(node.src) >= count,
        f"it has {len(node.src)} sources, fewer than {count}",
    )


def index_from(start: int) -> Check:
    """Sources from `start` on are scalar indices."""

    def check(node: UOp) -> str:
        wrong = [
            s for s in node.src[start:] if s.dtype is not dt.index or s.shape != ()
        ]
        return _unless(
            not wrong and len(node.src) >= start,
            f"sizes are {_types(node.src[start:])}",
        )

    return check


# --- types ------------------------------------------------------------------------------------------------------------


def alike(node: UOp) -> str:
    first = node.src[0]
    fits = all(
        s.dtype is first.dtype and same(s.shape, first.shape) for s in node.src
    )
    return _unless(fits, f"its sources are {_types(node.src)}")


def one_shape(node: UOp) -> str:
    return _unless(
        all(same(s.shape, node.src[0].shape) for s in node.src),
        f"its sources are {_types(node.src)}",
    )


def like_first(node: UOp) -> str:
    return _unless(
        node.dtype is node.src[0].dtype,
        f"it is {node.dtype}, its first source {node.src[0].dtype}",
    )


type_of_first = like_first


def float_first(node: UOp) -> str:
    return _unless(
        node.src[0].dtype.is_float, f"it takes floats, got {_types(node.src)}"
    )


def int_first(node: UOp) -> str:
    return _unless(
        node.src[0].dtype.is_int, f"it takes integers, got {_types(node.src)}"
    )


def bits_first(node: UOp) -> str:
    kind = node.src[0].dtype
    return _unless(
        kind.is_int or kind is dt.boolean,
        f"it takes bools and integers, got {_types(node.src)}",
    )


def gives_bool(node: UOp) -> str:
    return _unless(node.dtype is dt.boolean, f"it gives bool, not {node.dtype}")


def index_typed(node: UOp) -> str:
    return _unless(node.dtype is dt.index, f"it is {node.dtype}, not index")


def not_void(node: UOp) -> str:
    return _unless(
        dt.void not in (node.dtype, node.src[0].dtype), "void has no values"
    )


def where(node: UOp) -> str:
    cond, yes, no = node.src
    fits = cond.dtype is dt.boolean and yes.dtype is no.dtype is node.dtype
    return _unless(fits, f"its sources are {_types(node.src)}, it is {node.dtype}")


def same_width(node: UOp) -> str:
    given = node.src[0].dtype
    return _unless(
        given.bits == node.dtype.bits, f"{given.bits} bits become {node.dtype.bits}"
    )


# --- leaves -----------------------------------------------------------------------------------------------------------


def constant(node: UOp) -> str:
    bits = cast(ConstArg, node.arg).bits
    return _unless(
        node.dtype.bits > 0 and 0 <= bits < 1 << node.dtype.bits,
        f"{bits:#x} does not fit {node.dtype}",
    )


def variable(node: UOp) -> str:
    given = cast(VarArg, node.arg)
    return _unless(
        given.lo <= given.hi, f"{given.name} is in {given.lo}..{given.hi}"
    )


def binds(node: UOp) -> str:
    if not 1 <= len(node.src) <= 2 or node.src[0].op is not Ops.DEFINE_VAR:
        return "it binds no variable"
    if len(node.src) == 1:
        return ""
    variable_, value = node.src
    if value.op is not Ops.CONST or value.dtype is not variable_.dtype:
        return "its value is no constant of the variable's type"
    return _unless(
        variable_.vmin <= int(value.value) <= variable_.vmax,
        f"{value.value} is outside the variable",
    )


def basic(node: UOp) -> str:
    name = cast(OpArg, node.arg).name
    known = name == "iota" or name in MEANINGS
    return _unless(known, f"{name} was not lowered")


def registered(node: UOp) -> str:
    name = cast(OpArg, node.arg).name
    return _unless(name in NAMED, f"no operation is called {name!r}")


# --- movement ---------------------------------------------------------------------------------------------------------


def _numbers(shape: Shape) -> bool:
    return all(isinstance(n, int) for n in shape)


def same_count(node: UOp) -> str:
    before, after = node.src[0].shape, node.shape
    if not (_numbers(before) and _numbers(after)):
        return ""
    return _unless(
        product(before) == product(after), f"{list(before)} becomes {list(after)}"
    )


def expands(node: UOp) -> str:
    before, after = node.src[0].shape, node.shape
    fits = len(before) == len(after) and all(
        a == 1 or same_dim(a, b) for a, b in zip(before, after, strict=True)
    )
    return _unless(fits, f"{list(before)} becomes {list(after)}")


def permutes(node: UOp) -> str:
    axes = cast(AxesArg, node.arg).axes
    return _unless(
        sorted(axes) == list(range(len(node.src[0].shape))),
        f"{axes} of {list(node.src[0].shape)}",
    )


def axes_exist(node: UOp) -> str:
    axes = cast(AxesArg, node.arg).axes
    fits = len(set(axes)) == len(axes) and all(
        0 <= a < len(node.src[0].shape) for a in axes
    )
    return _unless(fits, f"{axes} of {list(node.src[0].shape)}")


def pads(node: UOp) -> str:
    fits = len(node.src) == 1 + 2 * len(node.src[0].shape) and all(
        s.vmin >= 0 for s in node.src[1:]
    )
    return _unless(
        fits, f"{len(node.src) - 1} amounts for {list(node.src[0].shape)}"
    )


def shrinks(node: UOp) -> str:
    shape, ends = node.src[0].shape, node.src[1:]
    if len(ends) != 2 * len(shape):
        return f"{len(ends)} ends for {list(shape)}"
    for size, start, end in zip(shape, ends[::2], ends[1::2], strict=True):
        most = size if isinstance(size, int) else size.vmax
        if start.vmax < 0 or end.vmin > most or start.vmin > end.vmax:
            return f"{start.bounds}..{end.bounds} of {size}"
    return ""


def strides(node: UOp) -> str:
    fits = len(node.src) == 1 + len(node.src[0].shape) and all(
        s.vmin >= 1 for s in node.src[1:]
    )
    return _unless(fits, f"{len(node.src) - 1} steps for {list(node.src[0].shape)}")


def windows(node: UOp) -> str:
    axis = cast(WindowArg, node.arg).axis
    fits = 0 <= axis < len(node.src[0].shape) and node.src[1].dtype is dt.index
    return _unless(fits, f"axis {axis} of {list(node.src[0].shape)}")


# --- reductions -------------------------------------------------------------------------------------------------------


def reduces(node: UOp) -> str:
    given = cast(ReduceArg, node.arg)
    if len(node.src) != 3 * given.n or given.n < 1:
        return f"it has {len(node.src)} sources for n = {given.n}"
    values, inits = node.src[: given.n], node.src[given.n : 2 * given.n]
    if not all(same(v.shape, values[0].shape) for v in values):
        return f"its values are {_types(values)}"
    if not all(0 <= a < len(values[0].shape) for a in given.axes) or len(
        set(given.axes)
    ) != len(given.axes):
        return f"axes {given.axes} of {list(values[0].shape)}"
    if any(i.shape != () for i in inits):
        return f"its inits are {_types(inits)}"
    kinds = [v.dtype for v in values]
    wrong = [i for i, kind in zip(inits, kinds, strict=True) if i.dtype is not kind]
    return (
        "an init has another type than its value"
        if wrong
        else combines(node.src[2 * given.n :], kinds)
    )


def prefixes(node: UOp) -> str:
    given = cast(PrefixArg, node.arg)
    return reduces(
        node.replace(op=Ops.REDUCE, arg=ReduceArg((given.axis,), given.n))
    )


def takes(node: UOp) -> str:
    axes = cast(AxesArg, node.arg).axes
    x, *places = node.src
    if len(places) != len(axes) or not axes:
        return f"it has {len(places)} indices for axes {axes}"
    if len(set(axes)) != len(axes) or not all(0 <= a < len(x.shape) for a in axes):
        return f"axes {axes} of {list(x.shape)}"
    alike_ = all(same(i.shape, places[0].shape) for i in places)
    whole = all(i.dtype is dt.int64 for i in places)
    return _unless(alike_ and whole, f"its indices are {_types(tuple(places))}")


def combines(nodes: tuple[UOp, ...], kinds: list[dt.DType]) -> str:
    """Expressions over STATE: slot j and slot n + j have the type of value j."""
    for node, kind in zip(nodes, kinds, strict=True):
        if node.dtype is not kind or node.shape != ():
            return f"a combine is {_types((node,))} for a state of {kind}"
        for state in node.toposort():
            if state.op is not Ops.STATE:
                continue
            slot = cast(StateArg, state.arg).slot
            if (
                slot >= 2 * len(kinds)
                or kinds[slot % len(kinds)] is not state.dtype
            ):
                return f"STATE {slot} is {state.dtype}"
    return ""


# --- graphs -----------------------------------------------------------------------------------------------------------


def result(node: UOp) -> str:
    types = node.src[0].results
    which = cast(ResultArg, node.arg).index
    if not 0 <= which < len(types):
        return f"result {which} of {len(types)}"
    return _unless(
        types[which][0] is node.dtype,
        f"it is {node.dtype}, the result {types[which][0]}",
    )


def size_of(node: UOp) -> str:
    count = node.src[0]
    fits = count.dtype is dt.int64 and count.shape == ()
    return _unless(fits and node.dtype is dt.index, f"it counts {_types((count,))}")


def scalars(node: UOp) -> str:
    return _unless(
        all(s.shape == () for s in node.src), f"its sources are {_types(node.src)}"
    )


# --- regions ----------------------------------------------------------------------------------------------------------


def closed(node: UOp) -> str:
    count = cast(FunctionArg, node.arg).n_params
    for inner in own_nodes(node):
        if inner.op is Ops.BUFFER:
            return "a BUFFER of the outside"
        if (
            inner.op is Ops.PARAM
            and not 0 <= cast(ParamArg, inner.arg).slot < count
        ):
            return f"{inner.arg} of {count} parameters"
    return ""


def own_nodes(function: UOp) -> dict[UOp, None]:
    """The nodes of a function, those of functions that it calls not included."""
    return function.toposort(lambda u: u is function or u.op is not Ops.FUNCTION)


def _is_function(node: UOp, count: int) -> bool:
    return node.op is Ops.FUNCTION and cast(FunctionArg, node.arg).n_params == count


def _takes(function: UOp, types: list[Type]) -> bool:
    """The parameters that a function uses have these types."""
    for inner in own_nodes(function):
        if inner.op is Ops.PARAM:
            kind, shape = types[cast(ParamArg, inner.arg).slot]
            if inner.dtype is not kind or not same(inner.shape, shape):
                return False
    return True


def _type_list(nodes: tuple[UOp, ...]) -> list[Type]:
    return [(u.dtype, u.shape) for u in nodes]


def _same_types(a: list[Type], b: list[Type]) -> bool:
    return len(a) == len(b) and all(
        x[0] is y[0] and same(x[1], y[1]) for x, y in zip(a, b, strict=True)
    )


def calls(node: UOp) -> str:
    if not node.src or not _is_function(node.src[0], len(node.src) - 1):
        return f"no function of {len(node.src) - 1} parameters"
    return _unless(
        _takes(node.src[0], _type_list(node.src[1:])),
        f"its arguments are {_types(node.src[1:])}",
    )


def branches(node: UOp) -> str:
    if (
        len(node.src) < 3
        or node.src[0].dtype is not dt.boolean
        or node.src[0].shape != ()
    ):
        return "its condition is no scalar bool"
    then, other, *args = node.src[1:]
    if not (_is_function(then, len(args)) and _is_function(other, len(args))):
        return f"no two functions of {len(args)} parameters"
    types = _type_list(tuple(args))
    if not (_takes(then, types) and _takes(other, types)):
        return f"its arguments are {_types(tuple(args))}"
    return _unless(
        _same_types(_type_list(then.src), _type_list(other.src)),
        "its branches give different types",
    )


def loops(node: UOp) -> str:
    if len(node.src) < 2:
        return "no condition and body"
    cond, body, *state = node.src
    types = _type_list(tuple(state))
    if not (_is_function(cond, len(state)) and _is_function(body, len(state))):
        return f"no two functions of {len(state)} parameters"
    if not (
        _takes(cond, types)
        and _takes(body, types)
        and _same_types(_type_list(body.src), types)
    ):
        return f"its state is {_types(tuple(state))}, its body gives {_types(body.src)}"
    fits = (
        len(cond.src) == 1
        and cond.src[0].dtype is dt.boolean
        and cond.src[0].shape == ()
    )
    return _unless(fits, "its condition gives no scalar bool")


def scans(node: UOp) -> str:
    count = cast(ScanArg, node.arg).n_carry
    body, *given = node.src
    if not _is_function(body, len(given)) or len(given) <= count:
        return f"no function of {len(given)} parameters and a sequence"
    carry, xs = _type_list(tuple(given[:count])), given[count:]
    if any(not x.shape for x in xs):
        return "a sequence without an axis"
    slices: list[Type] = [(x.dtype, x.shape[1:]) for x in xs]
    fits = _takes(body, [*carry, *slices]) and _same_types(
        _type_list(body.src[:count]), carry
    )
    return _unless(
        fits,
        f"its body gives {_types(body.src)} for a carry of {_types(tuple(given[:count]))}",
    )


# --- kernel trees -----------------------------------------------------------------------------------------------------

_CONSTANT_EXTENT = frozenset({LoopKind.UNROLL, LoopKind.VECTOR})
_CONSTANT_SIZE = frozenset({Scope.REGISTER, Scope.STACK})


def statements_from(start: int) -> Check:
    def check(node: UOp) -> str:
        wrong = [s.op.name for s in node.src[start:] if s.op not in STATEMENTS]
        return _unless(
            not wrong and len(node.src) >= start,
            f"not statements: {', '.join(wrong)}",
        )

    return check


def interface(node: UOp) -> str:
    given = cast(KernelArg, node.arg)
    slots = [cast(ParamArg, p.arg).slot for p in given.params if p.op is Ops.PARAM]
    if slots != list(range(len(given.params))):
        return f"its parameters have slots {slots}"
    if any(s.op is not Ops.DEFINE_VAR for s in given.sizes):
        return "its sizes are not all variables"
    return _unless(
        given.chunks.dtype is given.scratch.dtype is dt.index,
        "chunks and scratch are index expressions",
    )


def loop_extent(node: UOp) -> str:
    if not node.src or node.src[0].dtype is not dt.index:
        return "no extent of type index"
    kind = cast(LoopArg, node.arg).kind
    constant_ = node.src[0].op is Ops.CONST
    return _unless(
        constant_ or kind not in _CONSTANT_EXTENT,
        f"a {kind.value} loop whose extent is no constant",
    )


def condition_first(node: UOp) -> str:
    return _unless(
        bool(node.src) and node.src[0].dtype is dt.boolean, "no condition"
    )


def stage_size(node: UOp) -> str:
    scope = cast(StageArg, node.arg).scope
    constant_ = node.src[0].op is Ops.CONST
    return _unless(
        constant_ or scope not in _CONSTANT_SIZE,
        f"{scope.value} memory whose size is no constant",
    )


def _memory(node: UOp) -> bool:
    return node.op is Ops.STAGE or node.op is Ops.PARAM


def loads(node: UOp) -> str:
    if (
        len(node.src) not in (2, 4)
        or not _memory(node.src[0])
        or node.src[1].dtype is not dt.index
    ):
        return f"its sources are {[s.op.name for s in node.src]}"
    if node.dtype is not node.src[0].dtype:
        return f"it is {node.dtype}, the memory {node.src[0].dtype}"
    fits = len(node.src) == 2 or (
        node.src[2].dtype is dt.boolean and node.src[3].dtype is node.dtype
    )
    return _unless(fits, f"mask and else are {_types(node.src[2:])}")


def stores(node: UOp) -> str:
    if (
        len(node.src) not in (3, 4)
        or not _memory(node.src[0])
        or node.src[1].dtype is not dt.index
    ):
        return f"its sources are {[s.op.name for s in node.src]}"
    memory = node.src[0]
    if memory.op is Ops.PARAM and not cast(ParamArg, memory.arg).writable:
        return f"parameter {cast(ParamArg, memory.arg).slot} is not writable"
    if node.src[2].dtype is not memory.dtype:
        return f"a {node.src[2].dtype} into {memory.dtype}"
    return _unless(
        len(node.src) == 3 or node.src[3].dtype is dt.boolean, "its mask is no bool"
    )


def folds(node: UOp) -> str:
    n = cast(FoldArg, node.arg).n
    if len(node.src) != 1 + 3 * n or n < 1 or node.src[0].dtype is not dt.index:
        return f"it has {len(node.src)} sources for n = {n}"
    targets, values = node.src[1 : 1 + n], node.src[1 + n : 1 + 2 * n]
    if any(
        t.op is not Ops.LOAD or t.dtype is not v.dtype
        for t, v in zip(targets, values, strict=True)
    ):
        return "a target is no LOAD of its value's type"
    return combines(node.src[1 + 2 * n :], [v.dtype for v in values])
