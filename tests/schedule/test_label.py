"""Kernels are called after the user's ops."""

from __future__ import annotations

import numpy as np
import pytest

import ingot as ig
from ingot.pipeline.normalise import normalise
from ingot.pipeline.stages import Work, fused
from ingot.schedule.label import label
from ingot.target import host


def labels(*tensors: ig.Tensor) -> list[str]:
    fusion = fused(normalise([t.uop for t in tensors])[0], Work(host()))
    return [label(draft.outputs[0], fusion.reasons) for draft in fusion.drafts]


def t(*shape: int) -> ig.Tensor:
    return ig.tensor(np.ones(shape, np.float32))


@pytest.mark.parametrize(
    ("tensor", "name"),
    [
        (ig.softmax(t(61, 3), axis=-1), "softmax"),
        (ig.relu(t(61, 4) @ t(4, 5) + t(5)), "relu_add_matmul"),
        (t(61, 6).sum(axis=0), "sum"),
        (ig.max(t(61, 7), axis=0), "max"),
        (t(61, 8).argmax(axis=0), "argmax"),
        (t(61, 9).T.contiguous(), "permute"),
        (ig.zeros((61, 10)), "fill"),
        (t(61, 11).reshape(11, 61).contiguous(), "copy"),
        ((t(61, 12) + 1.0) * 2.0 - 3.0, "sub_mul_add"),
        (ig.where(t(61, 13) > 0.5, t(61, 13), 0.0), "where_less"),
        (ig.layer_norm(t(61, 14)), "layer_norm"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_names(tensor: ig.Tensor, name: str) -> None:
    assert labels(tensor) == [name]


def test_a_long_name_is_cut() -> None:
    x = t(62, 3)
    y = ig.tanh(ig.exp(ig.sqrt(ig.floor(-x + 1.0)) * 2.0))
    (name,) = labels(y)
    assert name == "tanh_exp_mul_sqrt_3_more"
    assert name.isidentifier()


def test_each_kernel_has_its_own() -> None:
    x, w = t(63, 4), t(4, 4)
    assert labels(ig.relu(x @ w) @ w) == ["relu_matmul", "matmul"]
