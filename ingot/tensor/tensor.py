"""Tensor: what users hold. In: data and operators. Out: a lazy value that computes itself when somebody looks at it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ingot.errors import DTypeError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ops.elementwise import astype
from ingot.ops.movement import reverse_axes, transpose
from ingot.ops.promotion import DEFAULT_FLOAT, resolve
from ingot.settings import settings
from ingot.tensor.conversions import Conversions
from ingot.tensor.device import check_device
from ingot.tensor.differentiable import Differentiable
from ingot.tensor.evaluate import to_array
from ingot.tensor.foreign import foreign, is_foreign
from ingot.tensor.handle import Array, Handle, array_node
from ingot.tensor.interop import Neighbours
from ingot.tensor.look import Looks
from ingot.tensor.namespaced import Namespaced
from ingot.tensor.naming import Named
from ingot.tensor.protocol import Protocol
from ingot.tensor.training import Training
from ingot.tensor.unknown import Unknown


class Tensor(
    Protocol,
    Neighbours,
    Conversions,
    Training,
    Looks,
    Differentiable,
    Namespaced,
    Unknown,
    Named,
):
    """An n-dimensional array, computed when needed. `Tensor(data)` copies; see `from_numpy` to share memory."""

    __slots__ = ()

    def __init__(
        self,
        data: Any,
        dtype: DType | str | None = None,
        requires_grad: bool = False,
        name: str | None = None,
        device: str | None = None,
    ) -> None:
        check_device("tensor", device)
        self._uop = data_node(data, None if dtype is None else resolve(dtype))
        self.buffer = self.kind = self.marks = None
        if requires_grad:
            self.require_grad()
        if name is not None:
            self.marked().name = name

    # --- what it is -----------------------------------------------------------------------------------------------

    @property
    def device(self) -> str:
        """Where values are computed and kept; one place for all tensors of a process (the setting DEVICE)."""
        return settings.runtime.device

    @property
    def name(self) -> str | None:
        """What messages and graphs call this tensor."""
        return None if self.marks is None else self.marks.name

    @name.setter
    def name(self, word: str | None) -> None:
        self.marked().name = word

    @property
    def T(self) -> Self:
        """The axes in reverse order."""
        return self.of(reverse_axes(self.uop))

    @property
    def mT(self) -> Self:
        """The last two axes exchanged."""
        return self.of(transpose(self.uop))

    def __reduce__(self) -> tuple[Any, ...]:
        marks = () if self.marks is None else (self.marks.requires_grad, self.name)
        return Tensor, (self.numpy(), self.dtype.name, *marks)


# --- data ---------------------------------------------------------------------------------------------------------


def data_node(data: Any, dtype: DType | None) -> UOp:
    """The node of a copy of anything that looks like an array."""
    if isinstance(data, Handle):
        return data.uop if dtype is None else astype(data.uop, dtype)
    if isinstance(data, np.ndarray):
        return _converted(array_node(data, borrow=False), dtype)
    if isinstance(data, np.generic):
        return _converted(array_node(np.asarray(data), borrow=False), dtype)
    if is_foreign(data):
        return _converted(array_node(*foreign(data), borrow=False), dtype)
    return _converted(array_node(_array_of(data, dtype), borrow=True), dtype)


def _converted(node: UOp, dtype: DType | None) -> UOp:
    return node if dtype is None else astype(node, dtype)


def _array_of(data: Any, dtype: DType | None) -> Array:
    """Python numbers in lists; floats have no width of their own, so they take ours."""
    try:
        array = np.asarray(_plain(data))
    except ValueError:
        raise ShapeError(
            f"tensor: the lists have different lengths: {_lengths(data)}",
            fix="pad them to one length, or keep them as a list of tensors",
        ) from None
    if array.size == 0 or array.dtype.kind == "f":
        array = array.astype(_stored(dtype or DEFAULT_FLOAT))
    if array.dtype.kind not in "biuf":
        raise DTypeError(
            f"tensor: {_first_odd(data)!r} is no number",
            fix="give numbers, lists of numbers, or a NumPy array",
        )
    return array


def _lengths(data: Any) -> str:
    """Where lists begin to differ."""
    inner = [part for part in data if isinstance(part, list | tuple)]
    if len(inner) != len(data):
        return "some elements are lists and some are numbers"
    lengths = [len(part) for part in inner]
    for number, length in enumerate(lengths):
        if length != lengths[0]:
            return f"list 0 has {lengths[0]} elements, list {number} has {length}"
    return next((found for part in inner if (found := _lengths(part))), "")


def _first_odd(data: Any) -> Any:
    """The first element that is no number."""
    if not isinstance(data, list | tuple):
        return data
    return next(
        (_first_odd(d) for d in data if not _is_number(_first_odd(d))), data
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number | Handle)


def _stored(dtype: DType) -> Any:
    """The NumPy type to hold Python floats in on their way to `dtype`."""
    return (
        np.float32
        if dtype is dt.bfloat16 or not dtype.is_float
        else dt.to_numpy(dtype)
    )


def _plain(data: Any) -> Any:
    """Lists with tensors among their elements, as lists of numbers."""
    if isinstance(data, Handle):
        return to_array(data)
    if isinstance(data, list | tuple):
        return [_plain(item) for item in data]
    return data
