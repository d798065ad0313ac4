"""More activations: those that bend, cut or gate. In: floats. Out: floats of the same shape, half of it for glu."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ingot.errors import ShapeError
from ingot.ir.node import UOp
from ingot.ops import elementwise as ew
from ingot.ops.activation import sigmoid, softmax
from ingot.ops.arranging import part
from ingot.ops.axis import normal_axis
from ingot.ops.elementwise import as_float
from ingot.ops.gradient import Rule, attrs, pointwise
from ingot.ops.joining import known_size
from ingot.ops.movement import reshape, show
from ingot.ops.numeric import abs_, expm1
from ingot.ops.op import Lower, Op, op, primitive
from ingot.ops.rules import floats_in, same_type
from ingot.ops.sample import Sample, floats, sample, values

_FAR = values(0.0, -0.0, 30.0, -30.0, 700.0, -700.0)


def activation(
    name: str,
    lower: Lower,
    ref: Any,
    *samples: Sample,
    ulp: float = 8,
    normwise: bool = False,
    grad: Rule | None = None,
) -> Op:
    """A float function of one element."""
    return op(
        name,
        types=same_type,
        accept=floats_in,
        lower=lower,
        ref=ref,
        samples=(sample(floats(3, 4, low=-5, high=5)), sample(_FAR), *samples),
        bad_samples=((sample(None), f"{name}: x is NoneType; wanted a tensor"),),
        ulp=ulp,
        normwise=normwise,
        grad=grad,
    )


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def _celu(x: UOp, *, alpha: float = 1.0) -> UOp:
    """x where it is above 0, else alpha * (exp(x / alpha) - 1)."""
    low = ew.multiply(expm1(ew.divide(ew.minimum(x, 0), alpha)), alpha)
    return ew.where(ew.greater(x, 0), x, low)


def _selu(x: UOp) -> UOp:
    """elu, scaled so that mean 0 and variance 1 stay what they are."""
    low = ew.multiply(expm1(ew.minimum(x, 0)), _SELU_ALPHA)
    return ew.multiply(ew.where(ew.greater(x, 0), x, low), _SELU_SCALE)


def _celu_slope(node: UOp) -> UOp:
    (x,), alpha = node.src, cast(float, attrs(node)["alpha"])
    return ew.where(ew.greater(x, 0), 1.0, _falling(x, alpha))


def _selu_slope(node: UOp) -> UOp:
    (x,) = node.src
    low = ew.multiply(_falling(x, 1.0), _SELU_ALPHA * _SELU_SCALE)
    return ew.where(ew.greater(x, 0), _SELU_SCALE, low)


def _falling(x: UOp, rate: float) -> UOp:
    return ew.exp(ew.divide(ew.minimum(x, 0), rate))


def _threshold(x: UOp, *, threshold: float = 0.0, value: float = 0.0) -> UOp:
    """x where it is above the threshold, else the value."""
    return ew.where(ew.greater(x, threshold), x, value)


def _hardshrink(x: UOp, *, bound: float = 0.5) -> UOp:
    """x where it is further from 0 than the bound, else 0."""
    return ew.where(ew.less_equal(abs_(x), bound), 0.0, x)


def _softshrink(x: UOp, *, bound: float = 0.5) -> UOp:
    """x moved towards 0 by the bound, and 0 where it would pass it."""
    above = ew.where(
        ew.greater(x, bound), ew.subtract(x, bound), ew.multiply(x, 0.0)
    )
    return ew.where(ew.less(x, -bound), ew.add(x, bound), above)


def _tanhshrink(x: UOp) -> UOp:
    """x - tanh(x)."""
    return ew.subtract(x, ew.tanh(x))


def _elu_of(x: Any, alpha: float, scale: float = 1.0, rate: float = 1.0) -> Any:
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / rate))


def _softshrink_ref(x: Any, bound: float = 0.5) -> Any:
    return np.where(x > bound, x - bound, np.where(x < -bound, x + bound, x * 0))


celu = activation(
    "celu",
    _celu,
    lambda x, alpha=1.0: _elu_of(x, alpha, rate=alpha),
    sample(floats(4), alpha=0.5),
    grad=pointwise(_celu_slope),
)
selu = activation(
    "selu",
    _selu,
    lambda x: _elu_of(x, _SELU_ALPHA, _SELU_SCALE),
    grad=pointwise(_selu_slope),
)
threshold = activation(
    "threshold",
    _threshold,
    lambda x, threshold=0.0, value=0.0: np.where(x > threshold, x, value),
    sample(floats(4), threshold=0.5, value=-1.0),
    ulp=0,
)
hardshrink = activation(
    "hardshrink",
    _hardshrink,
    lambda x, bound=0.5: np.where(np.abs(x) <= bound, 0, x),
    sample(floats(4), bound=1.0),
    ulp=0,
)
softshrink = activation(
    "softshrink", _softshrink, _softshrink_ref, sample(floats(4), bound=1.0), ulp=1
)
tanhshrink = activation(
    "tanhshrink", _tanhshrink, lambda x: x - np.tanh(x), ulp=64, normwise=True
)


def prelu(x: UOp, weight: UOp) -> UOp:
    """x where it is above 0, else weight * x; one weight, or one for each channel (axis 1)."""
    given = as_float(x)
    slope = as_float(weight)
    if slope.shape and slope.shape != (1,):
        rank = len(given.shape)
        if rank < 2 or len(slope.shape) != 1 or slope.shape[0] != given.shape[1]:
            raise ShapeError(
                f"prelu: weight is {show(weight.shape)} for x of {show(x.shape)}; "
                "wanted one number, or one for each channel (axis 1)"
            )
        slope = reshape(slope, (slope.shape[0], *(1,) * (rank - 2)))
    return ew.where(ew.greater(given, 0), given, ew.multiply(slope, given))


def _prelu_ref(x: Any, weight: Any) -> Any:
    per_channel = weight.ndim == 1 and weight.size > 1
    slope = weight.reshape(-1, *(1,) * (x.ndim - 2)) if per_channel else weight
    return np.where(x > 0, x, slope * x)


primitive(
    "prelu",
    prelu,
    ref=_prelu_ref,
    samples=(
        sample(floats(2, 3, 4), floats(3)),
        sample(floats(3, 4), floats(1)),
        sample(floats(4), floats()),
    ),
    bad_samples=(
        (
            sample(floats(2, 3), floats(2)),
            "prelu: weight is (2,) for x of (2, 3)",
        ),
    ),
)


def glu(x: UOp, axis: int = -1) -> UOp:
    """The first half along an axis times the sigmoid of the second."""
    given = as_float(x)
    at = normal_axis("glu", axis, len(x.shape))
    n = known_size("glu", x, at)
    if n % 2:
        raise ShapeError(f"glu: axis {at} of {show(x.shape)} has no two halves")
    first, second = part(given, at, 0, n // 2), part(given, at, n // 2, n)
    return ew.multiply(first, sigmoid(second))


def softmin(x: UOp, axis: int = -1) -> UOp:
    """softmax(-x)."""
    return softmax(ew.negative(as_float(x)), axis=axis)


def _glu_ref(x: Any, axis: int = -1) -> Any:
    first, second = np.split(x, 2, axis)
    return first / (1 + np.exp(-second))


def _softmin_ref(x: Any, axis: int = -1) -> Any:
    powers = np.exp(x.min(axis, keepdims=True) - x)
    return powers / powers.sum(axis, keepdims=True)


primitive(
    "glu",
    glu,
    ref=_glu_ref,
    samples=(sample(floats(3, 4)), sample(floats(4, 3), axis=0)),
    bad_samples=((sample(floats(3)), "glu: axis 0 of (3,) has no two halves"),),
    ulp=4,
)
primitive(
    "softmin",
    softmin,
    ref=_softmin_ref,
    samples=(sample(floats(3, 4)), sample(floats(4, 3), axis=0)),
    bad_samples=((sample(floats(3), axis=1), "softmax: axis 1 is outside -1..0"),),
    ulp=8,
)
