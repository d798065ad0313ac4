"""Tensor: what users hold. In: data and operators. Out: a lazy value that computes itself when somebody looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from ingot.errors import ArgumentError, DTypeError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.shape import Shape, product
from ingot.ops.elementwise import astype
from ingot.ops.indexing import Part
from ingot.ops.movement import reverse_axes, show, transpose
from ingot.ops.promotion import DEFAULT_FLOAT, resolve
from ingot.tensor.evaluate import evaluate, is_evaluated, to_array
from ingot.tensor.handle import Array, Handle, array_node, build
from ingot.tensor.operators import Operators


class Tensor(Operators):
    """An n-dimensional array, computed when needed. `Tensor(data)` copies; see `from_numpy` to share memory."""

    __slots__ = ()
    __array_ufunc__ = (
        None  # an array on the left of an operator leaves the operation to us
    )

    def __init__(self, data: Any, dtype: DType | str | None = None) -> None:
        self.uop = data_node(data, None if dtype is None else resolve(dtype))

    # --- what it is -----------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        """The size of each axis."""
        return self.uop.shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.uop.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.uop.shape)

    @property
    def size(self) -> int | UOp:
        """The number of elements."""
        return product(self.uop.shape)

    @property
    def T(self) -> Self:
        """The axes in reverse order."""
        return self.of(reverse_axes(self.uop))

    @property
    def mT(self) -> Self:
        """The last two axes exchanged."""
        return self.of(transpose(self.uop))

    # --- looking at values ----------------------------------------------------------------------------------------

    def realize(self) -> Self:
        """Compute now, and return the tensor itself."""
        evaluate(self)
        return self

    def is_evaluated(self) -> bool:
        """The value has been computed."""
        return is_evaluated(self)

    def numpy(self) -> Array:
        """The value as a NumPy array of its own."""
        return to_array(self)

    def tolist(self) -> Any:
        """The value as nested lists of Python numbers."""
        return self.numpy().tolist()

    def item(self) -> bool | int | float:
        """The one element as a Python number."""
        if self.size != 1:
            raise ShapeError(
                f"item: the tensor is {show(self.shape)}; wanted exactly one element",
                fix="index it first, or use .tolist()",
            )
        value: bool | int | float = self.numpy().item()
        return value

    def __repr__(self) -> str:
        text = np.array2string(self.numpy(), separator=", ", prefix="Tensor(")
        return f"Tensor({text}, dtype={self.dtype})"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    # --- Python's protocols ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError(
                "len: the tensor has no axes",
                fix="a single number has no length; use .item()",
            )
        return int(self.shape[0])  # type: ignore[arg-type]  # a symbolic size says itself that it is no int

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Part | tuple[Part, ...]) -> Self:
        return self.of(build["getitem"](self.uop, index))

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ArgumentError(
                f"bool: a tensor of {show(self.shape)} is neither true nor false",
                fix="write .any() or .all()",
            )
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __index__(self) -> int:
        if not self.dtype.is_int:
            raise DTypeError(
                f"index: the tensor is {self.dtype}; wanted a whole number",
                fix="convert it with int(...)",
            )
        return int(self.item())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        made = self.numpy()
        return made if dtype is None else made.astype(dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.dtype is dt.bfloat16:
            return Tensor, (self.numpy(), "bfloat16")
        return Tensor, (self.numpy(),)


# --- data ---------------------------------------------------------------------------------------------------------


def data_node(data: Any, dtype: DType | None) -> UOp:
    """The node of a copy of anything that looks like an array."""
    if isinstance(data, Handle):
        return data.uop if dtype is None else astype(data.uop, dtype)
    if isinstance(data, np.ndarray):
        return _converted(array_node(data, borrow=False), dtype)
    if isinstance(data, np.generic):
        return _converted(array_node(np.asarray(data), borrow=False), dtype)
    return _converted(array_node(_array_of(data, dtype), borrow=True), dtype)


def _converted(node: UOp, dtype: DType | None) -> UOp:
    return node if dtype is None else astype(node, dtype)


def _array_of(data: Any, dtype: DType | None) -> Array:
    """Python numbers in lists; floats have no width of their own, so they take ours."""
    try:
        array = np.asarray(_plain(data))
    except ValueError as error:
        raise ShapeError(
            f"tensor: the lists have different lengths: {error}",
            fix="pad them to one length",
        ) from None
    if array.size == 0 or array.dtype.kind == "f":
        array = array.astype(_stored(dtype or DEFAULT_FLOAT))
    if array.dtype.kind not in "biuf":
        raise DTypeError(
            f"tensor: cannot make a tensor of {type(data).__name__} ({array.dtype})",
            fix="give numbers, lists of numbers, or a NumPy array",
        )
    return array


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
