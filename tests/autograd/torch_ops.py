"""What PyTorch calls our ops: name -> function of torch tensors. One row per op that PyTorch has too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional
_MODES: dict[str, Any] = {"circular": "wrap", "replicate": "edge"}
Call = Callable[..., Any]


def _axes(x: Any, axis: Any) -> Any:
    return tuple(range(x.ndim)) if axis is None else axis


def _reduced(function: Any) -> Call:
    """sum and its like over some axes or all of them."""
    return lambda x, axis=None, keepdims=False: function(
        x, dim=_axes(x, axis), keepdim=keepdims
    )


def _moved(x: Any, move: Callable[[Any], Any]) -> Any:
    """x with its elements where NumPy puts their numbers."""
    places = move(np.arange(x.numel()).reshape(x.shape))
    return x.flatten()[torch.tensor(np.ascontiguousarray(places))]


def _clip(x: Any, min: Any = None, max: Any = None) -> Any:
    bounds = [
        v if v is None else torch.as_tensor(v, dtype=x.dtype) for v in (min, max)
    ]
    return torch.clamp(x, *bounds)


def _prod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    for a in sorted((d % x.ndim for d in _tuple(x, axis)), reverse=True):
        x = torch.prod(x, a, keepdim=keepdims)
    return x


def _tuple(x: Any, axis: Any) -> tuple[int, ...]:
    found = _axes(x, axis)
    return found if isinstance(found, tuple) else (found,)


def _spread_of(function: Any) -> Call:
    def call(
        x: Any, axis: Any = None, correction: float = 0, keepdims: bool = False
    ) -> Any:
        return function(
            x, dim=_axes(x, axis), correction=correction, keepdim=keepdims
        )

    return call


def _binary(function: Any) -> Call:
    """PyTorch wants tensors of one type where we take numbers."""

    def call(a: Any, b: Any) -> Any:
        like = a if isinstance(a, torch.Tensor) else b
        left, right = (torch.as_tensor(v, dtype=like.dtype) for v in (a, b))
        return function(left, right)

    return call


def _pow(a: Any, b: Any) -> Any:
    return torch.pow(a, b)


def _pad(x: Any, widths: Any, value: float = 0, mode: str = "constant") -> Any:
    kind: Any = _MODES.get(mode, mode)
    if mode != "constant":
        return _moved(x, lambda places: np.pad(places, widths, kind))
    if isinstance(widths, int):
        widths = ((widths, widths),) * x.ndim
    if isinstance(widths[0], int):
        widths = (widths,) * x.ndim
    flat = [n for pair in reversed(widths) for n in pair]
    return F.pad(x, flat, value=value)


def _around(x: Any, weight: Any, word: str, step: int) -> Any:
    """Padding by word: of "same", as many outputs as steps, the odd one after."""
    if word.lower() == "valid":
        return 0
    sizes = zip(x.shape[2:], weight.shape[2:], strict=True)
    widths = [max((-(-n // step) - 1) * step + k - n, 0) for n, k in sizes]
    return tuple((w // 2, w - w // 2) for w in widths)


def _conv2d(
    x: Any, weight: Any, bias: Any = None, padding: Any = 0, **rest: Any
) -> Any:
    if isinstance(padding, str):
        padding = _around(x, weight, padding, rest.get("stride", 1))
    pair = (padding, padding) if isinstance(padding, int) else padding
    (top, low), (left, right) = ((p, p) if isinstance(p, int) else p for p in pair)
    return F.conv2d(F.pad(x, (left, right, top, low)), weight, bias, **rest)


def _attention(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    causal: bool = False,
    scale: Any = None,
) -> Any:
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, float("-inf"))
    if mask is not None and mask.dtype is torch.bool:
        scores = scores.masked_fill(~mask, float("-inf"))
    elif mask is not None:
        scores = scores + mask
    return torch.softmax(scores, -1) @ v


def _layer_norm(
    x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, axes: int = 1
) -> Any:
    return F.layer_norm(x, x.shape[-axes:], weight, bias, eps)


def _rms_norm(x: Any, weight: Any = None, eps: float = 1e-5, axes: int = 1) -> Any:
    return F.rms_norm(x, x.shape[-axes:], weight, eps)


def _cross_entropy(
    logits: Any, target: Any, reduction: str = "mean", **rest: Any
) -> Any:
    return F.cross_entropy(logits, target.long(), reduction=reduction, **rest)


def _same(name: str) -> Call:
    return getattr(torch, name)  # type: ignore[no-any-return]


_UNARY = (
    "reciprocal sqrt exp exp2 log log2 sin tanh erf floor trunc round abs sign ceil square rsqrt log1p expm1 cos tan atan "
    "asin acos sinh cosh asinh acosh atanh deg2rad rad2deg sinc frac log10 erfc erfinv lgamma digamma sigmoid relu "
    "positive"
)
_ACTIVATIONS = (
    "relu6 mish softsign hardswish logsigmoid silu softplus selu tanhshrink"
)

TORCH: dict[str, Call] = {
    **{name: _same(name) for name in _UNARY.split()},
    **{name: getattr(F, name) for name in _ACTIVATIONS.split()},
    "negative": torch.neg,
    "hardsigmoid": lambda x: F.relu6(x + 3) / 6,  # PyTorch's own has a sixth in float32
    "add": _binary(torch.add),
    "subtract": _binary(torch.sub),
    "multiply": _binary(torch.mul),
    "divide": _binary(torch.div),
    "maximum": _binary(torch.maximum),
    "minimum": _binary(torch.minimum),
    "atan2": _binary(torch.atan2),
    "hypot": _binary(torch.hypot),
    "fmax": _binary(torch.fmax),
    "fmin": _binary(torch.fmin),
    "fmod": _binary(torch.fmod),
    "remainder": _binary(torch.remainder),
    "logaddexp": _binary(torch.logaddexp),
    "xlogy": _binary(torch.xlogy),
    "copysign": _binary(torch.copysign),
    "pow": _pow,
    "where": lambda c, a, b: torch.where(c != 0, a, b),
    "clip": _clip,
    "sum": _reduced(torch.sum),
    "max": _reduced(torch.amax),
    "min": _reduced(torch.amin),
    "prod": _prod,
    "mean": _reduced(torch.mean),
    "var": _spread_of(torch.var),
    "std": _spread_of(torch.std),
    "logsumexp": _reduced(torch.logsumexp),
    "matmul": torch.matmul,
    "linear": F.linear,
    "leaky_relu": lambda x, slope=0.01: F.leaky_relu(x, slope),
    "elu": lambda x, alpha=1.0: F.elu(x, alpha),
    "celu": lambda x, alpha=1.0: F.celu(x, alpha),
    "hardtanh": lambda x, low=-1.0, high=1.0: F.hardtanh(x, low, high),
    "gelu": lambda x, approximate="none": F.gelu(x, approximate=approximate),
    "softmax": lambda x, axis=-1: torch.softmax(x, axis),
    "log_softmax": lambda x, axis=-1: torch.log_softmax(x, axis),
    "reshape": lambda x, shape: torch.reshape(x, shape if isinstance(shape, tuple) else (shape,)),
    "permute": lambda x, axes: torch.permute(x, axes),
    "flip": lambda x, axis=None: torch.flip(x, _tuple(x, axis)),
    "pad": _pad,
    "getitem": lambda x, index: _moved(x, lambda places: places[index]),
    "cumsum": lambda x, axis=0: torch.cumsum(x, axis),
    "cumprod": lambda x, axis=0: torch.cumprod(x, axis),
    "logcumsumexp": lambda x, axis=0: torch.logcumsumexp(x, axis),
    "conv2d": _conv2d,
    "scaled_dot_product_attention": _attention,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "cross_entropy": _cross_entropy,
    "embedding": lambda table, at: table[at.long()],
    "take": lambda x, at, axis=0: _moved(x, lambda places: np.take(places, at, axis)),
    "lerp": torch.lerp,
    "logit": lambda x, eps=None: torch.logit(x, eps),
    "prelu": F.prelu,
    "glu": lambda x, axis=-1: F.glu(x, axis),
}  # fmt: skip
