"""Forward derivatives: a program becomes one that also says how its results change. In: nodes, tangents. Out: duals.

    forward([root], {x: dx})        how root changes when x moves along dx

What depends on no tangent stays as it is, and has none. A named op keeps its name as a value; its tangent is written
in program ops too, so that a derivative can be differentiated, batched or compiled like anything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingot.autograd.duals import Dual, Forward, Rule
from ingot.autograd.forward_opcodes import OPCODE_RULES
from ingot.autograd.forward_ops import named
from ingot.autograd.forward_regions import REGION_RULES
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops

RULES: dict[Ops, Rule] = {**OPCODE_RULES, **REGION_RULES, Ops.OP: named}


def forward(roots: Sequence[UOp], tangents: Mapping[UOp, UOp]) -> list[Dual]:
    """Every root and its tangent, given the tangents of some nodes; None is a tangent of zeros."""
    return Forward(tangents, RULES).duals(roots)
