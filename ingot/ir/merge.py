"""Loops that are run twice. In: a program. Out: the same, with a scan left out whose results another one gives, too.

The gradient of a scan runs it once more and stacks what the steps back read. A program that asks for both results and
gradients needs only the second:  SCAN(f: c -> c', y)  and  SCAN(g: c -> c', y, kept)  over the same values.
"""

from __future__ import annotations

from typing import cast

from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, ResultArg, ScanArg
from ingot.ir.region import shallow
from ingot.ir.rewrite import substitute


def merged(root: UOp) -> UOp:
    """The program with each scan run once. A scan over results of another is found when that one is merged."""
    before = None
    while before is not root:
        before = root
        root = _merged_once(root)
    return root


def _merged_once(root: UOp) -> UOp:
    nodes = shallow(root)
    instead = _instead([u for u in nodes if u.op is Ops.SCAN])
    if not instead:
        return root
    found: dict[UOp, UOp] = {u: u for u in nodes if u.op is Ops.FUNCTION}
    for node in nodes:
        if node.op is Ops.RESULT and node.src[0] in instead:
            found[node] = _same_result(node, instead[node.src[0]])
    return substitute(root, found)


def _instead(scans: list[UOp]) -> dict[UOp, UOp]:
    """The scan to use for each that is left out."""
    found: dict[UOp, UOp] = {}
    for small in scans:
        for large in scans:
            if large is not small and large not in found and _gives(large, small):
                found[small] = large
                break
    return found


def _gives(large: UOp, small: UOp) -> bool:
    """Over the same values, one scan has all results of the other."""
    if large.src[1:] != small.src[1:] or large.arg != small.arg:
        return False
    count = cast(ScanArg, small.arg).n_carry
    ours, theirs = small.src[0].src, large.src[0].src
    return ours[:count] == theirs[:count] and set(ours[count:]) <= set(
        theirs[count:]
    )


def _same_result(node: UOp, large: UOp) -> UOp:
    """A result of the smaller scan, from the larger one."""
    index = cast(ResultArg, node.arg).index
    count = cast(ScanArg, large.arg).n_carry
    if index < count:
        return node.replace(src=(large,))
    wanted = node.src[0].src[0].src[index]
    place = large.src[0].src.index(wanted, count)
    return node.replace(src=(large,), arg=ResultArg(place))
