"""The moves that a CPU gets, for vectors of every width: at odd sizes, the trees compute what the interpreter does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir.interpret import interpret
from ingot.ir.node import UOp
from ingot.ir.opcode import AxesArg, Ops
from ingot.ir.region import param
from ingot.ops.lower import lower, lower_all
from ingot.ops.op import apply
from ingot.schedule.family import Family
from ingot.target import AARCH64, X86_LEVELS, Target
from tests.schedule.programs import attention, hand_softmax, linear
from tests.schedule.run import Array, fused, heuristically, leaves, run

TARGETS: dict[str, Target] = {
    target.name: target for target in (X86_LEVELS[0], X86_LEVELS[1], AARCH64)
}


def given(slot: int, *shape: int) -> UOp:
    return param(slot, dt.float32, shape)


def permuted(x: UOp, *axes: int) -> UOp:
    return UOp(
        Ops.CONTIGUOUS, x.dtype, (UOp(Ops.PERMUTE, x.dtype, (x,), AxesArg(axes)),)
    )


def norm(m: int, n: int) -> UOp:
    return apply("layer_norm", given(0, m, n), given(1, n), given(2, n))


def product(m: int, k: int, n: int) -> UOp:
    return linear(given(0, m, k), given(1, k, n), given(2, n))


def convolution(*image: int, stride: int = 1) -> UOp:
    return apply(
        "conv2d",
        given(0, *image),
        given(1, 5, image[1], 3, 2),
        given(2, 5),
        padding=1,
        stride=stride,
    )


def dots(m: int, k: int, n: int) -> UOp:
    """Rows by rows: both operands lie along what is summed."""
    turned = UOp(Ops.PERMUTE, dt.float32, (given(1, n, k),), AxesArg((1, 0)))
    return apply("matmul", given(0, m, k), turned)


PROGRAMS: dict[str, Callable[[], UOp]] = {
    "chain": lambda: apply("tanh", apply("multiply", given(0, 5, 67), 1.5)),
    "chain of a part": lambda: (
        apply("exp", given(0, 5, 67)) + apply("exp", given(1, 5, 67))
    ),
    "product beside a table": lambda: apply(
        "multiply",
        apply("matmul", given(0, 3, 5, 7), given(1, 7, 19)),
        given(2, 5, 19),
    ),
    "product for a batch": lambda: apply(
        "multiply",
        given(2, 3, 5, 19),
        apply("matmul", given(0, 5, 7), given(1, 7, 19)),
    ),
    "product for a large batch": lambda: apply(
        "multiply",
        given(2, 2, 150, 70),
        apply("matmul", given(0, 150, 7), given(1, 7, 70)),
    ),
    "transpose beside a column": lambda: apply(
        "multiply",
        apply("permute", given(0, 19, 35), (1, 0)),
        given(1, 35, 1),
    ),
    "transpose": lambda: permuted(given(0, 19, 35), 1, 0),
    "transpose of blocks": lambda: permuted(given(0, 3, 5, 18), 2, 0, 1),
    "softmax": lambda: apply("softmax", given(0, 4, 131), axis=-1),
    "softmax of columns": lambda: apply("softmax", given(0, 21, 35), axis=0),
    "hand softmax": lambda: hand_softmax(given(0, 3, 17)),
    "layer_norm": lambda: norm(3, 70),
    "sum of rows": lambda: apply("sum", given(0, 6, 133), axis=1),
    "sum of columns": lambda: apply("sum", given(0, 35, 83), axis=0),
    "sum of all": lambda: apply("sum", given(0, 33, 41)),
    "sum of the middle": lambda: apply("sum", given(0, 3, 9, 21), axis=1),
    "argmax": lambda: apply("argmax", given(0, 4, 35), axis=1),
    "argmax of all": lambda: apply("argmax", given(0, 7, 11)),
    "var": lambda: apply("var", given(0, 5, 33), axis=1),
    "linear": lambda: product(11, 13, 61),
    "narrow linear": lambda: product(9, 6, 5),
    "deep linear": lambda: product(2, 1030, 3),
    "deep linear of some rows": lambda: product(17, 131, 36),
    "deep linear of few rows": lambda: product(3, 131, 36),
    "linear of many rows": lambda: product(150, 5, 40),
    "dots": lambda: dots(7, 37, 41),
    "dots of few columns": lambda: dots(50, 19, 3),
    "dots of many": lambda: dots(140, 9, 35),
    "a product of nothing": lambda: product(3, 0, 5),
    "linear summed": lambda: apply("sum", product(9, 7, 53)),
    "batched product": lambda: apply(
        "matmul", given(0, 2, 5, 7), given(1, 2, 7, 18)
    ),
    "broadcast product": lambda: apply(
        "matmul", given(0, 5, 7), given(1, 3, 7, 18)
    ),
    "convolution": lambda: convolution(2, 3, 6, 9),
    "convolution of every other": lambda: convolution(1, 2, 9, 40, stride=2),
    "convolution of every third": lambda: convolution(2, 2, 7, 20, stride=3),
    "attention": lambda: attention(1, 2, 21, 9),
    "causal attention": lambda: attention(1, 1, 70, 5, causal=True),
}


def values(root: UOp) -> dict[UOp, Array]:
    rng = np.random.default_rng(2)
    shapes = {
        leaf: tuple(int(n) for n in leaf.shape if isinstance(n, int))
        for leaf in leaves(root)
    }
    return {
        leaf: rng.normal(0, 1, shape).astype(np.float32)
        for leaf, shape in shapes.items()
    }


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_chosen_moves_keep_the_meaning(name: str, target: str) -> None:
    root = PROGRAMS[name]()

    def planner(made: Family) -> object:
        return heuristically(made, TARGETS[target])

    (got,) = run(fused(root), values(root), planner)  # type: ignore[arg-type]
    want = np.asarray(interpret(lower_all(root), values(root), lower=lower))
    scale = max(1.0, float(np.abs(want).max()))
    np.testing.assert_allclose(got, want, rtol=3e-5, atol=3e-6 * scale)
