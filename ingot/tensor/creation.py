"""Tensors out of nothing, out of data, and out of chance. In: shapes, numbers, arrays. Out: tensors.

Every function here is also a class method (`ig.ones` is `Tensor.ones`). None but those of data need memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.errors import ArgumentError, DTypeError
from ingot.ir.node import UOp
from ingot.tensor.creators import Type
from ingot.tensor.device import check_device
from ingot.tensor.foreign import borrowed, is_dense
from ingot.tensor.generator import Generator, initial_seed, manual_seed, seed
from ingot.tensor.handle import Array, Value, array_node, node
from ingot.tensor.tensor import Tensor

__all__ = [
    "Generator",
    "Variable",
    "arange",
    "as_tensor",
    "bernoulli",
    "empty",
    "empty_like",
    "exponential",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "glorot_normal",
    "glorot_uniform",
    "initial_seed",
    "is_tensor",
    "kaiming_normal",
    "kaiming_uniform",
    "linspace",
    "logspace",
    "manual_seed",
    "multinomial",
    "normal",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "scaled_uniform",
    "seed",
    "tensor",
    "truncated_normal",
    "uniform",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
    "zeros_like",
]


def tensor(
    data: Any,
    dtype: Type = None,
    *,
    requires_grad: bool = False,
    device: str | None = None,
    name: str | None = None,
) -> Tensor:
    """A tensor with a copy of the data: numbers, lists of numbers, a NumPy array, a tensor."""
    return Tensor(data, dtype, requires_grad, name, device)


def from_numpy(array: Array) -> Tensor:
    """A tensor over the array's own memory. A slice with gaps is copied.

    What is computed from it after the array was written to sees the new contents; what had been computed before keeps
    its value, and so does a copy: `ig.tensor(array)`.
    """
    if not isinstance(array, np.ndarray):
        raise DTypeError(
            f"from_numpy: {type(array).__name__} is no NumPy array",
            fix="make a copy of other data with ig.tensor(...)",
        )
    return Tensor.of(array_node(array, borrow=True))


def from_dlpack(
    x: Any, /, *, device: str | None = None, copy: bool | None = None
) -> Tensor:
    """A tensor over the memory of anything that speaks DLPack: NumPy, torch, JAX, CuPy on the CPU, ...

    The memory stays alive as long as the tensor does. Writing to it on the other side is as writing to the array of
    `from_numpy`. `copy=True` takes a copy. Memory with gaps is copied in any case, or an error with `copy=False`.
    """
    check_device("from_dlpack", device)
    array, dtype = borrowed(x)
    if copy is False and not is_dense(array):
        raise ArgumentError(
            "from_dlpack: the memory has gaps, and a tensor has none",
            given=f"strides of {array.strides} bytes for {array.shape}",
            fix="leave out copy=False",
        )
    return Tensor.of(array_node(array, dtype, borrow=not copy))


def as_tensor(
    data: Any, dtype: Type = None, *, device: str | None = None
) -> Tensor:
    """A tensor as it is, an array in its own memory, anything else as a copy."""
    check_device("as_tensor", device)
    if isinstance(data, np.ndarray):
        data = from_numpy(data)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    return Tensor(data, dtype)


def is_tensor(value: object) -> bool:
    """The value is a tensor of Ingot."""
    return isinstance(value, Tensor)


def bernoulli(p: Value, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that stands at each place of p, else 0; in the type of p."""
    return Tensor.of(node(p)).bernoulli(generator=generator)


def multinomial(
    weights: Value,
    num_samples: int = 1,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Places along the last axis, drawn with probabilities in proportion to the weights that stand there."""
    given = Tensor.of(node(weights))
    return given.multinomial(num_samples, replacement, generator=generator)


def Variable(name: str, low: int, high: int) -> UOp:
    """A size that is not fixed, low <= size <= high: `x.shrink(((0, n.bind(5)), None))`. All values share compiled code."""
    return UOp.variable(name, low, high)


full, zeros, ones, empty = Tensor.full, Tensor.zeros, Tensor.ones, Tensor.empty
full_like, zeros_like = Tensor.full_like, Tensor.zeros_like
ones_like, empty_like = Tensor.ones_like, Tensor.empty_like
arange, linspace, logspace = Tensor.arange, Tensor.linspace, Tensor.logspace
eye = Tensor.eye

rand, randn, randint = Tensor.rand, Tensor.randn, Tensor.randint
rand_like, randn_like = Tensor.rand_like, Tensor.randn_like
randint_like = Tensor.randint_like
uniform, normal, exponential = Tensor.uniform, Tensor.normal, Tensor.exponential
truncated_normal, randperm = Tensor.truncated_normal, Tensor.randperm
kaiming_uniform, kaiming_normal = Tensor.kaiming_uniform, Tensor.kaiming_normal
xavier_uniform, xavier_normal = Tensor.xavier_uniform, Tensor.xavier_normal
glorot_uniform, glorot_normal = Tensor.xavier_uniform, Tensor.xavier_normal
scaled_uniform = Tensor.scaled_uniform
