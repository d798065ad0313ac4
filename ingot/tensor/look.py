"""Looking at what a tensor will do. In: tensors. Out: the kernels that would run, and the graph as a tree; nothing runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.pipeline.late import Late
from ingot.tensor.computed import in_memory, is_computed, over_memory
from ingot.tensor.handle import Handle

__all__ = ["print_graph"]

if TYPE_CHECKING:
    from ingot.pipeline.items import Schedule

_schedule: Late[Callable[[Sequence[UOp]], Schedule]] = Late(
    "ingot.pipeline.items:schedule"
)
_tree: Late[Callable[[Sequence[UOp]], str]] = Late(
    "ingot.pipeline.program_tree:program_tree"
)


class Looks(Handle):
    """What a tensor tells about itself."""

    __slots__ = ()

    def schedule(self, *others: Handle) -> Schedule:
        """The kernels that computing this tensor (and others with it) would run. Nothing is compiled, nothing runs."""
        return _schedule()(_pending([self, *others]))


def print_graph(*tensors: Handle) -> None:
    """Print how these tensors are computed: one line a node, what it is made of below it."""
    nodes = [in_memory(t.uop) for t in tensors]
    print(_tree()(over_memory(nodes)))


def _pending(tensors: Sequence[Handle]) -> list[UOp]:
    nodes = dict.fromkeys(t.uop for t in tensors if t.buffer is None)
    waiting = [node for node in nodes if not is_computed(node)]
    return [n for n in over_memory(waiting) if n.op is not Ops.BUFFER]
