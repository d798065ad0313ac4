"""How each library writes the programs: one file a library, found by the table `LIBRARIES`.

A file's `build() -> Library` runs in that library's own worker process, after its threads are pinned. It writes each
program as somebody who knows the library would; an op that is missing from `ops` shows as an empty cell.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ingot.bench.programs import Array

__all__ = ["LIBRARIES", "Library", "Origin", "installed"]


@dataclass(frozen=True, slots=True)
class Library:
    """`put` takes an input in, `wait` returns when a result is computed, `get` takes it out."""

    version: str
    ops: Mapping[str, Callable[..., Any]]
    put: Callable[[Array], Any]
    get: Callable[[Any], Array]
    wait: Callable[[Any], Any] | None = (
        None  # None: the call itself returns a finished result
    )


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a library's file is, what must be installed, and whether it is timed without being asked for."""

    entry: str
    package: str
    attribute: str = ""  # a name that the package must export
    by_default: bool = True

    def load(self) -> Library:
        module, function = self.entry.split(":")
        library: Library = getattr(import_module(module), function)()
        return library

    def installed(self) -> bool:
        if find_spec(self.package) is None:
            return False
        return not self.attribute or hasattr(
            import_module(self.package), self.attribute
        )


LIBRARIES = {
    "numpy": Origin("ingot.bench.libraries.numpy:build", "numpy"),
    "torch": Origin("ingot.bench.libraries.torch:build", "torch"),
    "torch.compile": Origin(
        "ingot.bench.libraries.torch:build_compiled", "torch", by_default=False
    ),
    "jax": Origin("ingot.bench.libraries.jax:build", "jax"),
    "ingot": Origin(
        "ingot.bench.libraries.ingot:build", "ingot", attribute="from_numpy"
    ),
}


def installed() -> list[str]:
    """The libraries that are timed when none are named."""
    return [
        name
        for name, origin in LIBRARIES.items()
        if origin.by_default and origin.installed()
    ]
