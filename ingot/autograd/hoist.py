"""Sums over the steps of a scan, taken out of it. In: what one step adds. Out: factors to stack, and the sum after the loop.

    every step: total += a.T @ g          ->      stack a and g;  once: A.T @ G over all rows of all steps

Moves, casts and signs are linear, so they wait until after the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

from ingot.autograd.reductions import folded_by
from ingot.ir.node import UOp
from ingot.ir.opcode import MOVEMENT, AxesArg, OpArg, Ops, ReduceArg
from ingot.ops.matmul import matmul
from ingot.ops.movement import permute, reshape, transpose
from ingot.ops.reduce import fold

Stacks = Mapping[UOp, UOp]
_LINEAR = (MOVEMENT - {Ops.WINDOW}) | {Ops.NEG, Ops.CAST}


class Hoisted(NamedTuple):
    """Values to stack in every step, and the sum over all steps from their stacks."""

    factors: tuple[UOp, ...]
    total: Callable[[Stacks], UOp]


def hoisted(share: UOp) -> Hoisted | None:
    """How to add up the shares of all steps at once; None: only step by step."""
    if share.op is Ops.ADD:
        return _both(share)
    if share.op in _LINEAR and share.src[0].dtype.is_float:
        return _moved(share)
    if share.op is Ops.REDUCE and folded_by(share) is Ops.ADD:
        return _summed(share)
    if share.op is Ops.OP and cast(OpArg, share.arg).name == "matmul":
        return _product(share)
    return None


def _both(share: UOp) -> Hoisted | None:
    left, right = hoisted(share.src[0]), hoisted(share.src[1])
    if left is None or right is None:
        return None
    return Hoisted(
        (*left.factors, *right.factors),
        lambda stacks: left.total(stacks) + right.total(stacks),
    )


def _moved(share: UOp) -> Hoisted | None:
    inner = hoisted(share.src[0])
    if inner is None:
        return None
    return Hoisted(
        inner.factors,
        lambda stacks: share.replace(src=(inner.total(stacks), *share.src[1:])),
    )


def _summed(share: UOp) -> Hoisted:
    value = share.src[0]
    axes = (0, *(a + 1 for a in cast(ReduceArg, share.arg).axes))
    return Hoisted((value,), lambda stacks: fold(stacks[value], Ops.ADD, 0, axes))


def _product(share: UOp) -> Hoisted | None:
    left, right = share.src
    if len(left.shape) != 2 or len(right.shape) != 2:
        return None
    turned = left.op is Ops.PERMUTE and left.arg == AxesArg((1, 0))
    factor = left.src[0] if turned else left

    def total(stacks: Stacks) -> UOp:
        rows = stacks[factor]
        long = _joined(rows if turned else permute(rows, (0, 2, 1)))
        return matmul(transpose(long), _joined(stacks[right]))

    return Hoisted((factor, right), total)


def _joined(stack: UOp) -> UOp:
    """(steps, rows, columns) as (steps * rows, columns)."""
    steps, rows, columns = stack.shape
    return reshape(stack, (steps * rows, columns))
