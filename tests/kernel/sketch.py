"""Nests by hand. In: sizes, buffers, loops and formulas. Out: a Kernel in which every nest has loops of its own.

s = Sketch("row_sum")
n, m = s.sizes("n", "m")
x, out = s.input(), s.output()
i, j = s.loops(i=n, j=m)
total = s.sum("total", (i,), (j,), x[i * m + j])
o, = s.loops(o=n)
s.store("out", (o,), out[o], total(o))
kernel = s.kernel()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Scalar
from ingot.ir.node import UOp
from ingot.ir.opcode import AxisArg, Ops, ParamArg
from ingot.kernel.nest import (
    Body,
    Kernel,
    Loop,
    Map,
    Nest,
    Reduce,
    Store,
    max_combine,
    sum_combine,
)

Axes = tuple[UOp, ...]
Read = Callable[..., UOp]


@dataclass(frozen=True)
class Memory:
    """A buffer argument; `x[offset]` is a load."""

    param: UOp

    def __getitem__(self, offset: UOp | int) -> UOp:
        return UOp(Ops.LOAD, self.param.dtype, (self.param, as_index(offset)))

    def where(self, mask: UOp, offset: UOp) -> UOp:
        """The element at `offset` where `mask` holds, else 0; nothing is touched elsewhere."""
        return UOp(
            Ops.LOAD,
            self.param.dtype,
            (self.param, offset, mask, UOp.const(self.param.dtype, 0)),
        )


def as_index(value: UOp | int) -> UOp:
    return value if isinstance(value, UOp) else UOp.const(dt.index, value)


def exp(x: UOp) -> UOp:
    return x.alu(Ops.EXP)


def sqrt(x: UOp) -> UOp:
    return x.alu(Ops.SQRT)


class Sketch:
    """A kernel while it is written."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._loops: dict[int, Loop] = {}
        self._nests: list[Nest] = []
        self._params: list[UOp] = []

    # --- what it stands on ----------------------------------------------------------------------------------------

    def sizes(self, *names: str) -> Axes:
        return tuple(UOp.variable(name, 0, 1 << 40) for name in names)

    def scalars(self, *names: str) -> Axes:
        return tuple(UOp.variable(name, 0, 0, dt.float32) for name in names)

    def input(self, dtype: DType = dt.float32) -> Memory:
        return self._memory(dtype, False)

    def output(self, dtype: DType = dt.float32) -> Memory:
        return self._memory(dtype, True)

    def _memory(self, dtype: DType, writable: bool) -> Memory:
        made = UOp(Ops.PARAM, dtype, (), ParamArg(len(self._params), writable))
        self._params.append(made)
        return Memory(made)

    def loops(self, **extents: UOp | int) -> Axes:
        """A loop for each name; what comes back are their counters."""
        return tuple(
            self._loop(name, as_index(extent)) for name, extent in extents.items()
        )

    def _loop(self, name: str, extent: UOp) -> UOp:
        made = Loop(len(self._loops), name, extent, extent)
        self._loops[made.axis] = made
        return made.counter

    # --- nests ----------------------------------------------------------------------------------------------------

    def sum(self, name: str, free: Axes, over: Axes, value: UOp) -> Read:
        combine = sum_combine(value.dtype)
        return self.reduce(name, free, over, (0,), (value,), (combine,))

    def max(self, name: str, free: Axes, over: Axes, value: UOp) -> Read:
        least = dt.least(value.dtype)
        return self.reduce(
            name, free, over, (least,), (value,), (max_combine(value.dtype),)
        )

    def reduce(
        self,
        name: str,
        free: Axes,
        over: Axes,
        inits: Sequence[Scalar],
        values: tuple[UOp, ...],
        combines: tuple[UOp, ...],
    ) -> Read:
        """A tuple state folded over the loops `over`."""
        starts = tuple(
            UOp.const(v.dtype, i) for v, i in zip(values, inits, strict=True)
        )
        body = Reduce(_axes(over), starts, values, combines)
        return self._nest(name, (*free, *over), free, body).value

    def map(self, name: str, free: Axes, value: UOp) -> Read:
        """A value kept for others to read."""
        return self._nest(name, free, free, Map(value)).value

    def store(self, name: str, loops: Axes, at: UOp, value: UOp) -> None:
        """`at` is written as a load of the place: out[i]."""
        buffer, offset = at.src[:2]
        self._nest(name, loops, (), Store(buffer, offset, value))

    def _nest(self, name: str, loops: Axes, dims: Axes, body: Body) -> Nest:
        made = Nest(len(self._nests), name, _axes(loops), _axes(dims), body)
        self._nests.append(made)
        return made

    def kernel(self) -> Kernel:
        return Kernel(
            self.name, dict(self._loops), tuple(self._nests), tuple(self._params)
        )


def _axes(counters: Axes) -> tuple[int, ...]:
    return tuple(cast(AxisArg, c.arg).id for c in counters)
