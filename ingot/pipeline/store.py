"""What is kept on disk beside compiled code: recipes of programs and members of families.

In:  the digest of a program or of a family. Out: its recipe, its members, as far as they are there. Keys hold
everything that decides what is found: the settings that change code, the target, what it costs, and our own sources
with the version of LLVM behind them. So another version of Ingot finds nothing of this one's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec

from ingot.pipeline.member import Member, member_from_text
from ingot.pipeline.recipe import Recipe, recipe_from_text
from ingot.runtime.cache import ObjectCache
from ingot.settings import Codegen
from ingot.target import Costs, Target

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_FOLDERS = ("", "ir", "kernel", "ops", "pipeline", "render", "runtime", "schedule")


class Store:
    """Recipes and members for one target and one set of code settings."""

    def __init__(
        self, cache: ObjectCache, target: Target, codegen: Codegen, costs: Costs
    ) -> None:
        self.cache = cache
        self._base = (
            f"{codegen.key()}\n{target.key()}\n{costs}\n{source_digest(cache)}"
        )

    def recipe(self, program: str) -> Recipe | None:
        data = self.cache.get(self._key("recipe", program))
        return None if data is None else recipe_from_text(data.decode())

    def keep_recipe(self, program: str, recipe: Recipe) -> None:
        self.cache.put(self._key("recipe", program), recipe.text().encode())

    def members(self, family: str) -> list[Member]:
        data = self.cache.get(self._key("family", family))
        return (
            []
            if data is None
            else [member_from_text(line) for line in data.decode().splitlines()]
        )

    def keep_member(self, family: str, member: Member) -> None:
        """The newest first. Of two processes that add one at the same time, one is compiled again some day."""
        kept = [one for one in self.members(family) if one != member]
        lines = (one.text() for one in (member, *kept))
        self.cache.put(self._key("family", family), "\n".join(lines).encode())

    def _key(self, kind: str, digest: str) -> str:
        return sha256(f"{kind} {digest}\n{self._base}".encode()).hexdigest()


@lru_cache(maxsize=8)
def source_digest(cache: ObjectCache) -> str:
    """A digest of the code that generates code: a change there makes everything cached stale.

    Reading every file takes longer than a warm start may; so the digest is kept under the files' sizes and times.
    """
    stamp = sha256(
        "\n".join(f"{path} {size} {time}" for path, size, time in _files()).encode()
    ).hexdigest()
    known = cache.get(stamp)
    if known is not None:
        return known.decode()
    total = sha256()
    for path, _, _ in _files():
        with open(path, "rb") as file:
            total.update(file.read())
    cache.put(stamp, total.hexdigest().encode())
    return total.hexdigest()


def _files() -> Iterator[tuple[str, int, int]]:
    """(path, size, time of change) of every file that decides what is generated."""
    for folder in _FOLDERS:
        with os.scandir(os.path.join(_PACKAGE, folder)) as entries:
            for entry in sorted(entries, key=lambda e: e.name):
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    yield entry.path, status.st_size, status.st_mtime_ns
    compiler = find_spec("llvmlite")
    if compiler is not None and compiler.origin is not None:
        version = os.path.join(os.path.dirname(compiler.origin), "_version.py")
        status = os.stat(version)
        yield version, status.st_size, status.st_mtime_ns
