"""Runs the programs: starts the workers, owns the clock, takes turns, checks what came out.

In:  a `Plan`.  Out: `Row`s, in the order of the plan.

Libraries alternate round by round, so that a slow minute of the machine falls on all of them. Only the worker whose
turn it is runs; the others are stopped, because the idle threads of some libraries spin for a long time. A turn is one
batch of calls that takes about `BATCH_SECONDS`; the cost of an empty round trip is measured and taken off.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from enum import Enum
from statistics import median
from time import perf_counter
from typing import Any, Protocol

from ingot.bench.libraries.numpy import OPS as REFERENCE
from ingot.bench.process import LateReply, Process, WorkerDied
from ingot.bench.programs import PROGRAMS, Array, Program, check, reference_of

__all__ = ["Plan", "Row", "Status", "Worker", "run", "run_program", "steps"]

BATCH_SECONDS = 0.02
MOST_CALLS = 100_000
LIMIT_SECONDS = 120.0


class Status(Enum):
    OK = "ok"
    WRONG = "wrong"
    FAILED = "failed"
    LATE = "timed out"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Plan:
    programs: Sequence[str]
    libraries: Sequence[str]
    threads: int
    rounds: int


@dataclass(slots=True)
class Row:
    """One program in one library. `seconds` holds the time of one call, once for each round."""

    program: str
    library: str
    threads: int
    status: Status = Status.OK
    note: str = ""
    version: str = ""
    first: float = 0.0  # the first call, compiling included
    seconds: list[float] = field(default_factory=list)

    def fail(self, status: Status, note: str = "") -> None:
        self.status = status
        self.note = note
        self.seconds = []


class Worker(Protocol):
    """What the rounds need of a process."""

    library: str

    def awake(self) -> AbstractContextManager[None]: ...
    def ask(self, command: tuple[object, ...], limit: float) -> tuple[str, Any]: ...
    def kill(self) -> None: ...


@dataclass(slots=True)
class Entrant:
    """A library in the rounds of one program."""

    worker: Worker
    row: Row
    calls: int = 1
    round_trip: float = 0.0


Tick = Callable[[str], None]


def run(plan: Plan, tick: Tick = lambda what: None) -> Iterator[list[Row]]:
    """The rows of each program in turn. `tick` is told what comes next, `steps(plan)` times; never during a batch."""
    with ExitStack() as stack:
        workers = [
            stack.enter_context(Process(name, plan.threads))
            for name in plan.libraries
        ]
        for name in plan.programs:
            yield run_program(PROGRAMS[name], workers, plan, tick)


def steps(plan: Plan) -> int:
    return len(plan.programs) * (plan.rounds + 1)


def run_program(
    program: Program, workers: Sequence[Worker], plan: Plan, tick: Tick
) -> list[Row]:
    entrants = [
        Entrant(worker, Row(program.name, worker.library, plan.threads))
        for worker in workers
    ]
    tick(f"{program.name}: compile")
    for entrant in entrants:
        _guarded(entrant, lambda one: _prepare(one, program))
    for number in range(plan.rounds):
        tick(f"{program.name}: round {number + 1}")
        for entrant in _rotated(entrants, number):
            _guarded(entrant, _turn)
    want = reference_of(program, REFERENCE[program.op])
    for entrant in entrants:
        _guarded(entrant, lambda one: _check(one, program, want))
    return [entrant.row for entrant in entrants]


def _rotated(entrants: list[Entrant], by: int) -> list[Entrant]:
    """Nobody is always first after the same neighbour."""
    shift = by % len(entrants)
    return entrants[shift:] + entrants[:shift]


class Disqualified(Exception):
    """This row is over: the library cannot do the program, or did it wrongly."""

    def __init__(self, status: Status, note: str = "") -> None:
        super().__init__(note)
        self.status = status


def _guarded(entrant: Entrant, action: Callable[[Entrant], None]) -> None:
    """A row that has failed is out; a worker that hangs or dies costs its own row only."""
    if entrant.row.status is not Status.OK:
        return
    try:
        with entrant.worker.awake():
            action(entrant)
    except Disqualified as reason:
        entrant.row.fail(reason.status, str(reason))
    except WorkerDied as death:
        entrant.row.fail(Status.FAILED, str(death))
    except LateReply as late:
        entrant.worker.kill()
        entrant.row.fail(Status.LATE, str(late))


def _prepare(entrant: Entrant, program: Program) -> None:
    """Inputs, the first call, and how many calls fill a batch."""
    entrant.row.version = _ask(entrant, "prepare", program)
    entrant.row.first = _timed(entrant, 1)
    _timed(entrant, 2)
    entrant.round_trip = median(_timed(entrant, 0) for _ in range(9))
    while entrant.calls < MOST_CALLS:
        seconds = _timed(entrant, entrant.calls) - entrant.round_trip
        if seconds >= BATCH_SECONDS / 2:
            break
        entrant.calls *= 2


def _turn(entrant: Entrant) -> None:
    _timed(
        entrant, max(1, entrant.calls // 4)
    )  # caches, clock and threads as they are in a running program
    seconds = _timed(entrant, entrant.calls) - entrant.round_trip
    entrant.row.seconds.append(seconds / entrant.calls)


def _timed(entrant: Entrant, calls: int) -> float:
    start = perf_counter()
    _ask(entrant, "call", calls)
    return perf_counter() - start


def _check(entrant: Entrant, program: Program, want: Array) -> None:
    problem = check(program, _ask(entrant, "result"), want)
    if problem:
        raise Disqualified(Status.WRONG, problem)


def _ask(entrant: Entrant, *command: object) -> Any:
    status, value = entrant.worker.ask(command, LIMIT_SECONDS)
    if status == "absent":
        raise Disqualified(Status.ABSENT)
    if status == "failed":
        raise Disqualified(Status.FAILED, value)
    return value
