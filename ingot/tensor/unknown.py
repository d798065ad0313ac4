"""Names that do not exist. In: an attribute or function that somebody asked for. Out: an error that knows the nearest one.

Python calls these only after it has found nothing, so names that do exist cost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ingot.errors import UnknownNameError
from ingot.spelling import hint
from ingot.tensor.handle import Handle

# What other libraries call it, where a different name or another way of thinking is meant.
_ELSEWHERE = {
    "append": "a tensor keeps its size: ig.cat([x, y]) makes a longer one",
    "asarray": "make a tensor with ig.tensor(...)",
    "array": "make a tensor with ig.tensor(...)",
    "extend": "a tensor keeps its size: ig.cat([x, y]) makes a longer one",
    "insert": "a tensor keeps its size: ig.cat([x[:i], y, x[i:]]) makes a longer one",
    "no_gradient": "write `with ig.no_grad():`",
    "resize": "a tensor keeps its size: use .reshape, .pad or .shrink for a new one",
    "resize_": "a tensor keeps its size: use .reshape, .pad or .shrink for a new one",
    "zero_grad": "write x.grad = None",
}


class Unknown(Handle):
    """Attributes that a tensor does not have."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a type checker would take every name for known

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):  # protocols that others look for
                raise AttributeError(f"'Tensor' object has no attribute {name!r}")
            raise _unknown(
                f"a tensor has no attribute {name!r}", name, dir(type(self))
            )


def missing_name(name: str, known: list[str]) -> NoReturn:
    """What `ig.name` says if there is no such name."""
    if name.startswith("_"):
        raise AttributeError(f"module 'ingot' has no attribute {name!r}")
    raise _unknown(f"there is no ig.{name}", name, known)


def _unknown(message: str, name: str, known: list[str]) -> UnknownNameError:
    public = [word for word in known if not word.startswith("_")]
    fix = _ELSEWHERE.get(name) or hint(name, public)
    return UnknownNameError(message, fix=fix or "`ingot ops` lists every operation")
