"""Methods: conv. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Handle, Value, build, node, optional

if TYPE_CHECKING:
    from typing import Never, Self
    from ingot.ops.conv import Padding, Pair


class ConvMethods(Handle):
    """Ops of ops/conv.py as methods."""

    __slots__ = ()

    def conv2d(
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
        """Filters slid over images: a weighted sum of each window, for each output channel."""
        if unknown:
            raise unknown_argument(unknown)
        stride = one_of("conv2d", "stride", stride, "strides", strides)
        return self.of(build["conv2d"](
            self.uop,
            node(weight),
            optional(bias),
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
        ))

