"""Functions: loss. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Value, build, node
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never


def cross_entropy(logits: Value, target: Value, reduction: str = "mean", **unknown: Never) -> Tensor:
    """-log(softmax(logits)) at the target class. A target that is no class gives infinity."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["cross_entropy"](node(logits), node(target), reduction=reduction))


