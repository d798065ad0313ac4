"""The programs in Ingot, through its public names only, as any user would write them."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ingot.bench.libraries import Library

__all__ = ["build"]


def build() -> Library:
    ig = import_module("ingot")
    ops = _ops(ig)
    jit = getattr(ig, "jit", None)
    if jit is not None:
        ops = {name: jit(function) for name, function in ops.items()}
    return Library(
        version=ig.__version__,
        ops=ops,
        put=ig.from_numpy,
        get=lambda t: t.numpy(),
        wait=ig.eval,
    )


def _ops(ig: Any) -> dict[str, Callable[..., Any]]:
    ops: dict[str, Callable[..., Any]] = {
        "matmul": lambda a, b: a @ b,
        "linear_relu": lambda x, w, b: ig.relu(x @ w + b),
        "mlp": lambda x, w1, b1, w2, b2: ig.relu(x @ w1 + b1) @ w2 + b2,
        "softmax": lambda x: ig.softmax(x, axis=-1),
        "layer_norm": lambda x, w, b: ig.layer_norm(x, w, b, eps=1e-5),
        "attention": lambda q, k, v: ig.scaled_dot_product_attention(q, k, v),
        "chain": lambda x, y: ig.tanh(x * 1.5 + y) * ig.sigmoid(x),
        "sum_last": lambda x: x.sum(-1),
        "sum_first": lambda x: x.sum(0),
        "transpose": lambda x: x.T.contiguous(),
        "add": lambda a, b: a + b,
    }
    if hasattr(ig, "conv2d"):
        ops["conv3x3"] = lambda x, w: ig.conv2d(x, w, padding=1)
    return ops
