"""Control flow in recipes. In: a region or an assertion of a fusion, and numbers for its buffers. Out: a step.

Bodies are recipes of their own: whoever writes the recipe around gives them numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from ingot.ir.node import UOp
from ingot.ir.opcode import (
    AssertArg,
    ExternArg,
    FunctionArg,
    Ops,
    ScanArg,
)
from ingot.ir.shape import Shape, Type, product
from ingot.pipeline.host import source
from ingot.pipeline.recipe import (
    UNREAD,
    AnyStep,
    Array,
    Branch,
    Check,
    Enter,
    Host,
    Scan,
    While,
)
from ingot.schedule.bodies import changed, stacked
from ingot.schedule.fuse import Effect, Fusion

Body = Callable[[Fusion], int]  # the number of a body's recipe


def buffers(step: Effect) -> list[UOp]:
    """The values that an effect reads and gives."""
    return [*arguments(step), *step.results.values()]


def arguments(step: Effect) -> list[UOp]:
    return [u for u in step.node.src if u.op is not Ops.FUNCTION]


def name(step: Effect) -> str:
    """What people call it: `scan_step`, `if_positive_or_negative`, `extern_eigh`."""
    word = step.node.op.name.lower()
    functions = [
        u.arg.name for u in step.node.src if isinstance(u.arg, FunctionArg)
    ]
    if isinstance(step.node.arg, ExternArg):
        return f"{word}_{step.node.arg.name}"
    return "_".join((word, *functions[-1:])) if functions else word


def written(
    step: Effect, label: str, numbers: dict[UOp, int], body: Body
) -> AnyStep:
    """The step of an effect over numbered buffers."""
    return _Step(step, label, numbers, body).write()


class _Step:
    def __init__(
        self, step: Effect, label: str, numbers: dict[UOp, int], body: Body
    ) -> None:
        self.step = step
        self.node = step.node
        self.label = label
        self.numbers = numbers
        self.bodies = [body(part) for part in step.bodies]

    def write(self) -> AnyStep:
        return _WRITERS[self.node.op](self)

    def at(self, nodes: Sequence[UOp]) -> tuple[int, ...]:
        return tuple(self.numbers[u] for u in nodes)

    def results(self, indices: Sequence[int]) -> tuple[int, ...]:
        """Where results go."""
        found = [self.step.results.get(k) for k in indices]
        return tuple(UNREAD if u is None else self.numbers[u] for u in found)

    # --- one method per opcode ------------------------------------------------------------------------------------

    def check(self) -> Check:
        arg = cast(AssertArg, self.node.arg)
        cond, *details = self.node.src
        shown = tuple((self.numbers[u], u.dtype.name) for u in details)
        return Check(self.label, self.numbers[cond], shown, arg.error, arg.message)

    def extern(self) -> Host:
        given = [
            Array(self.numbers[u], u.dtype.name, dims(u.shape))
            for u in self.node.src
        ]
        places = self.results(range(len(self.node.results)))
        made = [
            _array(place, kind)
            for place, kind in zip(places, self.node.results, strict=True)
        ]
        arg = cast(ExternArg, self.node.arg)
        return Host(self.label, arg.name, tuple(given), tuple(made))

    def call(self) -> Enter:
        return Enter(
            self.label,
            self.bodies[0],
            self.at(self.node.src[1:]),
            self.results(sorted(self.step.results)),
        )

    def branch(self) -> Branch:
        return Branch(
            self.label,
            self.numbers[self.node.src[0]],
            (self.bodies[0], self.bodies[1]),
            self.at(self.node.src[3:]),
            self.results(sorted(self.step.results)),
        )

    def repeat(self) -> While:
        indices = changed(self.node)
        return While(
            self.label,
            self.bodies[0],
            self.bodies[1],
            self.at(self.node.src[2:]),
            tuple(indices),
            self.results(indices),
        )

    def scan(self) -> Scan:
        arg = cast(ScanArg, self.node.arg)
        carry = self.node.src[1 : 1 + arg.n_carry]
        xs = self.node.src[1 + arg.n_carry :]
        indices = changed(self.node)
        return Scan(
            self.label,
            self.bodies[0],
            self.at(carry),
            self.at(xs),
            tuple(indices),
            self.results([*indices, *stacked(self.step)]),
            dims(xs[0].shape[:1])[0],
            tuple(nbytes((x.dtype, x.shape[1:])) for x in xs),
            arg.reverse,
        )


_WRITERS: dict[Ops, Callable[[_Step], AnyStep]] = {
    Ops.ASSERT: _Step.check,
    Ops.EXTERN: _Step.extern,
    Ops.CALL: _Step.call,
    Ops.IF: _Step.branch,
    Ops.WHILE: _Step.repeat,
    Ops.SCAN: _Step.scan,
}


def _array(buffer: int, kind: Type) -> Array:
    return Array(buffer, kind[0].name, dims(kind[1]))


def dims(shape: Shape) -> tuple[str, ...]:
    """Sizes as Python over the program's variables."""
    return tuple(str(n) if isinstance(n, int) else source(n) for n in shape)


def nbytes(kind: Type) -> str:
    """The bytes of a value of this type, as Python over the program's variables."""
    dtype, shape = kind
    total = product(shape) * dtype.itemsize
    return str(total) if isinstance(total, int) else source(total.simplify())
