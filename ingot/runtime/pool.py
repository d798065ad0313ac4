"""The thread pool, seen from Python: its memory, its threads, its scratch space. The work is done in native/.

In:  a number of threads (the caller is one of them) and a library that can compile or load the native module.
Out: `execute`, the native function that carries out a program's frame.

Workers are pthreads without Python state. They start when a command first pays for it, park when idle, and are never
stopped by the interpreter's exit: their code and memory stay mapped. A forked child has none and starts its own.
"""

import ctypes
import os
import signal
import threading
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import NamedTuple

from ingot.errors import ArgumentError, IngotWarning
from ingot.runtime.layout import (
    MOST_CPUS,
    POOL,
    SCRATCH,
    SEAT,
    SYSTEM_CALLS,
    native_text,
)
from ingot.runtime.library import Library
from ingot.runtime.pages import HUGE_PAGE, map_huge_pages, map_pages, round_up, view

__all__ = ["Pool", "Tuning"]

_FUTEX_WAKE_PRIVATE = 129
_EVERYBODY = 0x7FFFFFFF
_LEAST_SCRATCH = 64 << 10
_EFFORT = 0  # LLVM writes it in 11 ms in place of 45; a barrier takes 0.21 us in place of 0.14

# Signals that a faulting instruction raises must reach the thread they belong to; all others are Python's.
_OWN_FAULTS = {
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGTRAP,
    signal.SIGABRT,
}

_libc = ctypes.CDLL(None)
_libc.pthread_create.argtypes = (
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
)
_libc.pthread_join.argtypes = (ctypes.c_ulong, ctypes.c_void_p)


class Tuning(NamedTuple):
    """When threads spin, sleep and wake. All in nanoseconds."""

    spin_ns: int = 50_000  # a thread without work spins this long, then parks
    join_ns: int = 1_000_000  # the caller, without chunks to claim, waits awake this long for the last ones
    wake_ns: int = 100_000  # parked threads are woken for at least this much work
    solo_ns: int = 3_000  # less work than this is done by the caller alone
    slice_ns: int = 100_000_000  # Python gets to handle signals this often


class Pool:
    """Threads that share the chunks of a command. `threads` counts the caller."""

    def __init__(
        self, threads: int, library: Library, tuning: Tuning | None = None
    ) -> None:
        if not 1 <= threads <= MOST_CPUS:
            raise ArgumentError(
                "threads of a pool", given=threads, wanted=f"1 to {MOST_CPUS}"
            )
        self.threads = threads
        self._machine = library.target.triple.partition("-")[0]
        native = _native_functions(library)
        self.execute = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(
            native["execute"]
        )
        self._worker = native["worker"]
        self._handles: list[int] = []
        self._lock = threading.Lock()
        self._closed = False
        nbytes = 8 * (POOL["end"] + threads * SEAT["end"])
        self.address = map_pages(nbytes)
        self._words = view(self.address, nbytes).cast("q")
        self._fill(tuning or Tuning())
        self._publish_scratch(0, [0] * threads)
        _pools.add(self)

    def start_workers(self) -> None:
        """Called when a command first asks for them."""
        with self._lock:
            if not self._words[POOL["startable"]]:
                return
            # First of all, never twice: two threads in one seat would share their scratch.
            self._words[POOL["startable"]] = 0
            try:
                with _signals_blocked():
                    self._start_all()
            finally:
                self._words[POOL["workers"]] = len(self._handles)
        if len(self._handles) < self.threads - 1:
            text = f"the system gave {len(self._handles)} of {self.threads - 1} threads; the work is done with those"
            warnings.warn(text, IngotWarning, stacklevel=3)

    def grow_scratch(self, nbytes: int) -> None:
        """At least `nbytes` for every thread. Old blocks stay: another evaluation may be using them. Sizes double, so
        all old blocks together are smaller than the new one."""
        with self._lock:
            if self.scratch_bytes >= nbytes:
                return
            size = max(_LEAST_SCRATCH, 1 << (nbytes - 1).bit_length())
            allocate = map_huge_pages if size >= HUGE_PAGE else map_pages
            self._publish_scratch(
                size, [allocate(size) for _ in range(self.threads)]
            )

    @property
    def scratch_bytes(self) -> int:
        """What each thread has."""
        table: int = self._words[POOL["scratch_now"]]
        return int(view(table, 8).cast("q")[SCRATCH["nbytes"]])

    @property
    def workers(self) -> int:
        """Threads that are running now, the caller left out."""
        return int(self._words[POOL["workers"]])

    @property
    def parked(self) -> int:
        """Workers that sleep."""
        return int(self._words[POOL["sleepers"]])

    def close(self) -> None:
        """Ends the workers. Programs of this pool then run on their caller alone."""
        with self._lock:
            self._closed = True
            words = self._words
            words[POOL["startable"]] = 0
            words[POOL["stop"]] = 1
            words[POOL["bell"]] += 1
            bell = ctypes.c_void_p(self.address + 8 * POOL["bell"])
            _libc.syscall(
                SYSTEM_CALLS[self._machine]["futex"],
                bell,
                _FUTEX_WAKE_PRIVATE,
                _EVERYBODY,
                None,
                None,
                0,
            )
            for handle in self._handles:
                _libc.pthread_join(handle, None)
            self._handles = []
            words[POOL["workers"]] = 0

    # --- memory ---

    def _fill(self, tuning: Tuning) -> None:
        words = self._words
        for name, nanoseconds in tuning._asdict().items():
            words[POOL[name]] = nanoseconds
        for name in ("syscall", "clock_gettime", "sched_getcpu"):
            words[POOL[name]] = libc_address(name)
        self._reset()

    def _reset(self) -> None:
        """No workers, no work: the state of a new pool, and of every pool in a forked child."""
        words = self._words
        for name in (
            "ticket",
            "done",
            "awaited",
            "bell",
            "sleepers",
            "stop",
            "owner",
            "workers",
        ):
            words[POOL[name]] = 0
        for number in range(self.threads):
            seat = POOL["end"] + number * SEAT["end"]
            words[seat + SEAT["tid"]] = 0
        words[POOL["startable"]] = int(self.threads > 1 and not self._closed)
        words[POOL["caller_cpu"]] = -1
        words[POOL["placed_at"]] = -1
        cpus = [cpu for cpu in os.sched_getaffinity(0) if cpu < MOST_CPUS]
        words[POOL["cpus"]] = len(cpus)
        for block in ("allowed", "mask"):
            _write_mask(words, POOL[block], cpus)

    def _publish_scratch(self, nbytes: int, blocks: list[int]) -> None:
        """Native code reads the table's address once per command: one store makes the new table the current one."""
        size = 8 * (SCRATCH["blocks"] + len(blocks))
        address = map_pages(round_up(size, 4096))
        table = view(address, size).cast("q")
        table[SCRATCH["nbytes"]] = nbytes
        for number, block in enumerate(blocks):
            table[SCRATCH["blocks"] + number] = block
        self._words[POOL["scratch_now"]] = address

    # --- threads ---

    def _start_all(self) -> None:
        """Starts the workers, as many as the system gives."""
        for number in range(1, self.threads):
            at = POOL["end"] + (number - 1) * SEAT["end"]
            self._words[at + SEAT["pool"]] = self.address
            self._words[at + SEAT["number"]] = number
            handle = ctypes.c_ulong()
            failed = _libc.pthread_create(
                ctypes.byref(handle), None, self._worker, self.address + 8 * at
            )
            if failed:
                return
            self._handles.append(handle.value)

    def forget_threads(self) -> None:
        """In a forked child: only the forking thread exists, whatever the parent's threads were doing."""
        self._lock = threading.Lock()
        self._handles = []
        self._reset()


_pools: "weakref.WeakSet[Pool]" = weakref.WeakSet()


def _reset_pools() -> None:
    for pool in list(_pools):
        pool.forget_threads()


os.register_at_fork(after_in_child=_reset_pools)


def libc_address(name: str) -> int:
    return ctypes.cast(getattr(_libc, name), ctypes.c_void_p).value or 0


def _native_functions(library: Library) -> "dict[str, int]":
    text = native_text(library.target.triple.partition("-")[0])
    key = sha256(f"executor {library.target.key()}\n{text}".encode()).hexdigest()
    return dict(library.functions(key, lambda: text, _EFFORT))


def _write_mask(words: memoryview, at: int, cpus: list[int]) -> None:
    mask = sum(1 << cpu for cpu in cpus)
    for word in range(MOST_CPUS // 64):
        part = mask >> 64 * word & (1 << 64) - 1
        words[at + word] = part - (1 << 64) if part >> 63 else part


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Threads inherit the mask: signals go to Python's threads, never to a worker."""
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, signal.valid_signals() - _OWN_FAULTS
    )
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
