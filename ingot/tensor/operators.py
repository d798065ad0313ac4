"""Python's operators on tensors. In: a tensor, and a tensor, array or number. Out: a tensor."""

from __future__ import annotations

from typing import Any, Self, TypeGuard

import numpy as np

from ingot.ops.elementwise import node_of
from ingot.tensor.differing import Differing
from ingot.tensor.foreign import is_foreign
from ingot.tensor.handle import Handle, Value, beside, build

_add, _subtract, _multiply, _divide = (
    build["add"],
    build["subtract"],
    build["multiply"],
    build["divide"],
)
_floor_divide, _remainder, _pow = (
    build["floor_divide"],
    build["remainder"],
    build["pow"],
)
_matmul, _and, _or, _xor = (
    build["matmul"],
    build["bitwise_and"],
    build["bitwise_or"],
    build["bitwise_xor"],
)
_left_shift, _right_shift = (
    build["bitwise_left_shift"],
    build["bitwise_right_shift"],
)
_less, _less_equal, _greater, _greater_equal = (
    build["less"],
    build["less_equal"],
    build["greater"],
    build["greater_equal"],
)
_equal, _not_equal = build["equal"], build["not_equal"]


class Operators(Differing):
    """Arithmetic, comparison and bits."""

    __slots__ = ()

    def __add__(self, other: Value) -> Self:
        return self.of(_add(self.uop, beside(self, other)))

    def __radd__(self, other: Value) -> Self:
        return self.of(_add(beside(self, other), self.uop))

    def __sub__(self, other: Value) -> Self:
        return self.of(_subtract(self.uop, beside(self, other)))

    def __rsub__(self, other: Value) -> Self:
        return self.of(_subtract(beside(self, other), self.uop))

    def __mul__(self, other: Value) -> Self:
        return self.of(_multiply(self.uop, beside(self, other)))

    def __rmul__(self, other: Value) -> Self:
        return self.of(_multiply(beside(self, other), self.uop))

    def __truediv__(self, other: Value) -> Self:
        return self.of(_divide(self.uop, beside(self, other)))

    def __rtruediv__(self, other: Value) -> Self:
        return self.of(_divide(beside(self, other), self.uop))

    def __floordiv__(self, other: Value) -> Self:
        return self.of(_floor_divide(self.uop, beside(self, other)))

    def __rfloordiv__(self, other: Value) -> Self:
        return self.of(_floor_divide(beside(self, other), self.uop))

    def __mod__(self, other: Value) -> Self:
        return self.of(_remainder(self.uop, beside(self, other)))

    def __rmod__(self, other: Value) -> Self:
        return self.of(_remainder(beside(self, other), self.uop))

    def __pow__(self, other: Value) -> Self:
        return self.of(_pow(self.uop, beside(self, other)))

    def __rpow__(self, other: Value) -> Self:
        return self.of(_pow(beside(self, other), self.uop))

    def __matmul__(self, other: Value) -> Self:
        return self.of(_matmul(self.uop, node_of("matmul", beside(self, other))))

    def __rmatmul__(self, other: Value) -> Self:
        return self.of(_matmul(node_of("matmul", beside(self, other)), self.uop))

    def __and__(self, other: Value) -> Self:
        return self.of(_and(self.uop, beside(self, other)))

    def __rand__(self, other: Value) -> Self:
        return self.of(_and(beside(self, other), self.uop))

    def __or__(self, other: Value) -> Self:
        return self.of(_or(self.uop, beside(self, other)))

    def __ror__(self, other: Value) -> Self:
        return self.of(_or(beside(self, other), self.uop))

    def __xor__(self, other: Value) -> Self:
        return self.of(_xor(self.uop, beside(self, other)))

    def __rxor__(self, other: Value) -> Self:
        return self.of(_xor(beside(self, other), self.uop))

    def __lshift__(self, other: Value) -> Self:
        return self.of(_left_shift(self.uop, beside(self, other)))

    def __rlshift__(self, other: Value) -> Self:
        return self.of(_left_shift(beside(self, other), self.uop))

    def __rshift__(self, other: Value) -> Self:
        return self.of(_right_shift(self.uop, beside(self, other)))

    def __rrshift__(self, other: Value) -> Self:
        return self.of(_right_shift(beside(self, other), self.uop))

    def __lt__(self, other: Value) -> Self:
        return self.of(_less(self.uop, beside(self, other)))

    def __le__(self, other: Value) -> Self:
        return self.of(_less_equal(self.uop, beside(self, other)))

    def __gt__(self, other: Value) -> Self:
        return self.of(_greater(self.uop, beside(self, other)))

    def __ge__(self, other: Value) -> Self:
        return self.of(_greater_equal(self.uop, beside(self, other)))

    def __eq__(self, other: object) -> Any:
        return (
            self.of(_equal(self.uop, beside(self, other)))
            if _is_value(other)
            else NotImplemented
        )

    def __ne__(self, other: object) -> Any:
        return (
            self.of(_not_equal(self.uop, beside(self, other)))
            if _is_value(other)
            else NotImplemented
        )

    __hash__ = object.__hash__  # a handle is its own key; == compares elements

    def __neg__(self) -> Self:
        return self.negative()

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return self.abs()

    def __invert__(self) -> Self:
        return self.bitwise_invert()


def _is_value(other: object) -> TypeGuard[Value]:
    """Comparing with None or a word is False, as everywhere in Python."""
    numbers = np.generic | bool | int | float
    return isinstance(other, Handle | np.ndarray | numbers) or is_foreign(other)
