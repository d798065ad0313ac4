"""Methods: indexing. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Handle, Value, build, node

if TYPE_CHECKING:
    from typing import Never, Self


class IndexingMethods(Handle):
    """Ops of ops/indexing.py as methods."""

    __slots__ = ()

    def masked_select(self, mask: Value, **unknown: Never) -> Self:
        """The elements of x where a mask holds, in a row."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["masked_select"](self.uop, node(mask)))

    def argwhere(self, **unknown: Never) -> Self:
        """The coordinates of all elements that are not 0: a row each."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["argwhere"](self.uop))

    def flatnonzero(self, **unknown: Never) -> Self:
        """The places of all elements that are not 0, as x lies in memory."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["flatnonzero"](self.uop))

    def nonzero(self, **unknown: Never) -> tuple[Self, ...]:
        """The coordinates of all elements that are not 0: a tensor an axis."""
        if unknown:
            raise unknown_argument(unknown)
        return tuple(map(self.of, build["nonzero"](self.uop)))

