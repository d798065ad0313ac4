"""Functions: indexing. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Value, build, node
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never


def masked_select(x: Value, mask: Value, **unknown: Never) -> Tensor:
    """The elements of x where a mask holds, in a row."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["masked_select"](node(x), node(mask)))


def argwhere(x: Value, **unknown: Never) -> Tensor:
    """The coordinates of all elements that are not 0: a row each."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["argwhere"](node(x)))


def flatnonzero(x: Value, **unknown: Never) -> Tensor:
    """The places of all elements that are not 0, as x lies in memory."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["flatnonzero"](node(x)))


def nonzero(x: Value, **unknown: Never) -> tuple[Tensor, ...]:
    """The coordinates of all elements that are not 0: a tensor an axis."""
    if unknown:
        raise unknown_argument(unknown)
    return tuple(map(Tensor.of, build["nonzero"](node(x))))


