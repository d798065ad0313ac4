"""The gradients of convolution, as ops. In: the cotangent of a convolution, and what it was made from. Out: theirs.

conv2d_grad_input is a convolution of the cotangent, spaced by the stride, with the filters turned round.
conv2d_grad_weight is one matrix product: cotangents (outputs, places) times windows (places, places in a filter).
The input whose gradient is asked for comes last, and only its shape is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ingot.errors import ShapeError
from ingot.ir.node import UOp
from ingot.ir.opcode import Attr
from ingot.ir.shape import Type, product, same
from ingot.ops.conv import Sides, Two, conv2d, output_sizes, windows
from ingot.ops.gradient import Cotangents, Gradients, attrs, only
from ingot.ops.inverse import of_shape, padded_to, spaced
from ingot.ops.matmul import matmul
from ingot.ops.movement import (
    Dim,
    contiguous,
    flip,
    pad,
    permute,
    reshape,
    show,
    shrink,
)
from ingot.ops.op import op
from ingot.ops.sample import floats, sample


def _check(name: str, g: UOp, x: UOp, weight: UOp, **named: Attr) -> None:
    wanted = (
        x.shape[0],
        weight.shape[0],
        *output_sizes(
            x,
            weight,
            cast(Two, named["stride"]),
            cast(Sides, named["padding"]),
            cast(Two, named["dilation"]),
        ),
    )
    if not same(g.shape, wanted):
        raise ShapeError(f"{name}: g is {show(g.shape)}; wanted {show(wanted)}")


# --- of the images ------------------------------------------------------------------------------------------------


def _input_type(g: UOp, weight: UOp, x: UOp, **named: Attr) -> Type:
    _check("conv2d_grad_input", g, x, weight, **named)
    return x.dtype, x.shape


def _grad_input(
    g: UOp,
    weight: UOp,
    x: UOp,
    *,
    stride: Two = (1, 1),
    padding: Sides = ((0, 0), (0, 0)),
    dilation: Two = (1, 1),
    groups: int = 1,
) -> UOp:
    """What flows back from a convolution to its images."""
    # Both are read many times, once for every place of a filter: turned and spread once, they are plain operands.
    turned = contiguous(flip(_other_way(weight, groups), (2, 3)))
    wide = g
    for i in range(2):
        wide = _spread_out(
            wide, 2 + i, x, weight, stride[i], padding[i], dilation[i]
        )
    found = conv2d(contiguous(wide), turned, dilation=dilation, groups=groups)
    return of_shape(found, x.shape)


def _other_way(weight: UOp, groups: int) -> UOp:
    """Filters from outputs to channels, group by group."""
    outputs, channels, *filter_size = weight.shape
    split = reshape(weight, (groups, outputs // groups, channels, *filter_size))
    swapped = permute(split, (0, 2, 1, 3, 4))
    return reshape(swapped, (groups * channels, outputs // groups, *filter_size))


def _spread_out(
    g: UOp,
    axis: int,
    x: UOp,
    weight: UOp,
    step: int,
    padding: Two,
    dilation: int,
) -> UOp:
    """Zeros between the outputs and around them: then every image place sees the outputs that it took part in."""
    reach = (weight.shape[axis] - 1) * dilation
    length = (g.shape[axis] - 1) * step + 1
    steps = [step if i == axis else 1 for i in range(4)]
    apart = spaced(g, steps, _with(g, axis, length))
    before = reach - padding[0]
    after = x.shape[axis] + reach - length - before
    return _grown(apart, axis, before, after)


def _with(x: UOp, axis: int, length: Dim) -> tuple[Dim, ...]:
    return (*x.shape[:axis], length, *x.shape[axis + 1 :])


def _grown(x: UOp, axis: int, before: Dim, after: Dim) -> UOp:
    """Zeros before and after; a number below 0 cuts."""
    length = x.shape[axis]
    start = -before if isinstance(before, int) and before < 0 else 0
    cut = -after if isinstance(after, int) and after < 0 else 0
    ranges = [(start, length - cut) if i == axis else None for i in range(4)]
    kept = shrink(x, ranges)
    lows = [before + start if i == axis else 0 for i in range(4)]
    highs = [after + cut if i == axis else 0 for i in range(4)]
    grown = _with(kept, axis, kept.shape[axis] + lows[axis] + highs[axis])
    return padded_to(kept, lows, highs, grown)


def _input_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """The op is linear in g and in weight; turned round it is the convolution itself."""
    (g, weight, _), named, v = node.src, attrs(node), only(cotangents)
    to_g = conv2d(v, weight, **named)
    to_weight = conv2d_grad_weight(g, v, weight, **named)
    return to_g, to_weight, None


# --- of the filters -----------------------------------------------------------------------------------------------


def _weight_type(g: UOp, x: UOp, weight: UOp, **named: Attr) -> Type:
    _check("conv2d_grad_weight", g, x, weight, **named)
    return weight.dtype, weight.shape


def _grad_weight(
    g: UOp,
    x: UOp,
    weight: UOp,
    *,
    stride: Two = (1, 1),
    padding: Sides = ((0, 0), (0, 0)),
    dilation: Two = (1, 1),
    groups: int = 1,
) -> UOp:
    """What flows back from a convolution to its filters."""
    seen = windows(pad(x, ((0, 0), (0, 0), *padding)), weight, stride, dilation)
    rows, _, height, width, *filter_size = seen.shape
    outputs, inner = weight.shape[0], weight.shape[1]
    parts = (rows, groups, inner, height, width, *filter_size)
    images = permute(reshape(seen, parts), (1, 0, 3, 4, 2, 5, 6))
    split = (rows, groups, outputs // groups, height, width)
    sent = permute(reshape(g, split), (1, 2, 0, 3, 4))
    batch = (groups,) if groups > 1 else ()
    places, taps = product((rows, height, width)), product((inner, *filter_size))
    left = reshape(sent, (*batch, outputs // groups, places))
    right = reshape(images, (*batch, places, taps))
    return reshape(matmul(left, right), weight.shape)


def _weight_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """The op is linear in g and in x."""
    (g, x, _), named, v = node.src, attrs(node), only(cotangents)
    to_g = conv2d(x, v, **named)
    to_x = conv2d_grad_input(g, v, x, **named)
    return to_g, to_x, None


# --- references and declarations ----------------------------------------------------------------------------------


def _patches(x: Any, weight: Any, g: Any, named: Any) -> Any:
    """(output, place, slice of the padded images) for every output of every filter."""
    (up, left), (down, right) = named["stride"], named["dilation"]
    tall, wide = weight.shape[2:]
    inner, outer = weight.shape[1], weight.shape[0] // named["groups"]
    for o, i, j in np.ndindex(g.shape[1], *g.shape[2:]):
        first = o // outer * inner
        rows = slice(i * up, i * up + (tall - 1) * down + 1, down)
        columns = slice(j * left, j * left + (wide - 1) * right + 1, right)
        yield o, (i, j), (slice(None), slice(first, first + inner), rows, columns)


_PLAIN: dict[str, Any] = {
    "stride": (1, 1),
    "padding": ((0, 0), (0, 0)),
    "dilation": (1, 1),
    "groups": 1,
}


def _input_reference(g: Any, weight: Any, x: Any, **given: Any) -> Any:
    named = {**_PLAIN, **given}
    (top, low), (left, right) = named["padding"]
    padded = np.pad(np.zeros(x.shape), ((0, 0), (0, 0), (top, low), (left, right)))
    for o, (i, j), place in _patches(x, weight, g, named):
        padded[place] += g[:, o, i, j][:, None, None, None] * weight[o]
    height, width = padded.shape[2:]
    return padded[:, :, top : height - low, left : width - right]


def _weight_reference(g: Any, x: Any, weight: Any, **given: Any) -> Any:
    named = {**_PLAIN, **given}
    padded = np.pad(x, ((0, 0), (0, 0), *named["padding"]))
    found = np.zeros(weight.shape)
    for o, (i, j), place in _patches(x, weight, g, named):
        found[o] += (padded[place] * g[:, o, i, j][:, None, None, None]).sum(0)
    return found


_CASES: Sequence[tuple[Any, Any, Any, dict[str, Any]]] = (
    (floats(2, 4, 3, 5), floats(4, 3, 3, 2), floats(2, 3, 5, 6), {}),
    (
        floats(2, 4, 5, 6),
        floats(4, 3, 3, 3),
        floats(2, 3, 5, 6),
        {"padding": ((1, 1), (1, 1))},
    ),
    (
        floats(1, 6, 4, 5),
        floats(6, 2, 3, 3),
        floats(1, 4, 7, 7),
        {"stride": (2, 2), "padding": ((1, 1), (2, 2)), "groups": 2},
    ),
    (
        floats(1, 2, 6, 6),
        floats(2, 2, 3, 3),
        floats(1, 2, 9, 9),
        {"dilation": (2, 3), "padding": ((1, 0), (2, 1))},
    ),
    (
        floats(1, 2, 2, 7),
        floats(2, 1, 1, 1),
        floats(1, 1, 4, 5),
        {"stride": (3, 1), "padding": ((0, 1), (1, 1))},
    ),
)
_BAD = "g is (1, 1, 1, 1); wanted (2, 4, 3, 5)"
_WRONG = floats(1, 1, 1, 1)
_FIRST = _CASES[0]

conv2d_grad_input = op(
    "conv2d_grad_input",
    types=_input_type,
    lower=_grad_input,
    ref=_input_reference,
    samples=tuple(sample(g, w, x, **named) for g, w, x, named in _CASES),
    bad_samples=((sample(_WRONG, _FIRST[1], _FIRST[2]), _BAD),),
    ulp=32,
    normwise=True,
    grad=_input_grad,
    public=False,
)
conv2d_grad_weight = op(
    "conv2d_grad_weight",
    types=_weight_type,
    lower=_grad_weight,
    ref=_weight_reference,
    samples=tuple(sample(g, x, w, **named) for g, w, x, named in _CASES),
    bad_samples=((sample(_WRONG, _FIRST[2], _FIRST[1]), _BAD),),
    ulp=32,
    normwise=True,
    grad=_weight_grad,
    public=False,
)
