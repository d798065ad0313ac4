"""Methods: conv_kinds. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Handle, Value, build, node, optional

if TYPE_CHECKING:
    from typing import Never, Self
    from ingot.ops.conv import Padding, Pair


class ConvKindsMethods(Handle):
    """Ops of ops/conv_kinds.py as methods."""

    __slots__ = ()

    def conv1d(
        self,
        weight: Value,
        bias: Value | None = None,
        stride: Pair = unset(1),
        padding: Padding = 0,
        dilation: Pair = 1,
        groups: int = 1,
        *,
        strides: Pair = unset(1),
        **unknown: Never,
    ) -> Self:
        """Filters slid over lines: a weighted sum of each window, for each output channel."""
        if unknown:
            raise unknown_argument(unknown)
        stride = one_of("conv1d", "stride", stride, "strides", strides)
        return self.of(build["conv1d"](
            self.uop,
            node(weight),
            optional(bias),
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
        ))

    def conv3d(
        self,
        weight: Value,
        bias: Value | None = None,
        stride: Pair = unset(1),
        padding: Padding = 0,
        dilation: Pair = 1,
        groups: int = 1,
        *,
        strides: Pair = unset(1),
        **unknown: Never,
    ) -> Self:
        """Filters slid over blocks: a weighted sum of each window, for each output channel."""
        if unknown:
            raise unknown_argument(unknown)
        stride = one_of("conv3d", "stride", stride, "strides", strides)
        return self.of(build["conv3d"](
            self.uop,
            node(weight),
            optional(bias),
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
        ))

    def conv_transpose1d(
        self,
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
    ) -> Self:
        """Every element of a line spreads a filter over the result: conv1d turned round."""
        if unknown:
            raise unknown_argument(unknown)
        stride = one_of("conv_transpose1d", "stride", stride, "strides", strides)
        return self.of(build["conv_transpose1d"](
            self.uop,
            node(weight),
            optional(bias),
            stride=stride,
            padding=padding,
            output_padding=output_padding,
            groups=groups,
            dilation=dilation,
        ))

    def conv_transpose2d(
        self,
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
    ) -> Self:
        """Every element of an image spreads a filter over the result: conv2d turned round."""
        if unknown:
            raise unknown_argument(unknown)
        stride = one_of("conv_transpose2d", "stride", stride, "strides", strides)
        return self.of(build["conv_transpose2d"](
            self.uop,
            node(weight),
            optional(bias),
            stride=stride,
            padding=padding,
            output_padding=output_padding,
            groups=groups,
            dilation=dilation,
        ))

