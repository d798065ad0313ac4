"""The exception tree: everything that Ingot raises on purpose, and nothing else.

    IngotError (Exception)
    ├── ShapeError (ValueError)           shapes do not fit an operation
    │   └── NoAxesError (TypeError)       one number was asked for its parts
    ├── DTypeError (TypeError)            an element type an operation does not take
    ├── AxisError (IndexError)            an axis outside the shape, or named twice
    ├── ArgumentError (ValueError)        any other argument out of its range
    ├── NoFileError (FileNotFoundError)   a file that is not there
    ├── UnknownNameError (AttributeError) a method or function that does not exist
    ├── DeviceError (RuntimeError)        no such device, or it cannot do this
    ├── SettingError (ValueError)         a setting or an environment variable
    ├── MissingPackage (ImportError)      an optional package is not installed
    ├── MoveError (ValueError)            a kernel move that is not legal here
    ├── SpecError (RuntimeError)          a graph breaks the rules of its level: a bug in Ingot
    ├── CompileError (RuntimeError)       a compiler refused what we wrote: a bug in Ingot
    ├── KernelFault (RuntimeError)        a kernel reported a fault while it ran
    └── NotFiniteError (ArithmeticError)  DEBUG_NAN=1 met a NaN or an infinity
    IngotWarning (UserWarning)
    ├── CacheWarning                      the disk cache cannot be used; results are right, only slower
    └── CaptureWarning                    a jit function is captured again and again; results are right, only slower

In:  what was given, what was wanted, how to fix it. An error made inside this package finds the user's own line by itself,
     which costs nothing while nothing fails. Outer layers add what else they know with `add_context`.
Out: a message that reads

    matmul: left is (8, 64), right is (10, 64): 64 columns do not meet 10 rows.
      right.T is (64, 10) and fits: write left @ right.T
      at model.py:41, h = x @ w1
"""

import sys
from typing import Self

from ingot.place import Place, in_package, spot_here

__all__ = [
    "ArgumentError",
    "AxisError",
    "CacheWarning",
    "CaptureWarning",
    "CompileError",
    "DTypeError",
    "DeviceError",
    "IngotError",
    "IngotWarning",
    "KernelFault",
    "MissingPackage",
    "MoveError",
    "NoAxesError",
    "NoFileError",
    "NotFiniteError",
    "SettingError",
    "ShapeError",
    "SpecError",
    "UnknownNameError",
]


class IngotError(Exception):
    """A failure that names its cause: `given` and `wanted` close the sentence, `fix` and context lines follow it."""

    def __init__(
        self,
        message: str,
        *,
        given: object = None,
        wanted: object = None,
        fix: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.given = given
        self.wanted = wanted
        self.fix = fix
        self.context: list[str] = []
        self.place = _users_line()
        self.asked: Place | None = (
            None  # the line that asked for the value, if it is another
        )
        self.step = ""  # the label of the step of a program that failed

    def add_context(self, line: str) -> Self:
        """Say where it happened, from the inside out: the model's layer, the stage."""
        self.context.append(line)
        return self

    def built_at(self, place: Place) -> Self:
        """Name the line that built what failed; the line that asked for its value, if it is another, comes after it."""
        if self.place != place:
            self.asked = self.place
        self.place = place
        return self

    def __reduce__(self) -> tuple[object, ...]:
        # Made again from what it holds: a subclass may take other arguments, and the line is the one of that process.
        return _restored, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        lines = [self._sentence()]
        if self.fix:
            lines.append(self.fix)
        lines += self.context
        # An error that tells another one has its line already.
        if self.place is not None and str(self.place) not in self.message:
            lines.append(str(self.place))
        if self.asked is not None:
            lines.append(f"computed {self.asked}")
        return "\n  ".join(lines)

    def _sentence(self) -> str:
        parts = []
        if self.given is not None:
            parts.append(f"given {self.given}")
        if self.wanted is not None:
            parts.append(f"wanted {self.wanted}")
        if not parts:
            return self.message
        return f"{self.message}: {', '.join(parts)}."


def _restored(
    kind: type[IngotError], args: tuple[object, ...], state: dict[str, object]
) -> IngotError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


def _users_line() -> Place | None:
    """The user's line that led to an error which this package is about to raise; a user's own error needs none."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    if not in_package(frame.f_code.co_filename):
        return None
    spot = spot_here(3)
    return None if spot is None else Place.of(spot)


class ShapeError(IngotError, ValueError):
    """Shapes that do not fit."""


class NoAxesError(ShapeError, TypeError):
    """One number that was asked for its parts: Python, and whoever tries `iter(x)`, expects a TypeError there."""


class DTypeError(IngotError, TypeError):
    """An element type that the operation does not take."""


class AxisError(IngotError, IndexError):
    """An axis that the shape does not have."""


class ArgumentError(IngotError, ValueError):
    """An argument out of its range."""


class NoFileError(IngotError, FileNotFoundError):
    """A file that is not there; the fix names one beside it that is spelt nearly so."""


class UnknownNameError(IngotError, AttributeError):
    """A method or function that does not exist; the fix names the nearest one that does."""


class DeviceError(IngotError, RuntimeError):
    """A device that is not there, or cannot do what was asked."""


class SettingError(IngotError, ValueError):
    """A setting whose value means nothing."""


class MissingPackage(IngotError, ImportError):
    """An optional package that this feature needs; the fix names the extra to install."""


class MoveError(IngotError, ValueError):
    """A kernel move whose legality check fails at this place in the loop tree."""


class SpecError(IngotError, RuntimeError):
    """A graph that breaks the spec of its level.

    In: the problem, the stage that left it so, the rule that last touched the node, and the printed IR around it.
    """

    def __init__(
        self, problem: str, *, stage: str = "", rule: str = "", around: str = ""
    ) -> None:
        super().__init__(f"SPEC ISSUE {stage or 'at construction'}: {problem}")
        self.stage = stage
        self.rule = rule
        self.around = around

    def __str__(self) -> str:
        last = f"\n  last rule: {self.rule}" if self.rule else ""
        text = f"\n{self.around}" if self.around else ""
        return super().__str__() + last + text


class CompileError(IngotError, RuntimeError):
    """A compiler that refused generated code."""


class KernelFault(IngotError, RuntimeError):
    """A fault that a kernel wrote into the error word."""


class NotFiniteError(IngotError, ArithmeticError):
    """A NaN or an infinity that came from finite numbers."""


class IngotWarning(UserWarning):
    """The root of Ingot's warnings."""


class CacheWarning(IngotWarning):
    """The disk cache is read-only, full, corrupt or foreign: work goes on without it."""


class CaptureWarning(IngotWarning):
    """A jit function meets ever new arguments that are no tensors: capturing costs more than it saves."""
