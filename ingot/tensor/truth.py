"""Asking a tensor of many elements whether it is true. In: its shape. Out: an error with the fix that the user's line needs."""

from __future__ import annotations

import re

from ingot.errors import ArgumentError
from ingot.ir.shape import Shape
from ingot.ops.movement import show

# What the line says -> what to write instead. The first that fits is told.
_FIXES = (
    (
        r"[<>]=?[^<>=()]*[<>]=?",
        "a chain asks whether its first half is true: write (low < x) & (x < high)",
    ),
    (
        r"\b(and|or|not)\b",
        "element by element, write & for `and`, | for `or`, ~ for `not`, each side in brackets: (a > 0) & (b < 3)",
    ),
    (
        r"\b(max|min|sorted)\(",
        "Python's max, min and sorted compare whole tensors: write ig.maximum(x, y), ig.minimum(x, y), or x.max()",
    ),
)
_ANY = "for one answer write .any() or .all(); to choose element by element, ig.where(condition, a, b)"


def no_truth(shape: Shape) -> ArgumentError:
    """The error of `bool(x)`."""
    error = ArgumentError(
        f"bool: a tensor of {show(shape)} is neither true nor false"
    )
    text = error.place.text if error.place is not None else ""
    fixes = [fix for pattern, fix in _FIXES if re.search(pattern, text)]
    error.fix = fixes[0] if fixes else _ANY
    return error
