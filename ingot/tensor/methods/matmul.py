"""Methods: matmul. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Handle, Value, build, node, optional

if TYPE_CHECKING:
    from typing import Never, Self


class MatmulMethods(Handle):
    """Ops of ops/matmul.py as methods."""

    __slots__ = ()

    def matmul(self, right: Value, **unknown: Never) -> Self:
        """The matrix product over the last two axes; axes in front are broadcast."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["matmul"](self.uop, node(right)))

    def linear(self, weight: Value, bias: Value | None = None, **unknown: Never) -> Self:
        """x @ weight.T + bias."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["linear"](self.uop, node(weight), optional(bias)))

    dot = matmul
