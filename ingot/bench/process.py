"""One worker process, seen from the parent: started when first needed, stopped between its turns, killed at the end.

In:  a library's name and a number of threads.  Out: replies, or `LateReply`, or `WorkerDied`.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Self

from ingot.settings import child_environment

__all__ = ["LateReply", "Process", "WorkerDied"]

START_SECONDS = 120.0
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "INGOT_THREADS",
)


class LateReply(Exception):
    """No reply within the limit."""


class WorkerDied(Exception):
    """The process ended before it replied."""


class Process:
    """A context manager: the process does not outlive it."""

    def __init__(self, library: str, threads: int) -> None:
        self.library = library
        self.threads = threads
        self._child: subprocess.Popen[bytes] | None = None
        self._pipe: Connection[Any, Any] | None = None
        self._said = (
            tempfile.TemporaryFile()
        )  # what it writes to stderr, to be quoted should it die

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._said.close()

    def ask(self, command: tuple[object, ...], limit: float) -> tuple[str, Any]:
        assert self._pipe is not None, "awake() comes first"
        try:
            self._pipe.send(command)
        except OSError:
            raise self._death() from None
        return self._reply(limit)

    @property
    def pid(self) -> int:
        assert self._child is not None, "awake() comes first"
        return self._child.pid

    @contextmanager
    def awake(self) -> Iterator[None]:
        """Let the process run for a while, starting it if need be."""
        if self._child is None:
            self._start()
        self._signal(signal.SIGCONT)
        try:
            yield
        finally:
            self._signal(signal.SIGSTOP)

    def kill(self) -> None:
        """End it, whatever it does and whether or not it is stopped."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
        if self._pipe is not None:
            self._pipe.close()
        self._child = self._pipe = None

    def _start(self) -> None:
        ours, theirs = Pipe()
        words = [
            self.library,
            str(theirs.fileno()),
            ",".join(map(str, cpus_for(self.threads))),
        ]
        self._child = subprocess.Popen(
            [sys.executable, "-m", "ingot.bench.worker", *words],
            env=child_environment(
                VENDOR="0",
                JAX_PLATFORMS="cpu",
                **dict.fromkeys(THREAD_VARIABLES, str(self.threads)),
            ),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            process_group=0,  # Ctrl-C is ours to handle; and the kernel ends a stopped group whose parent is gone
        )
        theirs.close()
        self._pipe = ours
        self._reply(START_SECONDS)

    def _reply(self, limit: float) -> tuple[str, Any]:
        assert self._pipe is not None
        if not self._pipe.poll(limit):
            raise LateReply(f"no answer in {limit:.0f} s")
        try:
            reply: tuple[str, Any] = self._pipe.recv()
        except (EOFError, OSError):
            raise self._death() from None
        return reply

    def _death(self) -> WorkerDied:
        assert self._child is not None
        status = self._child.wait()
        self.kill()
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").split("\n")
        last = next(
            (line for line in reversed(lines) if line.strip()), "it said nothing"
        )
        return WorkerDied(f"the process ended with status {status}: {last.strip()}")

    def _signal(self, number: signal.Signals) -> None:
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(number)


def cpus_for(threads: int) -> list[int]:
    """The first CPUs that we may use, one a thread: the same for every library."""
    usable = (
        sorted(os.sched_getaffinity(0))
        if sys.platform == "linux"
        else list(range(os.cpu_count() or 1))
    )
    return usable[:threads]
