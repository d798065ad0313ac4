"""Normalisation of channels: batch, group, instance. In: (rows, channels, ...). Out: the same, mean 0 and variance 1.

16-bit floats are normalised in float32, as in norm.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.errors import ShapeError
from ingot.ir.node import UOp
from ingot.ir.opcode import Attr
from ingot.ir.shape import Shape, Type, product, same
from ingot.ops import elementwise as ew
from ingot.ops.axis import whole_number
from ingot.ops.elementwise import as_float
from ingot.ops.movement import reshape, show
from ingot.ops.numeric import rsqrt, square
from ingot.ops.op import Accept, Accepted, op
from ingot.ops.promotion import accumulator
from ingot.ops.reduce import mean
from ingot.ops.sample import floats, sample


def _accept(name: str) -> Accept:
    def accept(x: UOp, *parameters: UOp | None, **attrs: Any) -> Accepted:
        if len(x.shape) < 2:
            raise ShapeError(
                f"{name}: x is {show(x.shape)}; wanted (rows, channels, ...)"
            )
        for parameter in parameters:
            if parameter is not None and not same(parameter.shape, x.shape[1:2]):
                raise ShapeError(
                    f"{name}: a parameter is {show(parameter.shape)} for x of {show(x.shape)}; "
                    f"wanted {show(x.shape[1:2])}, one number for each channel"
                )
        given = tuple(p if p is None else as_float(p) for p in parameters)
        return (as_float(x), *given), {**attrs, "eps": float(attrs["eps"])}

    return accept


def _type(x: UOp, *parameters: UOp, **attrs: Attr) -> Type:
    return x.dtype, x.shape


def _per_channel(parameter: UOp, x: UOp) -> UOp:
    return reshape(parameter, (parameter.shape[0], *(1,) * (len(x.shape) - 2)))


def _scaled(made: UOp, x: UOp, weight: UOp | None, bias: UOp | None) -> UOp:
    if weight is not None:
        made = ew.multiply(made, _per_channel(weight, x).cast(made.dtype))
    if bias is not None:
        made = ew.add(made, _per_channel(bias, x).cast(made.dtype))
    return made.cast(x.dtype)


def _standard(wide: UOp, axes: tuple[int, ...], eps: float) -> UOp:
    """Mean 0 and variance 1 over the axes."""
    distance = ew.subtract(wide, mean(wide, axis=axes, keepdims=True))
    spread = mean(square(distance), axis=axes, keepdims=True)
    return ew.multiply(distance, rsqrt(ew.add(spread, eps)))


# --- batch --------------------------------------------------------------------------------------------------------


def _batch_norm(
    x: UOp,
    weight: UOp | None = None,
    bias: UOp | None = None,
    running_mean: UOp | None = None,
    running_var: UOp | None = None,
    *,
    eps: float = 1e-5,
) -> UOp:
    """Each channel shifted and scaled by the given mean and variance, or by its own over the batch."""
    wide = x.cast(accumulator(x.dtype))
    if running_mean is None or running_var is None:
        axes = (0, *range(2, len(x.shape)))
        return _scaled(_standard(wide, axes, eps), x, weight, bias)
    middle, spread = (
        _per_channel(p, x).cast(wide.dtype) for p in (running_mean, running_var)
    )
    made = ew.multiply(ew.subtract(wide, middle), rsqrt(ew.add(spread, eps)))
    return _scaled(made, x, weight, bias)


def _lined(parameter: Any, x: Any) -> Any:
    return parameter.reshape(-1, *(1,) * (x.ndim - 2))


def _affine(made: Any, x: Any, weight: Any, bias: Any) -> Any:
    made = made if weight is None else made * _lined(weight, x)
    return made if bias is None else made + _lined(bias, x)


def _batch_ref(
    x: Any,
    weight: Any = None,
    bias: Any = None,
    running_mean: Any = None,
    running_var: Any = None,
    eps: float = 1e-5,
) -> Any:
    axes = (0, *range(2, x.ndim))
    middle = x.mean(axes) if running_mean is None else running_mean
    spread = x.var(axes) if running_var is None else running_var
    made = (x - _lined(middle, x)) / np.sqrt(_lined(spread, x) + eps)
    return _affine(made, x, weight, bias)


_CHANNELS = floats(3)
_POSITIVE = floats(3, low=0.5)
_CHANNEL_MISFIT = (
    sample(floats(2, 3, 4), floats(2)),
    "a parameter is (2,) for x of (2, 3, 4); wanted (3,)",
)
batch_norm = op(
    "batch_norm",
    types=_type,
    accept=_accept("batch_norm"),
    lower=_batch_norm,
    ref=_batch_ref,
    samples=(
        sample(floats(4, 3, 5), _CHANNELS, _CHANNELS),
        sample(floats(4, 3, 2, 2), _CHANNELS, _CHANNELS, _CHANNELS, _POSITIVE),
        sample(floats(6, 3), eps=1e-3),
    ),
    bad_samples=(
        _CHANNEL_MISFIT,
        (sample(floats(3)), "batch_norm: x is (3,); wanted (rows, channels, ...)"),
    ),
    ulp=64,
    normwise=True,
)


# --- groups of channels, and single ones --------------------------------------------------------------------------


def _accept_groups(
    x: UOp, weight: UOp | None = None, bias: UOp | None = None, **attrs: Any
) -> Accepted:
    inputs, named = _accept("group_norm")(x, weight, bias, eps=attrs["eps"])
    count = whole_number("group_norm", "groups", attrs["groups"])
    channels = x.shape[1]
    if count < 1 or (isinstance(channels, int) and channels % count):
        raise ShapeError(
            f"group_norm: {channels} channels of {show(x.shape)} do not split into {count} groups"
        )
    return inputs, {"groups": count, **named}


def _group_norm(
    x: UOp,
    weight: UOp | None = None,
    bias: UOp | None = None,
    *,
    groups: int,
    eps: float = 1e-5,
) -> UOp:
    """Groups of channels of each row shifted to mean 0 and scaled to variance 1, then times weight plus bias."""
    wide = x.cast(accumulator(x.dtype))
    shape: Shape = (x.shape[0], groups, product(x.shape[1:]) // groups)
    made = reshape(_standard(reshape(wide, shape), (2,), eps), x.shape)
    return _scaled(made, x, weight, bias)


def _instance_norm(
    x: UOp, weight: UOp | None = None, bias: UOp | None = None, *, eps: float = 1e-5
) -> UOp:
    """Each channel of each row shifted to mean 0 and scaled to variance 1, then times weight plus bias."""
    wide = x.cast(accumulator(x.dtype))
    axes = tuple(range(2, len(x.shape)))
    return _scaled(_standard(wide, axes, eps), x, weight, bias)


def _group_ref(
    x: Any, weight: Any = None, bias: Any = None, groups: int = 1, eps: float = 1e-5
) -> Any:
    rows = x.reshape(x.shape[0], groups, -1)
    made = (rows - rows.mean(2, keepdims=True)) / np.sqrt(
        rows.var(2, keepdims=True) + eps
    )
    return _affine(made.reshape(x.shape), x, weight, bias)


def _instance_ref(
    x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    return _group_ref(x, weight, bias, x.shape[1], eps)


group_norm = op(
    "group_norm",
    types=_type,
    accept=_accept_groups,
    lower=_group_norm,
    ref=_group_ref,
    samples=(
        sample(floats(2, 4, 5), floats(4), floats(4), groups=2),
        sample(floats(2, 6, 2, 2), groups=3),
    ),
    bad_samples=(
        (sample(floats(2, 4, 5), groups=3), "do not split into 3 groups"),
    ),
    ulp=64,
    normwise=True,
)
instance_norm = op(
    "instance_norm",
    types=_type,
    accept=_accept("instance_norm"),
    lower=_instance_norm,
    ref=_instance_ref,
    samples=(
        sample(floats(2, 3, 5), _CHANNELS, _CHANNELS),
        sample(floats(2, 3, 4, 4)),
    ),
    bad_samples=(_CHANNEL_MISFIT,),
    ulp=64,
    normwise=True,
)
