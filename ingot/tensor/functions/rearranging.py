"""Functions: rearranging. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from ingot.tensor.handle import Value, build, node
from ingot.tensor.tensor import Tensor


def rearrange(x: Value, pattern: str, **sizes: int) -> Tensor:
    """Axes split, moved and joined as "before -> after" says; see the names of axes in the pattern."""
    return Tensor.of(build["rearrange"](node(x), pattern=pattern, **sizes))


