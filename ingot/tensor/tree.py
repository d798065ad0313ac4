"""Trees: tuples, lists, dictionaries and dataclasses with values in them. In: a tree. Out: its leaves in order, or another tree.

A leaf is whatever is no container. A dictionary keeps its order, a named tuple and a dataclass their type.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from ingot.errors import ArgumentError

__all__: list[str] = []


def is_container(value: object) -> bool:
    """A value that holds others by name or place."""
    if isinstance(value, tuple | list | dict):
        return True
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def parts(tree: Any) -> list[Any]:
    """What a container holds, in order."""
    if isinstance(tree, dict):
        return list(tree.values())
    if isinstance(tree, tuple | list):
        return list(tree)
    return [getattr(tree, field.name) for field in dataclasses.fields(tree)]


def with_parts(tree: Any, made: list[Any]) -> Any:
    """A container of the same make that holds other parts."""
    kind: Any = type(tree)
    if isinstance(tree, dict):
        return kind(zip(tree, made, strict=True))
    if isinstance(tree, tuple):
        return kind(*made) if hasattr(kind, "_fields") else kind(made)
    if isinstance(tree, list):
        return kind(made)
    names = [field.name for field in dataclasses.fields(tree)]
    return dataclasses.replace(tree, **dict(zip(names, made, strict=True)))


def leaves(tree: Any) -> Iterator[Any]:
    """Everything in a tree that is no container."""
    if not is_container(tree):
        yield tree
        return
    for part in parts(tree):
        yield from leaves(part)


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with `function` of every leaf in its place."""
    if not is_container(tree):
        return function(tree)
    return with_parts(tree, [mapped(function, part) for part in parts(tree)])


def beside(name: str, prefix: Any, tree: Any) -> list[Any]:
    """One value of `prefix` for each leaf of `tree`: a leaf of the prefix counts for everything at its place."""
    if not is_container(prefix):
        return [prefix for _ in leaves(tree)]
    below, inner = (parts(t) if is_container(t) else None for t in (prefix, tree))
    if below is None or inner is None or len(below) != len(inner):
        raise ArgumentError(
            f"{name}: {prefix!r} does not have the form of what it describes",
            wanted=f"{len(inner)} parts" if inner is not None else "one value",
        )
    return [
        v for p, t in zip(below, inner, strict=True) for v in beside(name, p, t)
    ]
