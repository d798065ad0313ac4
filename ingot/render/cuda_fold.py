"""Folds across threads as CUDA C. In: a FOLD over lanes, warps or the elements of a vector. Out: the lines of it.

lane     xor shuffles, nearest lanes first; left operands come from lower lanes, so that the order is kept
warp     each warp leaves its state in shared memory; after a barrier every thread goes through them in order
vector   lower half with upper half until one element is left
"""

from __future__ import annotations

from typing import cast

from ingot.errors import CompileError
from ingot.ir.node import UOp
from ingot.ir.opcode import FoldArg, LoopKind, Ops, StateArg
from ingot.render.cuda_facts import WARP, whole
from ingot.render.cuda_text import TYPES, constant, operation
from ingot.render.cuda_value import Values, Vector, bare

States = list[str]


class Folds:
    """Writes folds among the lines of a function."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.facts = values.facts

    def fold(self, node: UOp, again: bool) -> None:
        """`again`: it runs more than once, so that its shared memory may still be read from the time before."""
        arg = cast(FoldArg, node.arg)
        n, extent = arg.n, whole(node.src[0])
        targets, values, combines = (
            node.src[1 : 1 + n],
            node.src[1 + n : 1 + 2 * n],
            node.src[1 + 2 * n :],
        )
        self.values.begin(*values)
        if arg.kind is LoopKind.VECTOR:
            states = self._vector(arg.axis, extent, values, combines)
        else:
            states = [self._state(v) for v in values]
            if arg.kind is LoopKind.LANE:
                self._lanes(arg.axis, extent, states, combines)
            elif extent > 1:
                self._warps(arg.axis, extent, states, values, combines, again)
        self.values.end()
        for target, state in zip(targets, states, strict=True):
            self._store(target, state)

    def _state(self, value: UOp) -> str:
        text = self.values.bare(value)
        name = self.values.name("s")
        self.values.line(f"{TYPES[value.dtype]} {name} = {text};")
        return name

    def _lanes(
        self, axis: int, extent: int, states: States, combines: tuple[UOp, ...]
    ) -> None:
        if extent != WARP:
            raise CompileError(f"a fold over {extent} lanes: a warp has {WARP}")
        step, lane = self.values.name("o"), self.values.counters[axis]
        self.values.line("#pragma unroll")
        self.values.line(f"for (int {step} = 1; {step} < {WARP}; {step} *= 2) {{")
        others = [self._peer(state, step) for state in states]
        left, right = states, others
        if not all(self.facts.is_commutative(c) for c in combines):
            pairs = list(zip(states, others, strict=True))
            left = [f"({lane} & {step} ? {other} : {own})" for own, other in pairs]
            right = [f"({lane} & {step} ? {own} : {other})" for own, other in pairs]
        self._combine(states, left, right, combines, "    ")
        self.values.line("}")

    def _peer(self, state: str, step: str) -> str:
        name = self.values.name("other")
        self.values.line(
            f"    const auto {name} = __shfl_xor_sync(0xffffffffu, {state}, {step});"
        )
        return name

    def _warps(
        self,
        axis: int,
        extent: int,
        states: States,
        values: tuple[UOp, ...],
        combines: tuple[UOp, ...],
        again: bool,
    ) -> None:
        warp, lane = (
            self.values.counters[axis],
            self.values.counters[self.facts.threads[-1]],
        )
        alike = all(self.facts.is_uniform(v) for v in values)
        rows = [
            self._shared(value, extent if alike else extent * WARP)
            for value in values
        ]
        if again:
            self.values.line("__syncthreads();")
        for row, state in zip(rows, states, strict=True):
            place = (
                f"if ({lane} == 0) {row}[{warp}]"
                if alike
                else f"{row}[{warp} * {WARP} + {lane}]"
            )
            self.values.line(f"{place} = {state};")
        self.values.line("__syncthreads();")
        for row, state in zip(rows, states, strict=True):
            self.values.line(f"{state} = {row}[{0 if alike else lane}];")
        at = self.values.name("w")
        self.values.line("#pragma unroll")
        self.values.line(f"for (int {at} = 1; {at} < {extent}; ++{at}) {{")
        rights = [
            f"{row}[{at}]" if alike else f"{row}[{at} * {WARP} + {lane}]"
            for row in rows
        ]
        self._combine(states, states, rights, combines, "    ")
        self.values.line("}")

    def _shared(self, value: UOp, size: int) -> str:
        name = self.values.name("warps")
        self.values.first_line(f"__shared__ {TYPES[value.dtype]} {name}[{size}];")
        return name

    def _vector(
        self,
        axis: int,
        extent: int,
        values: tuple[UOp, ...],
        combines: tuple[UOp, ...],
    ) -> States:
        rows: list[States] = []
        for lane in range(extent):
            self.values.vector = Vector(axis, extent, lane)
            rows.append([self._state(v) for v in values])
        self.values.vector = None
        while len(rows) > 1:
            half = (len(rows) + 1) // 2
            for low, high in zip(rows, rows[half:], strict=False):
                self._combine(low, low, high, combines, "")
            rows = rows[:half]
        return rows[0]

    def _combine(
        self,
        states: States,
        left: States,
        right: States,
        combines: tuple[UOp, ...],
        indent: str,
    ) -> None:
        """states = combine(left, right), all of them at once."""
        texts = [bare(self._combined(c, left + right)) for c in combines]
        if len(texts) == 1:
            self.values.line(f"{indent}{states[0]} = {texts[0]};")
            return
        news = [self.values.name("next") for _ in states]
        for new, text in zip(news, texts, strict=True):
            self.values.line(f"{indent}const auto {new} = {text};")
        for state, new in zip(states, news, strict=True):
            self.values.line(f"{indent}{state} = {new};")

    def _combined(self, combine: UOp, states: States) -> str:
        done: dict[UOp, str] = {}
        for node in combine.toposort():
            if node.op is Ops.STATE:
                done[node] = states[cast(StateArg, node.arg).slot]
            elif node.op is Ops.CONST:
                done[node] = constant(node)
            else:
                done[node] = operation(node, [done[s] for s in node.src])
        return done[combine]

    def _store(self, target: UOp, state: str) -> None:
        """All threads have the result; where they share the place, one of them writes it."""
        buffer, offset = target.src[:2]
        condition = ""
        if self.facts.is_common(buffer):
            idle = [
                a for a in self.facts.threads if a not in self.facts.axes(offset)
            ]
            tests = " && ".join(f"{self.values.counters[a]} == 0" for a in idle)
            condition = f"if ({tests}) " if tests else ""
        self.values.line(
            f"{condition}{self.values.buffer(buffer)}[{self.values.bare(offset)}] = {state};"
        )
