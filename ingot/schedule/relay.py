"""Matrices that a loop reads in every turn, in the layout that suits it. In: a loop of primitives. Out: the same loop.

    loop: ... sum over k of h[i, k] * w[j, k] ...      ->      t = w transposed, once;  loop: ... h[i, k] * t[k, j] ...

A contraction of few rows reads its other operand in runs along the columns of the result. A value that no turn changes
is turned once, before the loop, where it lies the other way.
"""

from __future__ import annotations

from typing import cast

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import AxesArg, FunctionArg, Ops, ParamArg, ReduceArg, ScanArg
from ingot.ir.region import param, shallow, sizes, unchanged
from ingot.ir.shape import Shape, same_dim
from ingot.schedule.replace import replaced

FEW_TURNS = 4
TURNED = AxesArg((1, 0))


def relaid(loop: UOp) -> UOp:
    """The loop over turned matrices; itself if none is read against its rows."""
    if loop.op is Ops.SCAN and _is_short(loop):
        return loop
    still = unchanged(loop)
    first = 1 if loop.op is Ops.SCAN else 2
    found = {
        slot for body in loop.src[:first] for slot in _read_across(body, still)
    }
    src = list(loop.src)
    for slot in sorted(found):
        matrix = loop.src[first + slot]
        turned = UOp(Ops.PERMUTE, matrix.dtype, (matrix,), TURNED)
        src[first + slot] = UOp(Ops.CONTIGUOUS, matrix.dtype, (turned,))
        src[:first] = [_turned(body, slot, matrix.shape) for body in src[:first]]
    return loop.replace(src=tuple(src))


def _is_short(scan: UOp) -> bool:
    length = scan.src[1 + cast(ScanArg, scan.arg).n_carry].shape[0]
    return isinstance(length, int) and length < FEW_TURNS


def _turned(body: UOp, slot: int, shape: Shape) -> UOp:
    """The body with this parameter the other way round."""
    before = [u for u in shallow(body) if u.op is Ops.PARAM and _slot(u) == slot]
    if not before:
        return body
    old = before[0]
    new = param(slot, old.dtype, shape[::-1])
    view = UOp(Ops.PERMUTE, old.dtype, (new,), TURNED)
    # What is handed on is the turned matrix; whoever else returns it returns it as it was.
    inside = [
        new if place == slot and node is old else replaced(node, {old: view})
        for place, node in enumerate(body.src)
    ]
    return UOp(Ops.FUNCTION, dt.void, tuple(inside), cast(FunctionArg, body.arg))


def _slot(node: UOp) -> int:
    return cast(ParamArg, node.arg).slot


# --- who reads a matrix how -------------------------------------------------------------------------------------------


def _read_across(body: UOp, still: frozenset[int]) -> list[int]:
    """The matrices among the unchanged parameters that a contraction sums along their rows."""
    found: list[int] = []
    for node in shallow(body):
        if node.op is not Ops.REDUCE or cast(ReduceArg, node.arg).n != 1:
            continue
        product = node.src[0]
        axes = cast(ReduceArg, node.arg).axes
        if product.op is not Ops.MUL or len(axes) != 1:
            continue
        for operand in product.src:
            source = traced(operand, axes[0])
            if source is not None and _is_matrix(source, still):
                found.append(_slot(source[0]))
    return found


def _is_matrix(source: tuple[UOp, int], still: frozenset[int]) -> bool:
    node, axis = source
    return (
        node.op is Ops.PARAM
        and _slot(node) in still
        and len(node.shape) == 2
        and axis == 1
    )


def traced(node: UOp, axis: int) -> tuple[UOp, int] | None:
    """The value under a view, and the axis of it that `axis` runs along; None if it is spread out or cut."""
    while node.op in _TRACE:
        found = _TRACE[node.op](node, axis)
        if found is None:
            return None
        node, axis = node.src[0], found
    return node, axis


def _through_expand(node: UOp, axis: int) -> int | None:
    return axis if same_dim(node.src[0].shape[axis], node.shape[axis]) else None


def _through_permute(node: UOp, axis: int) -> int | None:
    return cast(AxesArg, node.arg).axes[axis]


def _through_reshape(node: UOp, axis: int) -> int | None:
    """Where only axes of one element come or go."""
    before = [a for a, n in enumerate(node.src[0].shape) if n != 1]
    after = [a for a, n in enumerate(node.shape) if n != 1]
    kept = [sizes(shape) for shape in _both(node, before, after)]
    if axis not in after or kept[0] != kept[1]:
        return None
    return before[after.index(axis)]


def _both(node: UOp, before: list[int], after: list[int]) -> tuple[Shape, Shape]:
    source = node.src[0].shape
    return tuple(source[a] for a in before), tuple(node.shape[a] for a in after)


_TRACE = {
    Ops.EXPAND: _through_expand,
    Ops.PERMUTE: _through_permute,
    Ops.RESHAPE: _through_reshape,
}
