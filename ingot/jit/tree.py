"""Trees of values: lists, tuples, dictionaries and dataclasses with tensors in them. In: arguments and results.
Out: their tensors in order, and a form that says what stood round them.

A form is hashable and compares by what it stands for, so it serves as the key of a capture; filled with other tensors it
gives a tree of the same make.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ingot.errors import ArgumentError
from ingot.tensor.creation import from_numpy
from ingot.tensor.tensor import Tensor

Form = Hashable
PLAIN = (bool, int, float, complex, str, bytes, type(None))


class Leaf(NamedTuple):
    """The place of a tensor, by its number."""

    number: int


class Branch(NamedTuple):
    """A container: how to make one, the names of its parts, the forms of its parts."""

    type: type
    names: tuple[Any, ...]
    parts: tuple[Form, ...]


class Value(NamedTuple):
    """Anything else: itself. Floats are told apart as text, because 0.0 == -0.0 and nan != nan."""

    type: type
    key: Hashable
    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and self[:2] == other[:2]

    def __hash__(self) -> int:
        return hash(self[:2])


class Flattening:
    """Takes trees apart. `on_object` says what stands for an object that is neither tensor nor container nor plain."""

    def __init__(
        self, on_object: Callable[[Any, str], Form], keeps_leaves: bool = False
    ) -> None:
        self.tensors: list[Tensor] = []
        self.paths: list[str] = []
        self.on_object = on_object
        self.keeps_leaves = (
            keeps_leaves  # tensors that gather gradients are objects
        )

    def form(self, value: Any, path: str) -> Form:
        """The form of a value; its tensors are added to `tensors`, arrays as tensors over their memory."""
        if isinstance(value, np.ndarray):
            value = from_numpy(value)
        if isinstance(value, Tensor) and not (
            self.keeps_leaves and value.is_marked
        ):
            self.tensors.append(value)
            self.paths.append(path)
            return Leaf(len(self.tensors) - 1)
        if isinstance(value, PLAIN):
            return plain(value)
        if isinstance(value, np.generic):
            return plain(value.item())
        if not is_container(value):
            return self.on_object(value, path)
        names, parts = parts_of(value)
        forms = tuple(
            self.form(part, f"{path}{name_text(value, name)}")
            for name, part in zip(names, parts, strict=True)
        )
        return Branch(type(value), tuple(names), forms)


def plain(value: Any) -> Value:
    """A number, a word: part of the key by value and type, because 1 == 1.0 == True."""
    key = repr(value) if isinstance(value, float | complex) else value
    return Value(type(value), key, value)


def is_container(value: Any) -> bool:
    """What is taken apart: the standard containers, and dataclasses."""
    if isinstance(value, list | tuple | dict):
        return True
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def parts_of(value: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """The names of a container's parts, and the parts."""
    if isinstance(value, dict):
        return list(value), list(value.values())
    if isinstance(value, list | tuple):
        return range(len(value)), value
    names = [field.name for field in dataclasses.fields(value)]
    return names, [getattr(value, name) for name in names]


def name_text(value: Any, name: Any) -> str:
    """How Python writes the way from a container to its part."""
    return f"[{name!r}]" if isinstance(value, list | tuple | dict) else f".{name}"


def fill(form: Form, tensors: Sequence[Tensor]) -> Any:
    """A tree of this form over these tensors."""
    if isinstance(form, Leaf):
        return tensors[form.number]
    if isinstance(form, Value):
        return form.value
    assert isinstance(form, Branch)
    return _container(form, [fill(part, tensors) for part in form.parts])


def _container(form: Branch, parts: list[Any]) -> Any:
    kind: Any = form.type
    if issubclass(kind, dict):
        made = kind()
        made.update(zip(form.names, parts, strict=True))
        return made
    if issubclass(kind, tuple):
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    if issubclass(kind, list):
        return kind(parts)
    made = object.__new__(kind)
    for name, part in zip(form.names, parts, strict=True):
        object.__setattr__(made, name, part)  # also where the class is frozen
    return made


def unhashable(function: str, path: str, value: object) -> ArgumentError:
    """An argument that jit can neither take apart nor compare."""
    return ArgumentError(
        f"jit: argument {path} of {function} is a {type(value).__name__}, which cannot be compared with later calls",
        wanted="tensors, arrays, numbers, words, and lists, tuples, dictionaries, dataclasses or objects of them",
        fix="pass the tensors in it one by one",
    )
