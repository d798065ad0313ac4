"""Memory that Python and the native executor share, and the numbers both must know.

In:  nothing.
Out: word offsets of the blocks (`POOL`, `SEAT`, `SCRATCH`, `FRAME`, `COMMAND`), opcodes (`Op`), results of a native
     call (`Status`). The native code spells an offset `$Pool.ticket`, an opcode `$Op.RUN`; `native_text` fills them in,
     so each is stated once, here. All fields are 64-bit words.
"""

import re
from enum import IntEnum
from pathlib import Path

__all__ = [
    "COMMAND",
    "FRAME",
    "MOST_CPUS",
    "POOL",
    "SCRATCH",
    "SEAT",
    "SYSTEM_CALLS",
    "Op",
    "Status",
    "native_text",
]

MOST_CPUS = 1024
_MASK_WORDS = MOST_CPUS // 64
_LINE_WORDS = 8


def lines(*groups: str) -> dict[str, int]:
    """Fields to word offsets. Each group starts a cache line of its own, so that threads do not share by accident."""
    offsets = {}
    word = 0
    for group in groups:
        for field in group.split():
            name, _, length = field.partition(":")
            offsets[name] = word
            word += int(length or 1)
        word = -(-word // _LINE_WORDS) * _LINE_WORDS
    offsets["end"] = word
    return offsets


# One a process (more in tests). Who may write: the first group everybody, by compare-and-swap; the second the owner of
# the pool while no chunk can be claimed; the rest as said.
POOL = lines(
    "ticket",  # epoch << 32 | chunks that nobody has claimed
    "kernel args chunks scratch fault float_mode",  # the published command
    "done awaited",  # chunks finished; how many the sleeping owner waits for, or 0
    "bell sleepers stop",  # futex that parked workers wait on; how many; tells them to end
    "owner workers startable",  # the frame that has the pool; threads that run; 1 if they are yet to be started
    "caller_cpu placed_at debt_ns last_alone",  # where the owner was seen, when; work that was not worth waking for
    "spin_ns join_ns wake_ns solo_ns slice_ns",  # tuning
    "scratch_now cpus",  # the newest scratch table; how many CPUs are in `allowed`
    "syscall clock_gettime sched_getcpu",  # the C library
    f"allowed:{_MASK_WORDS}",  # CPUs of the process
    f"mask:{_MASK_WORDS}",  # CPUs of the workers: `allowed` without the caller's
)

# One a worker thread, after the pool's own words.
SEAT = lines("pool number tid")

# Bytes of scratch that each thread has, then one pointer a thread.
SCRATCH = lines("nbytes blocks")

# The head of one evaluation's memory; slots, patches, commands and arguments follow.
FRAME = lines(
    "pool fresh pc chunk deadline patches patch_count commands",
    "fault",  # chunk << 32 | code of the lowest faulting chunk, or -1: workers write here
    "scratch scratch_bytes wanted_bytes wanted_shared profile stamp",
)

PATCH = lines(
    "to slot addend"
)  # words[to] = words[slot] + addend, when an evaluation begins
PATCH_WORDS = 3

COMMAND_WORDS = 8
COMMAND = {
    "op": 0,
    "kernel": 1,  # RUN
    "args": 2,
    "chunks": 3,
    "scratch": 4,
    "cost": 5,  # RUN, COPY: estimated ns of this command on one thread
    "tail": 6,  # of this command and all that follow
    "to": 1,  # COPY: addresses; others: a word of the frame
    "source": 2,
    "nbytes": 3,
    "memcpy": 7,
    "limit": 4,
    "target": 2,  # BRANCH, JUMP: a command
}


class Op(IntEnum):
    """What a command does. `words` are those of the frame, by offset."""

    STOP = 0
    RUN = 1  # kernel(args, chunk, scratch) for each chunk
    COPY = 2  # memory to memory
    READ = 3  # words[to] = the nbytes at address source; a fault above limit
    MOVE = 4  # words[to] = ceil(words[source] / nbytes)
    SET = 5  # words[to] = source
    ADD = 6  # words[to] += source
    BRANCH_ZERO = 7  # to command target if words[to] == 0
    BRANCH_NONZERO = 8
    JUMP = 9
    HOST = 10  # back to Python, which calls a function and comes back
    CHECK = 11  # a fault if the word at address source is not 0


class Status(IntEnum):
    """Why the native call returned. All but DONE and FAULT mean: do it, then call again."""

    DONE = 0
    SLICE_OVER = 1  # let Python handle signals
    HOST = 2
    SCRATCH = 3  # allocate wanted_bytes
    START = 4  # start the workers
    FAULT = 5


LIMIT_FAULT = 0x7FFF0001  # a READ above its limit

# System calls by machine, as the kernel numbers them.
SYSTEM_CALLS = {
    "x86_64": {"futex": 202, "gettid": 186, "sched_setaffinity": 203},
    "aarch64": {"futex": 98, "gettid": 178, "sched_setaffinity": 122},
}

_NATIVE = Path(__file__).parent / "native"
_FILES = ("pool", "executor")


def native_text(machine: str) -> str:
    """The executor's module as LLVM IR for a machine, with every `$Table.name` filled in."""
    names = (machine, *_FILES)
    text = "\n".join((_NATIVE / f"{name}.ll").read_text() for name in names)
    tables = _tables(machine)
    return re.sub(
        r"\$(\w+)\.(\w+)", lambda found: str(tables[found[1]][found[2]]), text
    )


def _tables(machine: str) -> dict[str, dict[str, int]]:
    blocks = {
        "Pool": POOL,
        "Seat": SEAT,
        "Scratch": SCRATCH,
        "Frame": FRAME,
        "Patch": PATCH,
        "Command": COMMAND,
    }
    tables = {
        name: {field: 8 * word for field, word in block.items()}
        for name, block in blocks.items()
    }
    tables["Op"] = {op.name: op.value for op in Op}
    tables["Status"] = {status.name: status.value for status in Status}
    tables["Sys"] = SYSTEM_CALLS[machine]
    tables["Fault"] = {"limit": LIMIT_FAULT}
    tables["Size"] = {
        "command": 8 * COMMAND_WORDS,
        "patch": 8 * PATCH_WORDS,
        "mask": MOST_CPUS // 8,
    }
    return tables
