"""Methods: rearranging. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.handle import Handle, build

if TYPE_CHECKING:
    from typing import Self


class RearrangingMethods(Handle):
    """Ops of ops/rearranging.py as methods."""

    __slots__ = ()

    def rearrange(self, pattern: str, **sizes: int) -> Self:
        """Axes split, moved and joined as "before -> after" says; see the names of axes in the pattern."""
        return self.of(build["rearrange"](self.uop, pattern=pattern, **sizes))

