"""The heuristic: which moves a kernel gets on a CPU. In: a kernel without sizes, and hints of them. Out: the moved kernel.

It looks at structure. Where a size decides, the decision is a guard of the kernel, so that another size finds another member.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingot.ir.node import UOp
from ingot.kernel import contract, maps, prefix, rows, stream
from ingot.kernel.align import align
from ingot.kernel.nest import Kernel
from ingot.kernel.plan import Plan
from ingot.kernel.skeleton import table
from ingot.kernel.skeleton.form import Skeleton
from ingot.kernel.structure import contraction, streams
from ingot.target import Target


def choose(
    kernel: Kernel, hints: Mapping[UOp, int], target: Target, noopt: bool = False
) -> Plan:
    """The moves for a kernel on this CPU."""
    if isinstance(kernel, Skeleton):
        return table.plan(kernel, hints)
    if prefix.is_running(kernel):
        return prefix.plan(kernel, hints)
    if streams(kernel) is not None:
        # Also without optimisation: a softmax between two products runs in one loop only by these moves.
        return stream.plan(kernel, hints, target)
    if noopt:
        return plain(kernel)
    if any(contraction(kernel, n) for n in kernel.nests):
        return contract.plan(kernel, hints, target)
    if any(n.reduced for n in kernel.nests):
        return rows.plan(kernel, hints, target)
    return maps.plan(kernel, hints, target)


def plain(kernel: Kernel) -> Plan:
    """No moves but those that share loops: what NOOPT=1 runs."""
    return Plan(align(kernel))
