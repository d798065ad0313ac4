"""The one table of gradients: opcode -> rule. In: a node and its cotangents. Out: one gradient for each source.

Every opcode of a program stands in exactly one of the tables below, which a test checks. Named operations have their rules
in their declarations (`op(..., grad=...)`).
"""

from __future__ import annotations

from ingot.autograd.arithmetic import ARITHMETIC
from ingot.autograd.moves import MOVES
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ops.gradient import Cotangents, Gradients, Rule, only, passed
from ingot.ops.places import take_rule


def _after(node: UOp, cotangents: Cotangents) -> Gradients:
    """A buffer after an assignment to it is what was assigned."""
    g = only(cotangents)
    writes = [
        i
        for i, effect in enumerate(node.src)
        if effect.op is Ops.ASSIGN and effect.src[0] is node.src[0]
    ]
    to = writes[-1] if writes else 0
    return tuple(g if i == to else None for i in range(len(node.src)))


def _assign(node: UOp, cotangents: Cotangents) -> Gradients:
    return None, only(cotangents)


RULES: dict[Ops, Rule] = {
    **ARITHMETIC,
    **MOVES,
    Ops.CONTIGUOUS: passed,
    Ops.AFTER: _after,
    Ops.ASSIGN: _assign,
    Ops.TAKE: take_rule,
}

# Handled by the sweep itself (backward.py), because they need more than their cotangents.
STRUCTURAL = frozenset(
    {Ops.OP, Ops.RESULT, Ops.REDUCE, Ops.PREFIX, Ops.CALL, Ops.IF, Ops.SCAN}
)

# Gradients end here, and that is right.
FLAT: dict[Ops, str] = {
    **dict.fromkeys(
        (Ops.FLOOR, Ops.TRUNC, Ops.ROUND), "constant between its steps"
    ),
    **dict.fromkeys(
        (Ops.CMPLT, Ops.CMPEQ, Ops.CMPNE, Ops.NOT), "its result is true or false"
    ),
    **dict.fromkeys(
        (Ops.IDIV, Ops.AND, Ops.OR, Ops.XOR, Ops.SHL, Ops.SHR),
        "works on whole numbers",
    ),
    Ops.BITCAST: "bits are no number to differentiate",
    Ops.SIZE_OF: "a size is a whole number",
    Ops.ASSERT: "a check has no value",
    Ops.SINK: "not a value",
    Ops.FUNCTION: "not a value",
    **dict.fromkeys(
        (Ops.CONST, Ops.DEFINE_VAR, Ops.BIND, Ops.BUFFER, Ops.PARAM, Ops.STATE),
        "a leaf",
    ),
}

# Gradients should pass, and cannot: an error, with what to do instead.
REFUSED: dict[Ops, tuple[str, str]] = {
    Ops.WHILE: (
        "a while loop does not keep the states it passed, so it cannot be run back",
        "use ig.scan over a known number of steps, or .detach() what enters the loop",
    ),
    Ops.EXTERN: (
        "host code has no gradient that Ingot could derive",
        "declare it as an op with grad=..., wrap it in ig.custom_gradient, or .detach() its inputs",
    ),
}
