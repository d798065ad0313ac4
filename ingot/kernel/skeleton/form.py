"""An algorithm on its way to loop trees. In: its op, types and sizes. Out: a Skeleton, which passes for a Kernel.

A Skeleton has no nests and knows no moves. Its sizes are n0, n1, ..., arguments of the compiled code like those of every
family; where a size decides which trees are written, the choice is a guard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Attr
from ingot.kernel.launches import Built
from ingot.kernel.nest import Kernel
from ingot.kernel.plan import Plan, expected
from ingot.kernel.skeleton.write import size


@dataclass(frozen=True, slots=True)
class Skeleton(Kernel):
    """`types` of its buffers: inputs, then outputs. `sizes` are the program's until it is a family's member."""

    types: tuple[dt.DType, ...] = ()
    outputs: int = 1
    options: tuple[tuple[str, Attr], ...] = ()
    sizes: tuple[UOp, ...] = ()
    variant: str = ""

    def option(self, name: str) -> Attr:
        return dict(self.options)[name]

    def without_sizes(self) -> Skeleton:
        """What all uses of the same types and options share."""
        return replace(self, sizes=())

    def text(self) -> str:
        """What makes two of them the same family."""
        types = ", ".join(t.name for t in self.types)
        return f"{self.name}({types}; {self.options})"


class Variant(NamedTuple):
    """One way to write an algorithm, and for which sizes it is meant."""

    name: str
    build: Callable[[Skeleton], Built]
    fits: Callable[[tuple[UOp, ...]], UOp | None] = lambda sizes: None


class Algorithm(NamedTuple):
    """One row of the table: how its sizes follow from its op, what it costs, and its variants, the last for all sizes."""

    sizes: Callable[[UOp], tuple[UOp, ...]]
    picoseconds: Callable[[tuple[UOp, ...]], UOp]
    variants: tuple[Variant, ...]

    def plan(self, kernel: Skeleton, hints: Mapping[UOp, int], count: int) -> Plan:
        """The first variant that is meant for these sizes; those passed over and this one are guards."""
        sizes = tuple(size(n) for n in range(count))
        guards: list[UOp] = []
        for variant in self.variants:
            holds = variant.fits(sizes)
            if holds is None:
                break
            if expected(holds, hints):
                guards.append(holds)
                break
            guards.append(holds.ne(True))
        return Plan(replace(kernel, variant=variant.name), tuple(guards))

    def build(self, kernel: Skeleton) -> Built:
        found = next(v for v in self.variants if v.name == kernel.variant)
        return found.build(kernel)


def variables(kernel: Skeleton) -> dict[UOp, UOp]:
    """The arguments of an algorithm and the sizes that they have here."""
    return {size(n): value for n, value in enumerate(kernel.sizes)}
