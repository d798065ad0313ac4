"""Functions: conv_kinds. Generated from the registry by `python -m ingot.tensor.generate`.

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


def conv1d(
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
    """Filters slid over lines: a weighted sum of each window, for each output channel."""
    if unknown:
        raise unknown_argument(unknown)
    stride = one_of("conv1d", "stride", stride, "strides", strides)
    return Tensor.of(build["conv1d"](
        node(x),
        node(weight),
        optional(bias),
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
    ))


def conv3d(
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
    """Filters slid over blocks: a weighted sum of each window, for each output channel."""
    if unknown:
        raise unknown_argument(unknown)
    stride = one_of("conv3d", "stride", stride, "strides", strides)
    return Tensor.of(build["conv3d"](
        node(x),
        node(weight),
        optional(bias),
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
    ))


def conv_transpose1d(
    x: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Pair = unset(1),
    padding: Padding = 0,
    output_padding: Pair = 0,
    groups: int = 1,
    dilation: Pair = 1,
    *,
    strides: Pair = unset(1),
    **unknown: Never,
) -> Tensor:
    """Every element of a line spreads a filter over the result: conv1d turned round."""
    if unknown:
        raise unknown_argument(unknown)
    stride = one_of("conv_transpose1d", "stride", stride, "strides", strides)
    return Tensor.of(build["conv_transpose1d"](
        node(x),
        node(weight),
        optional(bias),
        stride=stride,
        padding=padding,
        output_padding=output_padding,
        groups=groups,
        dilation=dilation,
    ))


def conv_transpose2d(
    x: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Pair = unset(1),
    padding: Padding = 0,
    output_padding: Pair = 0,
    groups: int = 1,
    dilation: Pair = 1,
    *,
    strides: Pair = unset(1),
    **unknown: Never,
) -> Tensor:
    """Every element of an image spreads a filter over the result: conv2d turned round."""
    if unknown:
        raise unknown_argument(unknown)
    stride = one_of("conv_transpose2d", "stride", stride, "strides", strides)
    return Tensor.of(build["conv_transpose2d"](
        node(x),
        node(weight),
        optional(bias),
        stride=stride,
        padding=padding,
        output_padding=output_padding,
        groups=groups,
        dilation=dilation,
    ))


