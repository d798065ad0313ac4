"""Activations and the softmax family. In: a tensor. Out: a tensor of the same shape, made of a few primitives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ingot.errors import ArgumentError
from ingot.ir.node import UOp
from ingot.ir.opcode import Attr
from ingot.ops import elementwise as ew
from ingot.ops.axis import normal_axis
from ingot.ops.elementwise import (
    add,
    as_float,
    divide,
    exp,
    greater,
    maximum,
    minimum,
    multiply,
    negative,
    subtract,
    where,
)
from ingot.ops.gradient import (
    Cotangents,
    Gradients,
    Rule,
    attrs,
    masked,
    only,
    pointwise,
)
from ingot.ops.numeric import abs_, clip, expm1, log1p
from ingot.ops.op import Accept, Accepted, Lower, Op, op
from ingot.ops.reduce import max_, sum_
from ingot.ops.rules import floats_in, same_type
from ingot.ops.sample import INF, NAN, Sample, floats, ints, sample, values

# --- functions of one element -------------------------------------------------------------------------------------

_FAR = values(0.0, -0.0, 30.0, -30.0, 700.0, -700.0)


def _activation(
    name: str,
    lower: Lower,
    ref: Any,
    *samples: Sample,
    ulp: float = 8,
    aliases: Sequence[str] = (),
    grad: Rule | None = None,
) -> Op:
    """A float function of one element."""
    tried = (sample(floats(3, 4, low=-5, high=5)), sample(_FAR), *samples)
    bad = ((sample(None), f"{name}: x is NoneType; wanted a tensor"),)
    return op(
        name,
        types=same_type,
        accept=floats_in,
        lower=lower,
        ref=ref,
        samples=tried,
        bad_samples=bad,
        ulp=ulp,
        aliases=aliases,
        grad=grad,
    )


def _source(node: UOp) -> UOp:
    return node.src[0]


def _number(node: UOp, name: str) -> float:
    return cast(float, attrs(node)[name])


def _inside(low: float, high: float) -> Rule:
    """Between two bounds the function hands its input on; at the bounds it counts as constant already."""
    return masked(lambda node: _between(_source(node), low, high))


def _between(x: UOp, low: float, high: float) -> UOp:
    return ew.logical_and(greater(x, low), ew.less(x, high))


def _relu(x: UOp) -> UOp:
    """x where it is above 0, else 0."""
    return maximum(x, 0)


def _relu6(x: UOp) -> UOp:
    """x between 0 and 6."""
    return clip(x, 0, 6)


def _leaky_relu(x: UOp, *, slope: float = 0.01) -> UOp:
    """x where it is above 0, else slope * x."""
    return where(greater(x, 0), x, multiply(x, slope))


def _elu(x: UOp, *, alpha: float = 1.0) -> UOp:
    """x where it is above 0, else alpha * (exp(x) - 1)."""
    return where(greater(x, 0), x, multiply(expm1(minimum(x, 0)), alpha))


def _sigmoid(x: UOp) -> UOp:
    """1 / (1 + exp(-x)); exp never sees a number above 0, so nothing overflows and small results stay exact."""
    small = exp(negative(abs_(x)))
    return divide(where(ew.less(x, 0), small, 1.0), add(small, 1.0))


def _logsigmoid(x: UOp) -> UOp:
    """log(sigmoid(x))."""
    return subtract(minimum(x, 0), log1p(exp(negative(abs_(x)))))


def _silu(x: UOp) -> UOp:
    """x * sigmoid(x)."""
    return multiply(x, sigmoid(x))


def _softplus(x: UOp) -> UOp:
    """log(1 + exp(x))."""
    return add(maximum(x, 0), log1p(exp(negative(abs_(x)))))


def _mish(x: UOp) -> UOp:
    """x * tanh(softplus(x))."""
    return multiply(x, ew.tanh(softplus(x)))


def _softsign(x: UOp) -> UOp:
    """x / (1 + |x|)."""
    return divide(x, add(abs_(x), 1.0))


def _hardtanh(x: UOp, *, low: float = -1.0, high: float = 1.0) -> UOp:
    """x between low and high."""
    return clip(x, low, high)


def _hardsigmoid(x: UOp) -> UOp:
    """(x + 3) / 6 between 0 and 1."""
    return divide(clip(add(x, 3.0), 0.0, 6.0), 6.0)


def _hardswish(x: UOp) -> UOp:
    """x * hardsigmoid(x)."""
    return multiply(x, hardsigmoid(x))


def _gelu(x: UOp, *, approximate: str = "none") -> UOp:
    """x times the normal distribution below x; approximate="tanh" uses tanh in place of erf."""
    half = multiply(x, 0.5)
    if approximate == "none":
        return multiply(half, add(ew.erf(multiply(x, math.sqrt(0.5))), 1.0))
    cube = multiply(multiply(multiply(x, x), x), 0.044715)
    inner = multiply(add(x, cube), math.sqrt(2 / math.pi))
    return multiply(half, add(ew.tanh(inner), 1.0))


def _quick_gelu(x: UOp) -> UOp:
    """x * sigmoid(1.702 * x)."""
    return multiply(x, sigmoid(multiply(x, 1.702)))


def _accept_gelu(x: UOp, *, approximate: str) -> Accepted:
    if approximate not in ("none", "tanh"):
        raise ArgumentError(
            f"gelu: approximate is {approximate!r}; wanted 'none' or 'tanh'"
        )
    return (as_float(x),), {"approximate": approximate}


def _leaky_relu_grad(node: UOp) -> UOp:
    slope = _number(node, "slope")
    return where(
        greater(_source(node), 0), ew.constant(1.0, node.dtype, node.shape), slope
    )


def _elu_grad(node: UOp) -> UOp:
    x = _source(node)
    falling = multiply(exp(minimum(x, 0)), _number(node, "alpha"))
    return where(greater(x, 0), 1.0, falling)


def _sigmoid_grad(node: UOp) -> UOp:
    return multiply(node, subtract(1.0, node))


def _silu_grad(node: UOp) -> UOp:
    x = _source(node)
    weight = sigmoid(x)
    return multiply(weight, add(multiply(x, subtract(1.0, weight)), 1.0))


def _hardsigmoid_grad(node: UOp) -> UOp:
    sixth = ew.constant(1 / 6, node.dtype, node.shape)
    return where(_between(_source(node), -3.0, 3.0), sixth, 0.0)


def _hardswish_grad(node: UOp) -> UOp:
    x = _source(node)
    rising = add(divide(x, 3.0), 0.5)
    return where(ew.less_equal(x, -3.0), 0.0, where(ew.less(x, 3.0), rising, 1.0))


def _hardtanh_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    low, high = _number(node, "low"), _number(node, "high")
    return (where(_between(_source(node), low, high), only(cotangents), 0.0),)


def _logistic(x: Any) -> Any:
    return np.where(
        x > 0,
        1 / (1 + np.exp(-np.abs(x))),
        np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x))),
    )


def _gelu_reference(x: Any, approximate: str = "none") -> Any:
    if approximate == "none":
        return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
    return x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


relu = op(
    "relu",
    types=same_type,
    lower=_relu,
    ref=lambda x: np.maximum(x, 0),
    grad=masked(lambda node: greater(node, 0)),
    samples=(
        sample(floats(3, 4)),
        sample(ints(5)),
        sample(values(INF, -INF, NAN, -0.0)),
    ),
    bad_samples=((sample(None), "relu: x is NoneType; wanted a tensor"),),
    ulp=0,
)
relu6 = _activation(
    "relu6", _relu6, lambda x: np.clip(x, 0, 6), ulp=0, grad=_inside(0.0, 6.0)
)
leaky_relu = _activation(
    "leaky_relu",
    _leaky_relu,
    lambda x, slope=0.01: np.where(x > 0, x, slope * x),
    sample(floats(5), slope=0.2),
    grad=pointwise(_leaky_relu_grad),
)
elu = _activation(
    "elu",
    _elu,
    lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))),
    sample(floats(5), alpha=0.5),
    grad=pointwise(_elu_grad),
)
sigmoid = _activation("sigmoid", _sigmoid, _logistic, grad=pointwise(_sigmoid_grad))
logsigmoid = _activation(
    "logsigmoid",
    _logsigmoid,
    lambda x: -np.logaddexp(0, -x),
    grad=pointwise(lambda node: sigmoid(negative(_source(node)))),
)
silu = _activation(
    "silu",
    _silu,
    lambda x: x * _logistic(x),
    aliases=("swish",),
    grad=pointwise(_silu_grad),
)
softplus = _activation(
    "softplus",
    _softplus,
    lambda x: np.logaddexp(0, x),
    grad=pointwise(lambda node: sigmoid(_source(node))),
)
mish = _activation("mish", _mish, lambda x: x * np.tanh(np.logaddexp(0, x)))
softsign = _activation("softsign", _softsign, lambda x: x / (1 + np.abs(x)))
hardtanh = _activation(
    "hardtanh",
    _hardtanh,
    lambda x, low=-1.0, high=1.0: np.clip(x, low, high),
    sample(floats(5), low=-2.0, high=0.5),
    ulp=0,
    grad=_hardtanh_grad,
)
hardsigmoid = _activation(
    "hardsigmoid",
    _hardsigmoid,
    lambda x: np.clip(x + 3, 0, 6) / 6,
    grad=pointwise(_hardsigmoid_grad),
)
hardswish = _activation(
    "hardswish",
    _hardswish,
    lambda x: x * np.clip(x + 3, 0, 6) / 6,
    grad=pointwise(_hardswish_grad),
)
gelu = op(
    "gelu",
    types=same_type,
    accept=_accept_gelu,
    lower=_gelu,
    ref=_gelu_reference,
    samples=(
        sample(floats(3, 4)),
        sample(floats(3, 4), approximate="tanh"),
        sample(values(0.0, -0.0, 30.0)),
    ),
    bad_samples=(
        (
            sample(floats(3), approximate="fast"),
            "gelu: approximate is 'fast'; wanted 'none' or 'tanh'",
        ),
    ),
    ulp=16,
    normwise=True,  # 1 + erf(x) cancels where x is far below 0
)
quick_gelu = _activation(
    "quick_gelu", _quick_gelu, lambda x: x * _logistic(1.702 * x), ulp=16
)

# --- functions of a row -------------------------------------------------------------------------------------------


def _accept_row(name: str) -> Accept:
    def accept(x: UOp, *, axis: int, **attrs: Attr) -> Accepted:
        return (as_float(x),), {
            "axis": normal_axis(name, axis, len(x.shape)),
            **attrs,
        }

    return accept


def _softmax(x: UOp, *, axis: int = -1) -> UOp:
    """exp(x) over its sum: numbers above 0 that add up to 1."""
    powers = exp(_below_top(x, axis))
    return divide(powers, sum_(powers, axis, keepdims=True))


def _log_softmax(x: UOp, *, axis: int = -1) -> UOp:
    """log(softmax(x)) without overflow."""
    lowered = _below_top(x, axis)
    return subtract(lowered, ew.log(sum_(exp(lowered), axis, keepdims=True)))


def _below_top(x: UOp, axis: int) -> UOp:
    """x less its maximum: the same softmax, and exp cannot overflow."""
    if x.shape[axis] == 0:  # no element, and so nothing to compute
        return x
    return subtract(x, max_(x, axis, keepdims=True))


def _softmax_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """y (g - sum(g y))."""
    g, axis = only(cotangents), cast(int, attrs(node)["axis"])
    weighted = multiply(g, node)
    return (multiply(node, subtract(g, sum_(weighted, axis, keepdims=True))),)


def _log_softmax_grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """g - exp(y) sum(g)."""
    g, axis = only(cotangents), cast(int, attrs(node)["axis"])
    return (subtract(g, multiply(exp(node), sum_(g, axis, keepdims=True))),)


def _softmax_reference(x: Any, axis: int = -1) -> Any:
    powers = np.exp(x - np.max(x * 1.0, axis=axis, keepdims=True, initial=-np.inf))
    return powers / powers.sum(axis=axis, keepdims=True)


_ROWS = (
    *(
        sample(floats(3, 4)),
        sample(floats(3, 4), axis=0),
        sample(floats(2, 3, 4), axis=1),
        sample(ints(3, 4)),
    ),
    *(
        sample(floats(3, 5, low=900, high=1000)),
        sample(values(1.0, -INF, 2.0)),
        sample(values(1.0, NAN)),
    ),
    *(sample(floats(3, 0)), sample(floats(0, 3))),
)


def _row_function(
    name: str, lower: Lower, ref: Any, grad: Rule, *, normwise: bool
) -> Op:
    bad = (
        (
            sample(floats(3, 4), axis=2),
            f"{name}: axis 2 is outside -2..1, the axes of a tensor with 2",
        ),
        (sample(floats()), f"{name}: axis -1 is outside a tensor with no axes"),
    )
    return op(
        name,
        types=same_type,
        accept=_accept_row(name),
        lower=lower,
        ref=ref,
        samples=_ROWS,
        bad_samples=bad,
        ulp=8,
        normwise=normwise,
        grad=grad,
    )


softmax = _row_function(
    "softmax", _softmax, _softmax_reference, _softmax_grad, normwise=False
)
log_softmax = _row_function(
    "log_softmax",
    _log_softmax,
    lambda x, axis=-1: x - np.logaddexp.reduce(x, axis=axis, keepdims=True),
    _log_softmax_grad,
    normwise=True,  # the logarithm of a probability near 1 cancels to nearly 0
)
