"""Where differentiation starts and ends. In: a tensor. Out: the same value under another name. Nothing runs for it.

`detach` stops gradients. `input` names an argument of a function that is being differentiated: the level and the
number keep equal values of two arguments, and of two transformations one in the other, apart.
"""

from __future__ import annotations

from typing import Any

from ingot.ir.node import UOp
from ingot.ops.gradient import passed, stop
from ingot.ops.op import op
from ingot.ops.rules import same_type
from ingot.ops.sample import floats, ints, sample


def _detach(x: UOp) -> UOp:
    """The same value; gradients do not flow through it."""
    return x


def _input(x: UOp, *, level: int = 0, number: int = 0) -> UOp:
    """The same value, as an argument of a function that is being differentiated."""
    return x


def _same(x: Any, **attrs: Any) -> Any:
    return x


detach = op(
    "detach",
    types=same_type,
    lower=_detach,
    ref=_same,
    samples=(sample(floats(3, 4)), sample(ints(3))),
    ulp=0,
    grad=stop,
    public=False,
)
input_ = op(
    "input",
    types=same_type,
    lower=_input,
    ref=_same,
    samples=(sample(floats(3, 4), level=1, number=2),),
    ulp=0,
    grad=passed,
    public=False,
)
