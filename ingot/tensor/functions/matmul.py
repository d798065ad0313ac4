"""Functions: matmul. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Value, build, node, optional
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never


def matmul(left: Value, right: Value, **unknown: Never) -> Tensor:
    """The matrix product over the last two axes; axes in front are broadcast."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["matmul"](node(left), node(right)))


def linear(x: Value, weight: Value, bias: Value | None = None, **unknown: Never) -> Tensor:
    """x @ weight.T + bias."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["linear"](node(x), node(weight), optional(bias)))


dot = matmul
