"""Trees as JSON. In: dictionaries, lists and tuples of tensors and plain values. Out: text in which tensors have names.

A value is written as [what it is, what it holds], so that a tuple stays a tuple, a key keeps its type, and -0.0, nan and
large integers come back as they were.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ingot.errors import ArgumentError, DTypeError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.tensor.handle import Array, Handle

__all__: list[str] = []

TREE = "ingot.tree"  # where a file keeps its tree


class Packing:
    """A tree on its way into a file: tensors get names, after the way that leads to them."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}
        self.names: dict[int, str] = {}

    def packed(self, value: Any, way: tuple[str, ...]) -> Any:
        """The value as JSON can hold it."""
        if isinstance(value, Handle | np.ndarray):
            kind = "tensor" if isinstance(value, Handle) else "array"
            return [kind, self._name(value, way)]
        if isinstance(value, dict):
            return ["dict", [self._item(k, v, way) for k, v in value.items()]]
        if type(value) in (list, tuple):
            parts = [self.packed(v, (*way, str(i))) for i, v in enumerate(value)]
            return [type(value).__name__, parts]
        return _plain(value, way)

    def _item(self, key: Any, value: Any, way: tuple[str, ...]) -> list[Any]:
        return [_plain(key, way), self.packed(value, (*way, str(key)))]

    def _name(self, value: Any, way: tuple[str, ...]) -> str:
        """One tensor has one name, wherever else it stands."""
        if id(value) not in self.names:
            base = ".".join(way) or "tensor"
            name, number = base, 1
            while name in self.found or name == "__metadata__":
                number += 1
                name = f"{base}#{number}"
            self.names[id(value)] = name
            self.found[name] = value
        return self.names[id(value)]


def _plain(value: Any, way: tuple[str, ...]) -> list[Any]:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return ["value", value]
    if isinstance(value, float):
        return ["float", value.hex()]
    if isinstance(value, bytes):
        return ["bytes", base64.b64encode(value).decode()]
    if isinstance(value, DType):
        return ["dtype", value.name]
    raise DTypeError(
        f"save: {'.'.join(way) or 'the value'} is a {type(value).__name__}",
        wanted="tensors, arrays, numbers, text and bytes, in dictionaries, lists and tuples",
        fix="save what it is made of: a file holds values, not classes",
    )


def unpacked(
    file: str, text: str, tensors: Mapping[str, Any], arrays: Mapping[str, Array]
) -> Any:
    """The tree over the tensors of a file."""

    def made(part: Any) -> Any:
        kind, inner = part
        if kind in ("list", "tuple"):
            parts = [made(p) for p in inner]
            return tuple(parts) if kind == "tuple" else parts
        if kind == "dict":
            return {made(k): made(v) for k, v in inner}
        if kind in ("tensor", "array"):
            return tensors[inner] if kind == "tensor" else arrays[inner].copy()
        return _READERS[kind](inner)

    try:
        return made(json.loads(text))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ArgumentError(
            f"load: the tree in {file} is damaged: {type(error).__name__}: {error}"
        ) from None


_READERS = {
    "value": lambda value: value,
    "float": float.fromhex,
    "bytes": base64.b64decode,
    "dtype": dt.named,
}
