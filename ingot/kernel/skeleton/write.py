"""Loop trees by hand. In: Python functions from loop counters to statements. Out: statements, and finished launches.

    author = Author()
    total = author.register(dt.int64, "total")
    author.loop(n, lambda i: [total.put(total.get() + load(x, i))])

A loop's body is a function of its counter that gives the list of its statements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopArg, LoopKind, Ops, ParamArg, Scope, StageArg
from ingot.kernel.launches import Built, launched

Body = Callable[[UOp], Sequence[UOp]]
ZERO = UOp.const(dt.index, 0)
ONE = UOp.const(dt.index, 1)


def number(value: int) -> UOp:
    return UOp.const(dt.index, value)


def size(position: int) -> UOp:
    """Argument `position` of an algorithm: a size of the program."""
    return UOp.variable(f"n{position}", 0, 1 << 40)


def load(buffer: UOp, offset: UOp) -> UOp:
    return UOp(Ops.LOAD, buffer.dtype, (buffer, offset))


def load_if(buffer: UOp, offset: UOp, mask: UOp, other: UOp) -> UOp:
    return UOp(Ops.LOAD, buffer.dtype, (buffer, offset, mask, other))


def store(buffer: UOp, offset: UOp, value: UOp, mask: UOp | None = None) -> UOp:
    src = (buffer, offset, value) if mask is None else (buffer, offset, value, mask)
    return UOp(Ops.STORE, dt.void, src)


def when(condition: UOp, *statements: UOp) -> UOp:
    return UOp(Ops.WHEN, dt.void, (condition, *statements))


def at_index(value: UOp) -> UOp:
    """A number from memory as an offset."""
    return value.cast(dt.index)


def flip(condition: UOp) -> UOp:
    return condition.alu(Ops.NOT)


def ceil_div(a: UOp, b: int | UOp) -> UOp:
    return (a + (b - 1)) // b


@dataclass(frozen=True, slots=True)
class Register:
    """One scalar, or the lanes of a vector loop, that statements change."""

    stage: UOp
    offset: UOp = ZERO

    def get(self) -> UOp:
        return load(self.stage, self.offset)

    def put(self, value: UOp) -> UOp:
        return store(self.stage, self.offset, value)


class Author:
    """Hands out the numbers of loops and of local memory in one launch."""

    def __init__(self) -> None:
        self._count = 0

    def number(self) -> int:
        """A number that no loop and no memory of the launch has yet."""
        self._count += 1
        return self._count - 1

    def loop(
        self,
        extent: UOp | int,
        body: Body,
        name: str = "i",
        kind: LoopKind = LoopKind.LOOP,
    ) -> UOp:
        """for counter in 0..extent: body(counter)"""
        axis = self.number()
        inside = body(UOp.axis(axis, name))
        times = number(extent) if isinstance(extent, int) else extent
        return UOp(Ops.LOOP, dt.void, (times, *inside), LoopArg(axis, kind, name))

    def chunks(self, extent: UOp | int, body: Body) -> UOp:
        """The outermost loop: its turns run on any thread, in any order."""
        return self.loop(extent, body, "chunk", LoopKind.CHUNK)

    def vector(self, lanes: int, body: Body) -> UOp:
        return self.loop(lanes, body, "v", LoopKind.VECTOR)

    def unroll(self, times: int, body: Body) -> UOp:
        return self.loop(times, body, "u", LoopKind.UNROLL)

    def stage(
        self, dtype: dt.DType, size: UOp | int, scope: Scope, name: str
    ) -> UOp:
        times = number(size) if isinstance(size, int) else size
        return UOp(Ops.STAGE, dtype, (times,), StageArg(self.number(), scope, name))

    def register(self, dtype: dt.DType, name: str, lanes: int = 1) -> Register:
        """Declare it by placing `.stage` among the statements."""
        return Register(self.stage(dtype, lanes, Scope.REGISTER, name))


class Memory:
    """The buffers of an algorithm: inputs and outputs in slot order, then temporaries as they are asked for."""

    def __init__(self, types: Sequence[dt.DType], outputs: int) -> None:
        first = len(types) - outputs
        self.buffers = [
            UOp(Ops.PARAM, t, (), ParamArg(slot, slot >= first))
            for slot, t in enumerate(types)
        ]
        self.temporaries: list[tuple[dt.DType, UOp]] = []

    def __getitem__(self, slot: int) -> UOp:
        return self.buffers[slot]

    def temporary(self, dtype: dt.DType, size: UOp) -> UOp:
        """Memory that lives from the first launch to the last."""
        made = UOp(Ops.PARAM, dtype, (), ParamArg(len(self.buffers), True))
        self.buffers.append(made)
        self.temporaries.append((dtype, size))
        return made

    def built(self, name: str, launches: Sequence[Sequence[UOp]]) -> Built:
        bodies = [tuple(statements) for statements in launches]
        made = launched(name, bodies, tuple(self.buffers))
        return Built(made, tuple(self.temporaries))
