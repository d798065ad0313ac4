"""Functions that bring their own gradient, and functions whose values are computed again rather than kept.

    @ig.custom_gradient
    def clipped(x):                                   y = x, but its gradient stays within -1..1
        return x, lambda g: g.clip(-1, 1)

    deep = ig.checkpoint(block)                       keeps only what goes in; backward runs block once more

In: Python functions. Out: functions of the same arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from ingot.errors import ArgumentError, ShapeError
from ingot.ir.node import UOp
from ingot.ir.shape import same
from ingot.ops.elementwise import constant
from ingot.ops.movement import show
from ingot.ops.op import REGISTRY
from ingot.tensor.closure import captured, closed_function, name_of, trace
from ingot.tensor.control import call
from ingot.tensor.recording import enable_grad
from ingot.tensor.tensor import Tensor
from ingot.tensor.trace import as_tensors, filled, numbers_too, stand_in, tensors

__all__ = ["checkpoint", "custom_gradient"]

P = ParamSpec("P")
R = TypeVar("R")


def checkpoint(function: Callable[P, R]) -> Callable[P, R]:
    """The same function; what it computes on the way is not kept for the gradient, but computed again from its arguments.

    Memory for time: use it for blocks of a deep network. Random numbers in it are the same both times.
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        return call(function, *args, **kwargs)

    return called


def custom_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with its own gradient: it returns (result, backward).

    backward(g) gives the gradient for each argument, one tensor or a tuple; None says that nothing flows. If the result
    is a tuple, backward takes one g for each of its tensors. It may use whatever the function computed; gradients
    flow to the arguments alone, not to tensors from outside. It can be differentiated itself.
    """

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        given = numbers_too(args)
        made = function(*given, **kwargs)
        if not isinstance(made, tuple) or len(made) != 2 or not callable(made[1]):
            raise ArgumentError(
                f"custom_gradient: {name_of(function)} gives {type(made).__name__}",
                wanted="a pair: (result, the function from its gradient to those of the arguments)",
            )
        return _with_gradient(name_of(function), given, *made)

    return wrapped


def _with_gradient(
    name: str, given: Any, result: Any, backward: Callable[..., Any]
) -> Any:
    """The result with `backward`, traced once, as its gradient."""
    outcome = as_tensors(result)
    values = [t.uop for t in tensors(outcome)]
    inputs = [t.uop for t in tensors(given)]
    places = [stand_in(v.dtype, v.shape) for v in values if v.dtype.is_float]

    def all_shares(*seeds: Tensor) -> list[Tensor]:
        with enable_grad():
            return _shares(name, backward(*seeds), inputs)

    back = trace(f"the gradient of {name}", all_shares, places, places)
    extra = captured([back], whole=True)
    closed = closed_function(back, extra)
    made = REGISTRY["custom_gradient"].results(
        closed, *values, *inputs, *extra, values=len(values), inputs=len(inputs)
    )
    return filled(outcome, [Tensor.of(u) for u in made])


def _shares(name: str, found: Any, inputs: Sequence[UOp]) -> list[Tensor]:
    """A gradient for each float input, in its shape."""
    several = list(found) if isinstance(found, tuple | list) else [found]
    if len(several) != len(inputs):
        raise ArgumentError(
            f"custom_gradient: backward of {name} gives {len(several)} gradients",
            wanted=f"{len(inputs)}, one for each argument; None where nothing flows",
        )
    pairs = zip(several, inputs, strict=True)
    return [_share(name, g, x) for g, x in pairs if x.dtype.is_float]


def _share(name: str, found: Any, x: UOp) -> Tensor:
    if found is None:
        return Tensor.of(constant(0.0, x.dtype, x.shape))
    made = numbers_too(found)
    if not isinstance(made, Tensor) or not same(made.shape, x.shape):
        given = (
            show(made.shape) if isinstance(made, Tensor) else type(made).__name__
        )
        raise ShapeError(
            f"custom_gradient: backward of {name} gives {given} for an argument of {show(x.shape)}",
            fix="a gradient has the shape of its argument: sum over what was broadcast",
        )
    return Tensor.of(made.uop.cast(x.dtype))
