"""Whether gradients are followed. In: `with no_grad():` around code, or over a function. Out: results that count as constants.

Each thread has its own setting. A result made while nothing is followed is the value behind a `detach`, where it would
lead to a leaf otherwise; what was built before is not changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import local
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, overload

from ingot.ir.node import UOp
from ingot.ops.op import apply
from ingot.tensor.leaves import tracked

__all__ = ["enable_grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]

P = ParamSpec("P")
R = TypeVar("R")


class _State(local):
    """The setting of one thread."""

    is_on = True


state = _State()  # looked at for every result


def is_grad_enabled() -> bool:
    """Gradients are followed here."""
    return state.is_on


class set_grad_enabled:
    """`with set_grad_enabled(wanted):`, or a decorator: whether gradients are followed inside."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.before: list[bool] = []

    def __enter__(self) -> None:
        self.before.append(state.is_on)
        state.is_on = self.mode

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        state.is_on = self.before.pop()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        mode = self.mode

        @wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            with set_grad_enabled(mode):
                return function(*args, **kwargs)

        return wrapped


@overload
def no_grad() -> set_grad_enabled: ...


@overload
def no_grad(function: Callable[P, R]) -> Callable[P, R]: ...


def no_grad(function: Callable[..., Any] | None = None) -> Any:
    """Nothing inside is followed: `with ig.no_grad(): w -= 0.1 * w.grad`, or `@ig.no_grad` over a function."""
    setting = set_grad_enabled(False)
    return setting if function is None else setting(function)


@overload
def enable_grad() -> set_grad_enabled: ...


@overload
def enable_grad(function: Callable[P, R]) -> Callable[P, R]: ...


def enable_grad(function: Callable[..., Any] | None = None) -> Any:
    """Gradients are followed inside, also within `no_grad`."""
    setting = set_grad_enabled(True)
    return setting if function is None else setting(function)


def unfollowed(node: UOp) -> UOp:
    """The value as a constant, where gradients would flow through it."""
    return apply("detach", node) if tracked([node]) else node


def leaf_value(node: UOp, is_taken: Callable[[UOp], bool]) -> UOp:
    """The new value of a leaf, as a node that no other tensor has: equal values of two leaves stay two nodes."""
    made = apply("detach", node)
    while is_taken(made):
        made = apply("detach", made)
    return made
