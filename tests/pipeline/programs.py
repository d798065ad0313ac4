"""Programs for the tests of this folder. In: a seed. Out: tensors, and the NumPy answers."""

from __future__ import annotations

from typing import Any

import numpy as np

import ingot as ig
from ingot.ir.node import UOp
from ingot.pipeline.normalise import normalise
from ingot.pipeline.stages import Work
from ingot.settings import settings
from ingot.target import host

Array = np.ndarray[Any, Any]


def array(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def tensor(*shape: int, seed: int = 0) -> ig.Tensor:
    return ig.tensor(array(*shape, seed=seed))


def layer(rows: int = 5, inner: int = 7, columns: int = 9) -> ig.Tensor:
    """relu(x @ w + b)"""
    x, w, b = (
        tensor(rows, inner),
        tensor(inner, columns, seed=1),
        tensor(columns, seed=2),
    )
    return ig.relu(x @ w + b)


def layer_wanted(rows: int = 5, inner: int = 7, columns: int = 9) -> Array:
    x, w, b = (
        array(rows, inner),
        array(inner, columns, seed=1),
        array(columns, seed=2),
    )
    wanted: Array = np.maximum(x.astype(np.float64) @ w + b, 0)
    return wanted


def softmax_wanted(x: Array) -> Array:
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    wanted: Array = e / e.sum(-1, keepdims=True)
    return wanted


def sink_of(*tensors: ig.Tensor) -> UOp:
    """The normalised program."""
    return normalise([t.uop for t in tensors])[0]


def work(**changes: Any) -> Work:
    return Work(host(), settings.codegen, **changes)
