"""Members of a family: compiled kernels and what the binder must know of them. In: a planned kernel. Out: a Member.

Everything but the code is text and numbers, so that a Member can be stored next to its object file and used again without
building a single node.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import cast

from ingot.ir.node import UOp
from ingot.ir.opcode import KernelArg, VarArg
from ingot.kernel.plan import Plan
from ingot.kernel.tree import Built
from ingot.pipeline.host import Number, evaluate, source


@dataclass(frozen=True, slots=True)
class Launch:
    """One function call per chunk; chunks and scratch bytes as Python source over the sizes."""

    module: str  # key of its object
    function: str
    chunks: str
    scratch: str


@dataclass(frozen=True, slots=True)
class Member:
    """One compiled variant of a family."""

    guards: tuple[str, ...]
    extra: tuple[tuple[str, str], ...]
    arguments: tuple[str, ...]  # scalar arguments in order
    temporaries: tuple[tuple[int, str], ...]  # bytes per element, elements
    launches: tuple[Launch, ...]
    moves: tuple[str, ...] = ()

    def fits(self, names: Mapping[str, Number]) -> bool:
        """May it run with these sizes?"""
        return all(evaluate(g, names) for g in self.guards)

    def text(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def member_from_text(text: str) -> Member:
    """The inverse of `Member.text`."""
    raw = json.loads(text)
    return Member(
        tuple(raw["guards"]),
        tuple((a, b) for a, b in raw["extra"]),
        tuple(raw["arguments"]),
        tuple((a, b) for a, b in raw["temporaries"]),
        tuple(Launch(**x) for x in raw["launches"]),
        tuple(raw["moves"]),
    )


def describe(modules: Sequence[str], plan: Plan, built: Built) -> Member:
    """What the binder must know of a built kernel; `modules` are the keys of its objects, one per launch."""
    first = cast(KernelArg, built.launches[0].arg)
    extra = tuple((cast(VarArg, v.arg).name, source(e)) for v, e in plan.extra.items())
    return Member(
        tuple(source(g) for g in plan.guards),
        extra,
        tuple(cast(VarArg, s.arg).name for s in first.sizes),
        tuple((t.itemsize, source(n)) for t, n in built.temporaries),
        tuple(_launch(m, cast(KernelArg, k.arg)) for m, k in zip(modules, built.launches, strict=True)),
        plan.kernel.moves,
    )


def _launch(module: str, arg: KernelArg) -> Launch:
    return Launch(module, arg.name, source(arg.chunks), source(arg.scratch))


def size_names(values: Mapping[UOp, Number]) -> dict[str, Number]:
    return {cast(VarArg, v.arg).name: n for v, n in values.items()}
