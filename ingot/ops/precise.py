"""Functions made of several others, without losing digits. In: a formula. Out: the same formula in a wider type.

A formula of a dozen roundings is several units of the last place off. float32 goes through float64 and is rounded once;
16-bit floats go through float32; float64 has nothing above it, so formulas are chosen to be good there too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Kind
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ops.elementwise import constant
from ingot.ops.gradient import Rule
from ingot.ops.op import Op, op
from ingot.ops.rules import floats_in, same_type
from ingot.ops.sample import Sample, floats, ints, sample

Formula = Callable[[UOp], UOp]


def working(dtype: DType) -> DType:
    """The type in which a formula of `dtype` is computed."""
    return dt.float32 if dtype.bits == 16 else dt.float64


def widely(formula: Callable[..., UOp]) -> Callable[..., UOp]:
    """The formula in the working type, rounded once to the type of its first input."""

    def lower(*inputs: Any) -> UOp:
        dtype = inputs[0].dtype
        wide = (x.cast(working(dtype)) for x in inputs)
        return formula(*wide).cast(dtype)

    return lower


def number(x: UOp, value: float) -> UOp:
    """A constant of x's type and shape."""
    return constant(value, x.dtype, x.shape)


def fma(a: UOp, b: UOp | float, c: UOp | float) -> UOp:
    """a * b + c, rounded once."""
    second = b if isinstance(b, UOp) else number(a, b)
    third = c if isinstance(c, UOp) else number(a, c)
    return a.alu(Ops.MULACC, second, third)


def polynomial(x: UOp, coefficients: Sequence[float]) -> UOp:
    """coefficients[0] * x**n + ... + coefficients[-1]."""
    total = number(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = fma(total, x, coefficient)
    return total


def ratio(x: UOp, above: Sequence[float], below: Sequence[float]) -> UOp:
    """One polynomial over another."""
    return polynomial(x, above) / polynomial(x, below)


def declare(
    name: str,
    formula: Formula,
    ref: Any,
    doc: str,
    *samples: Sample,
    slope: Formula | None = None,
    ulp: float = 4,
    normwise: bool = False,
    aliases: Sequence[str] = (),
) -> Op:
    """A float function of one element. `slope`: its derivative at x, in ops."""

    def lower(x: UOp) -> UOp:
        return widely(formula)(x)

    lower.__doc__ = doc
    return op(
        name,
        types=same_type,
        accept=floats_in,
        lower=lower,
        ref=ref,
        samples=(
            sample(floats(3, 4, low=-0.9, high=0.9)),
            sample(ints(4)),
            *samples,
        ),
        bad_samples=((sample(None), f"{name}: x is NoneType; wanted a tensor"),),
        ulp=ulp,
        normwise=normwise,
        grad=None if slope is None else times(slope),
        aliases=aliases,
    )


def times(slope: Formula) -> Rule:
    """The gradient rule of y = f(x): the cotangent times the derivative at x."""

    def rule(
        node: UOp, cotangents: tuple[UOp | None, ...]
    ) -> tuple[UOp | None, ...]:
        (g,), (x,) = cotangents, node.src
        return (None if g is None else g * slope(x),)

    return rule


def is_signed(dtype: DType) -> bool:
    return dtype.kind in (Kind.INT, Kind.FLOAT)
