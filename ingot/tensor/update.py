"""Changes in place. In: a tensor and its new value, or a part of it. Out: the same tensor over another node.

Values are immutable: `x += 1` computes x + 1 and makes x stand for that. What was built on x before keeps the old value,
and views do not alias: `row = x[0]; row += 1` leaves x as it was, `x[0] += 1` changes it.
The type and the shape of x stay: a value that would not fit is an error, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from ingot.errors import DTypeError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Kind, Scalar
from ingot.ir.node import UOp
from ingot.ir.shape import Shape
from ingot.ops.elementwise import astype, constant
from ingot.ops.movement import broadcast_to, show
from ingot.tensor.handle import (
    Handle,
    Value,
    array_node,
    beside,
    build,
    node,
    not_an_input,
    operand,
)
from ingot.tensor.operators import Operators

_add, _subtract, _multiply = build["add"], build["subtract"], build["multiply"]
_divide, _floor_divide = build["divide"], build["floor_divide"]
_remainder, _pow, _matmul = build["remainder"], build["pow"], build["matmul"]
_and, _or, _xor = build["bitwise_and"], build["bitwise_or"], build["bitwise_xor"]
_left_shift = build["bitwise_left_shift"]
_right_shift = build["bitwise_right_shift"]

_RANK = {Kind.BOOL: 0, Kind.UINT: 1, Kind.INT: 2, Kind.FLOAT: 3}


def _in_place(name: str) -> Callable[..., Any]:
    """x.name_(...) is x.name(...), kept in x."""

    def method(self: Updates, *args: Any, **kwargs: Any) -> Updates:
        made: Operators = getattr(self, name)(*args, **kwargs)
        return self._become(f"{name}_", made.uop)

    method.__name__ = f"{name}_"
    method.__doc__ = f"x.{name}(...), kept in x."
    return method


class Updates(Operators):
    """Operators with `=`, and the methods whose names end in an underscore."""

    __slots__ = ()

    def __iadd__(self, other: Value) -> Self:
        return self._become("+=", _add(self.uop, beside(self, other)))

    def __isub__(self, other: Value) -> Self:
        return self._become("-=", _subtract(self.uop, beside(self, other)))

    def __imul__(self, other: Value) -> Self:
        return self._become("*=", _multiply(self.uop, beside(self, other)))

    def __itruediv__(self, other: Value) -> Self:
        return self._become("/=", _divide(self.uop, beside(self, other)))

    def __ifloordiv__(self, other: Value) -> Self:
        return self._become("//=", _floor_divide(self.uop, beside(self, other)))

    def __imod__(self, other: Value) -> Self:
        return self._become("%=", _remainder(self.uop, beside(self, other)))

    def __ipow__(self, other: Value) -> Self:
        return self._become("**=", _pow(self.uop, beside(self, other)))

    def __imatmul__(self, other: Value) -> Self:
        return self._become("@=", _matmul(self.uop, node(other)))

    def __iand__(self, other: Value) -> Self:
        return self._become("&=", _and(self.uop, beside(self, other)))

    def __ior__(self, other: Value) -> Self:
        return self._become("|=", _or(self.uop, beside(self, other)))

    def __ixor__(self, other: Value) -> Self:
        return self._become("^=", _xor(self.uop, beside(self, other)))

    def __ilshift__(self, other: Value) -> Self:
        return self._become("<<=", _left_shift(self.uop, beside(self, other)))

    def __irshift__(self, other: Value) -> Self:
        return self._become(">>=", _right_shift(self.uop, beside(self, other)))

    add_ = _in_place("add")
    sub_ = _in_place("sub")
    mul_ = _in_place("mul")
    div_ = _in_place("div")
    floor_divide_ = _in_place("floor_divide")
    remainder_ = _in_place("remainder")
    pow_ = _in_place("pow")
    clamp_ = _in_place("clamp")
    clip_ = _in_place("clip")
    neg_ = _in_place("neg")
    abs_ = _in_place("abs")
    exp_ = _in_place("exp")
    log_ = _in_place("log")
    sqrt_ = _in_place("sqrt")
    rsqrt_ = _in_place("rsqrt")
    square_ = _in_place("square")
    reciprocal_ = _in_place("reciprocal")
    round_ = _in_place("round")
    floor_ = _in_place("floor")
    ceil_ = _in_place("ceil")
    trunc_ = _in_place("trunc")
    relu_ = _in_place("relu")
    sigmoid_ = _in_place("sigmoid")
    tanh_ = _in_place("tanh")

    def assign(self, value: Value) -> Self:
        """The tensor takes this value, which has its shape, or broadcasts to it, and fits its type."""
        return self._become(
            "assign", fitted("assign", self.uop.dtype, value), broadcast=True
        )

    def copy_(self, value: Value) -> Self:
        """The tensor takes this value in its own type, rounded or cut as `.astype` does."""
        given = astype(node(value), self.uop.dtype)
        return self._become("copy_", given, broadcast=True)

    def fill_(self, value: Scalar) -> Self:
        """This number everywhere."""
        return self.assign(value)

    def zero_(self) -> Self:
        """0 everywhere."""
        return self.assign(0)

    def _become(self, name: str, value: UOp, broadcast: bool = False) -> Self:
        """Rebind to the value, in the type and shape that the tensor has."""
        before = self.uop
        if value.dtype is not before.dtype:
            check_cast(name, value.dtype, before.dtype)
            value = astype(value, before.dtype)
        if value.shape != before.shape:
            value = _in_shape(name, value, before, broadcast)
        self.rebind(value)
        return self


def index_nodes(index: Any) -> Any:
    """An index with its tensors, arrays and lists as nodes."""
    if isinstance(index, tuple):
        return tuple(index_nodes(part) for part in index)
    if isinstance(index, list):
        index = np.asarray(index)
    if isinstance(index, np.ndarray):
        return array_node(index, borrow=False)
    return index.uop if isinstance(index, Handle) else index


def part_node(kept: DType, value: Any) -> UOp:
    """The value of x[...] = value, in the type of x."""
    name = "x[...] = v"
    given = np.asarray(value) if isinstance(value, list | tuple) else value
    part = fitted(name, kept, given)
    check_cast(name, part.dtype, kept)
    return astype(part, kept)


def fitted(name: str, kept: DType, value: Value) -> UOp:
    """A value to be stored in a tensor: a number takes its type, a tensor keeps its own."""
    given = operand(value)
    if isinstance(given, UOp):
        return given
    if not isinstance(given, int | float):
        raise not_an_input(name, given)
    if not _holds(kept, given):
        raise DTypeError(
            f"{name}: {given!r} is no value of {kept}",
            fix="convert the tensor or the number first, for example x.float() or int(v)",
        )
    return constant(given, kept, ())


def _holds(dtype: DType, number: Scalar) -> bool:
    """The number has a value of its own in this type, or rounds to one."""
    if dtype.is_float:
        return True
    return (
        number == number
        and abs(number) != float("inf")
        and number == int(number)
        and dt.least(dtype) <= number <= dt.greatest(dtype)
    )


def check_cast(name: str, given: DType, kept: DType) -> None:
    """NumPy's rule for storing: no float into whole numbers, nothing signed into unsigned, no number into a bool."""
    if _RANK[given.kind] > _RANK[kept.kind]:
        raise DTypeError(
            f"{name}: the value is {given}, the tensor is {kept} and stays so",
            fix=f"write x = x {name.removesuffix('=')} v for a new tensor of {given}"
            if name.endswith("=")
            else f"convert the value first: .astype('{kept}')",
        )


def _in_shape(name: str, value: UOp, target: UOp, broadcast: bool) -> UOp:
    if broadcast and spreads(value.shape, target.shape):
        return broadcast_to(value, target.shape)
    raise ShapeError(
        f"{name}: the value is {show(value.shape)}, the tensor is {show(target.shape)} and stays so",
        fix="bring the value to the tensor's shape, or write a new tensor: x = ...",
    )


def spreads(given: Shape, wanted: Shape) -> bool:
    """A value of one shape can be repeated to the other."""
    missing = len(wanted) - len(given)
    pairs = zip(given, wanted[max(missing, 0) :], strict=False)
    return missing >= 0 and all(n in (1, m) for n, m in pairs)
