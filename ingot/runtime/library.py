"""The compiled functions of this process: loaded once, from the disk cache or the compiler.

In:  a key, and a way to write the LLVM IR if the code behind the key does not exist yet.
Out: addresses of functions by name. They stay valid until the process ends.
"""

from collections.abc import Callable, Mapping

from ingot.errors import CompileError
from ingot.runtime.cache import ObjectCache
from ingot.runtime.loader import load
from ingot.runtime.objects import compile_object, compiling
from ingot.target import Target

__all__ = ["Library"]

Source = Callable[[], str]


class Library:
    """Loaded code for one target."""

    def __init__(self, cache: ObjectCache, target: Target) -> None:
        self.target = target
        self._cache = cache
        self._loaded: dict[str, Mapping[str, int]] = {}

    def functions(
        self, key: str, source: Source, effort: int = 2
    ) -> Mapping[str, int]:
        """The functions of the module behind `key`; `source` is called only if nobody has compiled it before."""
        found = self._loaded.get(key)
        if found is not None:
            return found
        with compiling:
            return self._find(key, source, effort)

    def knows(self, key: str) -> bool:
        """Can `key` be had without compiling?"""
        return key in self._loaded or self._cache.get(key) is not None

    def _find(self, key: str, source: Source, effort: int) -> Mapping[str, int]:
        found = self._loaded.get(key) or self._from_cache(key)
        if found is None:
            data = compile_object(source(), self.target, effort)
            self._cache.put(key, data)
            found = load(data)
        self._loaded[key] = found
        return found

    def _from_cache(self, key: str) -> Mapping[str, int] | None:
        data = self._cache.get(key)
        if data is None:
            return None
        try:
            return load(data)
        except CompileError:
            # Whole, but not loadable here: written by another version of the loader, say. Compile it again.
            self._cache.remove(key)
            return None
