"""Batching: a program over one example becomes a program over many. In: nodes, and the batch of some. Out: nodes.

    batch([root], {x: xs}, n)       root is written over x; xs has the shape (n, *x.shape)

What depends on no batched node stays as it is. Everything else gets the batch as its first axis: moving an axis is a
view, so one place for it is enough. A named op keeps its name where it carries a batch by itself (batch_ops.py), and
is taken one level down where it does not; what cannot be taken down runs once for each example, in a SCAN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingot.autograd.batch_opcodes import OPCODE_RULES
from ingot.autograd.batch_ops import named
from ingot.autograd.batch_regions import REGION_RULES
from ingot.autograd.lanes import Batch, Lane, Rule
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ops.movement import Dim

RULES: dict[Ops, Rule] = {**OPCODE_RULES, **REGION_RULES, Ops.OP: named}


def batch(
    roots: Sequence[UOp], given: Mapping[UOp, UOp], length: Dim
) -> list[Lane]:
    """Every root over `length` examples; `given` says what stands for its batched leaves."""
    return Batch(given, length, RULES).lanes(roots)
