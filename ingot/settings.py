"""Every switch, in two frozen objects: what changes generated code, and what does not.

In:  the process environment. This is the only file that reads it.
Out: `settings.codegen` (hashed whole into every cache key, so that no switch can be forgotten there) and
     `settings.runtime` (verbosity, places, sizes). `TABLE` describes both; `ingot env` prints it.

The environment is read at the first use, not at import: a bad value is the user's error and needs a user's action.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import NamedTuple

from ingot.errors import SettingError
from ingot.spelling import hint

__all__ = [
    "DEVICES",
    "TABLE",
    "Codegen",
    "Runtime",
    "Setting",
    "Settings",
    "child_environment",
    "settings",
    "usable_cpus",
]

DEVICES = ("CPU", "CUDA", "OPENCL", "PYTHON", "NULL")

Value = bool | int | str | Path


def usable_cpus() -> int:
    """CPUs that this process may run on; a container often allows fewer than the machine has."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_cache_dir() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "ingot"
    home = os.path.expanduser("~")
    if home == "~":  # a user without a home directory, as in some containers
        return Path(os.environ.get("TMPDIR", "/tmp")) / f"ingot-{os.getuid()}"
    return Path(home) / ".cache" / "ingot"


@dataclass(frozen=True, slots=True)
class Codegen:
    """What changes generated code."""

    noopt: bool = False
    fast_math: bool = False
    vendor: bool = False
    beam: int = 0

    def key(self) -> str:
        """All fields, always: two settings that could give different code have different keys."""
        return ",".join(f"{f.name}={getattr(self, f.name)}" for f in fields(self))


@dataclass(frozen=True, slots=True)
class Runtime:
    """What does not change generated code."""

    debug: int = 0
    spec: int = 0
    device: str = "CPU"
    threads: int = field(default_factory=usable_cpus)
    cache_dir: Path = field(default_factory=default_cache_dir)
    cache_limit: int = 1 << 30
    track_match_stats: int = 0
    viz: int = 0
    debug_nan: bool = False
    cc: str = ""


# --- kinds of value: each turns a word from the environment, or a Python value, into a checked value ---


class Kind(NamedTuple):
    """`parse` gives the value or raises ValueError; `wanted` completes the sentence of the error."""

    wanted: str
    parse: Callable[[Value], Value]


def _parse_flag(value: Value) -> bool:
    words = {"0": False, "1": True, "False": False, "True": True}
    word = str(value)
    if word not in words:
        raise ValueError(word)
    return words[word]


def whole(low: int, high: int | None = None) -> Kind:
    wanted = f"a whole number from {low}" + ("" if high is None else f" to {high}")

    def parse(value: Value) -> int:
        if isinstance(value, bool | Path):
            raise ValueError(value)
        number = int(value)
        if number < low or (high is not None and number > high):
            raise ValueError(value)
        return number

    return Kind(wanted, parse)


def one_of(names: tuple[str, ...]) -> Kind:
    def parse(value: Value) -> str:
        name = str(value).upper()
        if name not in names:
            raise ValueError(value)
        return name

    return Kind("one of " + ", ".join(names), parse)


def _parse_directory(value: Value) -> Path:
    return Path(str(value)).expanduser().absolute()


FLAG = Kind("0 or 1", _parse_flag)
WORD = Kind("a word", str)
DIRECTORY = Kind("a directory", _parse_directory)


# --- the table ---


class Setting(NamedTuple):
    """One switch: the field it fills, the variable it is read from, what it may hold and what it means."""

    field: str
    env: str
    kind: Kind
    meaning: str

    def check(self, value: Value, where: str) -> Value:
        try:
            return self.kind.parse(value)
        except ValueError:
            message = f"setting {where}"
            fix = (
                f"set {self.env} to {self.kind.wanted}, or unset it: {self.meaning}"
            )
            raise SettingError(
                message, given=repr(value), wanted=self.kind.wanted, fix=fix
            ) from None


TABLE = (
    Setting(
        "debug",
        "DEBUG",
        whole(0, 7),
        "1 schedules, 2 kernels, 3 moves, 4 source, 5 loop trees, 6 LLVM, 7 asm",
    ),
    Setting(
        "spec",
        "SPEC",
        whole(0, 2),
        "verify graphs: 1 after every stage, 2 also every node as it is built",
    ),
    Setting(
        "device",
        "DEVICE",
        one_of(DEVICES),
        "where tensors live unless told otherwise",
    ),
    Setting(
        "threads",
        "INGOT_THREADS",
        whole(1, 1024),
        "threads of the CPU pool, the caller included",
    ),
    Setting("noopt", "NOOPT", FLAG, "1 applies no kernel moves: slow, plain loops"),
    Setting(
        "beam",
        "BEAM",
        whole(0, 1024),
        "width of the search for kernel moves; 0 trusts the heuristic",
    ),
    Setting(
        "fast_math",
        "FAST_MATH",
        FLAG,
        "1 allows results that differ from IEEE order and rounding",
    ),
    Setting("vendor", "VENDOR", FLAG, "1 lets the tuner choose vendor libraries"),
    Setting(
        "cache_dir",
        "INGOT_CACHE_DIR",
        DIRECTORY,
        "where compiled kernels and measured costs are kept",
    ),
    Setting(
        "cache_limit",
        "INGOT_CACHE_LIMIT",
        whole(0),
        "most bytes kept there; 0 keeps nothing",
    ),
    Setting(
        "track_match_stats",
        "TRACK_MATCH_STATS",
        whole(0, 3),
        "1 times rewrite rules, 2 prints them at exit",
    ),
    Setting(
        "viz",
        "VIZ",
        whole(-1, 1),
        "1 records every rewrite and shows it, -1 only records",
    ),
    Setting(
        "debug_nan",
        "DEBUG_NAN",
        FLAG,
        "1 stops at the first NaN or infinity and names the line that made it: slow",
    ),
    Setting(
        "cc", "CC", WORD, "the C compiler for emitted code; gcc or clang if unset"
    ),
)

_BY_FIELD = {row.field: row for row in TABLE}
_CODEGEN_FIELDS = frozenset(f.name for f in fields(Codegen))


def read_environment(environment: Mapping[str, str]) -> dict[str, Value]:
    """The settings that an environment names, checked. An empty value counts as unset, as in a shell script."""
    found = {}
    for row in TABLE:
        word = environment.get(row.env, "")
        if word:
            found[row.field] = row.check(word, row.env)
    return found


class Settings:
    """The settings of this process. `override` changes them for a while and for all threads; it is meant for tests."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = environment
        self._from_environment: dict[str, Value] = {}
        self._overridden: dict[str, Value] = {}
        # Both objects, None until they are read; another object means that something was overridden.
        self.pair: tuple[Codegen, Runtime] | None = None

    @property
    def codegen(self) -> Codegen:
        return self._current()[0]

    @property
    def runtime(self) -> Runtime:
        return self._current()[1]

    def _current(self) -> tuple[Codegen, Runtime]:
        if self.pair is None:
            environment = (
                os.environ if self._environment is None else self._environment
            )
            self._from_environment = read_environment(environment)
            self.pair = _changed(Codegen(), Runtime(), self._from_environment)
        return self.pair

    @contextmanager
    def override(self, **changes: Value) -> Iterator[None]:
        """`with settings.override(debug=2): ...`"""
        checked = {
            name: _row(name).check(value, name) for name, value in changes.items()
        }
        pair, overridden = self._current(), self._overridden
        self.pair = _changed(*pair, checked)
        self._overridden = overridden | checked
        try:
            yield
        finally:
            self.pair, self._overridden = pair, overridden

    def value(self, name: str) -> Value:
        holder = self.codegen if name in _CODEGEN_FIELDS else self.runtime
        found: Value = getattr(holder, name)
        return found

    def source(self, name: str) -> str:
        """Where the value comes from: `override`, `environment` or `default`."""
        self._current()
        if name in self._overridden:
            return "override"
        return "environment" if name in self._from_environment else "default"


def _changed(
    codegen: Codegen, runtime: Runtime, changes: Mapping[str, Value]
) -> tuple[Codegen, Runtime]:
    code = {
        name: value for name, value in changes.items() if name in _CODEGEN_FIELDS
    }
    rest = {
        name: value
        for name, value in changes.items()
        if name not in _CODEGEN_FIELDS
    }
    # The table's kinds give each field its own type; the type checker cannot see that through a mapping.
    return replace(codegen, **code), replace(runtime, **rest)  # type: ignore[arg-type]


def _row(name: str) -> Setting:
    if name not in _BY_FIELD:
        raise SettingError(
            "no such setting",
            given=repr(name),
            wanted="one of " + ", ".join(sorted(_BY_FIELD)),
            fix=hint(name, _BY_FIELD),
        )
    return _BY_FIELD[name]


def child_environment(**changes: str) -> dict[str, str]:
    """The environment for a process that we start: ours, with these variables set."""
    return dict(os.environ) | changes


settings = Settings()
