"""The same values in another type or place. In: a tensor. Out: the tensor itself where nothing changes, else another one.

The methods are named as in torch, so inside this class `float`, `int` and `bool` are methods.
"""

from __future__ import annotations

from typing import Any, Self

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.ops.elementwise import astype
from ingot.ops.promotion import resolve
from ingot.tensor.device import check_device, is_device
from ingot.tensor.handle import Handle


class Conversions(Handle):
    """`x.float()`, `x.to(...)` and their like."""

    __slots__ = ()

    def to(
        self, *given: Any, dtype: DType | str | None = None, device: Any = None
    ) -> Self:
        """In another type, on another device, or as another tensor is: x.to(float16), x.to("cpu"), x.to(y)."""
        for wanted in given:
            if isinstance(wanted, Handle):
                dtype = wanted.uop.dtype
            elif is_device(wanted):
                device = wanted
            else:
                dtype = resolve(wanted)
        check_device("to", device)
        return self if dtype is None else self._cast(resolve(dtype))

    def type(self, dtype: DType | str) -> Self:
        """In another type."""
        return self._cast(resolve(dtype))

    def type_as(self, other: Handle) -> Self:
        """In the type of another tensor."""
        return self._cast(other.uop.dtype)

    def cpu(self) -> Self:
        """The tensor itself: values are asked for on the CPU wherever they were computed."""
        return self

    def cuda(self) -> Self:
        """The tensor, if this process computes on CUDA."""
        check_device("cuda", "CUDA")
        return self

    def clone(self) -> Self:
        """Another tensor of the same value: a change of one leaves the other as it is."""
        return self.of(self.uop)

    def half(self) -> Self:
        """As float16."""
        return self._cast(dt.float16)

    def bfloat16(self) -> Self:
        """As bfloat16."""
        return self._cast(dt.bfloat16)

    def float(self) -> Self:
        """As float32."""
        return self._cast(dt.float32)

    def double(self) -> Self:
        """As float64."""
        return self._cast(dt.float64)

    def char(self) -> Self:
        """As int8."""
        return self._cast(dt.int8)

    def byte(self) -> Self:
        """As uint8."""
        return self._cast(dt.uint8)

    def short(self) -> Self:
        """As int16."""
        return self._cast(dt.int16)

    def int(self) -> Self:
        """As int32."""
        return self._cast(dt.int32)

    def long(self) -> Self:
        """As int64."""
        return self._cast(dt.int64)

    def bool(self) -> Self:
        """Whether each element differs from 0."""
        return self._cast(dt.boolean)

    def _cast(self, dtype: DType) -> Self:
        return self if dtype is self.uop.dtype else self.of(astype(self.uop, dtype))
