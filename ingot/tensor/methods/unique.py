"""Methods: unique. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Handle, Value, build, optional

if TYPE_CHECKING:
    from typing import Never, Self


class UniqueMethods(Handle):
    """Ops of ops/unique.py as methods."""

    __slots__ = ()

    def unique_values(self, **unknown: Never) -> Self:
        """The different values, in order."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["unique_values"](self.uop))

    def unique_counts(self, **unknown: Never) -> tuple[Self, ...]:
        """The different values, in order, and how often each occurs."""
        if unknown:
            raise unknown_argument(unknown)
        return tuple(map(self.of, build["unique_counts"](self.uop)))

    def unique_inverse(self, **unknown: Never) -> tuple[Self, ...]:
        """The different values, in order, and for every element which of them it is."""
        if unknown:
            raise unknown_argument(unknown)
        return tuple(map(self.of, build["unique_inverse"](self.uop)))

    def unique_all(self, **unknown: Never) -> tuple[Self, ...]:
        """The different values, in order; where each occurs first; for every element which it is; how often each occurs."""
        if unknown:
            raise unknown_argument(unknown)
        return tuple(map(self.of, build["unique_all"](self.uop)))

    def bincount(self, weights: Value | None = None, minlength: int = 0, **unknown: Never) -> Self:
        """How often each of 0, 1, .. minlength - 1 occurs, or the sum of its weights."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["bincount"](self.uop, optional(weights), minlength=minlength))

    def histogram(
        self,
        bins: int = 10,
        low: float | None = None,
        high: float | None = None,
        **unknown: Never,
    ) -> tuple[Self, ...]:
        """How many elements fall into each of `bins` equal steps from low to high, and the ends of the steps."""
        if unknown:
            raise unknown_argument(unknown)
        return tuple(map(self.of, build["histogram"](self.uop, bins=bins, low=low, high=high)))

