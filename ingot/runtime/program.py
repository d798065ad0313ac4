"""Writes a program: a list of commands with their operands, laid out as the words of a frame.

In:  calls in order of execution: `run` a kernel, `copy`, `host` function, and control (`read`, `set`, `branch` ...).
Out: a `Program` that can be run many times; `finish` resolves every reference to an offset in the frame.

Operands are numbers (fixed), slots (given anew at every run) or cells (variables that commands change).
"""

import struct
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from ingot.errors import ArgumentError
from ingot.runtime.evaluation import CommandFault, HostCall, Layout, Program
from ingot.runtime.layout import COMMAND, COMMAND_WORDS, Op
from ingot.runtime.pool import Pool, libc_address

__all__ = [
    "Cell",
    "CommandFault",
    "Label",
    "Operand",
    "Program",
    "ProgramBuilder",
    "Slot",
    "float32_word",
    "float64_word",
    "signed",
]

_UNKNOWN_CHUNK_NS = 10_000  # assumed for a chunk of a kernel without an estimate
_UNKNOWN_NS = 200_000  # and for a command whose size only a run knows
_LOOP_TURNS = 8  # assumed for a loop: deciding whether threads pay needs only the order of magnitude
_ADDRESS_LIMIT = 1 << 62


class Slot:
    """A word that each run gives; `slot + 64` is that word plus 64."""

    __slots__ = ("addend", "number")

    def __init__(self, number: int, addend: int = 0) -> None:
        self.number = number
        self.addend = addend

    def __add__(self, addend: int) -> "Slot":
        return Slot(self.number, self.addend + addend)


class Cell(NamedTuple):
    """A variable of the program. It keeps its value between runs: set it first."""

    number: int


class Label:
    """A place in the program to branch to."""

    __slots__ = ("command",)

    def __init__(self) -> None:
        self.command: int | None = None


class _Offset(NamedTuple):
    """The position of a word of the frame, counted within its region."""

    region: str
    word: int


Operand = int | Slot | Cell
_Entry = int | Slot | _Offset | Label


class _Command(NamedTuple):
    label: str
    cost: int
    entries: dict[str, _Entry]


class ProgramBuilder:
    """Collects commands; `finish` makes the program."""

    def __init__(self) -> None:
        self._commands: list[_Command] = []
        self._args: list[_Entry] = []
        self._slots = 0
        self._cells = 0
        self._calls: dict[int, HostCall] = {}
        self._owners: list[object] = []

    # --- names ---

    def slot(self) -> Slot:
        self._slots += 1
        return Slot(self._slots - 1)

    def cell(self) -> Cell:
        self._cells += 1
        return Cell(self._cells - 1)

    def label(self) -> Label:
        return Label()

    def place(self, label: Label) -> None:
        """The label stands for the next command."""
        if label.command is not None:
            raise ArgumentError(
                "a label is placed once",
                given=f"a second place, command {len(self._commands)}",
            )
        label.command = len(self._commands)

    def keep(self, owner: object) -> None:
        """Keeps an object alive as long as the program: the owner of memory that a fixed operand points to."""
        self._owners.append(owner)

    # --- work ---

    def run(
        self,
        kernel: int,
        args: Sequence[Operand],
        *,
        chunks: Operand = 1,
        scratch: Operand = 0,
        cost_ns: int | None = None,
        label: str = "",
    ) -> int:
        """`kernel(args, chunk, scratch)` for each chunk, in any order, on any thread. Gives the command's index.

        `cost_ns` estimates the whole command on one thread; it decides how many threads are worth waking.
        """
        if cost_ns is None:
            cost_ns = (
                _UNKNOWN_CHUNK_NS * chunks
                if isinstance(chunks, int)
                else _UNKNOWN_NS
            )
        start = self._arguments(args)
        fields = {"chunks": chunks, "scratch": scratch}
        return self._emit(
            Op.RUN, label, cost_ns, {"kernel": kernel, "args": start}, fields
        )

    def copy(
        self, to: Operand, source: Operand, nbytes: Operand, *, label: str = "copy"
    ) -> int:
        """Memory to memory; the two may not overlap."""
        cost = nbytes // 8 if isinstance(nbytes, int) else _UNKNOWN_NS
        operands = {"to": to, "source": source, "nbytes": nbytes}
        return self._emit(
            Op.COPY, label, cost, {"memcpy": libc_address("memcpy")}, operands
        )

    def host(
        self,
        function: Callable[..., None],
        args: Sequence[Operand] = (),
        *,
        label: str = "host",
    ) -> int:
        """Calls a Python function with the words of `args`. What it raises, `run` raises."""
        start = self._arguments(args)
        index = self._emit(Op.HOST, label, 0, {})
        self._calls[index] = HostCall(function, start.word, len(args))
        return index

    def check(self, address: Operand, *, label: str = "check") -> int:
        """A fault if the 64-bit word at the address is not 0; its value is the fault's code."""
        return self._emit(Op.CHECK, label, 0, {}, {"source": address})

    # --- variables and control ---

    def read(
        self,
        cell: Cell,
        address: Operand,
        *,
        nbytes: int = 8,
        limit: int = _ADDRESS_LIMIT,
    ) -> int:
        """cell = the unsigned number of 1, 4 or 8 bytes at the address; above `limit` it is a fault."""
        if nbytes not in (1, 4, 8):
            raise ArgumentError(
                "read", given=f"nbytes={nbytes}", wanted="1, 4 or 8"
            )
        fixed: dict[str, _Entry] = {
            "to": _of(cell),
            "nbytes": nbytes,
            "limit": limit,
        }
        return self._emit(Op.READ, "read", 0, fixed, {"source": address})

    def set(self, cell: Cell, value: Operand) -> int:
        if isinstance(value, Cell):
            return self.divide(cell, value, 1)
        return self._emit(Op.SET, "set", 0, {"to": _of(cell), "source": value})

    def add(self, cell: Cell, amount: int) -> int:
        return self._emit(Op.ADD, "add", 0, {"to": _of(cell), "source": amount})

    def divide(self, cell: Cell, source: Cell, by: int) -> int:
        """cell = ceil(source / by), for `by` of at least 1: a size to a number of chunks."""
        if by < 1:
            raise ArgumentError("divide", given=f"by={by}", wanted="at least 1")
        return self._emit(
            Op.MOVE,
            "divide",
            0,
            {"to": _of(cell), "source": _of(source), "nbytes": by},
        )

    def branch_if_zero(self, cell: Cell, label: Label) -> int:
        return self._emit(
            Op.BRANCH_ZERO, "branch", 0, {"to": _of(cell), "target": label}
        )

    def branch_if_nonzero(self, cell: Cell, label: Label) -> int:
        return self._emit(
            Op.BRANCH_NONZERO, "branch", 0, {"to": _of(cell), "target": label}
        )

    def jump(self, label: Label) -> int:
        return self._emit(Op.JUMP, "jump", 0, {"target": label})

    def stop(self) -> int:
        """Ends the run here; the end of the program does so too."""
        return self._emit(Op.STOP, "stop", 0, {})

    def finish(self, pool: Pool) -> Program:
        """The program. The builder may go on and be finished again."""
        commands = [*self._commands, _Command("stop", 0, {"op": Op.STOP})]
        starts = Layout.of(self._slots, self._cells, len(commands), len(self._args))
        resolver = _Resolver(starts)
        first = starts.commands
        for command, tail in zip(commands, _tails(commands), strict=True):
            resolver.place(first + COMMAND["tail"], tail)
            for name, entry in command.entries.items():
                resolver.place(first + COMMAND[name], entry)
            first += COMMAND_WORDS
        for index, entry in enumerate(self._args, starts.args):
            resolver.place(index, entry)
        labels = tuple(command.label for command in commands)
        return Program(
            pool,
            starts,
            resolver.words,
            resolver.patches,
            labels,
            dict(self._calls),
            tuple(self._owners),
        )

    # --- laying out ---

    def _arguments(self, args: Sequence[Operand]) -> _Offset:
        """Appends an argument block; cells are copied into it by commands just before it is used."""
        start = len(self._args)
        self._args.extend(0 if isinstance(arg, Cell) else arg for arg in args)
        for index, arg in enumerate(args):
            if isinstance(arg, Cell):
                self._refresh(_Offset("args", start + index), arg)
        return _Offset("args", start)

    def _emit(
        self,
        op: Op,
        label: str,
        cost: int,
        fixed: dict[str, _Entry],
        operands: dict[str, Operand] | None = None,
    ) -> int:
        """Appends a command. Operands that are cells are copied into its words by commands just before it."""
        entries: dict[str, _Entry] = {"op": op, "cost": cost, **fixed}
        cells: dict[str, Cell] = {}
        for name, value in (operands or {}).items():
            if isinstance(value, Cell):
                cells[name] = value
            else:
                entries[name] = value
        index = len(self._commands) + len(cells)
        for name, cell in cells.items():
            self._refresh(
                _Offset("commands", COMMAND_WORDS * index + COMMAND[name]), cell
            )
        self._commands.append(_Command(label, cost, entries))
        return index

    def _refresh(self, to: _Offset, cell: Cell) -> None:
        entries: dict[str, _Entry] = {
            "op": Op.MOVE,
            "to": to,
            "source": _of(cell),
            "nbytes": 1,
        }
        self._commands.append(_Command("move", 0, entries))


def _of(cell: Cell) -> _Offset:
    return _Offset("cells", cell.number)


def _tails(commands: list[_Command]) -> list[int]:
    """For each command, the work of itself and of what follows; commands in a loop are expected to come again."""
    costs = [command.cost for command in commands]
    tails = list(accumulate(reversed(costs)))[::-1]
    for end, command in enumerate(commands):
        target = command.entries.get("target")
        start = target.command if isinstance(target, Label) else None
        if start is None or start > end:
            continue
        turns = _LOOP_TURNS * sum(costs[start : end + 1])
        for index in range(start, end + 1):
            tails[index] += turns
    return tails


class _Resolver:
    """Entries to words, and to the patches that fill in slots."""

    def __init__(self, starts: Layout) -> None:
        self._starts = starts
        self.words = [0] * starts.end
        self.patches: list[tuple[int, int, int]] = []

    def place(self, word: int, entry: _Entry) -> None:
        if isinstance(entry, int):
            self.words[word] = entry if -1 < entry < 1 << 63 else signed(entry)
        elif isinstance(entry, Slot):
            self.patches.append(
                (8 * word, 8 * (self._starts.slots + entry.number), entry.addend)
            )
        else:
            self.words[word] = self._value(entry)

    def _value(self, entry: _Offset | Label) -> int:
        if isinstance(entry, _Offset):
            start: int = getattr(self._starts, entry.region)
            return 8 * (start + entry.word)
        if entry.command is None:
            raise ArgumentError(
                "a branch needs a placed label",
                fix="call place(label) where it should lead",
            )
        return entry.command


def float64_word(value: float) -> int:
    """The bits of a float64 as a word."""
    (word,) = struct.unpack("=q", struct.pack("=d", value))
    return int(word)


def float32_word(value: float) -> int:
    """The bits of a float32, zero-extended, as a word."""
    (word,) = struct.unpack("=I", struct.pack("=f", value))
    return int(word)


def signed(word: int) -> int:
    """A 64-bit pattern as the signed number that a frame holds."""
    if not -(1 << 63) <= word < 1 << 64:
        raise ArgumentError("a word has 64 bits", given=word)
    return word - (1 << 64) if word >> 63 > 0 else word
