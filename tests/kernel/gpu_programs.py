"""Small programs on their way to a GPU. In: a program's name and sizes. Out: its nests, arguments and right result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.interpret_simt import run_simt
from ingot.ir.node import UOp
from ingot.ir.opcode import BufferArg, Ops, VarArg
from ingot.kernel import gpu
from ingot.kernel.decompose import decompose
from ingot.kernel.launches import Built
from ingot.kernel.nest import Kernel
from ingot.ops import activation, elementwise, matmul, movement, norm, reduce
from ingot.ops.lower import lower_all
from ingot.schedule.family import family
from ingot.schedule.fuse import fuse
from ingot.target import SM90A
from tests.kernel.execute import built, poison, temporaries

Array = np.ndarray[Any, Any]
SMALL = replace(
    SM90A, sms=1
)  # few blocks, so that each has several parts of a whole reduction


@dataclass(frozen=True)
class Program:
    """One kernel: its nests, the sizes it has here, its arguments (the result last), and the result in float64."""

    kernel: Kernel
    sizes: dict[str, int | float]
    hints: Mapping[UOp, int]
    arguments: list[Array]
    wanted: Array

    def fresh(self) -> list[Array]:
        """The arguments with a result that nothing has written."""
        return [
            *self.arguments[:-1],
            poison(self.wanted.size, self.kernel.params[-1].dtype),
        ]

    def scheduled(self) -> Built:
        """The loop trees on a small GPU, decomposed."""
        made = built(gpu.choose(self.kernel, self.hints, SMALL))
        return replace(
            made, launches=tuple(decompose(launch) for launch in made.launches)
        )

    def simulated(self, made: Built | None = None) -> Array:
        """What the SIMT interpreter gives."""
        made = made or self.scheduled()
        buffers = self.fresh()
        between = temporaries(made, self.sizes)
        for launch in made.launches:
            run_simt(launch, [*buffers, *between], self.sizes)
        return buffers[-1]

    def error(self, got: Array) -> float:
        """Distance to float64, as a share of the largest value."""
        return float(
            np.abs(got.reshape(self.wanted.shape) - self.wanted).max()
            / np.abs(self.wanted).max()
        )


def program(name: str, *shape: int) -> Program:
    """A program of the table below for inputs made from `shape`."""
    shapes, build, reference = _PROGRAMS[name]
    inputs = [_random(name, number, s) for number, s in enumerate(shapes(*shape))]
    nodes = [_buffer(number, x.shape) for number, x in enumerate(inputs)]
    root = lower_all(build(*nodes))
    (draft,) = fuse((root,)).drafts
    made = family(draft)
    by_node = dict(zip(nodes, inputs, strict=True))
    wanted = np.asarray(reference(*(x.astype(np.float64) for x in inputs)))
    arguments = [by_node[b] for b in draft.buffers[:-1]] + [
        np.empty(wanted.shape, dt.to_numpy(root.dtype))
    ]
    sizes = {
        cast(VarArg, v.arg).name: cast("int | float", n)
        for v, n in made.values.items()
    }
    hints = {
        v: int(cast(int, n)) for v, n in made.values.items() if v.dtype is dt.index
    }
    return Program(made.kernel, sizes, hints, arguments, wanted)


def _buffer(number: int, shape: tuple[int, ...]) -> UOp:
    dims = tuple(UOp.const(dt.index, n) for n in shape)
    return UOp(Ops.BUFFER, dt.float32, dims, BufferArg(1_000_000 + number))


def _random(name: str, number: int, shape: tuple[int, ...]) -> Array:
    seed = sum(map(ord, name)) + number
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _chain(x: UOp, b: UOp) -> UOp:
    moved = elementwise.add(elementwise.multiply(x, 1.5), b)
    return elementwise.multiply(elementwise.tanh(moved), activation.sigmoid(x))


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


def _layer_norm(x: Array, w: Array, b: Array) -> Array:
    return np.asarray(
        (x - x.mean(-1, keepdims=True))
        / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        * w
        + b
    )


Shapes = Callable[..., list[tuple[int, ...]]]
Row = tuple[Shapes, Callable[..., UOp], Callable[..., Any]]
_PROGRAMS: dict[str, Row] = {
    "chain": (
        lambda m, n: [(m, n)] * 2,
        _chain,
        lambda x, b: np.tanh(x * 1.5 + b) / (1 + np.exp(-x)),
    ),
    "softmax": (lambda m, n: [(m, n)], activation.softmax, _softmax),
    "layer_norm": (lambda m, n: [(m, n), (n,), (n,)], norm.layer_norm, _layer_norm),
    "transpose": (
        lambda m, n: [(m, n)],
        lambda x: movement.permute(x, (1, 0)),
        lambda x: x.T,
    ),
    "row_sum": (
        lambda m, n: [(m, n)],
        lambda x: reduce.sum_(x, axis=-1),
        lambda x: x.sum(-1),
    ),
    "total": (lambda m, n: [(m, n)], reduce.sum_, lambda x: x.sum()),
    "argmax": (
        lambda m, n: [(m, n)],
        lambda x: reduce.argmax(x, axis=-1),
        lambda x: x.argmax(-1),
    ),
    "gemm": (lambda m, k, n: [(m, k), (k, n)], matmul.matmul, lambda a, b: a @ b),
    "gemm_relu": (
        lambda m, k, n: [(m, k), (k, n), (n,)],
        lambda a, b, c: activation.relu(elementwise.add(matmul.matmul(a, b), c)),
        lambda a, b, c: np.maximum(a @ b + c, 0),
    ),
    "batched": (
        lambda z, m, k, n: [(z, m, k), (z, k, n)],
        matmul.matmul,
        lambda a, b: a @ b,
    ),
}
