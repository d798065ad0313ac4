"""Methods: loss. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Handle, Value, build, node

if TYPE_CHECKING:
    from typing import Never, Self


class LossMethods(Handle):
    """Ops of ops/loss.py as methods."""

    __slots__ = ()

    def cross_entropy(self, target: Value, reduction: str = "mean", **unknown: Never) -> Self:
        """-log(softmax(logits)) at the target class. A target that is no class gives infinity."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["cross_entropy"](self.uop, node(target), reduction=reduction))

