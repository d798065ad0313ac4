"""What is loaded when it is first needed. In: the place of a name, `module:name`. Out: what the name stands for.

A program whose kernels are all on disk runs without the compiler: its modules, a third of the package, are imported
by the first program that has to be compiled. Imports that no start can do without stand at the top of their file, as
everywhere.
"""

from __future__ import annotations

from importlib import import_module
from typing import Generic, TypeVar, cast

T = TypeVar("T")


class Late(Generic[T]):
    """`Late("package.module:name")()` is that name's value."""

    def __init__(self, entry: str) -> None:
        self.entry = entry
        self._found: list[T] = []

    def __call__(self) -> T:
        if not self._found:
            module, name = self.entry.split(":")
            self._found.append(cast(T, getattr(import_module(module), name)))
        return self._found[0]
