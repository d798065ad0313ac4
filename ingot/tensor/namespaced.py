"""How a tensor names its library, for code written to the Python array API standard. In: a tensor. Out: the namespace."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Self

from ingot.errors import ArgumentError
from ingot.tensor.device import check_device
from ingot.tensor.handle import Handle

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


class Namespaced(Handle):
    """`x.__array_namespace__()` and `x.to_device(...)`."""

    __slots__ = ()

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """The functions that belong to this tensor: `ingot` itself."""
        if api_version is not None and api_version not in VERSIONS:
            raise ArgumentError(
                f"__array_namespace__: version {api_version!r} is not known; wanted one of {', '.join(VERSIONS)}"
            )
        return sys.modules["ingot"]

    def to_device(self, device: Any, /, *, stream: Any = None) -> Self:
        """The tensor itself, if that is where its values are."""
        check_device("to_device", device)
        return self
