"""Arguments with two names: `axis` and `dim`, `keepdims` and `keepdim`, ... In: both, one of them left out. Out: the one.

The generated functions and methods take the second name as a keyword. A default is marked by `unset`, so that what was
given can be told from what was not; giving both is an error, equal or not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from ingot.errors import ArgumentError
from ingot.ir.node import UOp
from ingot.spelling import hint
from ingot.tensor.handle import Value, node

T = TypeVar("T")

# The name in the array API, and the one that people bring from elsewhere.
SECOND_NAMES = {
    "axis": "dim",
    "dim": "axis",
    "axes": "dims",
    "keepdims": "keepdim",
    "stride": "strides",
    "kernel_size": "pool_size",
    "correction": "ddof",
    "diagonal": "k",
}


class Unset:
    """A default that nobody has given. Shown as its value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "required" if self.value is ... else repr(self.value)


_known: dict[tuple[type, object], Unset] = {}


def unset(value: T) -> T:
    """The default `value`, marked as not given."""
    made: Any = _known.setdefault((type(value), value), Unset(value))
    return cast(T, made)


REQUIRED: Any = Unset(...)  # no default: one of the two has to be given


def one_of(op: str, name: str, first: T, second_name: str, second: T) -> T:
    """The argument that was given under either name, or the default."""
    if not isinstance(second, Unset):
        if not isinstance(first, Unset):
            raise ArgumentError(
                f"{op}: {name} and {second_name} are both given; they are one argument",
                fix=f"leave one of them out, for example {second_name}=...",
            )
        return second
    if not isinstance(first, Unset):
        return first
    if first is REQUIRED:
        raise ArgumentError(
            f"{op}: {name} is missing", fix=f"pass {name}=... or {second_name}=..."
        )
    return cast(T, first.value)


def given(op: str, name: str, value: T) -> T:
    """An argument that has to be given."""
    if isinstance(value, Unset):
        raise ArgumentError(f"{op}: {name} is missing", fix=f"pass {name}=...")
    return value


def unknown_argument(given: Mapping[str, object]) -> ArgumentError:
    """The error for keywords that the op whose function has called this does not take."""
    code = sys._getframe(1).f_code
    count = code.co_argcount + code.co_kwonlyargcount
    known = [name for name in code.co_varnames[:count] if name != "self"]
    name = next(iter(given))
    takes = ", ".join(known) or "no arguments"
    return ArgumentError(
        f"{code.co_name}: unknown argument {name!r}; it takes {takes}",
        fix=_ELSEWHERE.get(name) or hint(name, known) or f"leave {name} out",
    )


# Arguments that other libraries have, and that are not needed here.
_ELSEWHERE = {
    "inplace": "a result is a new tensor: write x = x.relu(), or x.relu_()",
    "out": "a result is a new tensor: write y = ..., or y.assign(...)",
}


def nodes(values: Iterable[Value]) -> list[UOp]:
    """Tensors, arrays and numbers as nodes."""
    return [node(value) for value in values]
