"""The programs in NumPy. In float64 they are also the reference that every result is checked against."""

from collections.abc import Callable

import numpy as np

from ingot.bench.libraries import Library
from ingot.bench.programs import Array

__all__ = ["OPS", "build"]


def softmax(x: Array) -> Array:
    top = x.max(axis=-1, keepdims=True)
    e: Array = np.exp(x - top)
    total: Array = e.sum(axis=-1, keepdims=True)
    return e / total


def layer_norm(x: Array, w: Array, b: Array) -> Array:
    centred: Array = x - x.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    deviation: Array = np.sqrt(variance + 1e-5)
    return centred / deviation * w + b


def chain(x: Array, y: Array) -> Array:
    inverse_gate: Array = 1 + np.exp(-x)
    left = np.tanh(x * 1.5 + y)
    return left / inverse_gate


def linear_relu(x: Array, w: Array, b: Array) -> Array:
    return np.maximum(x @ w + b, 0)


def mlp(x: Array, w1: Array, b1: Array, w2: Array, b2: Array) -> Array:
    return linear_relu(x, w1, b1) @ w2 + b2


def attention(q: Array, k: Array, v: Array) -> Array:
    scores = q @ k.swapaxes(-1, -2)
    return softmax(scores * q.shape[-1] ** -0.5) @ v


def conv3x3(x: Array, w: Array) -> Array:
    """Windows of the padded image, contracted with the filters over channel, row and column."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    out = np.tensordot(windows, w, axes=([1, 4, 5], [1, 2, 3]))
    return np.ascontiguousarray(out.transpose(0, 3, 1, 2))


def transpose(x: Array) -> Array:
    return np.ascontiguousarray(x.T)


OPS: dict[str, Callable[..., Array]] = {
    "matmul": np.matmul,
    "linear_relu": linear_relu,
    "mlp": mlp,
    "softmax": softmax,
    "layer_norm": layer_norm,
    "attention": attention,
    "chain": chain,
    "sum_last": lambda x: x.sum(axis=-1),
    "sum_first": lambda x: x.sum(axis=0),
    "transpose": transpose,
    "conv3x3": conv3x3,
    "add": np.add,
}


def build() -> Library:
    return Library(
        version=np.__version__,
        ops=OPS,
        put=np.asarray,
        get=np.asarray,
    )
