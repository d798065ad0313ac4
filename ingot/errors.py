"""The exception tree: everything that Ingot raises on purpose, and nothing else.

    IngotError (Exception)
    ├── ShapeError (ValueError)        shapes do not fit an operation
    ├── DTypeError (TypeError)         an element type an operation does not take
    ├── AxisError (IndexError)         an axis outside the shape, or named twice
    ├── ArgumentError (ValueError)     any other argument out of its range
    ├── DeviceError (RuntimeError)     no such device, or it cannot do this
    ├── SettingError (ValueError)      a setting or an environment variable
    ├── MissingPackage (ImportError)   an optional package is not installed
    ├── MoveError (ValueError)         a kernel move that is not legal here
    ├── SpecError (RuntimeError)       a graph breaks the rules of its level: a bug in Ingot
    ├── CompileError (RuntimeError)    a compiler refused what we wrote: a bug in Ingot
    └── KernelFault (RuntimeError)     a kernel reported a fault while it ran
    IngotWarning (UserWarning)
    └── CacheWarning                   the disk cache cannot be used; results are right, only slower

In:  what was given, what was wanted, how to fix it. Outer layers add where it happened with `add_context`.
Out: a message that reads

    matmul: left is (8, 64), right is (10, 64): 64 columns do not meet 10 rows.
      right.T is (64, 10) and fits: write left @ right.T
      at model.py:41, h = x @ w1
"""

from typing import Self

__all__ = [
    "ArgumentError",
    "AxisError",
    "CacheWarning",
    "CompileError",
    "DTypeError",
    "DeviceError",
    "IngotError",
    "IngotWarning",
    "KernelFault",
    "MissingPackage",
    "MoveError",
    "SettingError",
    "ShapeError",
    "SpecError",
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

    def add_context(self, line: str) -> Self:
        """Say where it happened, from the inside out: the user's line, the model's layer, the stage."""
        self.context.append(line)
        return self

    def __str__(self) -> str:
        notes = [self.fix] if self.fix else []
        return "\n  ".join([self._sentence(), *notes, *self.context])

    def _sentence(self) -> str:
        parts = []
        if self.given is not None:
            parts.append(f"given {self.given}")
        if self.wanted is not None:
            parts.append(f"wanted {self.wanted}")
        if not parts:
            return self.message
        return f"{self.message}: {', '.join(parts)}."


class ShapeError(IngotError, ValueError):
    """Shapes that do not fit."""


class DTypeError(IngotError, TypeError):
    """An element type that the operation does not take."""


class AxisError(IngotError, IndexError):
    """An axis that the shape does not have."""


class ArgumentError(IngotError, ValueError):
    """An argument out of its range."""


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

    def __reduce__(self) -> tuple[object, ...]:
        # `args` holds the finished message, which __init__ would prefix once more in the process that unpickles it.
        return _restore_spec_error, (self.args, self.__dict__)


def _restore_spec_error(
    args: tuple[object, ...], state: dict[str, object]
) -> SpecError:
    error = SpecError.__new__(SpecError, *args)
    error.__dict__.update(state)
    return error


class CompileError(IngotError, RuntimeError):
    """A compiler that refused generated code."""


class KernelFault(IngotError, RuntimeError):
    """A fault that a kernel wrote into the error word."""


class IngotWarning(UserWarning):
    """The root of Ingot's warnings."""


class CacheWarning(IngotWarning):
    """The disk cache is read-only, full, corrupt or foreign: work goes on without it."""
