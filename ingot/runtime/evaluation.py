"""Running a finished program: frames, and what to do when the native call asks for something.

In:  one 64-bit word for each slot: addresses, sizes, scalar bits.
Out: the commands carried out, by one native call in the ordinary case.

All that a run changes lives in its frame, so several runs may be under way at once: in other threads, inside a host
function, inside a signal handler. Frames that are not in use wait in a list.
"""

import ctypes
import functools
import struct
import time
from collections.abc import Callable
from typing import NamedTuple

from ingot.errors import ArgumentError, KernelFault
from ingot.runtime.buffer import Buffer
from ingot.runtime.layout import (
    COMMAND_WORDS,
    FRAME,
    LIMIT_FAULT,
    PATCH_WORDS,
    Status,
)
from ingot.runtime.pool import Pool

__all__ = ["CommandFault", "HostCall", "Layout", "Program"]

_LINE = 64
_NO_FAULT = -1


class CommandFault(KernelFault):
    """A kernel reported `code` while it ran chunk `chunk` of command `command`."""

    def __init__(self, label: str, command: int, code: int, chunk: int) -> None:
        what = (
            "read a size above its limit"
            if code == LIMIT_FAULT
            else f"reported fault {code}"
        )
        super().__init__(
            f"command {command} ({label or 'unnamed'}) {what} in chunk {chunk}"
        )
        self.step = label
        self.command = command
        self.code = code
        self.chunk = chunk


class HostCall(NamedTuple):
    """A Python function, and where in the argument words its arguments stand."""

    function: Callable[..., None]
    start: int
    nargs: int


class Observation(NamedTuple):
    """A run that was watched: nanoseconds by command, values by cell."""

    times: list[int]
    cells: list[int]


class Layout(NamedTuple):
    """Where the regions of a frame begin, in words."""

    slots: int
    cells: int
    commands: int
    args: int
    end: int

    @staticmethod
    def of(slots: int, cells: int, commands: int, args: int) -> "Layout":
        slots_at = FRAME["end"]
        cells_at = slots_at + slots
        commands_at = -(-(cells_at + cells) // COMMAND_WORDS) * COMMAND_WORDS
        args_at = commands_at + COMMAND_WORDS * commands
        return Layout(slots_at, cells_at, commands_at, args_at, args_at + args)


class _Frame:
    """The memory of one run: a copy of the program's words. `fill` writes the values of the slots."""

    __slots__ = ("_anchor", "address", "fill", "scratch", "words")

    def __init__(self, image: bytes, slots_at: int, slots: int) -> None:
        memory = bytearray(len(image) + _LINE)
        self._anchor = (ctypes.c_char * len(memory)).from_buffer(memory)
        start = ctypes.addressof(self._anchor)
        shift = -start % _LINE
        memory[shift : shift + len(image)] = image
        self.address = start + shift
        self.fill = functools.partial(
            struct.Struct(f"={slots}q").pack_into, memory, shift + 8 * slots_at
        )
        self.words = memoryview(memory)[shift : shift + len(image)].cast("q")
        self.scratch: Buffer | None = None


class Program:
    """Commands, ready to run. Made by `ProgramBuilder.finish`."""

    def __init__(
        self,
        pool: Pool,
        layout: Layout,
        words: list[int],
        patches: list[tuple[int, int, int]],
        labels: tuple[str, ...],
        calls: dict[int, HostCall],
        owners: tuple[object, ...],
    ) -> None:
        self.labels = labels
        self.slots = layout.cells - layout.slots
        self._pool = pool
        self._layout = layout
        self._calls = calls
        self._owners = owners
        self._image = _image(pool, layout, words, patches)
        self._execute = pool.execute
        self._idle: list[_Frame] = []

    def run(self, *values: int) -> None:
        """Carries out the commands with these slot values. The caller keeps the memory behind addresses alive."""
        try:
            frame = self._idle.pop()
        except IndexError:
            frame = self._frame()
        try:
            frame.fill(*values)
        except struct.error:
            raise self._bad_values(values) from None
        status = self._execute(frame.address)
        if status:
            self._carry_on(frame, status)
        self._idle.append(frame)

    def profile(self, *values: int) -> list[int]:
        """Runs, and gives the nanoseconds that each command took, waiting included."""
        return self.observe(*values).times

    def observe(self, *values: int) -> "Observation":
        """Runs, and gives the time that each command took and what the cells hold at the end; they begin with 0."""
        frame = self._frame()
        times = (ctypes.c_int64 * len(self.labels))()
        frame.words[FRAME["profile"]] = ctypes.addressof(times)
        frame.fill(*values)
        status = self._execute(frame.address)
        while status:
            command = frame.words[FRAME["pc"]]
            started = time.perf_counter_ns()
            self._answer(frame, status)
            times[command] += time.perf_counter_ns() - started
            status = self._execute(frame.address)
        cells = frame.words[self._layout.cells : self._layout.commands]
        return Observation(list(times), list(cells))

    # --- when the native call wants something ---

    def _carry_on(self, frame: _Frame, status: int) -> None:
        """Python handles signals in each turn of this loop: an interrupted run is dropped with its frame."""
        while status:
            self._answer(frame, status)
            status = self._execute(frame.address)
        if frame.scratch is not None:
            self._give_scratch(frame, None)

    def _answer(self, frame: _Frame, status: int) -> None:
        if status == Status.HOST:
            self._call_host(frame)
        elif status == Status.SCRATCH:
            self._find_scratch(frame)
        elif status == Status.START:
            self._pool.start_workers()
        elif status == Status.FAULT:
            raise self._fault(frame)

    def _call_host(self, frame: _Frame) -> None:
        command = frame.words[FRAME["pc"]]
        call = self._calls[command]
        start = self._layout.args + call.start
        try:
            call.function(*frame.words[start : start + call.nargs])
        except Exception as error:
            # For whoever names the user's line.
            error.__dict__["step"] = self.labels[command]
            raise
        frame.words[FRAME["pc"]] = command + 1

    def _find_scratch(self, frame: _Frame) -> None:
        """The pool's threads have scratch of their own; a run that found the pool taken gets a block for itself."""
        wanted = frame.words[FRAME["wanted_bytes"]]
        if frame.words[FRAME["wanted_shared"]]:
            self._pool.grow_scratch(wanted)
        else:
            self._give_scratch(frame, Buffer.allocate(wanted))

    def _give_scratch(self, frame: _Frame, block: Buffer | None) -> None:
        frame.scratch = block
        frame.words[FRAME["scratch"]] = block.address if block else 0
        frame.words[FRAME["scratch_bytes"]] = block.nbytes if block else 0

    def _fault(self, frame: _Frame) -> CommandFault:
        packed = frame.words[FRAME["fault"]]
        command = frame.words[FRAME["pc"]]
        return CommandFault(
            self.labels[command], command, packed & 0xFFFFFFFF, packed >> 32
        )

    def _bad_values(self, values: tuple[int, ...]) -> ArgumentError:
        wanted = f"{self.slots} signed 64-bit numbers, one for each slot"
        return ArgumentError("run", given=values, wanted=wanted)

    def _frame(self) -> _Frame:
        return _Frame(self._image, self._layout.slots, self.slots)


def _image(
    pool: Pool,
    layout: Layout,
    words: list[int],
    patches: list[tuple[int, int, int]],
) -> bytes:
    """The words of a fresh frame: head, regions, then the patches."""
    words[FRAME["pool"]] = pool.address
    words[FRAME["fresh"]] = 1
    words[FRAME["fault"]] = _NO_FAULT
    words[FRAME["patches"]] = 8 * layout.end
    words[FRAME["patch_count"]] = len(patches)
    words[FRAME["commands"]] = 8 * layout.commands
    rows = [number for patch in patches for number in patch]
    assert len(rows) == PATCH_WORDS * len(patches)
    return struct.pack(f"={len(words) + len(rows)}q", *words, *rows)
