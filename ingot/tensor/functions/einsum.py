"""Functions: einsum. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import nodes, unknown_argument
from ingot.tensor.handle import Value, build
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never


def einsum(equation: str, *operands: Value, **unknown: Never) -> Tensor:
    """The sum of products that the names of axes say: "ij,jk->ik" is a matrix product."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["einsum"](equation, *nodes(operands)))


