"""Gradients of moves. In: a view and its cotangent. Out: the cotangent moved back; what was read often is summed.

x -> EXPAND   sum over what was repeated          x -> PAD      shrink
x -> SHRINK   pad with zeros                      x -> STRIDE   zeros between the elements
x -> WINDOW   out[o, w] = x[o + w], so the gradient at i is the sum of g[i - w, w]
"""

from __future__ import annotations

from typing import cast

from ingot.ir.node import UOp
from ingot.ir.opcode import AxesArg, Ops, WindowArg
from ingot.ir.shape import dim
from ingot.ops.gradient import Cotangents, Gradients, Rule, only
from ingot.ops.inverse import of_shape, overlapped, padded_to, spaced
from ingot.ops.movement import permute, shrink
from ingot.ops.reduce import sum_to


def _back(node: UOp, gradient: UOp) -> Gradients:
    """The gradient of the value; sizes have none."""
    return (gradient, *(None,) * (len(node.src) - 1))


def _reshape(node: UOp, cotangents: Cotangents) -> Gradients:
    x, g = node.src[0], only(cotangents)
    source = g.src[0] if g.op is Ops.RESHAPE else g
    return _back(node, of_shape(source, x.shape))


def _expand(node: UOp, cotangents: Cotangents) -> Gradients:
    return _back(node, sum_to(only(cotangents), node.src[0].shape))


def _permute(node: UOp, cotangents: Cotangents) -> Gradients:
    axes = cast(AxesArg, node.arg).axes
    order = sorted(range(len(axes)), key=axes.__getitem__)
    return _back(node, permute(only(cotangents), order))


def _flip(node: UOp, cotangents: Cotangents) -> Gradients:
    g = only(cotangents)
    return _back(node, UOp(Ops.FLIP, g.dtype, (g,), node.arg))


def _pad(node: UOp, cotangents: Cotangents) -> Gradients:
    x = node.src[0]
    lows = [dim(low) for low in node.src[1::2]]
    ranges = [(low, low + n) for low, n in zip(lows, x.shape, strict=True)]
    return _back(node, of_shape(shrink(only(cotangents), ranges), x.shape))


def _shrink(node: UOp, cotangents: Cotangents) -> Gradients:
    x = node.src[0]
    starts = [dim(start) for start in node.src[1::2]]
    rests = [n - dim(e) for n, e in zip(x.shape, node.src[2::2], strict=True)]
    return _back(node, padded_to(only(cotangents), starts, rests, x.shape))


def _stride(node: UOp, cotangents: Cotangents) -> Gradients:
    x = node.src[0]
    steps = [int(step.value) for step in node.src[1:]]
    return _back(node, spaced(only(cotangents), steps, x.shape))


def _window(node: UOp, cotangents: Cotangents) -> Gradients:
    x, g = node.src[0], only(cotangents)
    axis, length = cast(WindowArg, node.arg).axis, int(node.src[1].value)
    return _back(node, of_shape(overlapped(g, axis, length), x.shape))


MOVES: dict[Ops, Rule] = {
    Ops.RESHAPE: _reshape,
    Ops.EXPAND: _expand,
    Ops.PERMUTE: _permute,
    Ops.FLIP: _flip,
    Ops.PAD: _pad,
    Ops.SHRINK: _shrink,
    Ops.STRIDE: _stride,
    Ops.WINDOW: _window,
}
