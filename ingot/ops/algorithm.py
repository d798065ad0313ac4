"""Algorithms: ops that are a kernel of their own. In: types, and what they compute in NumPy. Out: declarations.

Sorting, scattering, compacting and searching are no loops over one index space, so they are not lowered: the loop trees of
kernel/skeleton/ compute them, over memory, and the interpreter asks `meaning`. They are made for other ops to build on,
which bring shapes and types into the form that the kernels know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingot.ir.node import UOp
from ingot.ir.region import MEANINGS
from ingot.ops.op import Lower, Op, Types, op


def algorithm(
    name: str,
    signature: Lower,
    *,
    types: Types,
    meaning: Callable[..., Any],
    grad: Callable[..., Any] | None = None,
) -> Op:
    """Declare an op whose kernel is written by hand; `signature` names its inputs and attributes, and is never called."""
    MEANINGS[name] = meaning
    reason = (
        ""
        if grad
        else "it computes places; gradients go through what is taken from them"
    )
    return op(
        name,
        types=types,
        lower=signature,
        ref=meaning,
        grad=grad,
        no_grad_reason=reason,
        public=False,
        basic=True,
    )


def not_lowered(*inputs: UOp) -> UOp:
    raise AssertionError("kernels know this op as it is")
