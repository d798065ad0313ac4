"""Places in the user's code. In: frames, and code with an offset into it. Out: `at train.py:41, h = x @ w1`.

The user's frame is the innermost one that belongs neither to this package, nor to NumPy, nor to Python's own library:
`np.mean(t)` and a generator under `contextlib` are on somebody's behalf. A code object and an offset are all that is kept
while nothing goes wrong; file, line and text are looked up when somebody reads the error.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
from types import CodeType, FrameType
from typing import NamedTuple

__all__ = ["Place", "Spot", "in_package", "is_ours", "spot_here", "user_frame"]

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
# The command line is an edge: whoever calls it typed a command, not a line of Python.
_EDGES = (os.path.join(_PACKAGE, "cli") + os.sep, _PACKAGE + "__main__.py")
_INSTALLED = ("site-packages", "dist-packages")
# Code that this package writes and runs, by the names that it gives such code; `<frozen ...>` is Python's own.
_WRITTEN = (
    "<frozen ",
    "<kernel tree>",
    "<ir text>",
    "<pattern>",
    "<rules for ",
    "<size>",
)
# Patterns as text: few processes ever need them, and compiling them costs more than the rest of this file.
_CARRIERS = r"[/\\](?:site|dist)-packages[/\\](?:numpy|einops)[/\\]"
_CELL = r"[/\\]ipykernel_\d+[/\\]|^<ipython-input-"
_MOST_TEXT = 100

Spot = tuple[CodeType, int]  # code, and the offset of an instruction in it

# By file name, so that the question costs one look-up.
_known: dict[str, bool] = {}


class Place(NamedTuple):
    """A line of source. `text` is empty where nobody kept the source, as at an interactive prompt."""

    file: str
    line: int
    text: str

    @staticmethod
    def of(spot: Spot) -> Place:
        """The line that an instruction belongs to."""
        code, offset = spot
        line = _line(code, offset)
        linecache.checkcache(
            code.co_filename
        )  # the file may have been edited since
        text = linecache.getline(code.co_filename, line).strip()
        return Place(code.co_filename, line, text)

    @property
    def where(self) -> str:
        """`train.py:41`, from the working directory where that is above it; a notebook has cells instead of files."""
        if re.search(_CELL, self.file):
            return f"notebook cell, line {self.line}"
        return f"{_short(self.file)}:{self.line}"

    def __str__(self) -> str:
        text = self.text
        if len(text) > _MOST_TEXT:
            text = text[: _MOST_TEXT - 4] + " ..."
        return f"at {self.where}, {text}" if text else f"at {self.where}"


def _line(code: CodeType, offset: int) -> int:
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return line
    return code.co_firstlineno


def _short(file: str) -> str:
    if not os.path.isabs(file):
        return file
    inside = os.path.relpath(file)
    return os.path.basename(file) if inside.startswith(os.pardir) else inside


def is_ours(file: str) -> bool:
    """Code in this file works on somebody's behalf: this package's, NumPy's, the standard library's."""
    known = _known.get(file)
    if known is None:
        known = _known[file] = _works_for_others(file)
    return known


def _works_for_others(file: str) -> bool:
    if file.startswith((_PACKAGE, *_WRITTEN)) or re.search(_CARRIERS, file):
        return True
    inside = file.startswith(_LIBRARY)
    return inside and not file[len(_LIBRARY) :].startswith(_INSTALLED)


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame from here on that is the user's own, if there is one."""
    while frame is not None and is_ours(frame.f_code.co_filename):
        if frame.f_code.co_filename.startswith(_EDGES):
            return None
        frame = frame.f_back
    return frame


def spot_here(depth: int = 1) -> Spot | None:
    """Where the user's code is now, seen from `depth` calls up."""
    frame = user_frame(sys._getframe(depth))
    return None if frame is None else (frame.f_code, frame.f_lasti)


def in_package(file: str) -> bool:
    """The file belongs to this package."""
    return file.startswith(_PACKAGE)
