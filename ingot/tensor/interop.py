"""Neighbours: NumPy, torch, JAX, pandas and whoever speaks DLPack or the buffer protocol. In: a tensor. Out: theirs, or ours.

    np.mean(x), np.exp(x), array + x       lazy tensors: NumPy leaves to us what we know
    torch.sin(x), torch_tensor + x         torch's own result, over the same memory
    np.from_dlpack(x), torch.from_dlpack(x), ig.from_dlpack(y)     the same memory, alive as long as anybody holds it

What works with no call between is the table of docs/neighbours.md, which a test checks row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ingot import pipeline
from ingot.ir import dtype as dt
from ingot.tensor.computed import in_memory
from ingot.tensor.evaluate import evaluate, to_array
from ingot.tensor.foreign import CPU, Asked, handed_over
from ingot.tensor.handle import Array, Handle
from ingot.tensor.interop_einops import watch_for_einops
from ingot.tensor.numpy_calls import called, first_tensor, universal
from ingot.tensor.tree import mapped


class Neighbours(Handle):
    """The protocols by which other libraries meet a tensor."""

    __slots__ = ()

    # --- NumPy ----------------------------------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError(
                "a tensor becomes an array by copying; copy=False cannot be had"
            )
        made = to_array(self)
        return made if dtype is None else made.astype(dtype, copy=False)

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, **named: Any
    ) -> Any:
        return universal(first_tensor(inputs, named), ufunc, method, inputs, named)

    def __array_function__(
        self, function: Any, types: Any, args: Sequence[Any], named: dict[str, Any]
    ) -> Any:
        return called(first_tensor(args, named), function, args, named)

    # --- memory ---------------------------------------------------------------------------------------------------

    def data(self) -> memoryview:
        """The values as a read-only buffer of its own; bfloat16, which Python lacks, as float32."""
        values: Any = to_array(self)
        return memoryview(values).toreadonly()

    def __buffer__(self, flags: int) -> memoryview:
        return self.data()

    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The memory of the tensor, to be read: it lives as long as the other side holds it."""
        asked = Asked(stream, max_version, dl_device, copy)
        return handed_over(_memory(self), self.uop.dtype, asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU

    # --- torch ----------------------------------------------------------------------------------------------------

    @classmethod
    def __torch_function__(
        cls,
        function: Callable[..., Any],
        types: Any,
        args: Sequence[Any] = (),
        named: dict[str, Any] | None = None,
    ) -> Any:
        import torch

        def theirs(leaf: Any) -> Any:
            return torch.from_dlpack(leaf) if isinstance(leaf, Handle) else leaf

        values, words = mapped(theirs, (tuple(args), named or {}))
        return function(*values, **words)


def _memory(tensor: Handle) -> Array:
    """The memory of a tensor, as an array."""
    evaluate(tensor)
    node = in_memory(tensor.uop)
    shape = tuple(pipeline.size(n) for n in node.shape)
    stored: Array = pipeline.memory(node).as_array(dt.to_numpy(node.dtype), shape)
    return stored


watch_for_einops()
