"""Prices of fusion, in nanoseconds. In: measured costs of this machine (target.py). Out: what storing or recomputing costs."""

from __future__ import annotations

from dataclasses import dataclass

from ingot.ir.node import UOp
from ingot.ir.opcode import ELEMENTWISE, REGION, Ops
from ingot.kernel.structure import DEAR
from ingot.target import Costs

MAX_RECOMPUTE = 64
DEAR_STEPS = (
    20.0  # instructions of an exponential, or what a division takes in their place
)


@dataclass(frozen=True, slots=True)
class Prices:
    """Per element, on one core."""

    byte: float = 0.1  # to or from memory
    step: float = 0.02  # one simple vector operation
    dear: float = 0.4  # exp, division, ...
    launch: float = 30e3  # scheduling and running one kernel more
    compile: float = 15e6
    compile_step: float = 0.3e6

    def recompute(self, node: UOp) -> float:
        """What one more evaluation costs per element: the operations down to what is in memory anyway."""
        total, seen, stack = 0.0, {node}, [node]
        while stack and len(seen) < MAX_RECOMPUTE:
            here = stack.pop()
            if here.op is Ops.REDUCE:
                return float("inf")
            total += (
                self.dear
                if here.op in DEAR
                else self.step
                if here.op in ELEMENTWISE
                else 0.0
            )
            for source in here.src:
                if source not in seen and source.op not in REGION:
                    seen.add(source)
                    stack.append(source)
        return total if not stack else float("inf")

    def store(self, node: UOp) -> float:
        """What storing costs per element: one write, and reads that replace those of its sources."""
        return self.byte * node.dtype.itemsize * 2

    def kernels(self, count: int, new: list[int]) -> float:
        """`count` kernels to schedule and launch, and new ones of these many operations to compile."""
        return count * self.launch + sum(
            self.compile + size * self.compile_step for size in new
        )


def prices_of(costs: Costs) -> Prices:
    """Prices from what was measured on this machine."""
    step = 2.0 / costs.fma_gflops
    return Prices(
        byte=1.0 / costs.memory_bytes_per_ns, step=step, dear=DEAR_STEPS * step
    )


PRICES = Prices()
