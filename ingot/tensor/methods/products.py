"""Methods: products. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Handle, Value, build, node

if TYPE_CHECKING:
    from typing import Never, Self
    from ingot.ops.products import AxesPair


class ProductsMethods(Handle):
    """Ops of ops/products.py as methods."""

    __slots__ = ()

    def vecdot(self, b: Value, axis: int = unset(-1), *, dim: int = unset(-1), **unknown: Never) -> Self:
        """The sum of products along one axis; the others are broadcast."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("vecdot", "axis", axis, "dim", dim)
        return self.of(build["vecdot"](self.uop, node(b), axis=axis))

    def vdot(self, b: Value, **unknown: Never) -> Self:
        """The sum of the products of all elements."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["vdot"](self.uop, node(b)))

    def inner(self, b: Value, **unknown: Never) -> Self:
        """Sums of products over the last axis of both."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["inner"](self.uop, node(b)))

    def outer(self, b: Value, **unknown: Never) -> Self:
        """Every element of one times every element of the other, as a matrix."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["outer"](self.uop, node(b)))

    def tensordot(self, b: Value, axes: AxesPair = unset(2), *, dims: AxesPair = unset(2), **unknown: Never) -> Self:
        """Sums of products over pairs of axes: the last n of one and the first n of the other, or those named."""
        if unknown:
            raise unknown_argument(unknown)
        axes = one_of("tensordot", "axes", axes, "dims", dims)
        return self.of(build["tensordot"](self.uop, node(b), axes=axes))

    def kron(self, b: Value, **unknown: Never) -> Self:
        """Every element of a times the whole of b, in its place."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["kron"](self.uop, node(b)))

    def cross(self, b: Value, axis: int = unset(-1), *, dim: int = unset(-1), **unknown: Never) -> Self:
        """The vector at right angles to two vectors of three components along an axis."""
        if unknown:
            raise unknown_argument(unknown)
        axis = one_of("cross", "axis", axis, "dim", dim)
        return self.of(build["cross"](self.uop, node(b), axis=axis))

    def trace(self, offset: int = 0, axis1: int = -2, axis2: int = -1, **unknown: Never) -> Self:
        """The sum of a diagonal."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["trace"](self.uop, offset=offset, axis1=axis1, axis2=axis2))

    def bmm(self, b: Value, **unknown: Never) -> Self:
        """One matrix product for each place of axis 0."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["bmm"](self.uop, node(b)))

    def mm(self, b: Value, **unknown: Never) -> Self:
        """The product of two matrices."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["mm"](self.uop, node(b)))

    def mv(self, b: Value, **unknown: Never) -> Self:
        """A matrix times a vector."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["mv"](self.uop, node(b)))

    def addmm(self, left: Value, right: Value, beta: float = 1, alpha: float = 1, **unknown: Never) -> Self:
        """beta * x + alpha * (left @ right)."""
        if unknown:
            raise unknown_argument(unknown)
        return self.of(build["addmm"](self.uop, node(left), node(right), beta=beta, alpha=alpha))

