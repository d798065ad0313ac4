"""Models to be written in every target."""

from __future__ import annotations

from collections.abc import Callable

import ingot as ig
from ingot.model import Input, LogicalModel, Output, Parameter

Build = Callable[[], None]


def mlp() -> None:
    x = Input((None, 12), "input")
    h = ig.relu(x @ Parameter((12, 9), "w1") + Parameter((9,), "b1"))
    Output(
        ig.softmax(h @ Parameter((9, 5), "w2") + Parameter((5,), "b2")), "output"
    )


def cnn() -> None:
    x = Input((None, 3, 8, 8), "input")
    c = ig.conv2d(x, Parameter((4, 3, 3, 3), "conv.weight"), padding=1)
    c = ig.relu(c + Parameter((4,), "conv.bias").reshape((1, 4, 1, 1)))
    pooled = c.mean(axis=(2, 3))
    Output(pooled @ Parameter((4, 3), "dense"), "logits")


def attention() -> None:
    x = Input((None, 6, 8), "x")
    n = ig.layer_norm(x, Parameter((8,), "scale"), Parameter((8,), "shift"))
    query, key, value = (
        (n @ Parameter((8, 8), f"w{letter}"))
        .reshape((x.shape[0], 6, 2, 4))
        .permute((0, 2, 1, 3))
        for letter in "qkv"
    )
    mixed = ig.scaled_dot_product_attention(query, key, value, causal=True)
    joined = mixed.permute((0, 2, 1, 3)).reshape((x.shape[0], 6, 8))
    y = x + joined @ Parameter((8, 8), "wo")
    Output(y + ig.gelu(y * 2.5 - 0.1) / (1 + ig.exp(-y)), "y")


def depthwise() -> None:
    x = Input((2, 4, 7, 7), "x")
    y = ig.conv2d(x, Parameter((4, 1, 3, 3), "w"), stride=2, groups=4)
    Output(ig.silu(y), "y")


def norms() -> None:
    x = Input((3, 10), "x")
    a = ig.rms_norm(x, Parameter((10,), "g"))
    Output(ig.log_softmax(a) + ig.sigmoid(x), "y")


def several() -> None:
    a, b = Input((4, 6), "a"), Input((6,), "b")
    Output(ig.tanh(a * b), "product")
    Output((a - b).sum(axis=1), "lambda_")


def reductions() -> None:
    x = Input((5, 7), "x")
    Output(ig.max(x, axis=0) + ig.logsumexp(x, axis=0), "a")
    Output(ig.where(x > 0, x, x * 0.1).mean(), "b")


def movement() -> None:
    x = Input((4, 6), "x")
    left, right = x[:, :3], x[:, 3:]
    Output(ig.concat([right * 2, left], axis=1)[::-1, 1:5].T, "y")


def nested() -> None:
    """A model that is called twice, each time with parameters of its own."""
    with LogicalModel("layer") as layer:
        x = Input((None, 6), "x")
        Output(ig.tanh(x @ Parameter((6, 6), "w")) + x, "y")
    x = Input((None, 6), "input")
    Output(layer(layer(x) * 2), "output")


def lookup() -> None:
    ids = Input((4,), "ids", dtype="int64")
    rows = ig.embedding(Parameter((5, 3), "table"), ids)
    Output(rows * 2 + Input((4, 3), "x"), "y")


MODELS: tuple[Build, ...] = (
    mlp,
    cnn,
    attention,
    depthwise,
    norms,
    several,
    reductions,
    movement,
    nested,
    lookup,
)


def model(build: Build) -> LogicalModel:
    """The model of a block."""
    with LogicalModel(build.__name__) as made:
        build()
    return made
