"""docs/mistakes.md as data. In: the page. Out: mistakes, each a title, a program and the error that it must raise.

python -m tests.docs.mistakes        run every program, and write the errors that they raise now into the page
"""

import contextlib
import io
import linecache
import re
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import ingot as ig

PAGE = Path(__file__).resolve().parents[2] / "docs" / "mistakes.md"
_MISTAKE = re.compile(
    r"^### (?P<title>[^\n]*)\n\n```python\n(?P<program>.*?)```\n\n```text\n(?P<error>.*?)```\n",
    re.MULTILINE | re.DOTALL,
)
FILE = "mistake.py"


class Mistake(NamedTuple):
    """What a newcomer writes, and what we say."""

    title: str
    program: str
    error: str


def mistakes() -> list[Mistake]:
    """Every mistake on the page."""
    text = PAGE.read_text(encoding="utf-8")
    return [
        Mistake(m["title"], m["program"], m["error"])
        for m in _MISTAKE.finditer(text)
    ]


def raised(program: str) -> BaseException | None:
    """What a program raises, run as a file of its own in an empty folder."""
    linecache.cache[FILE] = (
        len(program),
        None,
        program.splitlines(keepends=True),
        FILE,
    )
    names = {"ig": ig, "np": np, "__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        try:
            with (
                contextlib.redirect_stdout(io.StringIO()),
                warnings.catch_warnings(),
            ):
                exec(compile(program, FILE, "exec"), names)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what we show
            return error
    return None


def told(program: str) -> str:
    """The last lines that Python would print for a program."""
    error = raised(program)
    if error is None:
        return "no error\n"
    notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
    return f"{type(error).__name__}: {error}{notes}\n"


def rewritten(text: str) -> str:
    """The page with the errors that its programs raise now."""

    def renew(found: re.Match[str]) -> str:
        start, end = found.span("error")
        inside = found[0]
        offset = found.start()
        return (
            inside[: start - offset]
            + told(found["program"])
            + inside[end - offset :]
        )

    return _MISTAKE.sub(renew, text)


def changed() -> Iterator[str]:
    """The titles whose errors are not what the page says."""
    for mistake in mistakes():
        if told(mistake.program) != mistake.error:
            yield mistake.title


def main() -> None:
    names = list(changed())
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{len(names)} of {len(mistakes())} errors changed", *names, sep="\n  ")


if __name__ == "__main__":
    main()
