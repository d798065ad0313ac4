"""Convolution over one and three axes, and turned round. In: (rows, channels, sizes...) and filters. Out: conv2d by views.

A line is an image of height 1. Of a block, the windows along its depth become channels, which conv2d sums anyway. Turned
round, a convolution is what flows back to the images of another one: conv2d_grad_input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ingot.errors import ShapeError
from ingot.ir.node import UOp
from ingot.ir.opcode import Attr
from ingot.ir.shape import Shape, Type
from ingot.ops import elementwise as ew
from ingot.ops.axis import whole_number
from ingot.ops.conv import Padding, Pair, Two, conv2d
from ingot.ops.elementwise import constant
from ingot.ops.matmul import promoted
from ingot.ops.movement import Dim, pad, permute, reshape, show, unsqueeze
from ingot.ops.op import Accept, Accepted, Op, apply, op
from ingot.ops.sample import floats, sample
from ingot.ops.windows import numbers, sides, windowed

# --- one and three axes -------------------------------------------------------------------------------------------


def _accept(name: str, count: int) -> Accept:
    def accept(
        x: UOp, weight: UOp, bias: UOp | None = None, **attrs: Any
    ) -> Accepted:
        _check_ranks(name, x, weight, count)
        inputs, _ = promoted(x, weight, bias)
        step = numbers(name, "stride", attrs["stride"], count, 1)
        spread = numbers(name, "dilation", attrs["dilation"], count, 1)
        reach = [
            (n - 1) * d + 1 for n, d in zip(weight.shape[2:], spread, strict=True)
        ]
        return inputs, {
            "stride": step,
            "padding": sides(name, attrs["padding"], x.shape[2:], reach, step),
            "dilation": spread,
            "groups": whole_number(name, "groups", attrs["groups"]),
        }

    return accept


def _check_ranks(name: str, x: UOp, weight: UOp, count: int) -> None:
    if len(x.shape) != count + 2 or len(weight.shape) != count + 2:
        raise ShapeError(
            f"{name}: x is {show(x.shape)}, weight is {show(weight.shape)}; wanted {count + 2} axes: "
            f"x (rows, channels, {count} sizes) and weight (outputs, channels, {count} sizes)"
        )


def _type_of(lower: Callable[..., UOp]) -> Callable[..., Type]:
    """The type is that of what the op becomes, which checks the shapes."""

    def types(*inputs: UOp, **attrs: Attr) -> Type:
        made = lower(*inputs, **attrs)
        return made.dtype, made.shape

    return types


def _conv1d(
    x: UOp,
    weight: UOp,
    bias: UOp | None = None,
    *,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> UOp:
    """Filters slid over lines: a weighted sum of each window, for each output channel."""
    (step,), (around,), (spread,) = (
        cast(Any, v) for v in (stride, padding, dilation)
    )
    made = conv2d(
        unsqueeze(x, 2),
        unsqueeze(weight, 2),
        bias,
        stride=(1, step),
        padding=((0, 0), around),
        dilation=(1, spread),
        groups=groups,
    )
    return reshape(made, (*made.shape[:2], made.shape[3]))


def _conv3d(
    x: UOp,
    weight: UOp,
    bias: UOp | None = None,
    *,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> UOp:
    """Filters slid over blocks: a weighted sum of each window, for each output channel."""
    step, around, spread = (cast(Any, v) for v in (stride, padding, dilation))
    rows, channels, _, height, width = x.shape
    deep = pad(x, ((0, 0), (0, 0), around[0], (0, 0), (0, 0)))
    moved = permute(deep, (0, 1, 3, 4, 2))
    seen = windowed(moved, (cast(int, weight.shape[2]),), step[:1], spread[:1])
    depth, inside = seen.shape[4:]
    images = reshape(
        permute(seen, (0, 4, 1, 5, 2, 3)),
        (rows * depth, channels * inside, height, width),
    )
    outputs, inner, *filters = weight.shape
    flat = reshape(weight, (outputs, inner * filters[0], *filters[1:]))
    made = conv2d(
        images,
        flat,
        bias,
        stride=step[1:],
        padding=around[1:],
        dilation=spread[1:],
        groups=groups,
    )
    apart = reshape(made, (rows, depth, *made.shape[1:]))
    return permute(apart, (0, 2, 1, 3, 4))


def _reference(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """One place of the filter at a time."""
    count = x.ndim - 2
    step = numbers("conv", "stride", stride, count, 1)
    spread = numbers("conv", "dilation", dilation, count, 1)
    reach = [(n - 1) * d + 1 for n, d in zip(weight.shape[2:], spread, strict=True)]
    around = sides("conv", padding, x.shape[2:], reach, step)
    padded = np.pad(x, ((0, 0), (0, 0), *around))
    sizes = [
        (n - r) // s + 1
        for n, r, s in zip(padded.shape[2:], reach, step, strict=True)
    ]
    outputs, inner = weight.shape[:2]
    out = np.zeros((x.shape[0], outputs, *sizes))
    for at in np.ndindex(*weight.shape[2:]):
        places = [
            slice(a * d, a * d + (n - 1) * s + 1, s)
            for a, d, n, s in zip(at, spread, sizes, step, strict=True)
        ]
        seen = padded[(slice(None), slice(None), *places)]
        for o in range(outputs):
            first = o // (outputs // groups) * inner
            taps = weight[(o, slice(None), *at)].reshape(-1, *(1,) * count)
            out[:, o] += (seen[:, first : first + inner] * taps).sum(1)
    return out if bias is None else out + bias.reshape(-1, *(1,) * count)


def _conv(name: str, lower: Callable[..., UOp], count: int) -> Op:
    size = (7, 6, 5)[:count]
    small = (3, 2, 2)[:count]
    return op(
        name,
        types=_type_of(lower),
        accept=_accept(name, count),
        lower=lower,
        ref=_reference,
        samples=(
            sample(floats(2, 3, *size), floats(4, 3, *small)),
            sample(
                floats(2, 4, *size),
                floats(6, 2, *small),
                floats(6),
                groups=2,
                padding=1,
            ),
            sample(
                floats(1, 2, *size), floats(2, 2, *small), stride=2, padding="SAME"
            ),
            sample(
                floats(1, 2, *size),
                floats(2, 2, *small),
                dilation=2,
                padding=(1,) * count,
            ),
        ),
        bad_samples=(
            (
                sample(floats(3, 5), floats(4, 3)),
                f"{name}: x is (3, 5), weight is (4, 3)",
            ),
            (
                sample(floats(2, 3, *size), floats(4, 3, *small), stride=0),
                f"{name}: stride is 0; wanted one number or {count}",
            ),
        ),
        ulp=32,
        normwise=True,
    )


conv1d = _conv("conv1d", _conv1d, 1)
conv3d = _conv("conv3d", _conv3d, 3)


# --- turned round -------------------------------------------------------------------------------------------------


def _accept_transpose(name: str, count: int) -> Accept:
    def accept(
        x: UOp, weight: UOp, bias: UOp | None = None, **attrs: Any
    ) -> Accepted:
        _check_ranks(name, x, weight, count)
        inputs, _ = promoted(x, weight, bias)
        step = numbers(name, "stride", attrs["stride"], count, 1)
        spread = numbers(name, "dilation", attrs["dilation"], count, 1)
        reach = [
            (n - 1) * d + 1 for n, d in zip(weight.shape[2:], spread, strict=True)
        ]
        return inputs, {
            "stride": step,
            "padding": sides(name, attrs["padding"], x.shape[2:], reach, step),
            "output_padding": numbers(
                name, "output_padding", attrs["output_padding"], count, 0
            ),
            "dilation": spread,
            "groups": whole_number(name, "groups", attrs["groups"]),
        }

    return accept


def _grown(
    n: Dim, length: Dim, step: int, around: Two, extra: int, spread: int
) -> Dim:
    return (n - 1) * step - sum(around) + (length - 1) * spread + extra + 1


def _conv_transpose2d(
    x: UOp,
    weight: UOp,
    bias: UOp | None = None,
    *,
    stride: Pair = 1,
    padding: Padding = 0,
    output_padding: Pair = 0,
    groups: int = 1,
    dilation: Pair = 1,
) -> UOp:
    """Every element of an image spreads a filter over the result: conv2d turned round."""
    step, around, extra, spread = (
        cast(Any, v) for v in (stride, padding, output_padding, dilation)
    )
    sizes = map(_grown, x.shape[2:], weight.shape[2:], step, around, extra, spread)
    shape: Shape = (x.shape[0], weight.shape[1] * groups, *sizes)
    like = constant(0, x.dtype, shape)
    named = {
        "stride": step,
        "padding": around,
        "dilation": spread,
        "groups": groups,
    }
    made = apply("conv2d_grad_input", x, weight, like, **named)
    return made if bias is None else ew.add(made, reshape(bias, (shape[1], 1, 1)))


def _conv_transpose1d(
    x: UOp,
    weight: UOp,
    bias: UOp | None = None,
    *,
    stride: Pair = 1,
    padding: Padding = 0,
    output_padding: Pair = 0,
    groups: int = 1,
    dilation: Pair = 1,
) -> UOp:
    """Every element of a line spreads a filter over the result: conv1d turned round."""
    (step,), (around,), (extra,), (spread,) = (
        cast(Any, v) for v in (stride, padding, output_padding, dilation)
    )
    made = _conv_transpose2d(
        unsqueeze(x, 2),
        unsqueeze(weight, 2),
        bias,
        stride=(1, step),
        padding=((0, 0), around),
        output_padding=(0, extra),
        groups=groups,
        dilation=(1, spread),
    )
    return reshape(made, (*made.shape[:2], made.shape[3]))


def _transpose_reference(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """One element at a time adds its filter."""
    count = x.ndim - 2
    step = numbers("conv", "stride", stride, count, 1)
    spread = numbers("conv", "dilation", dilation, count, 1)
    extra = numbers("conv", "output_padding", output_padding, count, 0)
    around = sides("conv", padding, x.shape[2:], weight.shape[2:], step)
    full = [
        (n - 1) * s + (k - 1) * d + 1 + e
        for n, s, k, d, e in zip(
            x.shape[2:], step, weight.shape[2:], spread, extra, strict=True
        )
    ]
    inner, outputs = x.shape[1] // groups, weight.shape[1]
    out = np.zeros((x.shape[0], outputs * groups, *full))
    for at in np.ndindex(*x.shape[2:]):
        places = tuple(
            slice(a * s, a * s + (k - 1) * d + 1, d)
            for a, s, k, d in zip(at, step, weight.shape[2:], spread, strict=True)
        )
        for c in range(x.shape[1]):
            first = c // inner * outputs
            spot = x[(slice(None), c, *at)].reshape(-1, 1, *(1,) * count)
            out[(slice(None), slice(first, first + outputs), *places)] += (
                spot * weight[c]
            )
    kept = [slice(a, n - b) for n, (a, b) in zip(full, around, strict=True)]
    cut = out[(slice(None), slice(None), *kept)]
    return cut if bias is None else cut + bias.reshape(-1, *(1,) * count)


def _turned(name: str, lower: Callable[..., UOp], count: int) -> Op:
    size, small = (5, 4)[:count], (3, 2)[:count]
    return op(
        name,
        types=_type_of(lower),
        accept=_accept_transpose(name, count),
        lower=lower,
        ref=_transpose_reference,
        samples=(
            sample(floats(2, 3, *size), floats(3, 4, *small)),
            sample(
                floats(2, 4, *size),
                floats(4, 2, *small),
                floats(4),
                groups=2,
                padding=1,
            ),
            sample(
                floats(1, 2, *size),
                floats(2, 2, *small),
                stride=2,
                output_padding=1,
            ),
            sample(floats(1, 2, *size), floats(2, 2, *small), stride=2, dilation=2),
        ),
        bad_samples=(
            (
                sample(floats(3, 5), floats(4, 3)),
                f"{name}: x is (3, 5), weight is (4, 3)",
            ),
        ),
        ulp=32,
        normwise=True,
    )


conv_transpose1d = _turned("conv_transpose1d", _conv_transpose1d, 1)
conv_transpose2d = _turned("conv_transpose2d", _conv_transpose2d, 2)
