"""The `ingot` command: one file per subcommand, one table to find them.

In:  the words after `ingot`.  Out: an exit status; 2 for a mistake in the words, 1 for a failure that was reported.
A subcommand's module is imported only when it is named, so `ingot env` does not pay for `ingot bench`.

To add one: a file here with `run(words: list[str]) -> int`, and a row in `COMMANDS`.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from ingot import __version__
from ingot.errors import IngotError

__all__ = ["COMMANDS", "Command", "main"]


@dataclass(frozen=True, slots=True)
class Command:
    """Where a subcommand is (`module:function`) and what it does in one line."""

    entry: str
    summary: str

    def load(self) -> Callable[[list[str]], int]:
        module, function = self.entry.split(":")
        found: Callable[[list[str]], int] = getattr(import_module(module), function)
        return found


COMMANDS = {
    "bench": Command(
        "ingot.cli.bench:run",
        "time tensor programs beside NumPy and other installed libraries",
    ),
    "bisect": Command(
        "ingot.cli.bisect:run",
        "find the compiler step at which a program's numbers first change",
    ),
    "cache": Command(
        "ingot.cli.cache:run", "show or clear the compiled kernels on disk"
    ),
    "emit": Command(
        "ingot.cli.emit:run", "a model as source: C, Python, NumPy, PyTorch, ..."
    ),
    "env": Command(
        "ingot.cli.env:run",
        "every setting, its value, where it comes from and what it means",
    ),
    "ops": Command(
        "ingot.cli.ops:run", "every operation, what it takes and what it does"
    ),
    "show": Command(
        "ingot.cli.show:run", "what a stage of the compiler makes of an expression"
    ),
    "why": Command(
        "ingot.cli.why:run", "the kernels of an expression, and why each is one"
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point of `ingot` and of `python -m ingot`."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help", "help"):
        print(_help())
        return 0
    if words[0] in ("-V", "--version"):
        print(f"ingot {__version__}")
        return 0
    return _dispatch(words[0], words[1:])


def _dispatch(name: str, words: list[str]) -> int:
    command = COMMANDS.get(name)
    if command is None:
        known = ", ".join(COMMANDS)
        print(
            f"ingot: no command {name!r}; wanted one of {known}. Try 'ingot --help'.",
            file=sys.stderr,
        )
        return 2
    try:
        return command.load()(words)
    except IngotError as error:
        print(f"ingot {name}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"ingot {name}: interrupted", file=sys.stderr)
        return 130  # as shells count a process that Ctrl-C ended


def _help() -> str:
    width = max(map(len, COMMANDS))
    rows = [
        f"  {name:{width}}  {command.summary}" for name, command in COMMANDS.items()
    ]
    return "\n".join(
        [
            "usage: ingot COMMAND [options]",
            "",
            *rows,
            "",
            "'ingot COMMAND --help' says more.",
        ]
    )
