"""Functions: products. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.tensor.arguments import one_of, unknown_argument, unset
from ingot.tensor.handle import Value, build, node
from ingot.tensor.tensor import Tensor

if TYPE_CHECKING:
    from typing import Never
    from ingot.ops.products import AxesPair


def vecdot(a: Value, b: Value, axis: int = unset(-1), *, dim: int = unset(-1), **unknown: Never) -> Tensor:
    """The sum of products along one axis; the others are broadcast."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("vecdot", "axis", axis, "dim", dim)
    return Tensor.of(build["vecdot"](node(a), node(b), axis=axis))


def vdot(a: Value, b: Value, **unknown: Never) -> Tensor:
    """The sum of the products of all elements."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["vdot"](node(a), node(b)))


def inner(a: Value, b: Value, **unknown: Never) -> Tensor:
    """Sums of products over the last axis of both."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["inner"](node(a), node(b)))


def outer(a: Value, b: Value, **unknown: Never) -> Tensor:
    """Every element of one times every element of the other, as a matrix."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["outer"](node(a), node(b)))


def tensordot(a: Value, b: Value, axes: AxesPair = unset(2), *, dims: AxesPair = unset(2), **unknown: Never) -> Tensor:
    """Sums of products over pairs of axes: the last n of one and the first n of the other, or those named."""
    if unknown:
        raise unknown_argument(unknown)
    axes = one_of("tensordot", "axes", axes, "dims", dims)
    return Tensor.of(build["tensordot"](node(a), node(b), axes=axes))


def kron(a: Value, b: Value, **unknown: Never) -> Tensor:
    """Every element of a times the whole of b, in its place."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["kron"](node(a), node(b)))


def cross(a: Value, b: Value, axis: int = unset(-1), *, dim: int = unset(-1), **unknown: Never) -> Tensor:
    """The vector at right angles to two vectors of three components along an axis."""
    if unknown:
        raise unknown_argument(unknown)
    axis = one_of("cross", "axis", axis, "dim", dim)
    return Tensor.of(build["cross"](node(a), node(b), axis=axis))


def trace(x: Value, offset: int = 0, axis1: int = -2, axis2: int = -1, **unknown: Never) -> Tensor:
    """The sum of a diagonal."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["trace"](node(x), offset=offset, axis1=axis1, axis2=axis2))


def bmm(a: Value, b: Value, **unknown: Never) -> Tensor:
    """One matrix product for each place of axis 0."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["bmm"](node(a), node(b)))


def mm(a: Value, b: Value, **unknown: Never) -> Tensor:
    """The product of two matrices."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["mm"](node(a), node(b)))


def mv(a: Value, b: Value, **unknown: Never) -> Tensor:
    """A matrix times a vector."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["mv"](node(a), node(b)))


def addmm(x: Value, left: Value, right: Value, beta: float = 1, alpha: float = 1, **unknown: Never) -> Tensor:
    """beta * x + alpha * (left @ right)."""
    if unknown:
        raise unknown_argument(unknown)
    return Tensor.of(build["addmm"](node(x), node(left), node(right), beta=beta, alpha=alpha))


