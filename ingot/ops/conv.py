"""Convolution. In: images (rows, channels, height, width) and filters. Out: conv2d, as windows, a product and a sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ingot.errors import ArgumentError, ShapeError
from ingot.ir.node import UOp
from ingot.ir.opcode import Attr, Ops
from ingot.ir.shape import Shape, Type, same
from ingot.ops import elementwise as ew
from ingot.ops.axis import whole_number
from ingot.ops.gradient import Cotangents, Gradients, attrs, only
from ingot.ops.matmul import promoted
from ingot.ops.movement import (
    Dim,
    broadcast_to,
    pad,
    permute,
    reshape,
    show,
    stride,
    window,
)
from ingot.ops.op import Accepted, apply, op
from ingot.ops.promotion import accumulator
from ingot.ops.reduce import fold, sum_
from ingot.ops.sample import floats, sample
from ingot.ops.windows import sides

Pair = int | Sequence[int]
Padding = int | str | Sequence[int] | Sequence[Sequence[int]]
Two = tuple[int, int]
Sides = tuple[Two, Two]


def _two(what: str, value: Pair, least: int) -> Two:
    """One number for both axes, or one for each."""
    given = tuple(value) if isinstance(value, Sequence) else (value, value)
    numbers = tuple(whole_number("conv2d", what, n) for n in given)
    if len(numbers) != 2 or min(numbers) < least:
        raise ArgumentError(
            f"conv2d: {what} is {value!r}; wanted a number or a pair, each {least} or more"
        )
    return numbers[0], numbers[1]


def _sides(padding: Padding) -> Sides:
    """One width, one for each axis, or (before, after) for each axis."""
    if (
        isinstance(padding, Sequence)
        and len(padding) == 2
        and isinstance(padding[0], Sequence)
    ):
        first, second = cast("Sequence[Sequence[int]]", padding)
        return _two("padding", first, 0), _two("padding", second, 0)
    height, width = _two("padding", cast(Pair, padding), 0)
    return (height, height), (width, width)


def _accept(x: UOp, weight: UOp, bias: UOp | None = None, **attrs: Any) -> Accepted:
    inputs, _ = promoted(x, weight, bias)
    step = _two("stride", attrs["stride"], 1)
    spread = _two("dilation", attrs["dilation"], 1)
    padding = attrs["padding"]
    if isinstance(padding, str):
        reach = [
            (n - 1) * d + 1 for n, d in zip(weight.shape[2:], spread, strict=False)
        ]
        padding = sides("conv2d", padding, x.shape[2:], reach, step)
    return inputs, {
        "stride": step,
        "padding": _sides(padding),
        "dilation": spread,
        "groups": whole_number("conv2d", "groups", attrs["groups"]),
    }


def _type(x: UOp, weight: UOp, bias: UOp | None = None, **attrs: Attr) -> Type:
    _check_shapes(x, weight, bias, cast(int, attrs["groups"]))
    sizes = output_sizes(
        x,
        weight,
        cast(Two, attrs["stride"]),
        cast(Sides, attrs["padding"]),
        cast(Two, attrs["dilation"]),
    )
    return x.dtype, (x.shape[0], weight.shape[0], *sizes)


def _check_shapes(x: UOp, weight: UOp, bias: UOp | None, groups: int) -> None:
    given = f"conv2d: x is {show(x.shape)}, weight is {show(weight.shape)}, groups is {groups}"
    if len(x.shape) != 4 or len(weight.shape) != 4:
        raise ShapeError(
            f"{given}; wanted x (rows, channels, height, width) and weight (outputs, channels, height, width)",
            fix="an image of (height, width) alone is x.reshape(1, 1, height, width)",
        )
    outputs, channels = weight.shape[0], x.shape[1]
    known = isinstance(outputs, int) and isinstance(channels, int)
    if groups < 1 or (
        known and (cast(int, outputs) % groups or cast(int, channels) % groups)
    ):
        raise ShapeError(
            f"{given}: {channels} channels and {outputs} outputs do not split into {groups} groups"
        )
    if known and not same(weight.shape[1:2], (cast(int, channels) // groups,)):
        wanted = cast(int, channels) // groups
        raise ShapeError(
            f"{given}: weight has {weight.shape[1]} channels where x has {wanted} for each group",
            fix=f"make the weight {show((outputs, wanted, *weight.shape[2:]))}, or choose groups=...",
        )
    if bias is not None and not same(bias.shape, weight.shape[:1]):
        raise ShapeError(
            f"{given}: bias is {show(bias.shape)}; wanted {show(weight.shape[:1])}"
        )


def output_sizes(
    x: UOp, weight: UOp, step: Two, padding: Sides, dilation: Two
) -> Shape:
    return tuple(
        _output_size(
            x.shape[2 + i] + sum(padding[i]),
            weight.shape[2 + i],
            step[i],
            dilation[i],
        )
        for i in range(2)
    )


def _output_size(size: Dim, filter_size: Dim, step: int, dilation: int) -> Dim:
    reach = (filter_size - 1) * dilation + 1
    if isinstance(size, int) and isinstance(reach, int) and reach > size:
        raise ShapeError(
            f"conv2d: a filter that reaches over {reach} does not fit {size}, padding included",
            fix="use a larger padding, or a smaller filter or dilation",
        )
    return (size - reach) // step + 1


def _conv2d(
    x: UOp,
    weight: UOp,
    bias: UOp | None = None,
    *,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> UOp:
    """Filters slid over images: a weighted sum of each window, for each output channel."""
    wide = accumulator(x.dtype)
    padded = pad(x.cast(wide), ((0, 0), (0, 0), *_sides(padding)))
    seen = windows(
        padded, weight, _two("stride", stride, 1), _two("dilation", dilation, 1)
    )
    left, right = _aligned(seen, weight.cast(wide), groups)
    rank = len(left.shape)
    total = fold(
        ew.multiply(left, right), Ops.ADD, 0, (rank - 3, rank - 2, rank - 1)
    )
    rows, _, height, width = seen.shape[:4]
    image = reshape(total, (rows, weight.shape[0], height, width)).cast(x.dtype)
    return (
        image
        if bias is None
        else ew.add(image, reshape(bias, (weight.shape[0], 1, 1)))
    )


def windows(x: UOp, weight: UOp, step: Two, dilation: Two) -> UOp:
    """(rows, channels, height, width, filter height, filter width)."""
    for i in range(2):
        reach = (weight.shape[2 + i] - 1) * dilation[i] + 1
        x = window(x, 2 + i, cast(int, reach))
        steps = [1] * len(x.shape)
        steps[2 + i] = step[i]
        steps[-1] = dilation[i]
        x = stride(x, steps)
    return x


def _aligned(seen: UOp, weight: UOp, groups: int) -> tuple[UOp, UOp]:
    """Both operands as (rows, [groups,] outputs, height, width, channels, filter height, filter width)."""
    rows, channels, height, width, *filter_size = seen.shape
    outputs = weight.shape[0]
    split = (groups,) if groups > 1 else ()
    inner, outer = (n // groups if groups > 1 else n for n in (channels, outputs))
    axis = len(split)
    grouped = reshape(seen, (rows, *split, inner, height, width, *filter_size))
    order = [*range(1 + axis), *(axis + n for n in (2, 3, 1, 4, 5))]
    moved = permute(grouped, order)
    left = reshape(moved, (rows, *split, 1, height, width, inner, *filter_size))
    right = reshape(weight, (1, *split, outer, 1, 1, inner, *filter_size))
    full = (rows, *split, outer, height, width, inner, *filter_size)
    return broadcast_to(left, full), broadcast_to(right, full)


def _conv2d_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    (x, weight, *bias), g, named = node.src, only(cotangents), attrs(node)
    to_x = apply("conv2d_grad_input", g, weight, x, **named)
    to_weight = apply("conv2d_grad_weight", g, x, weight, **named)
    return to_x, to_weight, *(sum_(g, (0, 2, 3)) for _ in bias)


def _reference(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """One output at a time."""
    step, spread = _two("stride", stride, 1), _two("dilation", dilation, 1)
    if isinstance(padding, str):
        reach = [
            (n - 1) * d + 1 for n, d in zip(weight.shape[2:], spread, strict=True)
        ]
        padding = sides("conv2d", padding, x.shape[2:], reach, step)
    padded = np.pad(x, ((0, 0), (0, 0), *_sides(padding)))
    reach = [(n - 1) * d + 1 for n, d in zip(weight.shape[2:], spread, strict=True)]
    sizes = [
        (n - r) // s + 1
        for n, r, s in zip(padded.shape[2:], reach, step, strict=True)
    ]
    out = np.zeros((x.shape[0], weight.shape[0], *sizes))
    inner, outer = weight.shape[1], weight.shape[0] // groups
    for o, i, j in np.ndindex(weight.shape[0], *sizes):
        first = o // outer * inner
        top, side = i * step[0], j * step[1]
        patch = padded[
            :,
            first : first + inner,
            top : top + reach[0] : spread[0],
            side : side + reach[1] : spread[1],
        ]
        out[:, o, i, j] = (patch * weight[o]).sum((1, 2, 3))
    return out if bias is None else out + bias[:, None, None]


conv2d = op(
    "conv2d",
    types=_type,
    accept=_accept,
    lower=_conv2d,
    ref=_reference,
    grad=_conv2d_grad,
    samples=(
        sample(floats(2, 3, 5, 6), floats(4, 3, 3, 2)),
        sample(floats(2, 3, 5, 6), floats(4, 3, 3, 3), floats(4), padding=1),
        sample(
            floats(1, 4, 7, 7),
            floats(6, 2, 3, 3),
            stride=2,
            padding=(1, 2),
            groups=2,
        ),
        sample(
            floats(1, 2, 9, 9),
            floats(2, 2, 3, 3),
            dilation=(2, 3),
            padding=((1, 0), (2, 1)),
        ),
        sample(floats(2, 3, 4, 4), floats(3, 1, 1, 1), groups=3),
        sample(floats(1, 2, 5, 6), floats(2, 2, 3, 2), padding="SAME", stride=2),
        sample(floats(1, 2, 5, 6), floats(2, 2, 3, 2), padding="valid"),
    ),
    bad_samples=(
        (sample(floats(3, 5, 6), floats(4, 3, 3, 3)), "conv2d: x is (3, 5, 6)"),
        (
            sample(floats(2, 3, 5, 6), floats(4, 3, 3, 2), padding="FULL"),
            "conv2d: padding is 'FULL'; wanted numbers, 'SAME' or 'VALID'",
        ),
        (
            sample(floats(2, 3, 5, 6), floats(4, 2, 3, 3)),
            "weight has 2 channels where x has 3 for each group",
        ),
        (
            sample(floats(2, 3, 5, 6), floats(4, 3, 7, 3)),
            "a filter that reaches over 7 does not fit 5",
        ),
        (
            sample(floats(2, 3, 5, 6), floats(4, 3, 3, 3), stride=0),
            "conv2d: stride is 0; wanted a number or a pair",
        ),
        (
            sample(floats(2, 3, 5, 6), floats(4, 1, 3, 3), groups=2),
            "do not split into 2 groups",
        ),
    ),
    ulp=32,
    normwise=True,
)
