"""Primitive graphs through schedule and kernel, run by the tree interpreter. In: roots and arrays. Out: arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, VarArg
from ingot.kernel.heuristic import choose, plain
from ingot.kernel.plan import Plan
from ingot.ops.lower import lower_all
from ingot.pipeline.host import evaluate, source
from ingot.schedule.family import Family, family
from ingot.schedule.fuse import Fusion, fuse
from ingot.target import Target, host
from tests.kernel.execute import interpret

Array = np.ndarray[Any, Any]
Planner = Callable[[Family], Plan]


def plainly(made: Family) -> Plan:
    """No moves but those that share loops."""
    return plain(made.kernel)


def heuristically(made: Family, target: Target | None = None) -> Plan:
    """The moves that this machine gets."""
    hints = {v: n for v, n in made.values.items() if isinstance(n, int)}
    return choose(made.kernel, hints, target or host())


def fused(*roots: UOp) -> Fusion:
    """The kernels of named or primitive operations."""
    return fuse(lower_all(UOp(Ops.SINK, dt.void, roots)).src)


def sizes_of(made: Family, plan: Plan) -> dict[str, int | float]:
    """The values of a planned kernel's arguments."""
    sizes = {
        cast(VarArg, v.arg).name: cast("int | float", n)
        for v, n in made.values.items()
    }
    return sizes | {
        cast(VarArg, v.arg).name: evaluate(source(e), sizes)
        for v, e in plan.extra.items()
    }


def run(
    fusion: Fusion, inputs: Mapping[UOp, Array], planner: Planner = plainly
) -> list[Array]:
    """The values of the roots."""
    memory: dict[UOp, Array] = {
        node: np.ascontiguousarray(array) for node, array in inputs.items()
    }
    for draft in fusion.drafts:
        made = family(draft)
        plan = planner(made)
        buffers = [memory.setdefault(node, empty(node)) for node in draft.buffers]
        sizes = sizes_of(made, plan)
        for guard in plan.guards:
            assert evaluate(source(guard), sizes), (
                "the member that was made does not fit the sizes it was made for"
            )
        interpret(plan.kernel, buffers, sizes, fold="halves")
    return [memory.setdefault(root, empty(root)) for root in fusion.roots]


def empty(node: UOp) -> Array:
    shape = tuple(int(cast(int, n)) for n in node.shape)
    return np.zeros(shape, dt.to_numpy(node.dtype))


def leaves(root: UOp | Sequence[UOp]) -> list[UOp]:
    """The PARAM nodes of a graph, by slot."""
    roots = [root] if isinstance(root, UOp) else list(root)
    found = {u for r in roots for u in r.toposort() if u.op is Ops.PARAM}
    return sorted(found, key=lambda u: u.arg.slot)  # type: ignore[union-attr]
