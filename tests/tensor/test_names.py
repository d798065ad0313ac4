"""The public names: every op, and nothing that is not meant."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ingot as ig
from ingot.ops.op import public_ops
from ingot.tensor import namespace


@pytest.mark.parametrize(
    "name", [name for op in public_ops() for name in (op.name, *op.aliases)]
)
def test_every_op_is_a_public_function(name: str) -> None:
    assert name in dir(ig), "run: python -m ingot.tensor.generate"
    assert callable(getattr(ig, name))


def test_tensor_is_the_function_and_its_folder_can_still_be_imported() -> None:
    assert ig.tensor([1, 2]).tolist() == [1, 2]
    assert namespace.relu is ig.relu


WAYS = [
    "import ingot.tensor.generate",
    "from ingot import Tensor",
    "from ingot import *",
]


@pytest.mark.parametrize("statement", WAYS)
def test_ways_to_import(statement: str) -> None:
    program = f"{statement}; import ingot; assert ingot.tensor([1]).shape == (1,)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_first_session() -> None:
    x = ig.tensor([[1.0, 2.0], [3.0, 4.0]])
    w = ig.ones((2, 3))
    y = ig.relu(x @ w - 4)
    ig.eval(y)
    assert y.tolist() == [[0, 0, 0], [3, 3, 3]]
    assert y.dtype is ig.float32
    assert (x > 2).dtype is ig.bool
