"""A value with a gradient of its own. In: a value, what it was computed from, and a function back. Out: the value.

The function back is a closed graph: it takes the cotangents of the values and whatever else it reads, and gives the
gradients of the inputs. So the rule is part of the node, as every other attribute is: nothing is looked up outside.
"""

from __future__ import annotations

from typing import Any, cast

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.region import param
from ingot.ir.rewrite import substitute
from ingot.ir.shape import Type
from ingot.ops.elementwise import constant
from ingot.ops.gradient import Cotangents, Gradients, attrs
from ingot.ops.op import op


def _types(back: UOp, *rest: UOp, values: int, inputs: int) -> tuple[Type, ...]:
    return tuple((v.dtype, v.shape) for v in rest[:values])


def _custom(back: UOp, *rest: UOp, values: int, inputs: int) -> tuple[UOp, ...]:
    """The values: (function back, *values, *inputs, *what else the function back reads)."""
    return rest[:values] if values > 1 else rest[0]  # type: ignore[return-value]


def _grad(node: UOp, cotangents: Cotangents) -> Gradients:
    """The body of the function back, over the cotangents and what it reads."""
    back, *rest = node.src
    counts = attrs(node)
    values, inputs = cast(int, counts["values"]), cast(int, counts["inputs"])
    seeds = [
        constant(0.0, v.dtype, v.shape) if g is None else g
        for v, g in zip(rest, cotangents, strict=False)
        if v.dtype.is_float
    ]
    given = [*seeds, *rest[values + inputs :]]
    places = {param(i, u.dtype, u.shape): u for i, u in enumerate(given)}
    closed = {
        u: u for u in back.toposort() if u.op is Ops.FUNCTION and u is not back
    }
    body = UOp(Ops.SINK, dt.void, back.src)
    found = list(substitute(body, {**closed, **places}).src)
    floats = [x.dtype.is_float for x in rest[values : values + inputs]]
    shares = iter(found)
    to_inputs = [next(shares) if is_float else None for is_float in floats]
    others = (None,) * (len(node.src) - 1 - values - inputs)
    return None, *(None,) * values, *to_inputs, *others


def _value(back: Any, *rest: Any, values: int, inputs: int) -> Any:
    return rest[0]


custom = op(
    "custom_gradient",
    types=_types,
    lower=_custom,
    ref=_value,
    grad=_grad,
    ulp=0,
    public=False,
)
