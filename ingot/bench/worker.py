"""The process in which one library runs: `python -m ingot.bench.worker LIBRARY FD CPU,CPU...`

In:  commands on an inherited pipe.  Out: one reply each.  It has no clock: the parent times from command to reply.

    ("prepare", program)   make the inputs                       -> ("ok", library's version) | ("absent", "")
    ("call", n)            run the program n times               -> ("ok", "")
    ("result",)            the array that the last call gave     -> ("ok", array)
    anything that raises                                         -> ("failed", "Type: message")
"""

import os
import sys
from collections.abc import Callable
from itertools import repeat
from multiprocessing.connection import Connection
from typing import Any

from ingot.bench.libraries import LIBRARIES, Library
from ingot.bench.programs import Program, inputs_of

Reply = tuple[str, Any]


class Bench:
    """One library and the program that it is set up for."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.call: Callable[[], Any] | None = None
        self.last: Any = None

    def prepare(self, program: Program) -> Reply:
        self.call = self.last = None
        function = self.library.ops.get(program.op)
        if function is None:
            return "absent", ""
        put = self.library.put
        self.call = bound(
            function,
            [put(array) for array in inputs_of(program)],
            self.library.wait,
        )
        return "ok", self.library.version

    def run(self, times: int) -> Reply:
        assert self.call is not None, "prepare comes first"
        call = self.call
        for _ in repeat(None, times):
            self.last = call()
        return "ok", ""

    def result(self) -> Reply:
        return "ok", self.library.get(self.last)


def bound(
    function: Callable[..., Any],
    inputs: list[Any],
    wait: Callable[[Any], Any] | None,
) -> Callable[[], Any]:
    """One call with nothing around it that would count in a program of a microsecond."""
    if wait is None:
        return lambda: function(*inputs)

    def call() -> Any:
        result = function(*inputs)
        wait(result)
        return result

    return call


def answer(bench: Bench, command: tuple[Any, ...]) -> Reply:
    actions: dict[str, Callable[..., Reply]] = {
        "prepare": bench.prepare,
        "call": bench.run,
        "result": bench.result,
    }
    try:
        return actions[command[0]](*command[1:])
    except Exception as error:  # noqa: BLE001 - whatever a library raises is that row's result, not our failure
        return "failed", f"{type(error).__name__}: {error}"


def pin(cpus: set[int]) -> None:
    """Before the library is loaded: its threads inherit it, and it counts its CPUs by it."""
    if sys.platform == "linux":
        os.sched_setaffinity(0, cpus)


def main(name: str, handle: str, cpus: str) -> None:
    pin({int(cpu) for cpu in cpus.split(",")})
    connection = Connection(int(handle))
    bench = Bench(LIBRARIES[name].load())
    connection.send(("ok", bench.library.version))
    while True:
        try:
            command = connection.recv()
        except EOFError:  # the parent is done
            return
        connection.send(answer(bench, command))


if __name__ == "__main__":
    main(*sys.argv[1:])
