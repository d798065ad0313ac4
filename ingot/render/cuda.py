"""Kernel trees as CUDA C. In: a KERNEL whose loops are bound to blocks, warps and lanes. Out: one __global__ function.

    LOOP block           blockIdx, innermost loop in x             LOOP warp, lane     threadIdx.x = warp * 32 + lane
    LOOP unroll          `#pragma unroll`                          LOOP vector         written out, memory in one access
    STAGE shared         __shared__                                STAGE register      a local array with constant indices
    FOLD lane            xor shuffles, nearest lanes first         FOLD warp           through shared memory, in order
    BARRIER              __syncthreads()                           masks               `if`, or `?:` on a load

A vector access is one load or store where its offset is the lane plus a multiple of the width; buffers are aligned to 16
bytes. Index arithmetic goes to the outermost loop that knows its counters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from ingot.errors import CompileError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    AxisArg,
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
from ingot.ir.polynomial import Monomial, Polynomial, build, polynomial
from ingot.render.cuda_facts import Facts, Geometry, ranged
from ingot.render.cuda_text import PRELUDE, TYPES, constant, operation

INT = range(-(1 << 31), 1 << 31)
LINE = "    "
INLINE = 60  # longer expressions get a name
HALF_FULL = (
    512  # up to so many threads, two blocks share a multiprocessor: one computes while the other waits for memory
)


Names = dict[tuple[UOp, int | None], str]  # a value, and which element of a vector it is


def render_cuda(kernel: UOp) -> str:
    """The CUDA C of one kernel, to be compiled with contraction off."""
    return PRELUDE + "\n" + "\n".join(_Writer(ranged(kernel)).function()) + "\n"


def geometry(kernel: UOp) -> Geometry:
    """The grid, as expressions over the kernel's sizes, and the threads of a block."""
    return Facts(ranged(kernel)).geometry


@dataclass(slots=True)
class Frame:
    """A block of lines that is being written: the counters known in it, and the names of values computed in it."""

    axes: frozenset[int]
    names: Names = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)


class _Writer:
    def __init__(self, kernel: UOp) -> None:
        self.kernel = kernel
        self.facts = Facts(kernel)
        self.frames = [Frame(frozenset())]
        self.counters: dict[int, str] = {}
        self.buffers: dict[UOp, str] = {}
        self.taken: set[str] = set()
        self.lane: int | None = None  # which element of a vector loop is being written
        self.vector: tuple[int, int] | None = None  # its axis and width
        self.loops = 0
        self.packs: dict[UOp, str] = {}
        self.local: Names = {}
        self.uses: Counter[UOp] = Counter()

    # --- the function ---

    def function(self) -> list[str]:
        arg = cast(KernelArg, self.kernel.arg)
        parameters = [self._parameter(p) for p in arg.params] + [self._size(s) for s in arg.sizes]
        self._statements(self.kernel.src)
        threads = self.facts.geometry.threads
        resident = 2 if threads <= HALF_FULL else 1
        head = f'extern "C" __global__ void __launch_bounds__({threads}, {resident}) {identifier(arg.name)}('
        return [head + ", ".join(parameters) + ") {", *(LINE + line for line in self.frames[0].lines), "}"]

    def _parameter(self, param: UOp) -> str:
        arg = cast(ParamArg, param.arg)
        name = self.buffers[param] = self._name(f"p{arg.slot}")
        const = "" if arg.writable else "const "
        return f"{const}{TYPES[param.dtype]}* __restrict__ {name}"

    def _size(self, size: UOp) -> str:
        name = self._name(cast(VarArg, size.arg).name)
        self.frames[0].names[size, None] = name
        return f"const {self.type_of(size)} {name}"

    def _name(self, wanted: str) -> str:
        """A C name that nothing else has."""
        base = identifier(wanted)
        name, number = base, 1
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name

    def _line(self, text: str) -> None:
        self.frames[-1].lines.append(text)

    # --- statements ---

    def _statements(self, nodes: tuple[UOp, ...]) -> None:
        for node in nodes:
            write = _STATEMENTS.get(node.op)
            if write is None:
                raise CompileError(f"{node.op.name} is not a statement of a kernel")
            write(self, node)

    def loop(self, node: UOp) -> None:
        arg = cast(LoopArg, node.arg)
        write = _LOOPS.get(arg.kind)
        if write is None:
            raise CompileError(f"a {arg.kind.value} loop is a thing of CPUs: bind it to blocks, warps or lanes")
        write(self, node, arg)

    def bound(self, node: UOp, arg: LoopArg) -> None:
        """A loop that the hardware runs."""
        source = self.facts.sources[arg.axis]
        if arg.axis not in self.counters:
            self.counters[arg.axis] = self._name(arg.name or arg.kind.value)
            self._line(f"const int {self.counters[arg.axis]} = {source};")
        self.frames[-1].axes |= {arg.axis}
        self._statements(node.src[1:])

    def count(self, node: UOp, arg: LoopArg) -> None:
        """A loop that each thread runs; an unrolled one leaves nothing of itself."""
        kind = self.type_of(node.src[0])
        extent = self._extent(node.src[0])
        name = self.counters[arg.axis] = self._name(arg.name or "i")
        head = f"for ({kind} {name} = 0; {name} < {extent}; ++{name}) {{"
        rolled = arg.kind is LoopKind.LOOP
        self.loops += rolled
        lines = self._inside(node.src[1:], arg.axis)
        self.loops -= rolled
        if not rolled:
            self._line("#pragma unroll")
        self._block(head, lines)

    def _extent(self, extent: UOp) -> str:
        text = self.value(extent)
        if extent.op is Ops.CONST or text.isidentifier():
            return text
        frame = self.frames[-1]
        return self._learn(extent, text, frame.names, frame.lines)

    def _inside(self, nodes: tuple[UOp, ...], axis: int | None) -> list[str]:
        known = self.frames[-1].axes
        self.frames.append(Frame(known if axis is None else known | {axis}))
        self._statements(nodes)
        return self.frames.pop().lines

    def _block(self, head: str, lines: list[str]) -> None:
        self._line(head)
        self.frames[-1].lines.extend(LINE + line for line in lines)
        self._line("}")

    def vectors(self, node: UOp, arg: LoopArg) -> None:
        if self.vector is not None:
            raise CompileError("a vector loop inside a vector loop")
        self.vector = (arg.axis, _whole(node.src[0]))
        self._statements(node.src[1:])
        self.vector = None

    def when(self, node: UOp) -> None:
        condition = self.value(node.src[0])
        self._block(f"if ({condition}) {{", self._inside(node.src[1:], None))

    def barrier(self, node: UOp) -> None:
        self._line("__syncthreads();")

    def stage(self, node: UOp) -> None:
        arg = cast(StageArg, node.arg)
        if arg.scope is Scope.PACKED:
            raise CompileError(f"{arg.name} is packed scratch, a thing of CPUs: stage it in shared memory or registers")
        size = _whole(node.src[0])
        name = self._name(arg.name or "tile")
        self.buffers[node] = name
        if arg.scope is Scope.SHARED:
            self.frames[0].lines.insert(0, f"__shared__ __align__(16) {TYPES[node.dtype]} {name}[{size}];")
        else:
            self._line(f"{TYPES[node.dtype]} {name}[{size}];")

    def store(self, node: UOp) -> None:
        self._count_uses(node.src[1:])
        if self.vector is None:
            self._store_one(node)
        elif self._is_pack(node):
            self._store_pack(node)
        else:
            self._store_lanes(node, self.vector[1])
        self.lane = None
        self._forget()

    def _count_uses(self, roots: tuple[UOp, ...]) -> None:
        """How often a statement needs each value: what it needs once needs no name."""
        self.uses.clear()
        for node in UOp(Ops.SINK, dt.void, roots).toposort():
            self.uses.update(node.src)

    def _forget(self) -> None:
        """What was loaded for one statement may be stored to by it."""
        self.packs.clear()
        self.local.clear()

    def _store_one(self, node: UOp) -> None:
        buffer, offset, value, *mask = node.src
        text = self.value(value)
        place = f"{self._buffer(buffer)}[{_bare(self.value(offset))}]"
        condition = f"if ({_bare(self.value(mask[0]))}) " if mask else ""
        self._line(f"{condition}{place} = {_bare(text)};")

    def _store_lanes(self, node: UOp, width: int) -> None:
        """One by one. What reads the buffer that it writes is computed for all elements before the first is stored."""
        own = any(u.op is Ops.LOAD and u.src[0] is node.src[0] for u in node.src[2].toposort())
        if own:
            for self.lane in range(width):
                self._learn(node.src[2], self.value(node.src[2]), self.local, self.frames[-1].lines)
        for self.lane in range(width):
            self._store_one(node)

    def _store_pack(self, node: UOp) -> None:
        assert self.vector is not None
        buffer, offset, value, *mask = node.src
        width = self.vector[1]
        made = self._name("v")
        parts = []
        for self.lane in range(width):
            parts.append(self.value(value))
        self.lane = 0
        self._line(f"const pack<{TYPES[buffer.dtype]}, {width}> {made} = {{{{{', '.join(parts)}}}}};")
        condition = f"if ({_bare(self.value(mask[0]))}) " if mask else ""
        put = "put_global" if buffer.op is Ops.PARAM else "put"
        self._line(f"{condition}{put}<{width}>({self._buffer(buffer)} + {self.value(offset)}, {made});")

    def _is_pack(self, access: UOp) -> bool:
        """A load or store of neighbouring elements that begin at a multiple of their number, all of them or none."""
        assert self.vector is not None
        buffer, offset = access.src[:2]
        if buffer.op is Ops.STAGE and cast(StageArg, buffer.arg).scope is not Scope.SHARED:
            return False
        masks = access.src[3:4] if access.op is Ops.STORE else access.src[2:]
        axis, width = self.vector
        if any(axis in self.facts.axes(m) for m in masks) or width * buffer.dtype.itemsize > 16:
            return False
        return self.facts.is_aligned(offset, axis, width)

    # --- folds ---

    def fold(self, node: UOp) -> None:
        arg = cast(FoldArg, node.arg)
        n, extent = arg.n, _whole(node.src[0])
        targets, values, combines = node.src[1 : 1 + n], node.src[1 + n : 1 + 2 * n], node.src[1 + 2 * n :]
        self._count_uses(values)
        if arg.kind is LoopKind.VECTOR:
            states = self._fold_vector(arg.axis, extent, values, combines)
        else:
            states = [self._state(v) for v in values]
            if arg.kind is LoopKind.LANE:
                self._fold_lanes(arg.axis, extent, states, combines)
            elif extent > 1:
                self._fold_warps(arg.axis, extent, states, values, combines)
        self._forget()
        for target, state in zip(targets, states):
            self._store_folded(target, state)

    def _state(self, value: UOp) -> str:
        name = self._name("s")
        self._line(f"{TYPES[value.dtype]} {name} = {_bare(self.value(value))};")
        return name

    def _fold_lanes(self, axis: int, extent: int, states: list[str], combines: tuple[UOp, ...]) -> None:
        """Lane with its neighbour, pairs with pairs, ...: left operands come from lower lanes, so order is kept."""
        if extent != 32:
            raise CompileError(f"a fold over {extent} lanes: a warp has 32")
        step, lane = self._name("o"), self.counters[axis]
        self._line("#pragma unroll")
        self._line(f"for (int {step} = 1; {step} < 32; {step} *= 2) {{")
        others = [f"__shfl_xor_sync(0xffffffffu, {s}, {step})" for s in states]
        names = [self._name("other") for _ in states]
        for state, name, other in zip(states, names, others):
            self._line(f"{LINE}const auto {name} = {other};")
        if all(self.facts.is_commutative(c) for c in combines):
            left, right = states, names
        else:
            left = [f"({lane} & {step} ? {o} : {s})" for s, o in zip(states, names)]
            right = [f"({lane} & {step} ? {s} : {o})" for s, o in zip(states, names)]
        self._combine(states, left, right, combines, LINE)
        self._line("}")

    def _combine(
        self, states: list[str], left: list[str], right: list[str], combines: tuple[UOp, ...], indent: str = ""
    ) -> None:
        """states = combine(left, right), all of them at once."""
        news = [self._name("next") for _ in states]
        for new, combine in zip(news, combines):
            self._line(f"{indent}const auto {new} = {_bare(self._combined(combine, left + right))};")
        for state, new in zip(states, news):
            self._line(f"{indent}{state} = {new};")

    def _combined(self, combine: UOp, states: list[str]) -> str:
        done: dict[UOp, str] = {}
        for node in combine.toposort():
            if node.op is Ops.STATE:
                done[node] = states[cast(StateArg, node.arg).slot]
            elif node.op is Ops.CONST:
                done[node] = constant(node)
            else:
                done[node] = operation(node, [done[s] for s in node.src])
        return done[combine]

    def _fold_warps(
        self, axis: int, extent: int, states: list[str], values: tuple[UOp, ...], combines: tuple[UOp, ...]
    ) -> None:
        """Each warp leaves its state in shared memory; after the barrier every thread goes through them in order."""
        warp, lane = self.counters[axis], self.facts.lane_counter(self.counters)
        alike = all(self.facts.is_uniform(v) for v in values)
        names = [self._name("warps") for _ in states]
        for name, value in zip(names, values):
            size = extent if alike else extent * 32
            self.frames[0].lines.insert(0, f"__shared__ {TYPES[value.dtype]} {name}[{size}];")
        if self.loops:
            self._line("__syncthreads();")
        for name, state in zip(names, states):
            place = f"if ({lane} == 0) {name}[{warp}]" if alike else f"{name}[{warp} * 32 + {lane}]"
            self._line(f"{place} = {state};")
        self._line("__syncthreads();")
        at = self._name("w")
        for name, state in zip(names, states):
            self._line(f"{state} = {name}[{0 if alike else lane}];")
        self._line("#pragma unroll")
        self._line(f"for (int {at} = 1; {at} < {extent}; ++{at}) {{")
        rights = [f"{name}[{at}]" if alike else f"{name}[{at} * 32 + {lane}]" for name in names]
        self._combine(states, states, rights, combines, LINE)
        self._line("}")

    def _fold_vector(self, axis: int, extent: int, values: tuple[UOp, ...], combines: tuple[UOp, ...]) -> list[str]:
        """Lower half with upper half until one element is left."""
        self.vector = (axis, extent)
        rows: list[list[str]] = []
        for self.lane in range(extent):
            rows.append([self._state(v) for v in values])
        self.vector, self.lane = None, None
        while len(rows) > 1:
            half = (len(rows) + 1) // 2
            for low, high in zip(rows[:half], rows[half:]):
                self._combine(low, low, high, combines)
            rows = rows[:half]
        return rows[0]

    def _store_folded(self, target: UOp, state: str) -> None:
        """All threads have the result; where they share the place, one of them writes it."""
        buffer, offset = target.src[:2]
        condition = ""
        if self.facts.is_common(buffer):
            idle = [a for a in self.facts.threads if a not in self.facts.axes(offset)]
            tests = " && ".join(f"{self.counters[a]} == 0" for a in idle)
            condition = f"if ({tests}) " if tests else ""
        self._line(f"{condition}{self._buffer(buffer)}[{_bare(self.value(offset))}] = {state};")

    # --- expressions ---

    def type_of(self, node: UOp) -> str:
        """Indices that fit are ints."""
        if node.dtype is not dt.index:
            return TYPES[node.dtype]
        return "int" if node.vmin >= INT.start and node.vmax < INT.stop else "long long"

    def _buffer(self, buffer: UOp) -> str:
        if buffer not in self.buffers:
            raise CompileError(f"{buffer!r} is used before its place in the tree")
        return self.buffers[buffer]

    def value(self, root: UOp) -> str:
        """The text of an expression here."""
        known = self._known(root)
        if known is not None:
            return known
        if root.op is Ops.CONST:
            return constant(root)
        if root.op is Ops.AXIS:
            return self._counter(root)
        if root.op is Ops.LOAD:
            return self._load(root)
        if root.op is Ops.DEFINE_VAR:
            raise CompileError(f"{root!r} is not among the kernel's sizes")
        if root.dtype is dt.index and root.op in (Ops.ADD, Ops.SUB):
            return self._sum(root)
        args = [self.value(s) for s in root.src]
        if root.dtype is dt.index and self.type_of(root) == "long long":
            args = self._widened(args, root.src)
        return self._keep(root, operation(root, args))

    def _widened(self, args: list[str], sources: tuple[UOp, ...]) -> list[str]:
        """One operand of a wide operation is wide; C widens the others."""
        if any(self.type_of(s) == "long long" for s in sources):
            return args
        return [f"(long long){args[0]}", *args[1:]]

    def _key(self, node: UOp) -> tuple[UOp, int | None]:
        varies = self.vector is not None and self.vector[0] in self.facts.axes(node)
        return node, self.lane if varies else None

    def _known(self, node: UOp) -> str | None:
        key = self._key(node)
        if key in self.local:
            return self.local[key]
        for frame in reversed(self.frames):
            if key in frame.names:
                return frame.names[key]
        return None

    def _level(self, node: UOp) -> int:
        """The outermost frame that knows all counters of an expression."""
        axes = self.facts.axes(node) - ({self.vector[0]} if self.vector else set())
        level = len(self.frames) - 1
        while level and axes <= self.frames[level - 1].axes:
            level -= 1
        return level

    def _keep(self, node: UOp, text: str) -> str:
        """Give a value a name: in its statement if it depends on memory, else in the outermost frame that can have it."""
        level = len(self.frames) - 1 if self.facts.reads(node) else self._level(node)
        frame = self.frames[level]
        if level == len(self.frames) - 1:
            if self.uses[node] <= 1 and len(text) <= INLINE:
                return text
            if self.facts.reads(node):
                return self._learn(node, text, self.local, frame.lines)
        return self._learn(node, text, frame.names, frame.lines)

    def _keep_at(self, level: int, node: UOp, text: str) -> str:
        if level == len(self.frames) - 1 and len(text) <= INLINE:
            return text
        return self._learn(node, text, self.frames[level].names, self.frames[level].lines)

    def _learn(self, node: UOp, text: str, names: Names, lines: list[str]) -> str:
        name = names[self._key(node)] = self._name("t")
        lines.append(f"const {self.type_of(node)} {name} = {_bare(text)};")
        return name

    def _counter(self, node: UOp) -> str:
        axis = cast(AxisArg, node.arg).id
        if self.vector is not None and axis == self.vector[0]:
            return str(self.lane)
        if axis not in self.counters:
            raise CompileError(f"{node!r} is used outside its loop")
        return self.counters[axis]

    def _sum(self, node: UOp) -> str:
        """A sum in parts: first what the outer loops know, so that it is computed there."""
        levels: dict[int, Polynomial] = {}
        for monomial, number in polynomial(node).items():
            levels.setdefault(self._term_level(monomial), {})[monomial] = number
        total: Polynomial = {}
        before: UOp | None = None
        text = ""
        for level in sorted(levels):
            total |= levels[level]
            whole = build(total)
            text = self._partial(whole, before, text, levels[level], level)
            before = whole
        return text

    def _term_level(self, monomial: Monomial) -> int:
        """Numbers come last: addresses have room for them."""
        innermost = len(self.frames) - 1
        if not monomial or (self.vector is not None and any(self.vector[0] in self.facts.axes(a) for a in monomial)):
            return innermost
        return self._level(build({monomial: 1}))

    def _partial(self, whole: UOp, before: UOp | None, text: str, terms: Polynomial, level: int) -> str:
        """`before` plus some terms, under a name of frame `level`."""
        known = self._known(whole)
        if known is not None:
            return known
        parts = [(text, before)] if before is not None else []
        parts += [(self._term(m, c), build({m: c})) for m, c in terms.items()]
        parts = [part for part in parts if part[0] != "0"]
        if len(parts) < 2:
            return parts[0][0] if parts else "0"
        words = [word for word, _ in parts]
        if self.type_of(whole) == "long long":
            words = self._widened(words, tuple(node for _, node in parts))
        return self._keep_at(level, whole, f"({' + '.join(words)})")

    def _term(self, monomial: Monomial, number: int) -> str:
        if self.vector is not None and len(monomial) == 1 and _is_axis(monomial[0], self.vector[0]):
            return str(number * cast(int, self.lane))
        return self.value(build({monomial: number}))

    def _load(self, node: UOp) -> str:
        buffer, offset, *masked = node.src
        if self.vector is not None and self.vector[0] in self.facts.axes(offset) and self._is_pack(node):
            return f"{self._load_pack(node)}.v[{self.lane}]"
        plain = f"{self._buffer(buffer)}[{_bare(self.value(offset))}]"
        if masked:
            plain = f"({self.value(masked[0])} ? {plain} : {self.value(masked[1])})"
        return self._keep(node, plain)

    def _load_pack(self, node: UOp) -> str:
        """All elements of a vector in one access, once for a statement."""
        if node in self.packs:
            return self.packs[node]
        assert self.vector is not None
        buffer, offset, *masked = node.src
        width, lane = self.vector[1], self.lane
        self.lane = 0
        name = self.packs[node] = self._name("q")
        access = f"get<{width}>({self._buffer(buffer)} + {self.value(offset)})"
        kind = f"pack<{TYPES[buffer.dtype]}, {width}>"
        if masked:
            mask, other = (self.value(m) for m in masked)
            self._line(f"{kind} {name} = {{{{{', '.join([other] * width)}}}}};")
            self._line(f"if ({_bare(mask)}) {name} = {access};")
        else:
            self._line(f"const {kind} {name} = {access};")
        self.lane = lane
        return name


def identifier(name: str) -> str:
    """A name as C has them."""
    clean = re.sub(r"\W", "_", name)
    return f"k_{clean}" if clean[:1].isdigit() else clean


def _bare(text: str) -> str:
    """Without the parentheses round the whole."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and position < len(text) - 1:
            return text
    return text[1:-1]


def _is_axis(atom: UOp, axis: int) -> bool:
    return atom.op is Ops.AXIS and cast(AxisArg, atom.arg).id == axis


def _whole(extent: UOp) -> int:
    if extent.op is not Ops.CONST:
        raise CompileError(f"wanted a constant here, not {extent!r}")
    return int(extent.value)


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
