"""Kernel trees as CUDA C. In: a KERNEL whose loops are bound to blocks, warps and lanes. Out: one __global__ function.

    LOOP block           blockIdx, the innermost in x           LOOP warp, lane    threadIdx.x = warp * 32 + lane
    LOOP unroll          `#pragma unroll`                       LOOP vector        written out, memory in one access
    STAGE shared         __shared__                             STAGE register     a local array with constant indices
    FOLD lane            xor shuffles                           FOLD warp          through shared memory
    BARRIER              __syncthreads()                        masks              `if`, or `?:` on a load

A vector access is one load or store where its offset is the lane plus a multiple of the width; buffers begin at
multiples of 16 bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from ingot.errors import CompileError
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    KernelArg,
    LoopArg,
    LoopKind,
    Ops,
    ParamArg,
    Scope,
    StageArg,
    VarArg,
)
from ingot.render.cuda_facts import Facts, Geometry, ranged, whole
from ingot.render.cuda_fold import Folds
from ingot.render.cuda_text import PRELUDE, TYPES
from ingot.render.cuda_value import Frame, Values, Vector, identifier

__all__ = ["Geometry", "geometry", "render_cuda"]

LINE = "    "
HALF_FULL = 512  # up to so many threads, two blocks share a multiprocessor: one computes while the other waits


def render_cuda(kernel: UOp) -> str:
    """The CUDA C of one decomposed kernel, to be compiled with contraction off."""
    return "\n".join([PRELUDE, *_Writer(ranged(kernel)).function(), ""])


def geometry(kernel: UOp) -> Geometry:
    """The grid, as expressions over the kernel's sizes, and the threads of a block."""
    return Facts(ranged(kernel)).geometry


class _Writer:
    def __init__(self, kernel: UOp) -> None:
        self.kernel = kernel
        self.facts = Facts(kernel)
        self.values = Values(self.facts)
        self.folds = Folds(self.values)
        self.rolled = 0  # loops at run time around the statement

    # --- the function ---

    def function(self) -> list[str]:
        arg = cast(KernelArg, self.kernel.arg)
        parameters = [self._parameter(p) for p in arg.params] + [
            self._size(s) for s in arg.sizes
        ]
        self.statements(self.kernel.src)
        threads = self.facts.geometry.threads
        bounds = f"__launch_bounds__({threads}, {2 if threads <= HALF_FULL else 1})"
        head = f'extern "C" __global__ void {bounds} {identifier(arg.name)}({", ".join(parameters)}) {{'
        return [head, *(LINE + line for line in self.values.frames[0].lines), "}"]

    def _parameter(self, param: UOp) -> str:
        arg = cast(ParamArg, param.arg)
        name = self.values.buffers[param] = self.values.name(f"p{arg.slot}")
        const = "" if arg.writable else "const "
        return f"{const}{TYPES[param.dtype]}* __restrict__ {name}"

    def _size(self, size: UOp) -> str:
        name = self.values.name(cast(VarArg, size.arg).name)
        self.values.frames[0].names[size, None] = name
        return f"const {TYPES[size.dtype]} {name}"

    # --- statements ---

    def statements(self, nodes: tuple[UOp, ...]) -> None:
        for node in nodes:
            write = _STATEMENTS.get(node.op)
            if write is None:
                raise CompileError(f"{node.op.name} is not a statement of a kernel")
            write(self, node)

    def loop(self, node: UOp) -> None:
        arg = cast(LoopArg, node.arg)
        write = _LOOPS.get(arg.kind)
        if write is None:
            raise CompileError(
                f"a {arg.kind.value} loop is a thing of CPUs: bind it to blocks, warps or lanes"
            )
        write(self, node, arg)

    def bound(self, node: UOp, arg: LoopArg) -> None:
        """A loop that the hardware runs."""
        counters = self.values.counters
        if arg.axis not in counters:
            counters[arg.axis] = self.values.name(arg.name or arg.kind.value)
            self.values.line(
                f"const int {counters[arg.axis]} = {self.facts.sources[arg.axis]};"
            )
        self.values.frames[-1].axes |= {arg.axis}
        self.statements(node.src[1:])

    def count(self, node: UOp, arg: LoopArg) -> None:
        """A loop that each thread runs; an unrolled one leaves nothing of itself."""
        extent = node.src[0]
        self.values.begin(extent)
        end = self.values.named(extent)
        self.values.end()
        name = self.values.counters[arg.axis] = self.values.name(arg.name or "i")
        rolled = arg.kind is LoopKind.LOOP
        self.rolled += rolled
        lines = self._inside(node.src[1:], frozenset({arg.axis}))
        self.rolled -= rolled
        if not rolled:
            self.values.line("#pragma unroll")
        self._block(
            f"for ({self.values.type_of(extent)} {name} = 0; {name} < {end}; ++{name}) {{",
            lines,
        )

    def _inside(self, nodes: tuple[UOp, ...], axes: frozenset[int]) -> list[str]:
        frames = self.values.frames
        frames.append(Frame(frames[-1].axes | axes))
        self.statements(nodes)
        return frames.pop().lines

    def _block(self, head: str, lines: list[str]) -> None:
        self.values.line(head)
        self.values.frames[-1].lines.extend(LINE + line for line in lines)
        self.values.line("}")

    def vectors(self, node: UOp, arg: LoopArg) -> None:
        if self.values.vector is not None:
            raise CompileError("a vector loop inside a vector loop")
        self.values.vector = Vector(arg.axis, whole(node.src[0]))
        self.statements(node.src[1:])
        self.values.vector = None

    def when(self, node: UOp) -> None:
        self.values.begin(node.src[0])
        condition = self.values.bare(node.src[0])
        self.values.end()
        self._block(f"if ({condition}) {{", self._inside(node.src[1:], frozenset()))

    def barrier(self, node: UOp) -> None:
        self.values.line("__syncthreads();")

    def fold(self, node: UOp) -> None:
        self.folds.fold(node, again=self.rolled > 0)

    def stage(self, node: UOp) -> None:
        arg = cast(StageArg, node.arg)
        if arg.scope is Scope.PACKED:
            raise CompileError(
                f"{arg.name} is packed scratch, a thing of CPUs: stage it in shared memory or registers"
            )
        is_shared = arg.scope is Scope.SHARED
        if is_shared and node in self.values.buffers:
            return
        name = self.values.buffers[node] = self.values.name(arg.name or "tile")
        array = f"{TYPES[node.dtype]} {name}[{whole(node.src[0])}];"
        if is_shared:
            self.values.first_line(f"__shared__ __align__(16) {array}")
        else:
            self.values.line(array)

    # --- stores ---

    def store(self, node: UOp) -> None:
        self.values.begin(*node.src[1:])
        vector = self.values.vector
        if vector is None:
            self._store_one(node)
        elif self.values.is_pack(node):
            self._store_pack(node, vector)
        else:
            self._store_each(node, vector)
        self.values.end()

    def _store_one(self, node: UOp) -> None:
        buffer, offset, value = node.src[:3]
        text = self.values.bare(value)
        place = f"{self.values.buffer(buffer)}[{self.values.bare(offset)}]"
        self.values.line(f"{self._condition(node)}{place} = {text};")

    def _condition(self, node: UOp) -> str:
        return f"if ({self.values.bare(node.src[3])}) " if len(node.src) > 3 else ""

    def _store_each(self, node: UOp, vector: Vector) -> None:
        """One by one. What reads the buffer that it writes is computed for all elements before the first is stored."""
        if any(
            u.op is Ops.LOAD and u.src[0] is node.src[0]
            for u in node.src[2].toposort()
        ):
            for lane in range(vector.width):
                vector.lane = lane
                self.values.named(node.src[2])
        for lane in range(vector.width):
            vector.lane = lane
            self._store_one(node)

    def _store_pack(self, node: UOp, vector: Vector) -> None:
        """All elements in one access."""
        buffer, offset, value = node.src[:3]
        parts: list[str] = []
        for lane in range(vector.width):
            vector.lane = lane
            parts.append(self.values.bare(value))
        vector.lane = 0
        condition = self._condition(node)
        place = f"{self.values.buffer(buffer)} + {self.values.value(offset)}"
        made = self.values.name("v")
        self.values.line(
            f"const pack<{TYPES[buffer.dtype]}, {vector.width}> {made} = {{{{{', '.join(parts)}}}}};"
        )
        put = "put_global" if buffer.op is Ops.PARAM else "put"
        self.values.line(f"{condition}{put}<{vector.width}>({place}, {made});")


_STATEMENTS: dict[Ops, Callable[[_Writer, UOp], None]] = {
    Ops.STAGE: _Writer.stage,
    Ops.STORE: _Writer.store,
    Ops.LOOP: _Writer.loop,
    Ops.WHEN: _Writer.when,
    Ops.FOLD: _Writer.fold,
    Ops.BARRIER: _Writer.barrier,
}
_LOOPS: dict[LoopKind, Callable[[_Writer, UOp, LoopArg], None]] = {
    LoopKind.LOOP: _Writer.count,
    LoopKind.UNROLL: _Writer.count,
    LoopKind.VECTOR: _Writer.vectors,
    LoopKind.BLOCK: _Writer.bound,
    LoopKind.WARP: _Writer.bound,
    LoopKind.LANE: _Writer.bound,
}
