"""Scenarios that need a process of their own: `python -m tests.runtime.child SCENARIO CACHE_DIRECTORY`.

Each ends with status 0 and the line `ok`, or with an exception. Tests start them, and stop, interrupt or kill them.
"""

import faulthandler
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ingot.runtime.buffer import Buffer
from ingot.runtime.cache import ObjectCache
from ingot.runtime.library import Library
from ingot.runtime.pool import Pool, Tuning
from ingot.runtime.program import Program, ProgramBuilder
from ingot.target import host
from tests.runtime.kernels import PLAIN, PLAIN_KEY

CHUNKS, FEW = 64, 3
WATCHDOG = 150  # seconds, after which a scenario has hung
EAGER = Tuning(wake_ns=0, solo_ns=0)


class Bench:
    """A program that counts: in each of `regions` turns, 64 chunks of `turns` work and 3 chunks of another count."""

    def __init__(
        self, threads: int, regions: int, turns: int, tuning: Tuning = EAGER
    ) -> None:
        self.library = Library(ObjectCache(Path(sys.argv[2]), 1 << 28), host())
        self.pool = Pool(threads, self.library, tuning)
        self.regions = regions
        self.counts = np.zeros(CHUNKS + FEW, np.int64)
        self.program = self.counting(turns)
        self.runs = 0

    def counting(self, turns: int) -> Program:
        kernel = self.library.functions(PLAIN_KEY, lambda: PLAIN)["mark"]
        builder = ProgramBuilder()
        counts = builder.slot()
        left, top = builder.cell(), builder.label()
        builder.set(left, self.regions)
        builder.place(top)
        builder.run(kernel, [counts, turns], chunks=CHUNKS)
        builder.run(kernel, [counts + 8 * CHUNKS, 1], chunks=FEW)
        builder.add(left, -1)
        builder.branch_if_nonzero(left, top)
        return builder.finish(self.pool)

    def run(self) -> None:
        self.program.run(Buffer.from_array(self.counts).address)
        self.runs += 1

    def check(self) -> None:
        expected = self.runs * self.regions
        assert (self.counts == expected).all(), (
            f"{self.counts.tolist()} instead of {expected} each"
        )


def stress() -> None:
    """Four threads on two CPUs, every chunk of 20,000 regions exactly once."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    bench = Bench(threads=4, regions=500, turns=30)
    for _ in range(40):
        bench.run()
    bench.check()


def parking() -> None:
    """Threads that never spin: every region meets workers that fall asleep or wake up, and a caller that sleeps."""
    bench = Bench(
        threads=4,
        regions=50,
        turns=200,
        tuning=EAGER._replace(spin_ns=0, join_ns=0),
    )
    for _ in range(40):
        bench.run()
        time.sleep(0.001)
    bench.check()


def stopped() -> None:
    """Says how far it is, so that the parent can stop and continue it in the middle."""
    bench = Bench(threads=4, regions=200, turns=300)
    end = time.monotonic() + 3.0
    print("ready", flush=True)
    while time.monotonic() < end:
        bench.run()
    bench.check()


def interrupted() -> None:
    """Evaluates for a minute unless Ctrl-C ends it."""
    bench = Bench(threads=2, regions=10_000, turns=100_000)
    warm = Bench(threads=2, regions=1, turns=1)
    warm.run()
    print("ready", flush=True)
    try:
        bench.run()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    warm.run()
    bench.counts[:] = 0
    bench.pool.close()


def handler_evaluates() -> None:
    """A signal handler that evaluates, while an evaluation of the same program is under way."""
    outer = Bench(threads=2, regions=300, turns=20_000)
    inner = Bench(threads=2, regions=3, turns=100)
    inner.pool = outer.pool
    inner.program = inner.counting(turns=100)
    signal.signal(signal.SIGALRM, lambda *_: inner.run())
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    outer.run()
    signal.setitimer(signal.ITIMER_REAL, 0)
    outer.check()
    inner.check()
    assert inner.runs > 1


def in_a_child(work: Callable[[], None]) -> None:
    """Forks; the child works and ends without the parent's exit handlers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        signal.alarm(WATCHDOG)
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"the child ended with status {status}"


def forked() -> None:
    """A child has its own pool, whatever the parent's was doing; its children too."""
    bench = Bench(threads=3, regions=20, turns=100)

    def work() -> None:
        bench.run()
        bench.check()

    def work_in_child() -> None:
        work()
        assert_threads(3)

    in_a_child(work_in_child)
    work()
    in_a_child(work_in_child)
    in_a_child(lambda: in_a_child(work_in_child))
    work()


def assert_threads(count: int) -> None:
    """In a child, which begins with one. The pool's memory could say anything; the system knows."""
    found = len(os.listdir("/proc/self/task"))
    assert found == count, f"{found} threads instead of {count}"


def forked_while_evaluating() -> None:
    """The child of a process whose pool is in use by another thread."""
    busy = Bench(threads=3, regions=50, turns=300)
    bench = Bench(threads=3, regions=50, turns=300)
    bench.pool = busy.pool
    bench.program = bench.counting(turns=300)
    ending = threading.Event()

    def evaluate() -> None:
        while not ending.is_set():
            busy.run()

    def work_in_child() -> None:
        bench.run()
        bench.check()
        assert_threads(3)

    thread = threading.Thread(target=evaluate)
    thread.start()
    for _ in range(15):
        in_a_child(work_in_child)
    ending.set()
    thread.join()
    busy.check()
    bench.run()
    bench.check()


def square_sum(chunks: int) -> int:
    bench = Bench(threads=2, regions=chunks, turns=10)
    bench.run()
    bench.check()
    return int(bench.counts.sum())


def multiprocess() -> None:
    """Workers of multiprocessing, started in each way, with a pool already alive in the parent."""
    square_sum(3)
    for method in ("fork", "spawn"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            with multiprocessing.get_context(method).Pool(3) as processes:
                assert processes.map(square_sum, [1, 2, 3, 4]) == [
                    (CHUNKS + FEW) * n for n in (1, 2, 3, 4)
                ]


def exit_parked() -> None:
    Bench(threads=4, regions=10, turns=100).run()
    time.sleep(0.01)


def exit_spinning() -> None:
    Bench(
        threads=4, regions=10, turns=100, tuning=EAGER._replace(spin_ns=10**10)
    ).run()


def exit_evaluating() -> None:
    """The interpreter ends while daemon threads evaluate."""
    bench = Bench(threads=3, regions=10**6, turns=1000)
    for _ in range(2):
        threading.Thread(target=bench.run, daemon=True).start()
    time.sleep(0.03)


def exit_mid_command() -> None:
    bench = Bench(threads=2, regions=10**6, turns=1000)
    threading.Thread(target=bench.run, daemon=True).start()
    time.sleep(0.03)
    print("ok", flush=True)
    os._exit(0)


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        stress,
        parking,
        stopped,
        interrupted,
        handler_evaluates,
        forked,
        forked_while_evaluating,
        multiprocess,
        exit_parked,
        exit_spinning,
        exit_evaluating,
        exit_mid_command,
    )
}

if __name__ == "__main__":
    faulthandler.enable()
    faulthandler.dump_traceback_later(WATCHDOG, exit=True)
    SCENARIOS[sys.argv[1]]()
    print("ok", flush=True)
