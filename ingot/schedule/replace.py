"""Replacing nodes of a body. In: a graph, and what stands for some of its nodes. Out: the graph over those.

Unlike `ir/rewrite.py: substitute`, it leaves functions inside alone, because they are closed, and new nodes remember the
ops that the old ones came from.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ops.lower import inherit


def replaced(root: UOp, by: Mapping[UOp, UOp]) -> UOp:
    """The graph with nodes replaced; what replaces a node is not entered."""
    became = dict(by)

    def enters(node: UOp) -> bool:
        return node not in by and (node is root or node.op is not Ops.FUNCTION)

    for node in root.toposort(enters):
        if node not in became and enters(node):
            src = tuple([became.get(s, s) for s in node.src])
            if src != node.src:
                became[node] = inherit(node.replace(src=src), node)
    return became.get(root, root)
