"""What a target can do and what it costs, as data: rows to choose tiles by, no behaviour.

In:  the kernel's description of this machine (/proc/cpuinfo, /sys), read once; no compiler is asked.
Out: `host()` (a `Target`), the row `SM90A` (a `GpuTarget`), and `Costs`: the prices that the scheduler compares.
     Defaults for `Costs` are rough; `save_costs` keeps measured ones beside the compiled kernels, one file a CPU model.
"""

import json
import os
import re
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path

from ingot.errors import CacheWarning
from ingot.settings import usable_cpus

__all__ = [
    "AARCH64",
    "SM90A",
    "X86_LEVELS",
    "Costs",
    "GpuTarget",
    "Target",
    "costs_file",
    "host",
    "load_costs",
    "save_costs",
]


@dataclass(frozen=True, slots=True)
class Target:
    """A CPU. `triple`, `cpu` and `features` say which code it runs; the rest says which code is good."""

    name: str
    triple: str
    cpu: str  # LLVM's name
    features: tuple[str, ...]  # LLVM's names, beyond those that `cpu` implies
    vector_bytes: int
    registers: int  # vector registers
    fma: bool
    masked: bool  # loads and stores under a lane mask are as fast as plain ones
    fma_ports: int = 2
    l1: int = 32 << 10
    l2: int = 1 << 20
    l3: int = 8 << 20
    line: int = 64
    cores: int = 1
    model: str = "unknown"  # what the machine calls itself; keys measured costs, never generated code

    def key(self) -> str:
        """What decides which instructions may be generated."""
        return ";".join((self.triple, self.cpu, *self.features))

    def lanes(self, itemsize: int) -> int:
        """Elements of `itemsize` bytes in one vector register."""
        return self.vector_bytes // itemsize


@dataclass(frozen=True, slots=True)
class GpuTarget:
    """A GPU. Sizes are bytes; `sm` is one multiprocessor."""

    name: str
    arch: str  # as the CUDA compilers spell it
    warp: int
    block_threads: int  # most threads in a block
    sm_threads: int
    sm_blocks: int
    sm_registers: int  # 32-bit registers
    thread_registers: int
    shared_static: int  # shared memory a block has without asking
    shared_block: int  # with asking
    shared_sm: int
    vector_bytes: int  # widest load or store of one thread
    line: int
    l2: int
    sms: int
    memory: int

    def key(self) -> str:
        return f"cuda;{self.arch}"


_LINUX = "unknown-linux-gnu"  # ELF objects for our own loader, whatever the host system is


def _x86(
    name: str, vector_bytes: int, registers: int, fma: bool, masked: bool
) -> Target:
    return Target(
        name, f"x86_64-{_LINUX}", name, (), vector_bytes, registers, fma, masked
    )


# The psABI levels, best first, each with the /proc/cpuinfo flags that a CPU must show to be one.
X86_LEVELS = (
    _x86("x86-64-v4", vector_bytes=64, registers=32, fma=True, masked=True),
    _x86("x86-64-v3", vector_bytes=32, registers=16, fma=True, masked=False),
    _x86("x86-64-v2", vector_bytes=16, registers=16, fma=False, masked=False),
    _x86("x86-64", vector_bytes=16, registers=16, fma=False, masked=False),
)
_V2_FLAGS = frozenset("cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3".split())
_V3_FLAGS = _V2_FLAGS | frozenset(
    "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave".split()
)
_V4_FLAGS = _V3_FLAGS | frozenset(
    "avx512f avx512bw avx512cd avx512dq avx512vl".split()
)
_LEVEL_FLAGS = {
    "x86-64-v4": _V4_FLAGS,
    "x86-64-v3": _V3_FLAGS,
    "x86-64-v2": _V2_FLAGS,
    "x86-64": frozenset[str](),
}

AARCH64 = Target(
    "aarch64",
    f"aarch64-{_LINUX}",
    "generic",
    (),
    vector_bytes=16,
    registers=32,
    fma=True,
    masked=False,
)

# Extensions beyond the level that kernels may use: /proc/cpuinfo's name -> LLVM's name.
_X86_EXTENSIONS = {
    "avx_vnni": "avxvnni",
    "avx512_vnni": "avx512vnni",
    "avx512_bf16": "avx512bf16",
    "avx512_fp16": "avx512fp16",
    "amx_bf16": "amx-bf16",
    "amx_int8": "amx-int8",
    "amx_tile": "amx-tile",
}
_AARCH64_EXTENSIONS = {
    "asimdhp": "fullfp16",
    "asimddp": "dotprod",
    "bf16": "bf16",
    "i8mm": "i8mm",
}

SM90A = GpuTarget(
    name="sm_90a",
    arch="sm_90a",
    warp=32,
    block_threads=1024,
    sm_threads=2048,
    sm_blocks=32,
    sm_registers=64 << 10,
    thread_registers=255,
    shared_static=48 << 10,
    shared_block=227 << 10,
    shared_sm=228 << 10,
    vector_bytes=16,
    line=128,
    l2=60 << 20,
    sms=132,
    memory=141 * 10**9,
)


# --- the machine we run on ---


@cache
def host() -> Target:
    """This machine. What cannot be read keeps the row's cautious value."""
    text = _read(Path("/proc/cpuinfo"), _ONE_CPU)
    caches = read_caches(Path("/sys/devices/system/cpu/cpu0/cache"))
    row = describe(os.uname().machine, text)
    return replace(
        row,
        l1=caches.get(1, row.l1),
        l2=caches.get(2, row.l2),
        l3=caches.get(3, row.l3),
        cores=usable_cpus(),
    )


def describe(machine: str, cpuinfo: str) -> Target:
    """The row for a machine name and the text of its /proc/cpuinfo, with the extensions that it shows."""
    flags = _words(cpuinfo, "flags") | _words(cpuinfo, "Features")
    if machine in ("aarch64", "arm64"):
        row, extensions = AARCH64, _AARCH64_EXTENSIONS
    else:
        row, extensions = _level(flags), _X86_EXTENSIONS
    shown = tuple(
        name for flag, name in sorted(extensions.items()) if flag in flags
    )
    return replace(row, features=shown, model=_model(cpuinfo) or machine)


def _level(flags: frozenset[str]) -> Target:
    for row in X86_LEVELS[:-1]:
        if _LEVEL_FLAGS[row.name] <= flags:
            return row
    return X86_LEVELS[-1]


def _words(cpuinfo: str, field: str) -> frozenset[str]:
    return frozenset(_field(cpuinfo, field).split())


def _model(cpuinfo: str) -> str:
    return _field(cpuinfo, "model name") or _field(cpuinfo, "CPU part")


def _field(cpuinfo: str, name: str) -> str:
    """The first value of a field. Split by hand: a first result need not wait for a regular expression to compile."""
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def read_caches(folder: Path) -> dict[int, int]:
    """Data cache sizes by level, from the files that Linux shows for one CPU."""
    sizes = {}
    for number in range(_MOST_CACHES):
        index = folder / f"index{number}"
        level = _read(index / "level").strip()
        if not level:
            break
        size, kind = _read(index / "size").strip(), _read(index / "type").strip()
        if size.endswith("K") and size[:-1].isdecimal() and kind != "Instruction":
            sizes[int(level)] = int(size[:-1]) << 10
    return sizes


_ONE_CPU = 8192  # characters that describe the first CPU, and perhaps some more: a large machine has hundreds
_MOST_CACHES = 16


def _read(path: Path, most: int = -1) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(most)
    except OSError:
        return ""


# --- what things cost ---


@dataclass(frozen=True, slots=True)
class Costs:
    """Prices of one core (`fma_gflops`, `*_bytes_per_ns`) and of the pool (`*_ns`)."""

    fma_gflops: float
    l1_bytes_per_ns: float = 150.0
    l2_bytes_per_ns: float = 60.0
    l3_bytes_per_ns: float = 20.0
    memory_bytes_per_ns: float = 10.0
    barrier_ns: float = (
        400.0  # between two kernels of one evaluation, all threads awake
    )
    wake_ns: float = 50_000.0  # a parked thread, until it works
    call_ns: float = 500.0  # one call from Python into native code


def default_costs(target: Target) -> Costs:
    """What a 2.5 GHz core of this kind would do."""
    flops_a_cycle = target.lanes(4) * target.fma_ports * (2 if target.fma else 1)
    return Costs(fma_gflops=2.5 * flops_a_cycle)


def costs_file(directory: Path, target: Target) -> Path:
    slug = re.sub(r"[^A-Za-z0-9]+", "-", target.model).strip("-")
    return directory / f"costs-{slug}-{target.cores}.json"


def load_costs(directory: Path, target: Target) -> Costs:
    """The measured costs of this CPU model, or the defaults where none are kept. A damaged file is only a warning."""
    path = costs_file(directory, target)
    text = _read(path)
    if not text:
        return default_costs(target)
    found = _parse_costs(text)
    if found is None:
        warnings.warn(
            f"{path} holds no measured costs; delete it to measure again",
            CacheWarning,
            stacklevel=2,
        )
        return default_costs(target)
    return found


def _parse_costs(text: str) -> Costs | None:
    try:
        numbers = json.loads(text)
    except ValueError:
        return None
    names = {f.name for f in fields(Costs)}
    if not isinstance(numbers, dict) or set(numbers) != names:
        return None
    return Costs(**numbers) if _all_positive(numbers.values()) else None


def _all_positive(values: Iterable[object]) -> bool:
    return all(
        isinstance(v, float | int) and not isinstance(v, bool) and 0 < v < 1e15
        for v in values
    )


def save_costs(directory: Path, target: Target, costs: Costs) -> None:
    """Write whole or not at all: another process may read at this moment."""
    directory.mkdir(parents=True, exist_ok=True)
    path = costs_file(directory, target)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    unfinished.write_text(json.dumps(asdict(costs), indent=1))
    os.replace(unfinished, path)
