"""Matrix products. In: matrices, with batch axes in front. Out: matmul and linear: a product and a sum."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.errors import ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.shape import Shape, Type, product, same
from ingot.ops import elementwise as ew
from ingot.ops.gradient import Cotangents, Gradients, only
from ingot.ops.movement import (
    broadcast_shape,
    broadcast_to,
    reshape,
    show,
    transpose,
    unsqueeze,
)
from ingot.ops.op import Accepted, op
from ingot.ops.promotion import accumulator, promote
from ingot.ops.reduce import fold, sum_to
from ingot.ops.sample import bools, floats, ints, sample


def promoted(*inputs: UOp | None, **attrs: Any) -> Accepted:
    """All inputs in the type that holds them."""
    given = [x for x in inputs if x is not None]
    dtype = given[0].dtype
    for x in given[1:]:
        dtype = promote(dtype, x.dtype)
    return tuple(x if x is None else x.cast(dtype) for x in inputs), attrs


def _rows_and_columns(left: UOp, right: UOp) -> tuple[Shape, Shape]:
    """The operands as matrices: a vector is a row on the left and a column on the right."""
    if not left.shape or not right.shape:
        raise ShapeError(
            f"matmul: left is {show(left.shape)}, right is {show(right.shape)}: a number is no matrix",
            fix="write left * right",
        )
    a = left.shape if len(left.shape) > 1 else (1, *left.shape)
    b = right.shape if len(right.shape) > 1 else (*right.shape, 1)
    return a, b


def _matmul_type(left: UOp, right: UOp) -> Type:
    a, b = _rows_and_columns(left, right)
    if not same(a[-1:], b[-2:-1]):
        raise _no_meeting(left, right, a, b)
    batch = broadcast_shape("matmul", a[:-2], b[:-2])
    rows = a[-2:-1] if len(left.shape) > 1 else ()
    columns = b[-1:] if len(right.shape) > 1 else ()
    return left.dtype, (*batch, *rows, *columns)


def _no_meeting(left: UOp, right: UOp, a: Shape, b: Shape) -> ShapeError:
    fix = f"left has {a[-1]} columns: reshape or transpose one of them so that right has {a[-1]} rows"
    if len(right.shape) > 1 and same(a[-1:], b[-1:]):
        turned = (*b[:-2], b[-1], b[-2])
        fix = f"right.T is {show(turned)} and fits: write left @ right.T"
    return ShapeError(
        f"matmul: left is {show(left.shape)}, right is {show(right.shape)}: {a[-1]} columns do not meet {b[-2]} rows.",
        fix=fix,
    )


def _matmul(left: UOp, right: UOp) -> UOp:
    """The matrix product over the last two axes; axes in front are broadcast."""
    dtype, shape = _matmul_type(left, right)
    a, b = _rows_and_columns(left, right)
    wide = accumulator(dtype)
    batch = broadcast_shape("matmul", a[:-2], b[:-2])
    full = (*batch, a[-2], b[-1], a[-1])
    rows = unsqueeze(reshape(left.cast(wide), a), -2)
    columns = unsqueeze(transpose(reshape(right.cast(wide), b)), -3)
    products = ew.multiply(broadcast_to(rows, full), broadcast_to(columns, full))
    add = Ops.OR if dtype is dt.boolean else Ops.ADD
    total = fold(
        products, add, 0, (len(full) - 1,)
    )  # integers keep their type and wrap, as in NumPy
    return reshape(total.cast(dtype), shape)


def _matmul_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """g @ right.T and left.T @ g, over matrices; what was broadcast is summed."""
    left, right = node.src
    a, b = _rows_and_columns(left, right)
    batch = broadcast_shape("matmul", a[:-2], b[:-2])
    g = reshape(only(cotangents), (*batch, a[-2], b[-1]))
    rows, columns = reshape(left, a), reshape(right, b)
    to_left = sum_to(matmul(g, transpose(columns)), a)
    if len(b) == 2:
        to_right = over_all_rows(rows, g)
    else:
        to_right = sum_to(matmul(transpose(rows), g), b)
    return reshape(to_left, left.shape), reshape(to_right, right.shape)


def over_all_rows(x: UOp, g: UOp) -> UOp:
    """x.T @ g, with all axes in front of the last as rows: one product, whatever the batch."""
    return matmul(transpose(_flat(x)), _flat(g))


def _flat(x: UOp) -> UOp:
    """(..., columns) as one matrix."""
    return reshape(x, (product(x.shape[:-1]), x.shape[-1]))


matmul = op(
    "matmul",
    types=_matmul_type,
    accept=promoted,
    lower=_matmul,
    ref=np.matmul,
    grad=_matmul_grad,
    samples=(
        sample(floats(3, 4), floats(4, 5)),
        sample(floats(2, 3, 4), floats(4, 5)),
        sample(floats(2, 1, 3, 4), floats(5, 4, 2)),
        sample(floats(4), floats(4)),
        sample(floats(4), floats(2, 4, 3)),
        sample(floats(3, 4), floats(4)),
        sample(floats(3, 0), floats(0, 2)),
        sample(ints(3, 4), ints(4, 2)),
        sample(bools(3, 4), bools(4, 2)),
    ),
    bad_samples=(
        (
            sample(floats(100, 50), floats(60, 75)),
            "matmul: left is (100, 50), right is (60, 75): 50 columns do not meet 60 rows.",
        ),
        (
            sample(floats(8, 64), floats(10, 64)),
            "right.T is (64, 10) and fits: write left @ right.T",
        ),
        (
            sample(floats(2, 3, 4), floats(3, 4, 5)),
            "matmul: shapes (2,) and (3,) do not broadcast",
        ),
        (sample(floats(), floats(3)), "a number is no matrix"),
        (sample(floats(3, 4), 2.0), "matmul: right is float; wanted a tensor"),
    ),
    ulp=16,
    normwise=True,
    aliases=("dot",),
)


def _linear_type(x: UOp, weight: UOp, bias: UOp | None = None) -> Type:
    if (
        len(weight.shape) != 2
        or not x.shape
        or not same(x.shape[-1:], weight.shape[-1:])
    ):
        raise ShapeError(
            f"linear: x is {show(x.shape)}, weight is {show(weight.shape)}; "
            "wanted x (..., inputs) and weight (outputs, inputs)",
            fix="a weight of (inputs, outputs) is used as x @ weight",
        )
    if bias is not None and not same(bias.shape, weight.shape[:1]):
        raise ShapeError(
            f"linear: bias is {show(bias.shape)}; wanted {show(weight.shape[:1])}, one for each output"
        )
    return x.dtype, (*x.shape[:-1], weight.shape[0])


def _linear(x: UOp, weight: UOp, bias: UOp | None = None) -> UOp:
    """x @ weight.T + bias."""
    projected = matmul(x, transpose(weight))
    return projected if bias is None else ew.add(projected, bias)


def _linear_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    x, weight, *bias = node.src
    g = only(cotangents)
    to_bias = [sum_to(g, b.shape) for b in bias]
    return matmul(g, weight), over_all_rows(g, x), *to_bias


linear = op(
    "linear",
    types=_linear_type,
    accept=promoted,
    lower=_linear,
    ref=lambda x, weight, bias=0.0: x @ weight.T + bias,
    grad=_linear_grad,
    samples=(
        sample(floats(3, 4), floats(5, 4), floats(5)),
        sample(floats(2, 3, 4), floats(5, 4)),
        sample(floats(4), floats(5, 4)),
    ),
    bad_samples=(
        (
            sample(floats(3, 4), floats(4, 5)),
            "linear: x is (3, 4), weight is (4, 5)",
        ),
        (
            sample(floats(3, 4), floats(5, 4), floats(4)),
            "linear: bias is (4,); wanted (5,)",
        ),
    ),
    ulp=16,
    normwise=True,
)
