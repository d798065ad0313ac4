"""Functions: conv. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Value, build, node, optional
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never
    from ingot.ops.conv import Padding, Pair


def conv2d(
    x: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Pair = unset(1),
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
    *,
    strides: Pair = unset(1),
    **unknown: Never,
) -> Tensor:
    """Filters slid over images: a weighted sum of each window, for each output channel."""
    if unknown:
        raise unknown_argument(unknown)
    stride = one_of("conv2d", "stride", stride, "strides", strides)
    return Tensor.of(build["conv2d"](
        node(x),
        node(weight),
        optional(bias),
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
    ))


