"""Names of tensors. In: a tensor and a word. Out: the tensor, known by that word to whoever listens.

A model that is being built listens: a named tensor is one that the model can be cut at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from ingot.tensor.handle import Handle

listeners: list[Callable[[Handle, str], None]] = []


class Named(Handle):
    """Tensors that can be given a name in the middle of an expression."""

    __slots__ = ()

    def named(self, name: str) -> Self:
        """The tensor itself, with a name: `h = ig.relu(x @ w).named("hidden")`."""
        for listen in listeners:
            listen(self, name)
        self.marked().name = name
        return self
