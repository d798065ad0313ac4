"""Methods: borders. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Handle, build

if TYPE_CHECKING:
    from typing import Never, Self
    from ingot.ir.dtype import Scalar
    from ingot.ops.movement import Widths


class BordersMethods(Handle):
    """Ops of ops/borders.py as methods."""

    __slots__ = ()

    def pad(self, widths: Widths, value: Scalar = 0, mode: str = "constant", **unknown: Never) -> Self:
        """A border around x: one width, one (before, after), or a pair per axis; of `value`, or made of x itself."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["pad"](self.uop, widths=widths, value=value, mode=mode))

