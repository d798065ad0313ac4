"""Failed assertions. In: what an ASSERT says, and the values of its details. Out: the error to raise."""

from __future__ import annotations

from collections.abc import Sequence

from ingot import errors
from ingot.errors import ArgumentError, IngotError
from ingot.ir.dtype import Scalar
from ingot.place import Place, Spot


def error_class(name: str) -> type[IngotError]:
    """The class of errors.py with this name."""
    found = getattr(errors, name, None)
    if not (isinstance(found, type) and issubclass(found, IngotError)):
        raise ArgumentError(
            f"there is no error called {name!r}", wanted="a class of errors.py"
        )
    return found


def failure(
    error: str,
    message: str,
    details: Sequence[Scalar],
    spot: Spot | None = None,
) -> IngotError:
    """The error of an assertion that does not hold; `spot` is where the user's code built it, if that is known."""
    made = error_class(error)(message.format(*details))
    return made if spot is None else made.built_at(Place.of(spot))
