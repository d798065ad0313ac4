"""Fusion: what is stored, and the reason that `ingot why` shows."""

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
from ingot.schedule.fuse import Fusion
from tests.schedule.programs import linear
from tests.schedule.run import Array, fused, heuristically, leaves, plainly, run

x = param(0, dt.float32, (5, 7))
w = param(1, dt.float32, (7, 7))
b = param(2, dt.float32, (7,))


def sum_of_rows() -> UOp:
    return apply("sum", x, axis=1)


def flipped(node: UOp) -> UOp:
    return UOp(Ops.FLIP, node.dtype, (node,), AxesArg((0,)))


def both_ways() -> UOp:
    """Row sums and column sums in one formula: neither can be the outer loop of the other."""
    rows = apply("sum", x, axis=1, keepdims=True)
    columns = apply("sum", x, axis=0, keepdims=True)
    return apply("subtract", apply("subtract", x, rows), columns)


def shared_exp() -> tuple[UOp, ...]:
    e = apply("tanh", apply("exp", apply("exp", x)))
    return apply("sum", e, axis=0), apply("sum", e, axis=1)


STORED: dict[str, tuple[Callable[[], tuple[UOp, ...]], list[str]]] = {
    "asked for": (lambda: (x + x,), ["asked for"]),
    "two outputs": (lambda: (x + x, x * x), ["asked for"] * 2),
    "contiguous": (
        lambda: (UOp(Ops.CONTIGUOUS, x.dtype, (x + x,)) * x,),
        ["contiguous() asks for storage", "asked for"],
    ),
    "a reduction that two kernels read": (
        lambda: (sum_of_rows() + sum_of_rows(), sum_of_rows() * sum_of_rows()),
        ["a reduction that 2 kernels read", "asked for", "asked for"],
    ),
    "dear and read twice": (
        shared_exp,
        [
            "2 kernels read it, and computing it again costs more than storing it",
            "asked for",
            "asked for",
        ],
    ),
    "cheap and read twice": (
        lambda: (apply("sum", x + x, axis=0), apply("sum", x + x, axis=1)),
        ["asked for", "asked for"],
    ),
    "other places": (
        lambda: (apply("add", flipped(sum_of_rows()), sum_of_rows()),),
        ["it is read at other places than the reader's loop counters", "asked for"],
    ),
    "two outer loops": (
        lambda: (both_ways(),),
        [
            "its axes and those of another reduction cannot both be outer loops",
            "asked for",
        ],
    ),
    "a product of a product": (
        lambda: (apply("matmul", linear(x, w, b), w),),
        [
            "it feeds a contraction, whose operands are packed from memory",
            "asked for",
        ],
    ),
}


def values(roots: tuple[UOp, ...]) -> dict[UOp, Array]:
    rng = np.random.default_rng(1)
    shapes = {
        leaf: tuple(int(n) for n in leaf.shape if isinstance(n, int))
        for leaf in leaves(roots)
    }
    return {
        leaf: rng.normal(0, 1, shape).astype(np.float32)
        for leaf, shape in shapes.items()
    }


@pytest.mark.parametrize("name", STORED)
def test_what_is_stored_has_its_reason(name: str) -> None:
    roots, reasons = STORED[name]
    fusion = fused(*roots())
    assert sorted(fusion.reasons.values()) == sorted(reasons)
    assert len(fusion.drafts) == len(reasons)


@pytest.mark.parametrize("planner", [plainly, heuristically])
@pytest.mark.parametrize("name", STORED)
def test_the_kernels_together_are_right(
    name: str, planner: Callable[..., object]
) -> None:
    roots = STORED[name][0]()
    got = run(fused(*roots), values(roots), planner)  # type: ignore[arg-type]
    for root, result in zip(roots, got, strict=True):
        want = interpret(lower_all(root), values(roots), lower=lower)
        np.testing.assert_allclose(result, want, rtol=2e-5, atol=2e-5)


def in_order(fusion: Fusion) -> bool:
    """Every kernel reads what is an input or was stored before."""
    ready = {u for d in fusion.drafts for u in d.buffers if u.op is Ops.PARAM}
    for draft in fusion.drafts:
        if not set(draft.buffers) - set(draft.outputs) <= ready:
            return False
        ready |= set(draft.outputs)
    return True


@pytest.mark.parametrize("name", STORED)
def test_sources_come_first(name: str) -> None:
    assert in_order(fused(*STORED[name][0]()))


def test_a_long_chain_is_several_kernels() -> None:
    node = x
    for step in range(400):
        node = apply("multiply", node, x) if step % 2 else apply("add", node, 1.5)
    fusion = fused(node)
    assert 2 <= len(fusion.drafts) <= 4
    assert any("operations already" in reason for reason in fusion.reasons.values())
    assert in_order(fusion)


def test_what_has_no_elements_is_not_computed() -> None:
    nothing = param(0, dt.float32, (0, 7))
    assert fused(nothing + nothing).drafts == []
