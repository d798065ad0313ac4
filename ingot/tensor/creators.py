"""Tensors out of nothing, as class methods; `ig.zeros` is `Tensor.zeros` (creation.py). In: shapes and numbers. Out: tensors.

A shape is one size, several sizes, or a sequence of them: `zeros(3)`, `zeros(2, 3)`, `zeros((2, 3))`, `zeros([2, 3])`.
Nothing here needs memory: a kernel computes such values where it needs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from ingot.errors import ArgumentError
from ingot.ir.dtype import DType, Scalar
from ingot.ir.node import UOp
from ingot.ir.shape import Shape
from ingot.ops import creation
from ingot.ops.movement import Dim, Sizes, show, sizes
from ingot.ops.promotion import DEFAULT_FLOAT, resolve
from ingot.tensor.device import check_device
from ingot.tensor.handle import Handle, Value, node
from ingot.tensor.update import Updates

Type = DType | str | None


class Creators(Updates):
    """Constants, counting, the identity."""

    __slots__ = ()

    @classmethod
    def full(
        cls,
        shape: Sizes,
        fill_value: Value,
        *,
        dtype: Type = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Self:
        """`fill_value` everywhere."""
        if isinstance(fill_value, list | tuple):
            raise ArgumentError(
                f"full: the value is {fill_value!r}; wanted one number",
                fix=f"the shape comes first: ig.full({fill_value!r}, {shape!r})",
            )
        size = shape_of("full", (shape,))
        made = creation.full(size, _number(fill_value), type_of(dtype))
        return cls.finished("full", made, device, requires_grad)

    @classmethod
    def zeros(
        cls,
        shape: Sizes,
        *more: Dim,
        dtype: Type = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Self:
        """0 everywhere."""
        size = shape_of("zeros", (shape, *more))
        made = creation.full(size, 0, type_of(dtype) or DEFAULT_FLOAT)
        return cls.finished("zeros", made, device, requires_grad)

    @classmethod
    def ones(
        cls,
        shape: Sizes,
        *more: Dim,
        dtype: Type = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Self:
        """1 everywhere."""
        size = shape_of("ones", (shape, *more))
        made = creation.full(size, 1, type_of(dtype) or DEFAULT_FLOAT)
        return cls.finished("ones", made, device, requires_grad)

    @classmethod
    def empty(
        cls,
        shape: Sizes,
        *more: Dim,
        dtype: Type = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Self:
        """Any value; here 0, because no tensor shows what lay in memory before."""
        size = shape_of("empty", (shape, *more))
        made = creation.full(size, 0, type_of(dtype) or DEFAULT_FLOAT)
        return cls.finished("empty", made, device, requires_grad)

    @classmethod
    def full_like(
        cls,
        x: Value,
        fill_value: Scalar,
        *,
        dtype: Type = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Self:
        """`fill_value` everywhere, in the shape and type of x."""
        like = node(x)
        made = creation.full(like.shape, fill_value, type_of(dtype) or like.dtype)
        return cls.finished("full_like", made, device, requires_grad)

    @classmethod
    def zeros_like(
        cls,
        x: Value,
        *,
        dtype: Type = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Self:
        """0 everywhere, in the shape and type of x."""
        return cls.full_like(
            x, 0, dtype=dtype, device=device, requires_grad=requires_grad
        )

    @classmethod
    def ones_like(
        cls,
        x: Value,
        *,
        dtype: Type = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Self:
        """1 everywhere, in the shape and type of x."""
        return cls.full_like(
            x, 1, dtype=dtype, device=device, requires_grad=requires_grad
        )

    @classmethod
    def empty_like(
        cls,
        x: Value,
        *,
        dtype: Type = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Self:
        """Any value (here 0), in the shape and type of x."""
        return cls.full_like(
            x, 0, dtype=dtype, device=device, requires_grad=requires_grad
        )

    @classmethod
    def arange(
        cls,
        start: Scalar,
        stop: Scalar | None = None,
        step: Scalar = 1,
        *,
        dtype: Type = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Self:
        """start, start + step, ... before stop; one number alone is the stop."""
        first, last = (0, start) if stop is None else (start, stop)
        made = creation.arange(first, last, step, type_of(dtype))
        return cls.finished("arange", made, device, requires_grad)

    @classmethod
    def linspace(
        cls,
        start: Scalar,
        stop: Scalar,
        num: int = 50,
        *,
        steps: int | None = None,
        dtype: Type = None,
        device: object = None,
        endpoint: bool = True,
        requires_grad: bool = False,
    ) -> Self:
        """`num` (or `steps`) numbers at equal distances from start to stop; without stop itself if endpoint=False."""
        count = num if steps is None else steps
        made = creation.linspace(start, stop, count, endpoint, type_of(dtype))
        return cls.finished("linspace", made, device, requires_grad)

    @classmethod
    def logspace(
        cls,
        start: Scalar,
        stop: Scalar,
        num: int = 50,
        *,
        steps: int | None = None,
        base: float = 10.0,
        dtype: Type = None,
        device: object = None,
        endpoint: bool = True,
        requires_grad: bool = False,
    ) -> Self:
        """`base` to the powers linspace(start, stop, num)."""
        count = num if steps is None else steps
        kind = type_of(dtype)
        made = creation.logspace(start, stop, count, base, endpoint, kind)
        return cls.finished("logspace", made, device, requires_grad)

    @classmethod
    def eye(
        cls,
        n_rows: int,
        n_cols: int | None = None,
        *,
        k: int = 0,
        dtype: Type = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Self:
        """1 on the k-th diagonal, 0 elsewhere."""
        width = n_rows if n_cols is None else n_cols
        made = creation.eye(n_rows, width, k, type_of(dtype) or DEFAULT_FLOAT)
        return cls.finished("eye", made, device, requires_grad)

    @classmethod
    def finished(
        cls, name: str, made: UOp, device: object, requires_grad: bool
    ) -> Self:
        """The tensor of a node, as the arguments that all creators take want it."""
        check_device(name, device)
        tensor = cls.of(made)
        if requires_grad:
            tensor.require_grad()
        return tensor


def shape_of(name: str, given: tuple[Any, ...]) -> Shape:
    """A shape however it was written."""
    for part in given[1:]:
        if isinstance(part, str | DType):
            raise ArgumentError(
                f"{name}: {part} stands among the sizes", fix=f"write dtype={part}"
            )
    first = given[0] if len(given) == 1 else given
    several = tuple(first) if isinstance(first, Sequence) else (first,)
    wanted = tuple(_size(n) for n in several)
    shape = sizes(name, wanted)
    for n in shape:
        if isinstance(n, int) and n < 0:
            raise ArgumentError(
                f"{name}: {n} in shape {show(shape)} is no size",
                fix="sizes are 0 or more",
            )
    return shape


def _number(value: Any) -> Scalar:
    """A number, also one in a tensor or of NumPy."""
    found: Scalar = value.item() if hasattr(value, "item") else value
    return found


def _size(given: Any) -> Dim:
    """A size that was computed as a tensor is a whole number."""
    found: Dim = int(given) if isinstance(given, Handle) else given  # type: ignore[call-overload]
    return found


def type_of(dtype: Type) -> DType | None:
    """A type given by name, as itself, or not at all."""
    return None if dtype is None else resolve(dtype)
