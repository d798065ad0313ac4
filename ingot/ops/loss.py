"""Losses. In: predictions and targets. Out: cross_entropy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.errors import ArgumentError, DTypeError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.shape import Shape, Type, product, same
from ingot.ops import elementwise as ew
from ingot.ops.activation import softmax
from ingot.ops.creation import counter
from ingot.ops.elementwise import as_float
from ingot.ops.gradient import Cotangents, Gradients, attrs, only
from ingot.ops.movement import show, unsqueeze
from ingot.ops.op import Accepted, op
from ingot.ops.reduce import divide_by, max_, mean, sum_
from ingot.ops.sample import INF, floats, ints, sample

_REDUCTIONS = ("mean", "sum", "none")


def _class_axis(logits: UOp) -> int:
    return 1 if len(logits.shape) > 1 else 0


def _one_each(logits: UOp) -> Shape:
    """The shape of one target, and one loss, for every row of classes."""
    axis = _class_axis(logits)
    return (*logits.shape[:axis], *logits.shape[axis + 1 :])


def _accept(logits: UOp, target: UOp, *, reduction: str) -> Accepted:
    if reduction not in _REDUCTIONS:
        raise ArgumentError(
            f"cross_entropy: reduction is {reduction!r}; wanted 'mean', 'sum' or 'none'",
            fix="'mean' is the default; 'none' keeps the loss of every row",
        )
    return (as_float(logits), target), {"reduction": reduction}


def _type(logits: UOp, target: UOp, *, reduction: str) -> Type:
    if not target.dtype.is_int:
        raise DTypeError(
            f"cross_entropy: target is {target.dtype}; wanted whole numbers, the class of each row",
            fix="convert it with .astype('int64')",
        )
    if not logits.shape or not same(target.shape, _one_each(logits)):
        raise ShapeError(
            f"cross_entropy: logits are {show(logits.shape)}, target is {show(target.shape)}; "
            f"wanted logits (rows, classes, ...) and target (rows, ...)",
            fix="give one class for each row; one-hot rows become classes with .argmax(axis=1)",
        )
    return logits.dtype, _one_each(logits) if reduction == "none" else ()


def _cross_entropy(logits: UOp, target: UOp, *, reduction: str = "mean") -> UOp:
    """-log(softmax(logits)) at the target class. A target that is no class gives infinity."""
    axis = _class_axis(logits)
    top = max_(logits, axis, keepdims=True)
    total = sum_(ew.exp(ew.subtract(logits, top)), axis, keepdims=True)
    picked = max_(_only_at(logits, target, axis), axis, keepdims=True)
    # log(total) and the distance to the top are both small, so their difference is exact where the logits are large.
    losses = sum_(ew.subtract(ew.log(total), ew.subtract(picked, top)), axis)
    if reduction == "none":
        return losses
    return mean(losses) if reduction == "mean" else sum_(losses)


def _only_at(logits: UOp, target: UOp, axis: int) -> UOp:
    return ew.where(_at_target(logits, target, axis), logits, -INF)


def _at_target(logits: UOp, target: UOp, axis: int) -> UOp:
    return ew.equal(
        counter(logits.shape, axis, dt.int64),
        unsqueeze(target.cast(dt.int64), axis),
    )


def _cross_entropy_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """The softmax, less 1 at the target."""
    logits, target = node.src
    axis, g = _class_axis(logits), only(cotangents)
    reduction = attrs(node)["reduction"]
    if reduction == "none":
        g = unsqueeze(g, axis)
    if reduction == "mean":
        g = divide_by(g, product(_one_each(logits)))
    chances = softmax(logits, axis=axis)
    here = _at_target(logits, target, axis)
    slope = ew.where(here, ew.subtract(chances, 1.0), chances)
    return ew.multiply(slope, g), None


def _reference(logits: Any, target: Any, reduction: str = "mean") -> Any:
    axis = 1 if logits.ndim > 1 else 0
    logs = logits - np.logaddexp.reduce(logits, axis=axis, keepdims=True)
    losses = -np.take_along_axis(logs, np.expand_dims(target, axis), axis).squeeze(
        axis
    )
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()


cross_entropy = op(
    "cross_entropy",
    types=_type,
    accept=_accept,
    lower=_cross_entropy,
    ref=_reference,
    grad=_cross_entropy_grad,
    samples=(
        sample(floats(6, 4), ints(6, low=0, high=4)),
        sample(
            floats(6, 4), ints(6, low=0, high=4, dtype="uint8"), reduction="none"
        ),
        sample(floats(2, 4, 3), ints(2, 3, low=0, high=4), reduction="sum"),
        sample(floats(4), ints(low=0, high=4)),
        sample(floats(6, 4, low=900, high=1000), ints(6, low=0, high=4)),
    ),
    bad_samples=(
        (
            sample(floats(6, 4), floats(6)),
            "cross_entropy: target is float64; wanted whole numbers",
        ),
        (
            sample(floats(6, 4), ints(4)),
            "cross_entropy: logits are (6, 4), target is (4,)",
        ),
        (
            sample(floats(6, 4), ints(6), reduction="max"),
            "cross_entropy: reduction is 'max'",
        ),
    ),
    ulp=16,
    normwise=True,
)
