"""Expressions on the command line. In: Python text. Out: the tensors that it builds, not yet evaluated.

The text knows `ig` (Ingot), `np` (NumPy) and `t(*shape, dtype="float32")`: an input tensor of arbitrary numbers.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

import ingot as ig
from ingot.errors import ArgumentError, IngotError
from ingot.ir.node import UOp

HELP = "Python with ig, np and t(*shape, dtype='float32'), an input tensor: 'ig.softmax(t(64, 1000), axis=-1)'"
_MISTAKES = (
    SyntaxError,
    NameError,
    AttributeError,
    TypeError,
    ValueError,
    IndexError,
    KeyError,
    ZeroDivisionError,
)


class Inputs:
    """Makes input tensors: the first, the second and so on are the same in every run."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, *shape: int, dtype: str = "float32") -> ig.Tensor:
        rng = np.random.default_rng(self.count)
        self.count += 1
        if dtype == "bool":
            return ig.tensor(rng.integers(0, 2, shape).astype(np.bool_))
        if "int" in dtype:
            return ig.tensor(rng.integers(0, 10, shape).astype(dtype))
        return ig.tensor(rng.standard_normal(shape).astype(np.float32), dtype)


def tensors(text: str) -> list[ig.Tensor]:
    """The tensors that an expression stands for."""
    names = {"ig": ig, "np": np, "t": Inputs()}
    try:
        value = eval(text, names)
    except IngotError:
        raise
    except _MISTAKES as error:
        raise ArgumentError(
            f"EXPR: {type(error).__name__}: {error}", given=repr(text), wanted=HELP
        ) from None
    found = list(_flat(value))
    if not found:
        raise ArgumentError(
            "EXPR gives no tensor",
            given=f"{text!r}, a {type(value).__name__}",
            wanted=HELP,
        )
    return found


def roots(text: str) -> list[UOp]:
    """The nodes of those tensors that have something to compute."""
    return [tensor.uop for tensor in tensors(text)]


def _flat(value: Any) -> Iterator[ig.Tensor]:
    if isinstance(value, ig.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _flat(one)
