"""What a GPU kernel means: the threads of a block as one NumPy axis. In: a KERNEL, buffers, sizes. Out: the buffers.

Blocks run one after the other, statements in order, each for all threads at once; barriers count the steps. What a GPU
would leave to chance is a fault that names the buffer, the cell, the threads and the loop counters: two threads that
meet in a cell without a barrier, an access outside a buffer, a read of memory that nothing wrote, a barrier or a fold
that not all threads reach.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from ingot.errors import ArgumentError, KernelFault, SpecError
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
    ParamArg,
    Scope,
    StageArg,
    StateArg,
    VarArg,
)
from ingot.ir.simt_memory import Array, Clock, Memory, Watch, staged

__all__ = ["run_simt"]

LANES = 32


def run_simt(
    kernel: UOp,
    buffers: Sequence[Array],
    sizes: Mapping[str, int | float] | None = None,
) -> None:
    """Run every block of one launch. `buffers` are in slot order and written in place; `sizes` go by name."""
    machine = _Machine(kernel, buffers, sizes or {})
    with np.errstate(all="ignore"):
        machine.statements(kernel.src, np.ones(machine.threads, bool))


class _Machine:
    def __init__(
        self,
        kernel: UOp,
        buffers: Sequence[Array],
        sizes: Mapping[str, int | float],
    ) -> None:
        self.arg = cast(KernelArg, kernel.arg)
        self.clock = Clock()
        self.warps, lanes = _threads(kernel)
        self.threads = self.warps * lanes
        self.every = np.arange(self.threads)
        self.axes: dict[int, Any] = {}
        self.orders: dict[UOp, list[UOp]] = {}
        self.names: dict[int, str] = {}
        self.bound: dict[LoopKind, int] = {}
        self.memory: dict[UOp, Memory] = {
            p: self._argument(p, b) for p, b in self._paired(buffers)
        }
        self.sizes = {s: self._size(s, sizes) for s in self.arg.sizes}

    def _paired(self, buffers: Sequence[Array]) -> list[tuple[UOp, Array]]:
        if len(buffers) != len(self.arg.params):
            raise ArgumentError(
                f"{self.arg.name}: buffers",
                given=len(buffers),
                wanted=len(self.arg.params),
            )
        return list(zip(self.arg.params, buffers, strict=True))

    def _argument(self, param: UOp, buffer: Array) -> Memory:
        name = f"p{cast(ParamArg, param.arg).slot}"
        if (
            buffer.dtype != dt.to_numpy(param.dtype)
            or not buffer.flags.c_contiguous
        ):
            raise ArgumentError(
                f"{name}: wanted {dt.to_numpy(param.dtype)} in C order",
                given=buffer.dtype,
            )
        flat = buffer.reshape(-1)
        return Memory(
            name, param.dtype, flat, True, Watch(len(flat), self.clock, local=False)
        )

    def _size(self, size: UOp, sizes: Mapping[str, int | float]) -> Any:
        name = cast(VarArg, size.arg).name
        if name not in sizes:
            raise ArgumentError(
                f"run_simt: no value for {name}",
                given=sorted(sizes),
                wanted=f"a number for {name!r}",
            )
        return meaning.constant(size.dtype, sizes[name])

    def fault(self, message: str, thread: int) -> KernelFault:
        """A fault with the counters that this thread had."""
        at = ", ".join(
            f"{self.names[a]} = {_of(v, thread)}" for a, v in self.axes.items()
        )
        return KernelFault(message).add_context(
            f"in {self.arg.name}, at {at}" if at else f"in {self.arg.name}"
        )

    # --- statements ---

    def statements(self, nodes: tuple[UOp, ...], active: Array) -> None:
        for node in nodes:
            run = _STATEMENTS.get(node.op)
            if run is None:
                raise SpecError(
                    f"{node.op.name} is not a statement of a kernel tree"
                )
            run(self, node, active)

    def loop(self, node: UOp, active: Array) -> None:
        arg = cast(LoopArg, node.arg)
        self.names[arg.axis] = arg.name or f"i{arg.axis}"
        if arg.kind in (LoopKind.WARP, LoopKind.LANE):
            self.bound[arg.kind] = arg.axis
            of_thread = (
                self.every // LANES
                if arg.kind is LoopKind.WARP
                else self.every % LANES
            )
            self.axes[arg.axis] = of_thread
            self.statements(node.src[1:], active)
        else:
            self._count(node, arg, active)
        self.axes.pop(arg.axis, None)

    def _count(self, node: UOp, arg: LoopArg, active: Array) -> None:
        extent = np.broadcast_to(self.value(node.src[0], active), self.threads)
        alike = bool((extent == extent[0]).all())
        for number in range(int(extent[active].max(initial=0))):
            if arg.kind is LoopKind.BLOCK:
                self.clock.next_block()
            self.axes[arg.axis] = number
            self.statements(
                node.src[1:], active if alike else active & (number < extent)
            )

    def when(self, node: UOp, active: Array) -> None:
        inside = active & np.asarray(self.value(node.src[0], active), bool)
        if inside.any():
            self.statements(node.src[1:], inside)

    def stage(self, node: UOp, active: Array) -> None:
        arg = cast(StageArg, node.arg)
        if node in self.memory:
            self.memory[node].forget()
            return
        threads = None if arg.scope is Scope.SHARED else self.threads
        size = int(np.max(self.value(node.src[0], active)))
        self.memory[node] = staged(
            arg.name or f"s{arg.id}", node.dtype, size, threads, self.clock
        )

    def store(self, node: UOp, active: Array) -> None:
        buffer, offset, value, *mask = node.src
        known: dict[UOp, Any] = {}
        if mask:
            active = active & np.asarray(self.value(mask[0], active, known), bool)
        self._write(
            buffer,
            self.value(offset, active, known),
            self.value(value, active, known),
            active,
        )

    def _write(self, buffer: UOp, offset: Any, value: Any, active: Array) -> None:
        if active.any():
            cells = np.broadcast_to(offset, self.threads)[active]
            values = np.broadcast_to(value, self.threads)[active]
            self._memory(buffer).store(
                cells, values, self.every[active], self.fault
            )

    def _memory(self, buffer: UOp) -> Memory:
        if buffer not in self.memory:
            raise SpecError(
                f"{buffer.op.name} is used as memory before its place in the tree, or is no argument"
            )
        return self.memory[buffer]

    def barrier(self, node: UOp, active: Array) -> None:
        self._together("barrier", active)
        self.clock.barrier()

    def _together(self, what: str, active: Array) -> None:
        if not active.all():
            first = int(np.flatnonzero(~active)[0])
            raise self.fault(
                f"divergent {what}: thread {first} and {int((~active).sum()) - 1} others do not reach it",
                first,
            )

    # --- folds ---

    def fold(self, node: UOp, active: Array) -> None:
        arg = cast(FoldArg, node.arg)
        n = arg.n
        targets, values, combines = (
            node.src[1 : 1 + n],
            node.src[1 + n : 1 + 2 * n],
            node.src[1 + 2 * n :],
        )
        if arg.kind is LoopKind.VECTOR:
            states = self._fold_vector(
                arg.axis,
                int(self.value(node.src[0], active)),
                values,
                combines,
                active,
            )
        else:
            self._together("fold", active)
            known: dict[UOp, Any] = {}
            states = tuple(
                np.broadcast_to(self.value(v, active, known), self.threads)
                for v in values
            )
            combined = (
                self._fold_lanes if arg.kind is LoopKind.LANE else self._fold_warps
            )
            states = combined(states, combines)
        for target, state in zip(targets, states, strict=True):
            self._write_folded(target, state, active)

    def _combine(
        self,
        combines: tuple[UOp, ...],
        left: tuple[Any, ...],
        right: tuple[Any, ...],
    ) -> tuple[Any, ...]:
        active = np.ones(self.threads, bool)
        known: dict[UOp, Any] = {}
        for node in UOp(Ops.SINK, dt.void, combines).toposort():
            if node.op is Ops.STATE:
                known[node] = (*left, *right)[cast(StateArg, node.arg).slot]
        return tuple(self.value(c, active, known) for c in combines)

    def _fold_lanes(
        self, states: tuple[Any, ...], combines: tuple[UOp, ...]
    ) -> tuple[Any, ...]:
        """Neighbours first, then pairs of pairs; the lower lane is the left operand."""
        for step in (1, 2, 4, 8, 16):
            others = tuple(s[self.every ^ step] for s in states)
            upper = (self.every & step) != 0
            left = tuple(
                np.where(upper, o, s) for s, o in zip(states, others, strict=True)
            )
            right = tuple(
                np.where(upper, s, o) for s, o in zip(states, others, strict=True)
            )
            states = self._combine(combines, left, right)
        return states

    def _fold_warps(
        self, states: tuple[Any, ...], combines: tuple[UOp, ...]
    ) -> tuple[Any, ...]:
        """In order, through memory: a barrier."""
        self.clock.barrier()
        lane = self.every % LANES
        total = tuple(s[lane] for s in states)
        for warp in range(1, self.warps):
            total = self._combine(
                combines, total, tuple(s[warp * LANES + lane] for s in states)
            )
        return total

    def _fold_vector(
        self,
        axis: int,
        extent: int,
        values: tuple[UOp, ...],
        combines: tuple[UOp, ...],
        active: Array,
    ) -> tuple[Any, ...]:
        """Lower half with upper half until one is left."""
        rows = []
        self.names[axis] = f"i{axis}"
        for number in range(extent):
            self.axes[axis] = number
            rows.append(tuple(self.value(v, active) for v in values))
        self.axes.pop(axis, None)
        while len(rows) > 1:
            half = (len(rows) + 1) // 2
            made = [
                self._combine(combines, low, high)
                for low, high in zip(rows, rows[half:], strict=False)
            ]
            rows = made + rows[len(made) : half]
        return rows[0]

    def _write_folded(self, target: UOp, state: Any, active: Array) -> None:
        """All threads have the result; where they share the place, the first of those that do writes it."""
        buffer, offset = target.src[:2]
        if self._memory(buffer).watch is not None:
            used = {
                cast(AxisArg, u.arg).id
                for u in offset.toposort()
                if u.op is Ops.AXIS
            }
            for axis in self.bound.values():
                if axis not in used and axis in self.axes:
                    active = active & (self.axes[axis] == 0)
        self._write(buffer, self.value(offset, active), state, active)

    # --- expressions ---

    def value(
        self, root: UOp, active: Array, known: dict[UOp, Any] | None = None
    ) -> Any:
        """A value for every thread, or one for all."""
        done = {} if known is None else known
        for node in self._order(root):
            if node not in done:
                done[node] = self._compute(node, active, done)
        return done[root]

    def _order(self, root: UOp) -> list[UOp]:
        """The nodes of an expression, sources first, without the buffers that it reads."""
        if root not in self.orders:
            nodes = root.toposort(
                lambda u: u.op not in (Ops.AXIS, Ops.STAGE, Ops.PARAM)
            )
            self.orders[root] = [
                u for u in nodes if u.op not in (Ops.STAGE, Ops.PARAM)
            ]
        return self.orders[root]

    def _compute(self, node: UOp, active: Array, done: dict[UOp, Any]) -> Any:
        if node.op is Ops.CONST:
            return _constant(node)
        if node.op is Ops.AXIS:
            return self._counter(node)
        if node.op is Ops.DEFINE_VAR:
            return self.sizes[node]
        if node.op is Ops.LOAD:
            return self._load(node, active, done)
        function = meaning.function(node.op, node.dtype, node.src[0].dtype)
        return function(*(done[s] for s in node.src))

    def _counter(self, node: UOp) -> Any:
        axis = cast(AxisArg, node.arg).id
        if axis not in self.axes:
            raise SpecError(f"i{axis} is used outside the loop that counts it")
        return self.axes[axis]

    def _load(self, node: UOp, active: Array, done: dict[UOp, Any]) -> Any:
        buffer, offset, *masked = node.src
        if masked:
            active = active & np.asarray(done[masked[0]], bool)
        result = np.zeros(self.threads, meaning.held(node.dtype))
        if masked:
            result[...] = done[masked[1]]
        if active.any():
            cells = np.broadcast_to(done[offset], self.threads)[active]
            result[active] = self._memory(buffer).load(
                cells, self.every[active], self.fault
            )
        return result


def _threads(kernel: UOp) -> tuple[int, int]:
    """(warps, lanes) of a block."""
    found = {LoopKind.WARP: 1, LoopKind.LANE: 1}
    for node in kernel.toposort():
        arg = node.arg
        if isinstance(arg, LoopArg) and arg.kind in found:
            found[arg.kind] = int(node.src[0].value)
    if found[LoopKind.LANE] not in (1, LANES):
        raise SpecError(
            f"a lane loop of {found[LoopKind.LANE]}: a warp has {LANES} lanes"
        )
    return found[LoopKind.WARP], found[LoopKind.LANE]


def _constant(node: UOp) -> Any:
    """A constant with all its bits, those of a nan too."""
    if node.dtype is dt.index:
        return int(node.value)
    bits = np.array(cast(ConstArg, node.arg).bits, f"u{node.dtype.itemsize}")
    return meaning.load(node.dtype, bits.view(dt.to_numpy(node.dtype))[()])


def _of(value: Any, thread: int) -> int:
    return int(value[thread]) if isinstance(value, np.ndarray) else int(value)


_STATEMENTS: dict[Ops, Callable[[_Machine, UOp, Array], None]] = {
    Ops.LOOP: _Machine.loop,
    Ops.WHEN: _Machine.when,
    Ops.STAGE: _Machine.stage,
    Ops.STORE: _Machine.store,
    Ops.FOLD: _Machine.fold,
    Ops.BARRIER: _Machine.barrier,
}
