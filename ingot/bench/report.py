"""What a run looks like: a table for people, JSON for programs.

In:  rows of the same number of threads.  Out: a `rich` table; a dict that `json` can write.
"""

import platform
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ingot.bench.runner import Row, Status
from ingot.bench.summary import Comparison, Verdict, compare, quartiles
from ingot.target import host

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["best_other", "duration", "json_report", "table", "troubles"]

COLOURS = {
    Verdict.FASTER: "green",
    Verdict.SLOWER: "red",
    Verdict.SAME: "cyan",
    Verdict.UNDECIDED: "dim",
}
SUBJECT = "ingot"


def table(rows: Sequence[Row], libraries: Sequence[str], threads: int) -> "Table":
    """A line a program, a column a library, and how many times as fast as the best of the others we are."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    title = f"{threads} thread{'s' * (threads > 1)}: median time of one call ± half the interquartile range"
    out = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    out.add_column("program", no_wrap=True)
    for name in libraries:
        out.add_column(name, justify="right", no_wrap=True)
    out.add_column(f"{SUBJECT} is" if SUBJECT in libraries else "best")
    for name, line in groupby(rows, key=lambda row: row.program):
        found = list(line)
        cells = map(cell, found)
        out.add_row(name, *cells, conclusion(found))
    return out


def cell(row: Row) -> str:
    if row.status is Status.ABSENT:
        return ""
    if row.status is not Status.OK:
        return f"[red]{row.status.value}[/red]"
    low, middle, high = quartiles(row.seconds)
    half = (high - low) / 2
    return f"{duration(middle)} [dim]±{half / middle:3.0%}[/dim]"


_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def duration(seconds: float) -> str:
    """Three figures that matter, never an exponent."""
    fitting = [unit for unit in _UNITS if seconds >= unit[0]]
    scale, name = fitting[0] if fitting else _UNITS[-1]
    number = seconds / scale
    digits = f"{number:.0f}" if number >= 100 else f"{number:#.3g}"
    return f"{digits} {name}"


def conclusion(line: Sequence[Row]) -> str:
    """`faster: 1.31x (1.28..1.35) torch`; without our column, who was best; nothing where nothing can be compared."""
    other = best_other(line)
    if other is None:
        return ""
    mine = [row for row in line if row.library == SUBJECT]
    if not mine:
        return other.library
    if mine[0].status is not Status.OK:
        return ""
    found = compare(mine[0].seconds, other.seconds)
    colour = COLOURS[found.verdict]
    return f"[{colour}]{_words(found)} {other.library}[/]"


def _words(found: Comparison) -> str:
    return f"{found.verdict.value}: {found.ratio:.2f}x ({found.low:.2f}..{found.high:.2f})"


def best_other(line: Iterable[Row]) -> Row | None:
    others = [row for row in line if row.library != SUBJECT]
    right = [row for row in others if row.status is Status.OK]
    return min(right, key=_median, default=None)


def _median(row: Row) -> float:
    return quartiles(row.seconds)[1]


def troubles(rows: Iterable[Row]) -> list[str]:
    """A sentence for each row that is wrong, failed or late."""
    out = []
    for row in rows:
        if row.status not in (Status.OK, Status.ABSENT):
            where = f"{row.program} in {row.library}, {row.threads} threads"
            out.append(f"{where}: {row.status.value}: {row.note}")
    return out


def json_report(rows: Sequence[Row]) -> dict[str, Any]:
    target = host()
    machine = {
        "model": target.model,
        "target": target.name,
        "cores": target.cores,
    }
    return {
        "machine": machine,
        "python": platform.python_version(),
        "versions": {row.library: row.version for row in rows if row.version},
        "rows": [_json_row(row) for row in rows],
    }


def _json_row(row: Row) -> dict[str, Any]:
    out: dict[str, Any] = {
        "program": row.program,
        "library": row.library,
        "threads": row.threads,
        "status": row.status.value,
    }
    if row.note:
        out["note"] = row.note
    if row.status is Status.OK:
        low, middle, high = quartiles(row.seconds)
        out["median"] = middle
        out["quartiles"] = [low, high]
        out["first"] = row.first
        out["rounds"] = row.seconds
    return out
