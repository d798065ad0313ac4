"""Functions: borders. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import unknown_argument
from ingot.tensor.handle import Value, build, node
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never
    from ingot.ir.dtype import Scalar
    from ingot.ops.movement import Widths


def pad(x: Value, widths: Widths, value: Scalar = 0, mode: str = "constant", **unknown: Never) -> Tensor:
    """A border around x: one width, one (before, after), or a pair per axis; of `value`, or made of x itself."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["pad"](node(x), widths=widths, value=value, mode=mode))


