"""The programs in JAX, each under `jit`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ingot.bench.libraries import Library

__all__ = ["build"]


def build() -> Library:
    import jax

    ops = {name: jax.jit(function) for name, function in _ops(jax).items()}
    return Library(
        version=jax.__version__,
        ops=ops,
        put=jax.numpy.asarray,
        get=np.asarray,
        wait=jax.block_until_ready,
    )


def _ops(jax: Any) -> dict[str, Callable[..., Any]]:
    jnp = jax.numpy

    def layer_norm(x: Any, w: Any, b: Any) -> Any:
        return jax.nn.standardize(x, epsilon=1e-5) * w + b

    def attention(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
        return jax.nn.softmax(scores) @ v

    return {
        "matmul": jnp.matmul,
        "linear_relu": lambda x, w, b: jax.nn.relu(x @ w + b),
        "mlp": lambda x, w1, b1, w2, b2: jax.nn.relu(x @ w1 + b1) @ w2 + b2,
        "softmax": jax.nn.softmax,
        "layer_norm": layer_norm,
        "attention": attention,
        "chain": lambda x, y: jnp.tanh(x * 1.5 + y) * jax.nn.sigmoid(x),
        "sum_last": lambda x: x.sum(axis=-1),
        "sum_first": lambda x: x.sum(axis=0),
        "transpose": lambda x: x.T.copy(),
        "conv3x3": lambda x, w: jax.lax.conv(x, w, (1, 1), "SAME"),
        "add": jnp.add,
    }
