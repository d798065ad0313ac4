"""Control flow over tensors. In: Python functions, which run once. Out: branches, loops and calls that are compiled once.

    total, sums = ig.scan(lambda carry, x: (carry + x, carry + x), ig.zeros(4), xs)

A body takes and gives tensors in tuples, lists and dictionaries. It may use tensors from outside; they become
arguments by themselves. It may not change them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from ingot.errors import ArgumentError, DTypeError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir import region
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.shape import Type, same, same_dim
from ingot.ops.movement import show
from ingot.ops.promotion import resolve
from ingot.tensor.closure import (
    Traced,
    captured,
    closed_function,
    name_of,
    places_for,
    settled,
    trace,
)
from ingot.tensor.creation import arange
from ingot.tensor.tensor import Tensor
from ingot.tensor.trace import as_tensors, filled, numbers_too, tensors
from ingot.tensor.tree import is_container, parts

__all__ = ["call", "cond", "extern", "fori_loop", "function", "scan", "while_loop"]

P = ParamSpec("P")
R = TypeVar("R")


# --- calls ------------------------------------------------------------------------------------------------------------


def call(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """function(*args), compiled once however often it is called with arguments of these types: a repeated layer.

    Arguments that are no tensors are part of the function.
    """
    given = as_tensors((args, kwargs))
    nodes = settled(tensors(given))
    places = places_for(nodes)
    inside, named = filled(given, places)
    made = trace(
        "call",
        _with_names(function, named),
        inside,
        places,
    )
    extra = captured([made], whole=False)
    results = region.call(closed_function(made, extra), *nodes, *extra)
    answer: R = filled(made.result, _handles(results))
    return answer


def function(body: Callable[P, R]) -> Callable[P, R]:
    """A decorator: every call of the function is one `ig.call`."""

    @wraps(body)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        return call(body, *args, **kwargs)

    return called


def _with_names(
    function: Callable[..., Any], named: dict[str, Any]
) -> Callable[..., Any]:
    if not named:
        return function

    @wraps(function)
    def filled_in(*args: Any) -> Any:
        return function(*args, **named)

    return filled_in


# --- branches ---------------------------------------------------------------------------------------------------------


def cond(
    pred: Any,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    *operands: Any,
) -> Any:
    """true_fn(*operands) if pred holds, else false_fn(*operands); only one of them runs."""
    if isinstance(pred, bool):
        return (true_fn if pred else false_fn)(*operands)
    test = _predicate(f"cond of {name_of(true_fn)}", numbers_too(pred))
    given = numbers_too(operands)
    nodes = settled(tensors(given))
    branches = []
    for branch in (true_fn, false_fn):
        places = places_for(nodes)
        branches.append(trace("cond", branch, filled(given, places), places))
    then, other = branches
    _check_alike(
        f"cond: {name_of(true_fn)} and {name_of(false_fn)} return different things",
        other,
        then,
    )
    extra = captured(branches, whole=False)
    functions = [closed_function(branch, extra) for branch in branches]
    results = region.if_(test, *functions, *nodes, *extra)
    return filled(then.result, _handles(results))


def _predicate(what: str, pred: Any) -> UOp:
    if not isinstance(pred, Tensor):
        raise DTypeError(
            f"{what}: the condition is a {type(pred).__name__}",
            wanted="one bool",
        )
    return _check_predicate(what, pred.uop)


def _check_predicate(what: str, test: UOp) -> UOp:
    if test.shape != ():
        raise ShapeError(
            f"{what}: the condition is {show(test.shape)}",
            wanted="one bool, of shape ()",
            fix="write .any() or .all()",
        )
    if test.dtype is not dt.boolean:
        raise DTypeError(
            f"{what}: the condition is {test.dtype}",
            wanted="bool",
            fix="compare it: x != 0",
        )
    return test


# --- loops ------------------------------------------------------------------------------------------------------------


def while_loop(
    cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any
) -> Any:
    """init, then body of it, and so on, as long as cond of it holds. There is no gradient: see `fori_loop` and `scan`."""
    given = numbers_too(init)
    nodes = settled(tensors(given))
    test, step = (
        _traced_state("while_loop", f, given, nodes) for f in (cond, body)
    )
    if not isinstance(test.result, Tensor):
        raise ArgumentError(
            f"{test.name}: it returns {_form(test.result)}", wanted="one bool"
        )
    _check_predicate(test.name, test.nodes[0])
    _check_carry(step, given, step.result, nodes, step.nodes)
    extra = captured([test, step], whole=True)
    results = region.while_(
        closed_function(test, extra),
        closed_function(step, extra, passed=True),
        *nodes,
        *extra,
    )
    return filled(given, _handles(results[: len(nodes)]))


def _traced_state(
    what: str, function: Callable[..., Any], given: Any, nodes: Sequence[UOp]
) -> Traced:
    places = places_for(nodes)
    return trace(what, function, (filled(given, places),), places)


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | UOp | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """(carry, y) = f(carry, x) for every x along the first axis of xs: the last carry, and all y stacked.

    Without xs, `length` says how often; f is given None for x. `reverse` begins with the last x.
    """
    return _scan("scan", f, init, xs, length, reverse)


def _scan(
    what: str,
    f: Callable[..., Any],
    init: Any,
    xs: Any,
    length: int | UOp | None,
    reverse: bool,
) -> tuple[Any, Any]:
    carry, sequence = numbers_too(init), as_tensors(xs)
    starts = settled(tensors(carry))
    rows = _rows(f"{what} of {name_of(f)}", tensors(sequence), length)
    carried, slices = places_for(starts), places_for(rows, drop=1)
    given = (filled(carry, carried), filled(sequence, slices))
    step = trace(what, f, given, [*carried, *slices])
    if not isinstance(step.result, tuple) or len(step.result) != 2:
        raise ArgumentError(
            f"{step.name}: it returns {_form(step.result)}",
            wanted="a pair: (the next carry, what to stack or None)",
        )
    after, stacked = step.result
    count = len(tensors(after))
    _check_carry(step, carry, after, starts, step.nodes[:count])
    extra = captured([step], whole=True)
    body = _with_extra(step, extra, len(starts))
    results = region.scan(body, [*starts, *extra], rows, reverse=reverse)
    made = _handles(results)
    first = len(starts) + len(extra)
    return filled(carry, made[: len(starts)]), filled(stacked, made[first:])


def _with_extra(step: Traced, extra: Sequence[UOp], count: int) -> UOp:
    """The body with what comes from outside as carries that it hands on: after the carry, before the slices."""
    ordered = step._replace(
        places=(*step.places[:count], *extra, *step.places[count:]),
        nodes=(*step.nodes[:count], *extra, *step.nodes[count:]),
    )
    return closed_function(ordered, ())


def _rows(
    what: str, given: Sequence[Tensor], length: int | UOp | None
) -> list[UOp]:
    """The sequences; where there are none, positions stand in for them."""
    nodes = settled(given)
    if not nodes and length is None:
        raise ArgumentError(
            f"{what}: there is no sequence", fix="give xs, or length="
        )
    if not nodes:
        return [arange(0, length).uop]  # type: ignore[arg-type]  # a symbolic length will do
    for node in nodes:
        if not node.shape:
            raise ShapeError(
                f"{what}: a sequence has no axis",
                given=show(node.shape),
                fix="what stays the same in every step can be used from outside",
            )
    wanted: int | UOp = nodes[0].shape[0] if length is None else length
    for node in nodes:
        if not same_dim(node.shape[0], wanted):
            raise ShapeError(
                f"{what}: a sequence is {show(node.shape)}",
                wanted=f"{wanted} along the first axis",
            )
    return nodes


def fori_loop(
    lower: int | UOp | Tensor,
    upper: int | UOp | Tensor,
    body: Callable[[Tensor, Any], Any],
    init: Any,
) -> Any:
    """value = body(i, value) for i from lower to upper - 1. Bounds that are tensors make it a `while_loop`."""
    if isinstance(lower, Tensor) or isinstance(upper, Tensor):
        return _counted(lower, upper, body, init)

    @wraps(body)
    def step(value: Any, i: Any) -> tuple[Any, None]:
        return body(i, value), None

    numbers = arange(lower, upper, dtype="int64")  # type: ignore[arg-type]
    return _scan("fori_loop", step, init, numbers, None, False)[0]


def _counted(
    lower: Any, upper: Any, body: Callable[[Tensor, Any], Any], init: Any
) -> Any:
    first, last = (Tensor(n, dtype="int64") for n in (lower, upper))

    @wraps(body)
    def step(state: tuple[Tensor, Tensor, Any]) -> tuple[Tensor, Tensor, Any]:
        i, end, value = state
        return i + 1, end, body(i, value)

    return while_loop(lambda state: state[0] < state[1], step, (first, last, init))[
        2
    ]


# --- host code --------------------------------------------------------------------------------------------------------


def extern(
    name: str,
    function: Callable[..., Any],
    inputs: Sequence[Any],
    results: Sequence[tuple[DType | str, tuple[int, ...]]],
) -> Any:
    """Host code as part of a program: function(*arrays) gives NumPy arrays of the types and shapes in `results`.

    The name stands for the function in compiled programs, also in those on disk.
    """
    region.register_extern(name, function)
    nodes = settled(tensors(numbers_too(tuple(inputs))))
    types = tuple((resolve(kind).name, tuple(shape)) for kind, shape in results)
    made = _handles(region.extern(name, nodes, types))
    return made[0] if len(made) == 1 else tuple(made)


# --- results, and what does not fit -----------------------------------------------------------------------------------


def _handles(results: Sequence[UOp]) -> list[Tensor]:
    return [Tensor.of(node) for node in results]


def _form(tree: Any) -> str:
    """A tree for people: (float32 (3, 4), {'a': int64 ()})."""
    if isinstance(tree, Tensor):
        return _type((tree.dtype, tree.uop.shape))
    if isinstance(tree, dict):
        inner = ", ".join(f"{k!r}: {_form(v)}" for k, v in tree.items())
        return f"{{{inner}}}"
    if is_container(tree):
        inner = ", ".join(_form(part) for part in parts(tree))
        return f"[{inner}]" if isinstance(tree, list) else f"({inner})"
    return "nothing" if tree is None else type(tree).__name__


def _type(kind: Type) -> str:
    return f"{kind[0]} {show(kind[1])}"


def _same_make(one: Any, other: Any) -> bool:
    """The same containers with tensors at the same places."""
    if not is_container(one) or not is_container(other):
        return (
            not is_container(one)
            and not is_container(other)
            and ((one is None) == (other is None))
        )
    names = [list(t) if isinstance(t, dict) else None for t in (one, other)]
    inner = [parts(t) for t in (one, other)]
    return (
        type(one) is type(other)
        and names[0] == names[1]
        and len(inner[0]) == len(inner[1])
        and all(map(_same_make, *inner))
    )


def _check_alike(problem: str, given: Traced, wanted: Traced) -> None:
    if not _same_make(given.result, wanted.result):
        raise ArgumentError(
            problem, given=_form(given.result), wanted=_form(wanted.result)
        )
    for a, b in zip(given.nodes, wanted.nodes, strict=True):
        _check_type(
            problem, (a.dtype, a.shape), (b.dtype, b.shape), "make them alike"
        )


def _check_carry(
    step: Traced,
    before: Any,
    after: Any,
    starts: Sequence[UOp],
    nodes: Sequence[UOp],
) -> None:
    if not _same_make(before, after):
        raise ArgumentError(
            f"{step.name}: the carry changes its form",
            given=_form(after),
            wanted=_form(before),
        )
    for start, node in zip(starts, nodes, strict=True):
        _check_type(
            f"{step.name}: the carry changes its type",
            (node.dtype, node.shape),
            (start.dtype, start.shape),
            "convert the start or the result",
        )


def _check_type(problem: str, given: Type, wanted: Type, fix: str) -> None:
    if given[0] is not wanted[0]:
        raise DTypeError(
            problem,
            given=_type(given),
            wanted=_type(wanted),
            fix=fix and f"{fix}: .astype({wanted[0].name!r})",
        )
    if not same(given[1], wanted[1]):
        raise ShapeError(
            problem,
            given=_type(given),
            wanted=_type(wanted),
            fix=fix and "shapes stay the same: pad to the largest, or reduce both",
        )
