"""A planned kernel: the kernel after its moves, the guards under which it may run, and arguments that the binder computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.rewrite import substitute
from ingot.kernel.nest import Kernel


@dataclass(frozen=True, slots=True)
class Plan:
    """`extra`: variables that are no sizes of the program, such as rows per chunk, as expressions over the sizes."""

    kernel: Kernel
    guards: tuple[UOp, ...] = ()
    extra: Mapping[UOp, UOp] = field(default_factory=dict)


def expected(size: UOp, hints: Mapping[UOp, int]) -> int | None:
    """The value of a size expression by the hints, None where they do not say."""
    values = {
        variable: UOp.const(variable.dtype, value)
        for variable, value in hints.items()
    }
    known = substitute(size, values).simplify()
    return int(known.value) if known.op is Ops.CONST else None


def grain(name: str, work: UOp, each: UOp) -> tuple[UOp, UOp]:
    """(variable, value): how many iterations of cost `each` make about `work`, at least one."""
    variable = UOp.variable(name, 1, 1 << 30, dt.index)
    return variable, (work // each.maximum(1)).maximum(1)
