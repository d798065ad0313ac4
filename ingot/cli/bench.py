"""`ingot bench`: compile a set of tensor programs, check each against NumPy in float64, print times side by side."""

import argparse
import json
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ingot.bench.libraries import LIBRARIES, installed
from ingot.bench.programs import PROGRAMS
from ingot.bench.report import json_report, table, troubles
from ingot.bench.runner import Plan, Row, steps
from ingot.bench.runner import run as run_plan
from ingot.errors import ArgumentError
from ingot.settings import usable_cpus

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 160  # columns when nobody's terminal says how many there are


def run(words: list[str]) -> int:
    """Exit status 1 where a row is wrong, failed or late."""
    from rich.console import Console

    options = parser().parse_args(words)
    if options.list:
        print(*PROGRAMS, sep="\n")
        return 0
    console = Console(width=None if sys.stdout.isatty() else WIDE)
    rows: list[Row] = []
    for plan in plans(options):
        found = measure(plan, console)
        console.print(table(found, plan.libraries, plan.threads))
        rows += found
    if options.json:
        text = json.dumps(json_report(rows), indent=1)
        options.json.write_text(text + "\n")
    wrong = troubles(rows)
    for line in wrong:
        console.print(line, style="red", markup=False, highlight=False)
    return 1 if wrong else 0


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog="ingot bench", description=__doc__)
    out.add_argument(
        "names",
        nargs="*",
        metavar="PROGRAM",
        help="programs to run; all when none is named",
    )
    out.add_argument(
        "--libs",
        help=f"comma-separated, of {', '.join(LIBRARIES)}; all installed ones when not given",
    )
    out.add_argument(
        "--threads",
        type=int,
        nargs="+",
        default=[usable_cpus()],
        help="one table for each number",
    )
    out.add_argument(
        "--rounds",
        type=int,
        default=9,
        help="turns of each library; fewer than 6 decide nothing",
    )
    out.add_argument(
        "--json", type=Path, metavar="FILE", help="write every round to FILE"
    )
    out.add_argument(
        "--list", action="store_true", help="print the names of the programs"
    )
    return out


def plans(options: argparse.Namespace) -> list[Plan]:
    """A plan for each number of threads, or an error that says what was mistaken."""
    names = options.names or list(PROGRAMS)
    libraries = options.libs.split(",") if options.libs else installed()
    _check_names("program", names, PROGRAMS)
    _check_names("library", libraries, LIBRARIES)
    _check_installed(libraries)
    _check_range("--rounds", options.rounds, 1_000_000)
    for threads in options.threads:
        _check_range("--threads", threads, usable_cpus())
    return [
        Plan(names, libraries, threads, options.rounds)
        for threads in options.threads
    ]


def _check_names(what: str, names: Sequence[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            wanted = "one of " + ", ".join(known)
            raise ArgumentError(f"no such {what}", given=repr(name), wanted=wanted)


def _check_installed(libraries: Sequence[str]) -> None:
    for name in libraries:
        origin = LIBRARIES[name]
        if not origin.installed():
            wanted = "one of " + ", ".join(installed())
            raise ArgumentError(
                f"package {origin.package!r} is not installed",
                given=name,
                wanted=wanted,
            )


def _check_range(option: str, number: int, most: int) -> None:
    if not 1 <= number <= most:
        raise ArgumentError(option, given=number, wanted=f"1 to {most}")


def measure(plan: Plan, console: "Console") -> list[Row]:
    """One progress bar; it is redrawn between turns only, so that drawing costs nobody time."""
    from rich.progress import Progress

    rows: list[Row] = []
    with Progress(console=console, auto_refresh=False, transient=True) as bar:
        task = bar.add_task("start", total=steps(plan))

        def tick(what: str) -> None:
            bar.update(task, advance=1, description=what, refresh=True)

        for found in run_plan(plan, tick):
            rows += found
    return rows
