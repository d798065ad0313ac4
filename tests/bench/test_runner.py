"""The rounds: turns, clock, verdicts on rows that go wrong; and real processes that are stopped, killed, orphaned."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingot.bench.process import LateReply, Process, WorkerDied, cpus_for
from ingot.bench.programs import PROGRAMS, inputs_of
from ingot.bench.runner import Plan, Row, Status, run, run_program, steps

ADD = PROGRAMS["tiny_add"]


class Actor:
    """A worker that follows a script instead of running a library."""

    def __init__(self, library: str, log: list[str], fault: str = "") -> None:
        self.library = library
        self.log = log
        self.fault = fault
        self.killed = False

    @contextmanager
    def awake(self) -> Iterator[None]:
        yield

    def kill(self) -> None:
        self.killed = True

    def ask(self, command: tuple[object, ...], limit: float) -> tuple[str, Any]:
        what = str(command[0])
        self.log.append(f"{self.library} {what}")
        if self.fault.startswith(what):
            return self._misbehave(self.fault.split()[1])
        if what == "call" and command[1]:
            time.sleep(0.011)
        return "ok", sum(inputs_of(ADD)) if what == "result" else "1.0"

    def _misbehave(self, how: str) -> tuple[str, Any]:
        if how == "dies":
            raise WorkerDied("gone")
        if how == "hangs":
            raise LateReply("no answer")
        if how == "lies":
            return "ok", np.zeros(8, np.float32)
        return how, "ValueError: no"


def rows_of(*workers: Actor, rounds: int = 3) -> list[Row]:
    plan = Plan(
        [ADD.name], [worker.library for worker in workers], threads=1, rounds=rounds
    )
    return run_program(ADD, workers, plan, lambda what: None)


def test_libraries_take_turns() -> None:
    log: list[str] = []
    rows_of(Actor("a", log), Actor("b", log))
    calls = [line.split()[0] for line in log if line.endswith("call")]
    turns = [
        name
        for name, before in zip(calls, ["", *calls], strict=False)
        if name != before
    ]
    assert turns == [
        "a",
        "b",
        "a",
        "b",
        "a",
        "b",
    ]  # prepare; then rounds that start with a, b, a
    assert [line for line in log if line.endswith("result")] == [
        "a result",
        "b result",
    ]


@pytest.mark.parametrize(
    ("fault", "status", "killed"),
    [
        ("prepare absent", Status.ABSENT, False),
        ("prepare failed", Status.FAILED, False),
        ("call failed", Status.FAILED, False),
        ("call dies", Status.FAILED, False),
        ("call hangs", Status.LATE, True),
        ("result lies", Status.WRONG, False),
    ],
)
def test_a_bad_row_costs_itself_only(
    fault: str, status: Status, killed: bool
) -> None:
    log: list[str] = []
    bad = Actor("bad", log, fault)
    good_row, bad_row = rows_of(Actor("good", log), bad)
    assert (good_row.status, len(good_row.seconds)) == (Status.OK, 3)
    assert (bad_row.status, bad_row.seconds) == (status, [])
    assert bad.killed is killed


def test_a_failed_row_is_not_asked_again() -> None:
    log: list[str] = []
    rows_of(Actor("bad", log, "prepare failed"))
    assert log == ["bad prepare"]


def test_ticks_add_up() -> None:
    ticks: list[str] = []
    plan = Plan(["tiny_add"], ["numpy"], threads=1, rounds=2)
    (rows,) = run(plan, ticks.append)
    assert len(ticks) == steps(plan) == 3
    assert (rows[0].status, rows[0].version) == (Status.OK, np.__version__)
    assert all(1e-8 < seconds < 1e-3 for seconds in rows[0].seconds)
    assert len(rows[0].seconds) == 2


# --- real processes ---


def state_of(pid: int) -> str:
    stat = Path(f"/proc/{pid}/stat")
    return (
        stat.read_text().rsplit(")", 1)[1].split()[0] if stat.exists() else "gone"
    )


def wait_for(pid: int, states: str, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if state_of(pid) in states.split():
            return True
        time.sleep(0.01)
    return False


linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@linux
def test_a_worker_stands_still_between_turns_and_ends_with_its_context() -> None:
    with Process("numpy", 1) as worker:
        with worker.awake():
            assert worker.ask(("prepare", ADD), 30)[0] == "ok"
            pid = worker.pid
            assert os.sched_getaffinity(pid) == set(cpus_for(1))
        assert wait_for(pid, "T t")
        with worker.awake():
            assert worker.ask(("call", 3), 30) == ("ok", "")
    assert state_of(pid) == "gone"


def test_a_late_worker_is_replaced() -> None:
    with Process("numpy", 1) as worker:
        with worker.awake():
            worker.ask(("prepare", PROGRAMS["gemm256"]), 30)
            with pytest.raises(LateReply):
                worker.ask(("call", 1_000_000), 0.05)
            worker.kill()
        with worker.awake():
            assert worker.ask(("prepare", ADD), 30)[0] == "ok"


def test_a_killed_worker_is_reported() -> None:
    with Process("numpy", 1) as worker, worker.awake():
        worker.ask(("prepare", ADD), 30)
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(WorkerDied, match="status -9"):
            worker.ask(("call", 1), 30)


def test_a_worker_that_cannot_start_is_quoted() -> None:
    with Process("no_such_library", 1) as worker:
        with (
            pytest.raises(
                WorkerDied, match="status 1: KeyError: 'no_such_library'"
            ),
            worker.awake(),
        ):
            pass


def test_what_a_library_raises_is_its_result() -> None:
    with Process("numpy", 1) as worker, worker.awake():
        worker.ask(("prepare", replace(ADD, shapes=((2,), (3,)))), 30)
        status, note = worker.ask(("call", 1), 30)
        assert status == "failed"
        assert note.startswith("ValueError: operands could not be broadcast")
        assert worker.ask(("prepare", replace(ADD, op="fly")), 30) == ("absent", "")


@linux
def test_a_stopped_worker_does_not_outlive_a_killed_parent() -> None:
    program = """
import time
from ingot.bench.process import Process
with Process("numpy", 1) as worker:
    with worker.awake():
        pass
    print(worker.pid, flush=True)
    time.sleep(60)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert wait_for(pid, "T t")
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert wait_for(pid, "gone Z")
