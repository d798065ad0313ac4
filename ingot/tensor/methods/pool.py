"""Methods: pool. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import REQUIRED, one_of, unknown_argument, unset
from ingot.tensor.handle import Handle, Value, build, node

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Never, Self
    from ingot.ops.pool import Border, Output, Window


class PoolMethods(Handle):
    """Ops of ops/pool.py as methods."""

    __slots__ = ()

    def max_pool1d(
        self,
        kernel_size: Window = REQUIRED,
        stride: Window | None = unset(None),
        padding: Border = 0,
        dilation: Window = 1,
        ceil_mode: bool = False,
        *,
        pool_size: Window = REQUIRED,
        strides: Window | None = unset(None),
        **unknown: Never,
    ) -> Self:
        """The largest element of each window, over the last 1 axes."""
        if unknown:
            raise unknown_argument(unknown)
        kernel_size = one_of("max_pool1d", "kernel_size", kernel_size, "pool_size", pool_size)
        stride = one_of("max_pool1d", "stride", stride, "strides", strides)
        return self.of(build["max_pool1d"](
            self.uop,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
        ))

    def avg_pool1d(
        self,
        kernel_size: Window = REQUIRED,
        stride: Window | None = unset(None),
        padding: Border = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        *,
        pool_size: Window = REQUIRED,
        strides: Window | None = unset(None),
        **unknown: Never,
    ) -> Self:
        """The mean of each window; the border counts as 0, or not at all, over the last 1 axes."""
        if unknown:
            raise unknown_argument(unknown)
        kernel_size = one_of("avg_pool1d", "kernel_size", kernel_size, "pool_size", pool_size)
        stride = one_of("avg_pool1d", "stride", stride, "strides", strides)
        return self.of(build["avg_pool1d"](
            self.uop,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
        ))

    def lp_pool1d(
        self,
        kernel_size: Window = REQUIRED,
        norm_type: float = 2.0,
        stride: Window | None = unset(None),
        padding: Border = 0,
        *,
        pool_size: Window = REQUIRED,
        strides: Window | None = unset(None),
        **unknown: Never,
    ) -> Self:
        """sum(x**p)**(1/p) of each window, over the last 1 axes."""
        if unknown:
            raise unknown_argument(unknown)
        kernel_size = one_of("lp_pool1d", "kernel_size", kernel_size, "pool_size", pool_size)
        stride = one_of("lp_pool1d", "stride", stride, "strides", strides)
        return self.of(build["lp_pool1d"](
            self.uop,
            norm_type=norm_type,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
        ))

    def adaptive_avg_pool1d(self, output_size: Output, **unknown: Never) -> Self:
        """The means of windows that are as even as can be, over the last 1 axes."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["adaptive_avg_pool1d"](self.uop, output_size=output_size))

    def adaptive_max_pool1d(self, output_size: Output, **unknown: Never) -> Self:
        """The largest elements of windows that are as even as can be, over the last 1 axes."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["adaptive_max_pool1d"](self.uop, output_size=output_size))

    def max_pool1d_with_indices(
        self,
        kernel_size: Window = REQUIRED,
        stride: Window | None = unset(None),
        padding: Border = 0,
        dilation: Window = 1,
        ceil_mode: bool = False,
        *,
        pool_size: Window = REQUIRED,
        strides: Window | None = unset(None),
        **unknown: Never,
    ) -> tuple[Self, ...]:
        """The largest element of each window, and its place among the pooled sizes in a row, over the last 1 axes."""
        if unknown:
            raise unknown_argument(unknown)
        kernel_size = one_of("max_pool1d_with_indices", "kernel_size", kernel_size, "pool_size", pool_size)
        stride = one_of("max_pool1d_with_indices", "stride", stride, "strides", strides)
        return tuple(map(self.of, build["max_pool1d_with_indices"](
            self.uop,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
        )))

    def max_pool2d(
        self,
        kernel_size: Window = REQUIRED,
        stride: Window | None = unset(None),
        padding: Border = 0,
        dilation: Window = 1,
        ceil_mode: bool = False,
        *,
        pool_size: Window = REQUIRED,
        strides: Window | None = unset(None),
        **unknown: Never,
    ) -> Self:
        """The largest element of each window, over the last 2 axes."""
        if unknown:
            raise unknown_argument(unknown)
        kernel_size = one_of("max_pool2d", "kernel_size", kernel_size, "pool_size", pool_size)
        stride = one_of("max_pool2d", "stride", stride, "strides", strides)
        return self.of(build["max_pool2d"](
            self.uop,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
        ))

    def avg_pool2d(
        self,
        kernel_size: Window = REQUIRED,
        stride: Window | None = unset(None),
        padding: Border = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        *,
        pool_size: Window = REQUIRED,
        strides: Window | None = unset(None),
        **unknown: Never,
    ) -> Self:
        """The mean of each window; the border counts as 0, or not at all, over the last 2 axes."""
        if unknown:
            raise unknown_argument(unknown)
        kernel_size = one_of("avg_pool2d", "kernel_size", kernel_size, "pool_size", pool_size)
        stride = one_of("avg_pool2d", "stride", stride, "strides", strides)
        return self.of(build["avg_pool2d"](
            self.uop,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
        ))

    def lp_pool2d(
        self,
        kernel_size: Window = REQUIRED,
        norm_type: float = 2.0,
        stride: Window | None = unset(None),
        padding: Border = 0,
        *,
        pool_size: Window = REQUIRED,
        strides: Window | None = unset(None),
        **unknown: Never,
    ) -> Self:
        """sum(x**p)**(1/p) of each window, over the last 2 axes."""
        if unknown:
            raise unknown_argument(unknown)
        kernel_size = one_of("lp_pool2d", "kernel_size", kernel_size, "pool_size", pool_size)
        stride = one_of("lp_pool2d", "stride", stride, "strides", strides)
        return self.of(build["lp_pool2d"](
            self.uop,
            norm_type=norm_type,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
        ))

    def adaptive_avg_pool2d(self, output_size: Output, **unknown: Never) -> Self:
        """The means of windows that are as even as can be, over the last 2 axes."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["adaptive_avg_pool2d"](self.uop, output_size=output_size))

    def adaptive_max_pool2d(self, output_size: Output, **unknown: Never) -> Self:
        """The largest elements of windows that are as even as can be, over the last 2 axes."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["adaptive_max_pool2d"](self.uop, output_size=output_size))

    def max_pool2d_with_indices(
        self,
        kernel_size: Window = REQUIRED,
        stride: Window | None = unset(None),
        padding: Border = 0,
        dilation: Window = 1,
        ceil_mode: bool = False,
        *,
        pool_size: Window = REQUIRED,
        strides: Window | None = unset(None),
        **unknown: Never,
    ) -> tuple[Self, ...]:
        """The largest element of each window, and its place among the pooled sizes in a row, over the last 2 axes."""
        if unknown:
            raise unknown_argument(unknown)
        kernel_size = one_of("max_pool2d_with_indices", "kernel_size", kernel_size, "pool_size", pool_size)
        stride = one_of("max_pool2d_with_indices", "stride", stride, "strides", strides)
        return tuple(map(self.of, build["max_pool2d_with_indices"](
            self.uop,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
        )))

    def max_pool3d(
        self,
        kernel_size: Window = REQUIRED,
        stride: Window | None = unset(None),
        padding: Border = 0,
        dilation: Window = 1,
        ceil_mode: bool = False,
        *,
        pool_size: Window = REQUIRED,
        strides: Window | None = unset(None),
        **unknown: Never,
    ) -> Self:
        """The largest element of each window, over the last 3 axes."""
        if unknown:
            raise unknown_argument(unknown)
        kernel_size = one_of("max_pool3d", "kernel_size", kernel_size, "pool_size", pool_size)
        stride = one_of("max_pool3d", "stride", stride, "strides", strides)
        return self.of(build["max_pool3d"](
            self.uop,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
        ))

    def avg_pool3d(
        self,
        kernel_size: Window = REQUIRED,
        stride: Window | None = unset(None),
        padding: Border = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        *,
        pool_size: Window = REQUIRED,
        strides: Window | None = unset(None),
        **unknown: Never,
    ) -> Self:
        """The mean of each window; the border counts as 0, or not at all, over the last 3 axes."""
        if unknown:
            raise unknown_argument(unknown)
        kernel_size = one_of("avg_pool3d", "kernel_size", kernel_size, "pool_size", pool_size)
        stride = one_of("avg_pool3d", "stride", stride, "strides", strides)
        return self.of(build["avg_pool3d"](
            self.uop,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
        ))

    def lp_pool3d(
        self,
        kernel_size: Window = REQUIRED,
        norm_type: float = 2.0,
        stride: Window | None = unset(None),
        padding: Border = 0,
        *,
        pool_size: Window = REQUIRED,
        strides: Window | None = unset(None),
        **unknown: Never,
    ) -> Self:
        """sum(x**p)**(1/p) of each window, over the last 3 axes."""
        if unknown:
            raise unknown_argument(unknown)
        kernel_size = one_of("lp_pool3d", "kernel_size", kernel_size, "pool_size", pool_size)
        stride = one_of("lp_pool3d", "stride", stride, "strides", strides)
        return self.of(build["lp_pool3d"](
            self.uop,
            norm_type=norm_type,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
        ))

    def adaptive_avg_pool3d(self, output_size: Output, **unknown: Never) -> Self:
        """The means of windows that are as even as can be, over the last 3 axes."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["adaptive_avg_pool3d"](self.uop, output_size=output_size))

    def adaptive_max_pool3d(self, output_size: Output, **unknown: Never) -> Self:
        """The largest elements of windows that are as even as can be, over the last 3 axes."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["adaptive_max_pool3d"](self.uop, output_size=output_size))

    def max_pool3d_with_indices(
        self,
        kernel_size: Window = REQUIRED,
        stride: Window | None = unset(None),
        padding: Border = 0,
        dilation: Window = 1,
        ceil_mode: bool = False,
        *,
        pool_size: Window = REQUIRED,
        strides: Window | None = unset(None),
        **unknown: Never,
    ) -> tuple[Self, ...]:
        """The largest element of each window, and its place among the pooled sizes in a row, over the last 3 axes."""
        if unknown:
            raise unknown_argument(unknown)
        kernel_size = one_of("max_pool3d_with_indices", "kernel_size", kernel_size, "pool_size", pool_size)
        stride = one_of("max_pool3d_with_indices", "stride", stride, "strides", strides)
        return tuple(map(self.of, build["max_pool3d_with_indices"](
            self.uop,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
        )))

    def max_unpool(self, indices: Value, output_size: Sequence[int], **unknown: Never) -> Self:
        """Elements put at their places among the last axes, of `output_size`; 0 elsewhere."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["max_unpool"](self.uop, node(indices), output_size=output_size))

