"""The walk over a kernel tree that all CPU renderers share. In: a KERNEL and a writer. Out: the function's lines.

LOOP                 a loop; registers stored inside are carried through it
LOOP unroll          written out: the axis is a number in each copy
LOOP vector          one value of many lanes for every expression that depends on the axis
LOOP chunk           the axis is the chunk argument
WHEN                 a condition; registers stored inside are merged after it
FOLD                 halves of a vector combined until one lane is left
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from ingot.errors import CompileError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    CASTS,
    UNCACHED,
    AxisArg,
    ConstArg,
    FoldArg,
    KernelArg,
    LoopArg,
    LoopKind,
    Ops,
    StateArg,
    VarArg,
)
from ingot.render import lower
from ingot.render.analysis import Analysis, is_register, whole
from ingot.render.code import Code
from ingot.render.memory import Here, Memory
from ingot.render.tile import Tiles
from ingot.render.value import Carried, Frame, FrameKind, Value, Writer

Values = dict[UOp, Value]
INSTRUCTIONS = frozenset(
    {
        *(Ops.NEG, Ops.RECIP, Ops.SQRT, Ops.FLOOR, Ops.TRUNC, Ops.ROUND, Ops.NOT),
        *(
            Ops.ADD,
            Ops.SUB,
            Ops.MUL,
            Ops.FDIV,
            Ops.AND,
            Ops.OR,
            Ops.XOR,
            Ops.SHL,
            Ops.SHR,
        ),
        *(Ops.CMPEQ, Ops.CMPNE, Ops.WHERE, Ops.MULACC),
    }
)


class Walker:
    """One kernel on its way to text."""

    def __init__(self, kernel: UOp, writer: Writer) -> None:
        self.kernel = kernel
        self.writer = writer
        self.code = Code(writer)
        self.analysis = Analysis(kernel)
        self.here = Here({}, 1)
        self.tiles = Tiles(self.code, self.analysis, kernel)
        self.memory = Memory(
            self.code, self.analysis, self.tiles, self.value, self.here
        )
        self.counters: dict[int, Value] = {}
        sizes = cast(KernelArg, kernel.arg).sizes
        self.positions = {
            cast(VarArg, size.arg).name: i for i, size in enumerate(sizes)
        }

    def walk(self) -> list[str]:
        """The lines of the function's body."""
        self.statements(self.kernel.src)
        return self.code.frames[0].lines

    # --- statements ---

    def statements(self, nodes: tuple[UOp, ...]) -> None:
        for node in nodes:
            method = _STATEMENTS.get(node.op)
            if method is None:
                raise CompileError(
                    f"{node.op.name} is not a statement of a CPU kernel"
                )
            method(self, node)

    def stage(self, node: UOp) -> None:
        self.memory.declare(node)

    def store(self, node: UOp) -> None:
        value = self.value(node.src[2])
        mask = self.value(node.src[3]) if len(node.src) > 3 else None
        past = node.tag == UNCACHED
        self.memory.store(node.src[0], node.src[1], value, mask, past)

    def loop(self, node: UOp) -> None:
        kind = cast(LoopArg, node.arg).kind
        if kind is LoopKind.VECTOR:
            self.vector(node)
        elif kind is LoopKind.UNROLL:
            self.unroll(node)
        elif kind is LoopKind.LOOP:
            self.count(node)
        elif kind is LoopKind.CHUNK:
            self.chunk(node)
        else:
            raise CompileError(
                f"a {kind.value} loop is a thing of GPUs: this renderer writes CPU code"
            )

    def unroll(self, node: UOp) -> None:
        axis = cast(LoopArg, node.arg).axis
        for number in range(whole(node.src[0])):
            self.here.unrolled[axis] = number
            self.counters[axis] = self.code.number(number)
            self.statements(node.src[1:])
        self.here.unrolled.pop(axis, None)

    def vector(self, node: UOp) -> None:
        if self.here.lanes > 1:
            raise CompileError("a vector loop inside a vector loop")
        self._set_lanes(cast(LoopArg, node.arg).axis, whole(node.src[0]))
        self.statements(node.src[1:])
        self.here.lanes = 1

    def _set_lanes(self, axis: int, lanes: int) -> None:
        self.here.lanes = lanes
        self.counters[axis] = self.code.lane_numbers(dt.index, lanes)

    def chunk(self, node: UOp) -> None:
        self.counters[cast(LoopArg, node.arg).axis] = Value(
            self.writer.chunk(), dt.index, 1, 0
        )
        self.statements(node.src[1:])

    def count(self, node: UOp) -> None:
        """A loop at run time."""
        extent = self.value(node.src[0])
        if node.src[0].op is Ops.CONST and int(node.src[0].value) <= 1:
            self._at_most_once(node)
            return
        guard = None
        stored = self.analysis.stored_in(node)
        if not node.src[0].vmin >= 1:
            guard = self.writer.new_frame(FrameKind.GUARD)
            self.code.open(guard)
        body = self.writer.new_frame(FrameKind.BODY, stored)
        self.code.open(body)
        counter = Value(self.writer.name(dt.index, 1), dt.index, 1, self.code.top)
        carried = self._carry(node)
        self._forget_stored(node)
        self.counters[cast(LoopArg, node.arg).axis] = counter
        self.statements(node.src[1:])
        self._end_loop(guard, body, counter, extent, carried)
        self._forget_stored(node)

    def _at_most_once(self, node: UOp) -> None:
        """A loop of constant extent 0 or 1 is no loop. Loads inside are not remembered by their nodes outside of it."""
        if not int(node.src[0].value):
            return
        self.counters[cast(LoopArg, node.arg).axis] = self.code.number(0)
        self.statements(node.src[1:])
        self.code.forget_nodes()

    def _carry(self, node: UOp) -> list[Carried]:
        """Registers that change in a loop get a name for what they hold at its start."""
        carried = []
        for slot, stage in self.tiles.changed_by(node, self.here.unrolled).items():
            before = self.tiles.at(slot, stage)
            name = self.writer.name(before.dtype, before.lanes)
            inside = Value(name, before.dtype, before.lanes, self.code.top)
            self.tiles.held[slot] = inside
            carried.append(Carried(slot, before, inside))
        return carried

    def _end_loop(
        self,
        guard: Frame | None,
        body: Frame,
        counter: Value,
        extent: Value,
        carried: list[Carried],
    ) -> None:
        after = [(c, self.tiles.held[c.slot]) for c in carried]
        self.code.close()
        if guard is not None:
            self.code.close()
        parent = self.code.frames[-1]
        texts = self.writer.close_loop(parent, guard, body, counter, extent, after)
        self._put_back(carried, texts)

    def _put_back(self, carried: list[Carried], texts: list[str]) -> None:
        for c, text in zip(carried, texts, strict=True):
            self.tiles.held[c.slot] = Value(
                text, c.before.dtype, c.before.lanes, self.code.top
            )

    def _forget_stored(self, node: UOp) -> None:
        for key in self.analysis.stored_in(node):
            self.memory.changed(key)

    def when(self, node: UOp) -> None:
        condition = self.value(node.src[0])
        if condition.bits is not None:
            self.statements(node.src[1:] if condition.bits else ())
            return
        slots = self.tiles.changed_by(node, self.here.unrolled)
        carried = [
            Carried(slot, self.tiles.at(slot, stage), self.tiles.at(slot, stage))
            for slot, stage in slots.items()
        ]
        body = self.writer.new_frame(FrameKind.THEN)
        self.code.open(body)
        self.statements(node.src[1:])
        after = [(c, self.tiles.at(c.slot, slots[c.slot])) for c in carried]
        self.code.close()
        texts = self.writer.close_when(self.code.frames[-1], body, condition, after)
        self._put_back(carried, texts)
        self._forget_stored(node)

    def fold(self, node: UOp) -> None:
        arg = cast(FoldArg, node.arg)
        if arg.kind is not LoopKind.VECTOR:
            raise CompileError(
                f"a fold over {arg.kind.value}s is a thing of GPUs: this renderer writes CPU code"
            )
        n, lanes = arg.n, whole(node.src[0])
        targets, values, combines = (
            node.src[1 : 1 + n],
            node.src[1 + n : 1 + 2 * n],
            node.src[1 + 2 * n :],
        )
        self._set_lanes(arg.axis, lanes)
        states = [self.code.widen(self.value(v), lanes) for v in values]
        self.here.lanes = 1
        for target, state in zip(
            targets, self._halve(states, combines, lanes), strict=True
        ):
            self.memory.store(target.src[0], target.src[1], state, None)

    def _halve(
        self, states: list[Value], combines: tuple[UOp, ...], lanes: int
    ) -> list[Value]:
        """Lower half with upper half until one lane is left; an odd lane joins at the end."""
        code = self.code
        if lanes == 1:
            return states
        half = lanes // 2
        if half == 1:
            low, high = (
                [code.extract(s, 0) for s in states],
                [code.extract(s, 1) for s in states],
            )
        else:
            low = [code.shuffle(s, s, range(half)) for s in states]
            high = [code.shuffle(s, s, range(half, 2 * half)) for s in states]
        done = self._halve(self._combined(combines, low + high), combines, half)
        if lanes % 2:
            done = self._combined(
                combines, done + [code.extract(s, lanes - 1) for s in states]
            )
        return done

    def _combined(
        self, combines: tuple[UOp, ...], states: list[Value]
    ) -> list[Value]:
        return [self.value(c, states) for c in combines]

    # --- expressions ---

    def value(self, root: UOp, states: list[Value] | None = None) -> Value:
        """The value of an expression here."""
        done: Values = {}
        for node in self.analysis.order(root):
            op = node.op
            if op in INSTRUCTIONS:
                done[node] = self.code.apply(
                    op, node.dtype, *[done[s] for s in node.src]
                )
            elif op is Ops.LOAD:
                done[node] = self.memory.load(node)
            elif op is Ops.CONST:
                done[node] = self.code.constant(
                    node.dtype, cast(ConstArg, node.arg).bits
                )
            elif op is Ops.STATE:
                done[node] = cast(list[Value], states)[
                    cast(StateArg, node.arg).slot
                ]
            elif op is Ops.AXIS:
                done[node] = self._counter(node)
            elif op is Ops.CMPLT and self.analysis.is_lane_mask(node):
                done[node] = self._lane_mask(node)
            else:
                done[node] = self._operation(node, [done[s] for s in node.src])
        return done[root]

    def _counter(self, node: UOp) -> Value:
        found = self.counters.get(cast(AxisArg, node.arg).id)
        if found is None:
            raise CompileError(f"{node!r} is used outside its loop")
        return found

    def _operation(self, node: UOp, args: list[Value]) -> Value:
        op = node.op
        if op is Ops.CMPLT:
            return self.code.apply(op, node.dtype, *args)
        if op in CASTS:
            return self.code.convert(op, node.dtype, args[0])
        if op is Ops.MAX or op is Ops.MIN:
            return lower.extreme(
                self.code, node, args[0], args[1], _is_running(node.src[0])
            )
        if op is Ops.IDIV:
            return lower.quotient(self.code, node, args[0], args[1])
        if op is Ops.MOD:
            return lower.remainder(self.code, node, args[0], args[1])
        if op is Ops.DEFINE_VAR:
            return self._argument(node)
        raise CompileError(
            f"no instruction for {op.name}: decompose the kernel before it is rendered"
        )

    def _argument(self, node: UOp) -> Value:
        name = cast(VarArg, node.arg).name
        key = ("argument", name)
        found = self.code.known.get(key)
        if found is not None:
            return found
        if name not in self.positions:
            raise CompileError(f"{node!r} is not among the kernel's sizes")
        text = self.code.write_at(0).argument(self.positions[name], node.dtype)
        return self.code.learn(key, Value(text, node.dtype, 1, 0), 0)

    def _lane_mask(self, node: UOp) -> Value:
        """a + lane < b as lane < b - a: the rest is scalar."""
        placed = self.analysis.offset(node.src[0] - node.src[1]).at(
            self.here.unrolled
        )
        if placed.vectors or placed.stride not in (1, -1):
            return self.code.compare(
                Ops.CMPLT, self.value(node.src[0]), self.value(node.src[1])
            )
        sign = -placed.stride
        total = self.code.number(sign * placed.constant)
        for factor, atoms in placed.scalars:
            total = self.code.add(self.memory.product(sign * factor, atoms), total)
        if placed.stride == 1:
            return lower.lanes_below(self.code, total, self.here.lanes)
        return lower.lanes_above(self.code, total, self.here.lanes)


def _is_running(node: UOp) -> bool:
    """A register: likely the running value of a reduction."""
    return node.op is Ops.LOAD and is_register(node.src[0])


_STATEMENTS: dict[Ops, Callable[[Walker, UOp], None]] = {
    Ops.STAGE: Walker.stage,
    Ops.STORE: Walker.store,
    Ops.LOOP: Walker.loop,
    Ops.WHEN: Walker.when,
    Ops.FOLD: Walker.fold,
}
