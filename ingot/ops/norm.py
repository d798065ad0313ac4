"""Normalisation over the last axes. In: a tensor, its scale and shift. Out: layer_norm, rms_norm.

16-bit floats are normalised in float32: a mean of squares would not survive in less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ingot.errors import ArgumentError, ShapeError
from ingot.ir.node import UOp
from ingot.ir.opcode import Attr
from ingot.ir.shape import Type, same
from ingot.ops import elementwise as ew
from ingot.ops.axis import whole_number
from ingot.ops.elementwise import as_float
from ingot.ops.gradient import Cotangents, Gradients, attrs, only
from ingot.ops.movement import show
from ingot.ops.numeric import rsqrt, square
from ingot.ops.op import Accept, Accepted, op
from ingot.ops.promotion import accumulator
from ingot.ops.reduce import mean, sum_to
from ingot.ops.sample import floats, sample


def _accept(name: str) -> Accept:
    """Floats, and a number of last axes in place of their sizes."""

    def accept(x: UOp, *parameters: UOp | None, eps: float, axes: int) -> Accepted:
        number = whole_number(name, "axes", axes)
        if not 1 <= number <= len(x.shape):
            raise ArgumentError(
                f"{name}: axes is {number} for {show(x.shape)}; wanted how many last axes to normalise, "
                f"1..{len(x.shape)}"
            )
        given = tuple(p if p is None else as_float(p) for p in parameters)
        return (as_float(x), *given), {"eps": float(eps), "axes": number}

    return accept


def _normed_type(
    name: str, x: UOp, parameters: Sequence[UOp | None], axes: int
) -> Type:
    wanted = x.shape[len(x.shape) - axes :]
    for word, parameter in zip(("weight", "bias"), parameters, strict=False):
        if parameter is not None and not same(parameter.shape, wanted):
            raise ShapeError(
                f"{name}: {word} is {show(parameter.shape)} for x of {show(x.shape)}; wanted {show(wanted)}",
                fix=f"make {word} as large as the axes that are normalised, or choose axes=...",
            )
    return x.dtype, x.shape


def _layer_norm_type(
    x: UOp, weight: UOp | None = None, bias: UOp | None = None, **attrs: Attr
) -> Type:
    return _normed_type("layer_norm", x, (weight, bias), cast(int, attrs["axes"]))


def _rms_norm_type(x: UOp, weight: UOp | None = None, **attrs: Attr) -> Type:
    return _normed_type("rms_norm", x, (weight,), cast(int, attrs["axes"]))


def _layer_norm(
    x: UOp,
    weight: UOp | None = None,
    bias: UOp | None = None,
    *,
    eps: float = 1e-5,
    axes: int = 1,
) -> UOp:
    """The last axes shifted to mean 0 and scaled to variance 1, then times weight plus bias."""
    last = tuple(range(-axes, 0))
    wide = x.cast(accumulator(x.dtype))
    centred = ew.subtract(wide, mean(wide, axis=last, keepdims=True))
    return _scaled(x, centred, last, eps, weight, bias)


def _rms_norm(
    x: UOp, weight: UOp | None = None, *, eps: float = 1e-5, axes: int = 1
) -> UOp:
    """The last axes scaled to mean square 1, then times weight."""
    return _scaled(
        x, x.cast(accumulator(x.dtype)), tuple(range(-axes, 0)), eps, weight, None
    )


def _scale(centred: UOp, last: tuple[int, ...], eps: float) -> UOp:
    power = mean(square(centred), axis=last, keepdims=True)
    return rsqrt(ew.add(power, eps))


def _scaled(
    x: UOp,
    centred: UOp,
    last: tuple[int, ...],
    eps: float,
    weight: UOp | None,
    bias: UOp | None,
) -> UOp:
    normed = ew.multiply(centred, _scale(centred, last, eps))
    if weight is not None:
        normed = ew.multiply(normed, weight)
    if bias is not None:
        normed = ew.add(normed, bias)
    return normed.cast(x.dtype)


def _norm_grad(
    node: UOp, cotangents: Cotangents, centred: UOp, *, has_mean: bool
) -> Gradients:
    """Of y = n * weight + bias: what would change the length of n, or its mean, is taken away."""
    x, *parameters = node.src
    given = attrs(node)
    eps, axes = cast(float, given["eps"]), cast(int, given["axes"])
    last = tuple(range(-axes, 0))
    g = only(cotangents).cast(centred.dtype)
    scale = _scale(centred, last, eps)
    normed = ew.multiply(centred, scale)
    inner = ew.multiply(g, parameters[0]) if parameters else g
    along = ew.multiply(
        normed, mean(ew.multiply(inner, normed), axis=last, keepdims=True)
    )
    rest = ew.subtract(inner, along)
    if has_mean:
        rest = ew.subtract(rest, mean(inner, axis=last, keepdims=True))
    found = [ew.multiply(rest, scale).cast(x.dtype)]
    for share, parameter in zip(
        (ew.multiply(g, normed), g), parameters, strict=False
    ):
        found.append(sum_to(share, parameter.shape).cast(parameter.dtype))
    return tuple(found)


def _layer_norm_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    x = node.src[0]
    last = tuple(range(-cast(int, attrs(node)["axes"]), 0))
    wide = x.cast(accumulator(x.dtype))
    centred = ew.subtract(wide, mean(wide, axis=last, keepdims=True))
    return _norm_grad(node, cotangents, centred, has_mean=True)


def _rms_norm_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    x = node.src[0]
    wide = x.cast(accumulator(x.dtype))
    return _norm_grad(node, cotangents, wide, has_mean=False)


def _layer_norm_reference(
    x: Any, weight: Any = 1.0, bias: Any = 0.0, eps: float = 1e-5, axes: int = 1
) -> Any:
    last = tuple(range(-axes, 0))
    centred = x - x.mean(last, keepdims=True)
    return centred / np.sqrt(x.var(last, keepdims=True) + eps) * weight + bias


def _rms_norm_reference(
    x: Any, weight: Any = 1.0, eps: float = 1e-5, axes: int = 1
) -> Any:
    return (
        x
        / np.sqrt((x * x).mean(tuple(range(-axes, 0)), keepdims=True) + eps)
        * weight
    )


layer_norm = op(
    "layer_norm",
    types=_layer_norm_type,
    accept=_accept("layer_norm"),
    lower=_layer_norm,
    ref=_layer_norm_reference,
    grad=_layer_norm_grad,
    samples=(
        sample(floats(3, 8), floats(8), floats(8)),
        sample(floats(2, 3, 8)),
        sample(floats(2, 3, 8), floats(3, 8), axes=2, eps=1e-3),
        sample(floats(3, 1)),
    ),
    bad_samples=(
        (
            sample(floats(3, 8), floats(3)),
            "layer_norm: weight is (3,) for x of (3, 8); wanted (8,)",
        ),
        (
            sample(floats(3, 8), None, floats(8)),
            "layer_norm: bias is given without weight",
        ),
        (sample(floats(3, 8), axes=3), "layer_norm: axes is 3 for (3, 8)"),
    ),
    ulp=32,
    normwise=True,
)
rms_norm = op(
    "rms_norm",
    types=_rms_norm_type,
    accept=_accept("rms_norm"),
    lower=_rms_norm,
    ref=_rms_norm_reference,
    grad=_rms_norm_grad,
    samples=(
        sample(floats(3, 8), floats(8)),
        sample(floats(2, 3, 8), axes=2),
        sample(floats(4, 5), eps=0.1),
    ),
    bad_samples=(
        (
            sample(floats(3, 8), floats(3)),
            "rms_norm: weight is (3,) for x of (3, 8); wanted (8,)",
        ),
    ),
    ulp=32,
    normwise=True,
)
