"""Products of vectors and matrices by other names: vecdot, outer, tensordot, cross, kron, ... In: tensors. Out: tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.errors import ArgumentError, ShapeError
from ingot.ir.node import UOp
from ingot.ir.shape import product, same
from ingot.ops import elementwise as ew
from ingot.ops.arranging import diagonal, moveaxis, part
from ingot.ops.axis import normal_axis
from ingot.ops.joining import concat
from ingot.ops.matmul import matmul, promoted
from ingot.ops.movement import broadcast_shape, broadcast_to, permute, reshape, show
from ingot.ops.op import primitive
from ingot.ops.reduce import sum_
from ingot.ops.sample import floats, ints, sample

AxesPair = int | Sequence[Sequence[int]]


def _together(a: UOp, b: UOp) -> tuple[UOp, UOp]:
    (left, right), _ = promoted(a, b)
    assert left is not None
    assert right is not None
    return left, right


# --- vectors ------------------------------------------------------------------------------------------------------


def vecdot(a: UOp, b: UOp, axis: int = -1) -> UOp:
    """The sum of products along one axis; the others are broadcast."""
    left, right = _together(a, b)
    if not left.shape or not right.shape:
        raise ShapeError("vecdot: an operand has no axes; wanted vectors")
    at = axis if axis < 0 else axis - max(len(left.shape), len(right.shape))
    for x in (left, right):
        normal_axis("vecdot", at, len(x.shape))
    if not same((left.shape[at],), (right.shape[at],)):
        raise ShapeError(
            f"vecdot: {show(a.shape)} and {show(b.shape)}: {left.shape[at]} meets {right.shape[at]}"
        )
    shape = broadcast_shape("vecdot", left.shape, right.shape)
    left, right = broadcast_to(left, shape), broadcast_to(right, shape)
    rows = reshape(moveaxis(left, at, -1), (*_without(shape, at), 1, shape[at]))
    columns = reshape(moveaxis(right, at, -1), (*_without(shape, at), shape[at], 1))
    return reshape(matmul(rows, columns), _without(shape, at))


def _without(shape: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    at = axis % len(shape)
    return (*shape[:at], *shape[at + 1 :])


def vdot(a: UOp, b: UOp) -> UOp:
    """The sum of the products of all elements."""
    left, right = (reshape(x, (product(x.shape),)) for x in _together(a, b))
    return matmul(left, right)


def inner(a: UOp, b: UOp) -> UOp:
    """Sums of products over the last axis of both."""
    left, right = _together(a, b)
    if not left.shape or not right.shape:
        return ew.multiply(left, right)
    return tensordot(left, right, axes=((-1,), (-1,)))


def outer(a: UOp, b: UOp) -> UOp:
    """Every element of one times every element of the other, as a matrix."""
    left, right = _together(a, b)
    column = reshape(left, (product(left.shape), 1))
    return ew.multiply(column, reshape(right, (1, product(right.shape))))


_VECTORS = sample(floats(4), floats(4))
primitive(
    "vecdot",
    vecdot,
    ref=lambda a, b, axis=-1: (a * b).sum(axis),
    samples=(
        _VECTORS,
        sample(floats(2, 3, 4), floats(3, 4)),
        sample(floats(3, 2), floats(3, 2), axis=-2),
        sample(ints(4), ints(4)),
    ),
    bad_samples=(
        (sample(floats(3), floats(4)), "vecdot: (3,) and (4,): 3 meets 4"),
    ),
    ulp=16,
    normwise=True,
)
primitive(
    "vdot",
    vdot,
    ref=np.vdot,
    samples=(_VECTORS, sample(floats(2, 3), floats(2, 3))),
    bad_samples=((sample(floats(3), floats(4)), "3 columns do not meet 4 rows"),),
    ulp=16,
    normwise=True,
)
primitive(
    "inner",
    inner,
    ref=np.inner,
    samples=(
        _VECTORS,
        sample(floats(2, 3), floats(4, 3)),
        sample(floats(), floats(3)),
    ),
    bad_samples=(
        (sample(floats(3), floats(4)), "tensordot: axes of size 3 and 4"),
    ),
    ulp=16,
    normwise=True,
)
primitive(
    "outer",
    outer,
    ref=np.outer,
    samples=(sample(floats(3), floats(4)), sample(floats(2, 2), ints(3))),
)


# --- many axes ----------------------------------------------------------------------------------------------------


def tensordot(a: UOp, b: UOp, axes: AxesPair = 2) -> UOp:
    """Sums of products over pairs of axes: the last n of one and the first n of the other, or those named."""
    left, right = _together(a, b)
    first, second = _axis_pairs(left, right, axes)
    for i, j in zip(first, second, strict=True):
        if not same((left.shape[i],), (right.shape[j],)):
            raise ShapeError(
                f"tensordot: axes of size {left.shape[i]} and {right.shape[j]} are paired",
                fix=f"left is {show(a.shape)}, right is {show(b.shape)}",
            )
    rows = [i for i in range(len(left.shape)) if i not in first]
    columns = [j for j in range(len(right.shape)) if j not in second]
    depth = product(tuple(left.shape[i] for i in first))
    height = tuple(left.shape[i] for i in rows)
    width = tuple(right.shape[j] for j in columns)
    matrix = reshape(permute(left, [*rows, *first]), (product(height), depth))
    other = reshape(permute(right, [*second, *columns]), (depth, product(width)))
    return reshape(matmul(matrix, other), (*height, *width))


def _axis_pairs(a: UOp, b: UOp, axes: AxesPair) -> tuple[list[int], list[int]]:
    if isinstance(axes, int):
        if not 0 <= axes <= min(len(a.shape), len(b.shape)):
            raise ArgumentError(
                f"tensordot: axes is {axes} for {show(a.shape)} and {show(b.shape)}"
            )
        return list(range(len(a.shape) - axes, len(a.shape))), list(range(axes))
    first, second = (list(x) for x in axes)
    if len(first) != len(second):
        raise ArgumentError(
            f"tensordot: {len(first)} axes of one are paired with {len(second)} of the other"
        )
    left = [normal_axis("tensordot", i, len(a.shape)) for i in first]
    return left, [normal_axis("tensordot", j, len(b.shape)) for j in second]


def kron(a: UOp, b: UOp) -> UOp:
    """Every element of a times the whole of b, in its place."""
    left, right = _together(a, b)
    rank = max(len(left.shape), len(right.shape))
    first = (*(1,) * (rank - len(left.shape)), *left.shape)
    second = (*(1,) * (rank - len(right.shape)), *right.shape)
    apart = reshape(left, [n for m in first for n in (m, 1)])
    inside = reshape(right, [n for m in second for n in (1, m)])
    sizes = [m * n for m, n in zip(first, second, strict=True)]
    return reshape(ew.multiply(apart, inside), sizes)


primitive(
    "tensordot",
    tensordot,
    ref=lambda a, b, axes=2: np.tensordot(a, b, axes),
    samples=(
        sample(floats(2, 3, 4), floats(3, 4, 5)),
        sample(floats(2, 3), floats(3, 4), axes=1),
        sample(floats(2), floats(3), axes=0),
        sample(floats(2, 3, 4), floats(4, 2, 5), axes=((2, 0), (0, 1))),
    ),
    bad_samples=(
        (
            sample(floats(2, 3), floats(4, 5), axes=1),
            "axes of size 3 and 4 are paired",
        ),
        (sample(floats(2), floats(3)), "tensordot: axes is 2 for (2,) and (3,)"),
    ),
    ulp=16,
    normwise=True,
)
primitive(
    "kron",
    kron,
    ref=np.kron,
    samples=(sample(floats(2, 3), floats(2, 2)), sample(floats(3), floats(2, 2))),
)


def cross(a: UOp, b: UOp, axis: int = -1) -> UOp:
    """The vector at right angles to two vectors of three components along an axis."""
    left, right = _together(a, b)
    shape = broadcast_shape("cross", left.shape, right.shape)
    at = normal_axis("cross", axis, len(shape))
    left, right = broadcast_to(left, shape), broadcast_to(right, shape)
    if shape[at] != 3:
        raise ShapeError(
            f"cross: axis {at} of {show(shape)} has size {shape[at]}; wanted 3"
        )
    x, y = ([part(v, at, i, i + 1) for i in range(3)] for v in (left, right))
    parts = [x[i] * y[j] - x[j] * y[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return concat(*parts, axis=at)


primitive(
    "cross",
    cross,
    ref=lambda a, b, axis=-1: np.cross(a, b, axis=axis),
    samples=(
        sample(floats(4, 3), floats(4, 3)),
        sample(floats(3, 2), floats(3, 2), axis=0),
    ),
    bad_samples=(
        (sample(floats(2), floats(2)), "cross: axis 0 of (2,) has size 2"),
    ),
    ulp=8,
    normwise=True,
)


# --- matrices -----------------------------------------------------------------------------------------------------


def trace(x: UOp, offset: int = 0, axis1: int = -2, axis2: int = -1) -> UOp:
    """The sum of a diagonal."""
    return sum_(diagonal(x, offset, axis1, axis2), -1)


def _of_rank(name: str, x: UOp, word: str, rank: int) -> None:
    if len(x.shape) != rank:
        raise ShapeError(f"{name}: {word} is {show(x.shape)}; wanted {rank} axes")


def bmm(a: UOp, b: UOp) -> UOp:
    """One matrix product for each place of axis 0."""
    _of_rank("bmm", a, "left", 3)
    _of_rank("bmm", b, "right", 3)
    return matmul(a, b)


def mm(a: UOp, b: UOp) -> UOp:
    """The product of two matrices."""
    _of_rank("mm", a, "left", 2)
    _of_rank("mm", b, "right", 2)
    return matmul(a, b)


def mv(a: UOp, b: UOp) -> UOp:
    """A matrix times a vector."""
    _of_rank("mv", a, "left", 2)
    _of_rank("mv", b, "right", 1)
    return matmul(a, b)


def addmm(x: UOp, left: UOp, right: UOp, beta: float = 1, alpha: float = 1) -> UOp:
    """beta * x + alpha * (left @ right)."""
    made = matmul(left, right)
    scaled = made if alpha == 1 else ew.multiply(made, alpha)
    return ew.add(scaled, x if beta == 1 else ew.multiply(x, beta))


def _trace_ref(x: Any, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Any:
    return np.trace(x, offset, axis1, axis2)


def _addmm_ref(
    x: Any, left: Any, right: Any, beta: float = 1, alpha: float = 1
) -> Any:
    return beta * x + alpha * (left @ right)


primitive(
    "trace",
    trace,
    ref=_trace_ref,
    samples=(
        sample(floats(3, 4)),
        sample(floats(2, 3, 3), offset=1),
        sample(ints(3, 3)),
    ),
    bad_samples=((sample(floats(3)), "diagonal: axis -2 is outside -1..0"),),
    ulp=8,
    normwise=True,
)
primitive(
    "bmm",
    bmm,
    ref=np.matmul,
    samples=(sample(floats(2, 3, 4), floats(2, 4, 5)),),
    bad_samples=(
        (sample(floats(3, 4), floats(4, 5)), "bmm: left is (3, 4); wanted 3 axes"),
    ),
    ulp=16,
    normwise=True,
)
primitive(
    "mm",
    mm,
    ref=np.matmul,
    samples=(sample(floats(3, 4), floats(4, 5)),),
    bad_samples=(
        (sample(floats(4), floats(4, 5)), "mm: left is (4,); wanted 2 axes"),
    ),
    ulp=16,
    normwise=True,
)
primitive(
    "mv",
    mv,
    ref=np.matmul,
    samples=(sample(floats(3, 4), floats(4)),),
    bad_samples=(
        (sample(floats(3, 4), floats(4, 5)), "mv: right is (4, 5); wanted 1 axes"),
    ),
    ulp=16,
    normwise=True,
)
primitive(
    "addmm",
    addmm,
    ref=_addmm_ref,
    samples=(
        sample(floats(3, 5), floats(3, 4), floats(4, 5)),
        sample(floats(5), floats(3, 4), floats(4, 5), beta=0.5, alpha=2.0),
    ),
    ulp=32,
    normwise=True,
)
