"""The compiled functions of this process: loaded once, from the disk cache or the compiler.

In:  a key, and a way to write the LLVM IR if the code behind the key does not exist yet.
Out: addresses of functions by name. They stay valid until the process ends.

What will be wanted soon can be announced. One thread compiles what was announced while the caller goes on: LLVM runs
without Python's lock. Whoever asks before that thread gets there compiles it himself, so nothing ever waits for a
thread that is not there (a forked child has none).
"""

import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping

from ingot.errors import CompileError, IngotError
from ingot.runtime.cache import ObjectCache
from ingot.runtime.loader import load
from ingot.runtime.objects import compile_object, compiling
from ingot.target import Target

__all__ = ["Library"]

# The compiling thread needs Python's lock a dozen times a module, for microseconds; it shall not wait 5 ms each time.
SWITCH_SECONDS = 0.0005

Source = Callable[[], str]


class Library:
    """Loaded code for one target."""

    def __init__(self, cache: ObjectCache, target: Target) -> None:
        self.target = target
        self._cache = cache
        self._loaded: dict[str, Mapping[str, int]] = {}
        self._announced: dict[str, tuple[Source, int]] = {}
        self._queue: deque[str] = deque()
        self._objects: dict[str, bytes] = {}  # compiled, and not yet asked for
        self._thread: threading.Thread | None = None

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

    def announce(self, key: str, source: Source, effort: int = 2) -> None:
        """The functions of `key` will be asked for: if they are not on disk, they are compiled meanwhile."""
        if self.knows(key):
            return
        self._announced[key] = source, effort
        self._queue.append(key)
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._compile_announced)
            self._thread.start()

    def _compile_announced(self) -> None:
        """Until nothing is left."""
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_SECONDS)
        while self._queue:
            with compiling:
                self._compile_next()
        sys.setswitchinterval(before)

    def _compile_next(self) -> None:
        """What fails here fails again where its functions are asked for."""
        key = self._queue.popleft()
        if key not in self._announced:
            return
        source, effort = self._announced[key]
        try:
            self._objects[key] = compile_object(source(), self.target, effort)
        except IngotError:
            return

    def _find(self, key: str, source: Source, effort: int) -> Mapping[str, int]:
        found = self._loaded.get(key) or self._from_cache(key)
        if found is None:
            source, effort = self._announced.get(key, (source, effort))
            made = self._objects.pop(key, None)
            data = made or compile_object(source(), self.target, effort)
            self._cache.put(key, data)
            found = load(data)
        self._loaded[key] = found
        self._announced.pop(key, None)
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
