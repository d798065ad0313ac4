"""Did you mean: the known word that is nearest to a misspelt one. In: a word, and those that exist. Out: a hint, or nothing."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["distance", "hint", "nearest"]


def nearest(word: object, known: Iterable[str]) -> str:
    """The known word that takes the fewest slips of the pen; empty where none is near, or where it is no word at all."""
    if not isinstance(word, str):
        return ""
    most = max(1, len(word) // 3)
    text = word
    best = min(known, key=lambda other: (distance(text, other), other), default="")
    return best if best and distance(text, best) <= most else ""


def hint(word: object, known: Iterable[str]) -> str:
    """`did you mean softmax?`, to be used as the fix of an error."""
    found = nearest(word, known)
    return f"did you mean {found}?" if found else ""


def distance(first: str, second: str) -> int:
    """How many letters were added, left out, changed, or exchanged with their neighbour; capitals count as letters do."""
    a, b = first.lower(), second.lower()
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        older, before, row = before, row, [i]
        for j, right in enumerate(b, 1):
            cost = min(
                before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right)
            )
            if i > 1 and j > 1 and left == b[j - 2] and a[i - 2] == right:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]
