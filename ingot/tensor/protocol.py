"""Python's protocols: a tensor in `if`, `for`, `in`, `len`, `int`, `format`, `print`. In: a tensor. Out: Python's values.

Whoever asks for a value gets it computed: `if loss > 0.1` works as it reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from ingot import pipeline
from ingot.errors import ArgumentError, DTypeError, NoAxesError, ShapeError
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.shape import Shape, product
from ingot.ops.movement import show
from ingot.tensor.computed import has_values
from ingot.tensor.evaluate import evaluate, is_evaluated, to_array
from ingot.tensor.handle import Array, Handle, Value, build, operand
from ingot.tensor.rows import read_part, write_part
from ingot.tensor.truth import no_truth
from ingot.tensor.update import index_nodes, part_node

__all__ = ["is_lazy"]

Number = bool | int | float
MOST_SHOWN = 1000  # a larger tensor is shown by its corners


def is_lazy(x: Handle) -> bool:
    """The value has not been computed yet."""
    return not is_evaluated(x)


class Protocol(Handle):
    """What a tensor is, and what Python makes of it."""

    __slots__ = ()

    # --- what it is -----------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        """The size of each axis; a size that depends on data is counted now."""
        found = self.uop.shape if self.kind is None else self.kind[1]
        return _counted(self, found) if UOp in map(type, found) else found

    @shape.setter
    def shape(self, sizes: object) -> None:
        raise ArgumentError(
            "shape: the shape of a tensor cannot be set",
            fix=f"make another tensor: x = x.reshape({sizes!r})",
        )

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.uop.dtype if self.kind is None else self.kind[0]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int | UOp:
        """The number of elements."""
        return product(self.shape)

    @property
    def itemsize(self) -> int:
        """How many bytes an element takes."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int | UOp:
        """How many bytes the elements take."""
        return self.size * self.itemsize

    def dim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def numel(self) -> int | UOp:
        """The number of elements."""
        return self.size

    def element_size(self) -> int:
        """How many bytes an element takes."""
        return self.itemsize

    # --- values ---------------------------------------------------------------------------------------------------

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
        return to_array(self).tolist()

    def item(self) -> Number:
        """The one element as a Python number."""
        if self.size != 1:
            raise ShapeError(
                f"item: the tensor is {show(self.shape)}; wanted exactly one element",
                fix="index it first, or use .tolist()",
            )
        value: Number = to_array(self).item()
        return value

    def __repr__(self) -> str:
        values = to_array(self)
        text = np.array2string(
            values, separator=", ", prefix="Tensor(", threshold=MOST_SHOWN
        )
        is_short = values.size <= MOST_SHOWN and values.size > 0
        shape = "" if is_short else f", shape={values.shape}"
        return f"Tensor({text}{shape}, dtype={self.dtype})"

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        if self.size != 1:
            raise ArgumentError(
                f"format: a tensor of {show(self.shape)} has no format {spec!r}",
                fix="format one element, or the array: np.array2string(x.numpy(), ...)",
            )
        return format(self.item(), spec)

    # --- parts ----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        if not self.shape:
            raise NoAxesError(
                "len: the tensor has no axes",
                fix="a single number has no length; use .item()",
            )
        return int(self.shape[0])  # type: ignore[arg-type]  # a symbolic size says itself that it is no int

    def __iter__(self) -> Iterator[Self]:
        if not self.shape:
            raise NoAxesError(
                "for: a tensor with no axes is a single number, which has no parts",
                fix="use .item() for its value, or .reshape(1) for a tensor of one part",
            )
        return (self[i] for i in range(len(self)))

    def __reversed__(self) -> Iterator[Self]:
        return (self[i] for i in reversed(range(len(self))))

    def __contains__(self, value: Value) -> bool:
        found = build["equal"](self.uop, operand(value))
        return bool(to_array(self.of(build["any"](found))))

    def __getitem__(self, index: Any) -> Self:
        found = read_part(self, index)
        if found is not None:
            return self.holding(*found)
        return self.of(build["getitem"](self.uop, index_nodes(index)))

    def __setitem__(self, index: Any, value: Any) -> None:
        """x[index] = value: the index as in x[index]; the value is a number, or broadcasts to the part."""
        part = part_node(self.dtype, value)
        if not write_part(self, index, part):
            self.rebind(build["put"](self.uop, index_nodes(index), part))

    # --- numbers --------------------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        if self.size != 1:
            raise no_truth(self.shape)
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if not self.dtype.is_int:
            raise DTypeError(
                f"index: the tensor is {self.dtype}; wanted a whole number",
                fix="convert it with int(...)",
            )
        return int(self.item())

    def __round__(self, digits: int = 0) -> Self:
        """Half to even, as everywhere; digits after the point are those of 10**digits."""
        if digits == 0:
            return self.of(build["round"](self.uop))
        scale = 10.0**digits
        scaled = build["round"](build["multiply"](self.uop, scale))
        return self.of(build["divide"](scaled, scale))

    def __divmod__(self, other: Value) -> tuple[Self, Self]:
        right = operand(other)
        whole = build["floor_divide"](self.uop, right)
        return self.of(whole), self.of(build["remainder"](self.uop, right))


def _counted(x: Handle, shape: Shape) -> Shape:
    """The shape with numbers for sizes that depend on data. Variables, and sizes in a capture, stay symbols."""
    if Handle.journal is not None or not has_values(x.uop):
        return shape
    return tuple(
        pipeline.size(n) if isinstance(n, UOp) and _depends_on_data(n) else n
        for n in shape
    )


def _depends_on_data(size: UOp) -> bool:
    return any(node.op is Ops.SIZE_OF for node in size.toposort())
