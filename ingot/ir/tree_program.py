"""A kernel tree written out as Python, for the tree interpreter. In: a KERNEL. Out: source, and what its lines mean.

Loops become `for`, lanes become arrays; a statement computes its expression once, node by node. What uses no memory is
computed in the outermost loop that knows its counters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np

from ingot.errors import KernelFault, SpecError
from ingot.ir import dtype as dt
from ingot.ir import meaning
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    AxisArg,
    ConstArg,
    FoldArg,
    KernelArg,
    LoopArg,
    LoopKind,
    Ops,
    StageArg,
    StateArg,
    VarArg,
)

_THREADS = frozenset({LoopKind.BLOCK, LoopKind.WARP, LoopKind.LANE})
_INFIX = {
    Ops.ADD: "+",
    Ops.SUB: "-",
    Ops.MUL: "*",
    Ops.CMPLT: "<",
    Ops.CMPEQ: "==",
    Ops.CMPNE: "!=",
}


@dataclass(frozen=True, slots=True)
class Line:
    depth: int
    text: str
    axes: tuple[int, ...]


class Facts(NamedTuple):
    """The loop counters that a value depends on, and whether memory or a fold's state has a say."""

    axes: frozenset[int]
    impure: bool


@dataclass(slots=True)
class Scope:
    """The body of a loop, a condition or the whole kernel."""

    outer: Scope | None
    depth: int
    axes: tuple[int, ...] = ()  # counters known here, outermost first
    lanes: tuple[int, ...] = ()  # those that are array axes
    mask: str = "True"
    known: dict[UOp, str] = field(default_factory=dict)
    first: list[Line] = field(default_factory=list)
    body: list[Line] = field(default_factory=list)

    def lines(self) -> list[Line]:
        return self.first + self.body


class TreeProgram:
    """`source` defines run(*buffers); `constants` are the values that it names."""

    def __init__(self, kernel: UOp) -> None:
        self.constants: dict[str, Any] = {}
        self.buffers: dict[UOp, str] = {}
        self.known_facts: dict[UOp, Facts] = {}
        self.count = 0
        arg = cast(KernelArg, kernel.arg)
        root = Scope(None, 1)
        for param in arg.params:
            self.buffers[param] = self.fresh("p")
        self.statements(kernel.src, root)
        head = f"def run({', '.join(self.buffers[p] for p in arg.params)}):"
        self.lines = [Line(0, head, ()), *root.lines(), Line(1, "return None", ())]
        self.source = (
            "\n".join("    " * line.depth + line.text for line in self.lines) + "\n"
        )

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def variable(self, node: UOp) -> str:
        return "var_" + cast(VarArg, node.arg).name.replace(".", "_")

    def where(self, fault: KernelFault) -> str:
        """The loop counters at a fault, read from the frame that raised it."""
        trace = fault.__traceback__
        while (
            trace is not None
            and trace.tb_frame.f_code.co_filename != "<kernel tree>"
        ):
            trace = trace.tb_next
        if trace is None:
            return ""
        line = self.lines[trace.tb_lineno - 1]
        found = trace.tb_frame.f_locals
        lane = fault.__dict__.get("lane")
        return "at " + ", ".join(
            f"i{a} = {_at(found[f'i{a}'], lane)}"
            for a in line.axes
            if f"i{a}" in found
        )

    # --- statements -----------------------------------------------------------------------------------------------

    def statements(self, nodes: tuple[UOp, ...], scope: Scope) -> None:
        for node in nodes:
            self.statement(node, scope)

    def statement(self, node: UOp, scope: Scope) -> None:
        writer = _STATEMENTS.get(node.op)
        if writer is None:
            raise SpecError(f"{node.op.name} is not a statement of a kernel tree")
        writer(self, node, scope)

    def emit(self, scope: Scope, text: str) -> None:
        scope.body.append(Line(scope.depth, text, scope.axes))

    def loop(self, node: UOp, scope: Scope) -> None:
        arg = cast(LoopArg, node.arg)
        if arg.kind in _THREADS:
            raise SpecError(
                f"a {arg.kind.value} loop belongs to a GPU: interpret_simt runs those"
            )
        extent = self.value(node.src[0], scope, {})
        if arg.kind is LoopKind.VECTOR:
            self.vector_loop(arg.axis, extent, node.src[1:], scope)
            return
        inner = Scope(
            scope, scope.depth + 1, (*scope.axes, arg.axis), scope.lanes, scope.mask
        )
        steps = (
            f"chunks({extent})"
            if arg.kind is LoopKind.CHUNK
            else f"range({extent})"
        )
        self.emit(scope, f"for i{arg.axis} in {steps}:")
        self.close(inner, scope, node.src[1:])

    def vector_loop(
        self, axis: int, extent: str, nodes: tuple[UOp, ...], scope: Scope
    ) -> None:
        inner = Scope(
            scope,
            scope.depth,
            (*scope.axes, axis),
            (*scope.lanes, axis),
            scope.mask,
        )
        self.emit(scope, f"i{axis} = np.arange({extent})")
        self.statements(nodes, inner)
        scope.body += inner.lines()

    def close(self, inner: Scope, scope: Scope, nodes: tuple[UOp, ...]) -> None:
        self.statements(nodes, inner)
        if not inner.lines():
            self.emit(inner, "pass")
        scope.body += inner.lines()

    def when(self, node: UOp, scope: Scope) -> None:
        condition = self.value(node.src[0], scope, {})
        varying = self.varies(node.src[0], scope)
        inner = Scope(scope, scope.depth + 1, scope.axes, scope.lanes, scope.mask)
        if varying:
            inner.mask = self.fresh("m")
            self.emit(scope, f"{inner.mask} = {_both(scope.mask, condition)}")
            condition = f"np.any({inner.mask})"
        self.emit(scope, f"if {condition}:")
        self.close(inner, scope, node.src[1:])

    def stage(self, node: UOp, scope: Scope) -> None:
        arg = cast(StageArg, node.arg)
        name = self.buffers.get(node) or self.fresh("s")
        self.buffers[node] = name
        size = self.value(node.src[0], scope, {})
        label = f"{arg.name or 's'}{arg.id}"
        self.emit(
            scope, f"{name} = stage({label!r}, {self.constant(node.dtype)}, {size})"
        )

    def store(self, node: UOp, scope: Scope) -> None:
        local: dict[UOp, str] = {}
        parts = [self.value(s, scope, local) for s in node.src[1:]]
        mask = parts[2] if len(parts) > 2 else "True"
        self.write(
            node.src[0], parts[0], parts[1], mask, scope, self.any_lane(node, scope)
        )

    def write(
        self,
        buffer: UOp,
        offset: str,
        value: str,
        mask: str,
        scope: Scope,
        wide: bool,
    ) -> None:
        name = self.memory(buffer)
        if wide:
            self.emit(
                scope,
                f"{name}.scatter({offset}, {value}, {_both(scope.mask, mask)})",
            )
        elif mask == "True":
            self.emit(scope, f"{name}.store({offset}, {value})")
        else:
            self.emit(scope, f"if {mask}: {name}.store({offset}, {value})")

    def any_lane(self, node: UOp, scope: Scope) -> bool:
        return bool(scope.lanes) and (
            scope.mask != "True" or any(self.varies(s, scope) for s in node.src[1:])
        )

    def fold(self, node: UOp, scope: Scope) -> None:
        arg = cast(FoldArg, node.arg)
        n = arg.n
        extent, targets = node.src[0], node.src[1 : 1 + n]
        values, combines = node.src[1 + n : 1 + 2 * n], node.src[1 + 2 * n :]
        inner = Scope(
            scope, scope.depth + 1, (*scope.axes, arg.axis), scope.lanes, scope.mask
        )
        rows, state = self.fresh("r"), self.fresh("r")
        self.emit(scope, f"{rows} = []")
        self.emit(
            scope, f"for i{arg.axis} in range({self.value(extent, scope, {})}):"
        )
        local: dict[UOp, str] = {}
        parts = [self.value(v, inner, local) for v in values]
        self.emit(inner, f"{rows}.append(({', '.join(parts)},))")
        scope.body += inner.lines()
        self.emit(
            scope, f"{state} = fold({rows}, {self.combine(combines, n, scope)})"
        )
        for k, target in enumerate(targets):
            offset = self.value(target.src[1], scope, {})
            wide = bool(scope.lanes) and any(
                self.varies(s, scope) for s in (target.src[1], *values)
            )
            self.write(target.src[0], offset, f"{state}[{k}]", "True", scope, wide)

    def combine(self, combines: tuple[UOp, ...], n: int, scope: Scope) -> str:
        """A function of two states, written at its place so that it sees sizes and outer counters."""
        name = self.fresh("f")
        inner = Scope(scope, scope.depth + 1, scope.axes, scope.lanes, scope.mask)
        self.emit(
            scope, f"def {name}({', '.join(f'st{k}' for k in range(2 * n))}):"
        )
        local: dict[UOp, str] = {}
        parts = [self.value(c, inner, local) for c in combines]
        self.emit(inner, f"return ({', '.join(parts)},)")
        scope.body += inner.lines()
        return name

    def memory(self, buffer: UOp) -> str:
        if buffer not in self.buffers:
            raise SpecError(
                f"{buffer.op.name} is used as memory before its place in the tree, or is no argument"
            )
        return self.buffers[buffer]

    # --- expressions ----------------------------------------------------------------------------------------------

    def value(self, root: UOp, scope: Scope, local: dict[UOp, str]) -> str:
        """The name of a value; `local` holds what this statement has computed already."""
        todo = root.toposort(
            lambda u: (
                u not in local and u.op not in (Ops.AXIS, Ops.STAGE, Ops.PARAM)
            )
        )
        for node in todo:
            if node not in local and node.op not in (Ops.STAGE, Ops.PARAM):
                local[node] = self.compute(node, scope, local)
        return local[root]

    def compute(self, node: UOp, scope: Scope, local: dict[UOp, str]) -> str:
        if node.op is Ops.CONST:
            return self.literal(node)
        if node.op is Ops.AXIS:
            return self.counter(node, scope)
        if node.op is Ops.DEFINE_VAR:
            return self.variable(node)
        if node.op is Ops.STATE:
            return f"st{cast(StateArg, node.arg).slot}"
        if node.op is Ops.LOAD:
            return self.bind(scope.body, scope, self.load(node, scope, local))
        if self.facts(node).impure:
            return self.bind(scope.body, scope, self.formula(node, local))
        return self.hoisted(node, scope, local)

    def literal(self, node: UOp) -> str:
        value = node.value
        if node.dtype is dt.index:
            return f"({value})" if value < 0 else str(value)
        return self.constant(_exact_constant(node))

    def counter(self, node: UOp, scope: Scope) -> str:
        axis = cast(AxisArg, node.arg).id
        if axis not in scope.axes:
            raise SpecError(f"i{axis} is used outside the loop that counts it")
        return f"i{axis}"

    def hoisted(self, node: UOp, scope: Scope, local: dict[UOp, str]) -> str:
        """Computed at the head of the outermost loop that knows all its counters."""
        axes = self.facts(node).axes
        place = scope
        while place.outer is not None and axes <= set(place.outer.axes):
            place = place.outer
        if node not in place.known:
            place.known[node] = self.bind(
                place.first, place, self.formula(node, local)
            )
        return place.known[node]

    def bind(self, lines: list[Line], scope: Scope, formula: str) -> str:
        name = self.fresh("t")
        lines.append(Line(scope.depth, f"{name} = {formula}", scope.axes))
        return name

    def formula(self, node: UOp, names: dict[UOp, str]) -> str:
        parts = [names[s] for s in node.src]
        plain = node.src[0].dtype not in (dt.bfloat16, dt.boolean)
        if node.op in _INFIX and plain:
            return f"{parts[0]} {_INFIX[node.op]} {parts[1]}"
        function = meaning.function(node.op, node.dtype, node.src[0].dtype)
        return f"{self.constant(function)}({', '.join(parts)})"

    def load(self, node: UOp, scope: Scope, local: dict[UOp, str]) -> str:
        buffer, offset, *masked = node.src
        name = self.memory(buffer)
        mask, other = [local[m] for m in masked] or ["True", ""]
        wide = any(self.varies(s, scope) for s in (offset, *masked[:1]))
        if not wide and scope.mask == "True":
            plain = f"{name}.load({local[offset]})"
            return plain if not masked else f"{plain} if {mask} else {other}"
        plain = (
            f"{name}.gather(np.asarray({local[offset]}), {_both(scope.mask, mask)})"
        )
        return plain if not masked else f"np.where({mask}, {plain}, {other})"

    def varies(self, node: UOp, scope: Scope) -> bool:
        """The value differs between lanes, or lanes that are off have none."""
        if not scope.lanes:
            return False
        facts = self.facts(node)
        return bool(facts.axes & set(scope.lanes)) or (
            scope.mask != "True" and facts.impure
        )

    def facts(self, root: UOp) -> Facts:
        """What a node depends on, remembered: expressions share most of their nodes."""
        if root not in self.known_facts:
            for node in root.toposort(lambda u: u not in self.known_facts):
                if node not in self.known_facts:
                    self.known_facts[node] = _facts(
                        node, [self.known_facts[s] for s in node.src]
                    )
        return self.known_facts[root]

    def constant(self, value: object) -> str:
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name


def _both(a: str, b: str) -> str:
    """Two masks; True is always on."""
    if a == "True" or b == "True":
        return a if b == "True" else b
    return f"np.logical_and({a}, {b})"


def _at(value: Any, lane: tuple[int, ...] | None) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    if lane is None:
        return "any lane"
    own = tuple(
        k if n > 1 else 0
        for k, n in zip(lane[len(lane) - value.ndim :], value.shape, strict=True)
    )
    return int(value[own])


def _facts(node: UOp, parts: list[Facts]) -> Facts:
    own = {cast(AxisArg, node.arg).id} if node.op is Ops.AXIS else set()
    axes = frozenset(own.union(*(p.axes for p in parts)))
    return Facts(
        axes, node.op in (Ops.LOAD, Ops.STATE) or any(p.impure for p in parts)
    )


def _exact_constant(node: UOp) -> Any:
    """A constant with all its bits, those of a nan too."""
    stored = np.array(
        cast(ConstArg, node.arg).bits, f"u{node.dtype.itemsize}"
    ).view(dt.to_numpy(node.dtype))[()]
    return meaning.load(node.dtype, stored)


_STATEMENTS: dict[Ops, Callable[[TreeProgram, UOp, Scope], None]] = {
    Ops.LOOP: TreeProgram.loop,
    Ops.WHEN: TreeProgram.when,
    Ops.STAGE: TreeProgram.stage,
    Ops.STORE: TreeProgram.store,
    Ops.FOLD: TreeProgram.fold,
}
