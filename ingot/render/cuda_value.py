"""Expressions of a GPU kernel as CUDA C. In: expression nodes, where they are needed. Out: text, and lines before it.

Index arithmetic goes to the outermost loop that knows its counters, sums in parts; what a statement needs once is
written where it is needed. In a vector loop a value exists once for each element; memory is read in one access where it
can be.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import cast

from ingot.errors import CompileError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import AxisArg, Ops, Scope, StageArg
from ingot.ir.polynomial import Monomial, Polynomial, build, polynomial
from ingot.render.cuda_facts import Facts
from ingot.render.cuda_text import TYPES, constant, operation

INT = range(-(1 << 31), 1 << 31)
INLINE = 60  # longer expressions get a name
ACCESSES = frozenset({2, 4, 8, 16})  # bytes that one access can have

Names = dict[
    tuple[UOp, int | None], str
]  # a value, and which element of a vector it is


@dataclass(slots=True)
class Frame:
    """A block of lines that is being written: the counters known in it, and the names of values computed in it."""

    axes: frozenset[int]
    names: Names = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Vector:
    """The vector loop around a statement, and the element that is being written."""

    axis: int
    width: int
    lane: int = 0


class Values:
    """The lines of a function and the values in them."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.frames = [Frame(frozenset())]
        self.counters: dict[int, str] = {}
        self.buffers: dict[UOp, str] = {}
        self.vector: Vector | None = None
        self._taken: set[str] = set()
        self._packs: dict[UOp, str] = {}
        self._local: Names = {}
        self._uses: Counter[UOp] = Counter()

    # --- lines and names ---

    def line(self, text: str) -> None:
        self.frames[-1].lines.append(text)

    def first_line(self, text: str) -> None:
        """A line at the head of the function."""
        self.frames[0].lines.insert(0, text)

    def name(self, wanted: str) -> str:
        """A C name that nothing else has."""
        base = identifier(wanted)
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name

    def buffer(self, buffer: UOp) -> str:
        if buffer not in self.buffers:
            raise CompileError(f"{buffer!r} is used before its place in the tree")
        return self.buffers[buffer]

    def type_of(self, node: UOp) -> str:
        """Indices that fit are ints."""
        if node.dtype is not dt.index:
            return TYPES[node.dtype]
        return (
            "int"
            if node.vmin >= INT.start and node.vmax < INT.stop
            else "long long"
        )

    # --- one statement ---

    def begin(self, *roots: UOp) -> None:
        """Start a statement over these expressions: what it needs once needs no name."""
        self._uses.clear()
        for node in UOp(Ops.SINK, dt.void, roots).toposort():
            self._uses.update(node.src)

    def end(self) -> None:
        """What was loaded for a statement is forgotten: the statement may have changed it."""
        self._packs.clear()
        self._local.clear()

    # --- expressions ---

    def bare(self, root: UOp) -> str:
        """The text of an expression where no parentheses are needed."""
        return bare(self.value(root))

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

    def named(self, root: UOp) -> str:
        """An expression under a name, or as a number."""
        text = self.value(root)
        if root.op is Ops.CONST or text.isidentifier():
            return text
        return self._learn(root, text, self._local, self.frames[-1].lines)

    def _widened(self, args: list[str], sources: tuple[UOp, ...]) -> list[str]:
        """One operand of a wide operation is wide; C widens the others."""
        if any(self.type_of(s) == "long long" for s in sources):
            return args
        return [f"(long long){args[0]}", *args[1:]]

    def _counter(self, node: UOp) -> str:
        axis = cast(AxisArg, node.arg).id
        if self.vector is not None and axis == self.vector.axis:
            return str(self.vector.lane)
        if axis not in self.counters:
            raise CompileError(f"{node!r} is used outside its loop")
        return self.counters[axis]

    # --- where values are kept ---

    def _varies(self, node: UOp) -> bool:
        """It differs between the elements of the vector."""
        return self.vector is not None and self.vector.axis in self.facts.axes(node)

    def _key(self, node: UOp) -> tuple[UOp, int | None]:
        return node, self.vector.lane if self.vector is not None and self._varies(
            node
        ) else None

    def _known(self, node: UOp) -> str | None:
        key = self._key(node)
        if key in self._local:
            return self._local[key]
        for frame in reversed(self.frames):
            if key in frame.names:
                return frame.names[key]
        return None

    def _level(self, node: UOp) -> int:
        """The outermost frame that knows all counters of an expression."""
        axes = self.facts.axes(node) - (
            {self.vector.axis} if self.vector is not None else set()
        )
        level = len(self.frames) - 1
        while level and axes <= self.frames[level - 1].axes:
            level -= 1
        return level

    def _keep(self, node: UOp, text: str) -> str:
        """A value under a name, unless it is short and needed once: in its statement if it reads memory."""
        reads = self.facts.reads(node)
        level = len(self.frames) - 1 if reads else self._level(node)
        if (
            level == len(self.frames) - 1
            and self._uses[node] <= 1
            and len(text) <= INLINE
        ):
            return text
        frame = self.frames[level]
        return self._learn(
            node, text, self._local if reads else frame.names, frame.lines
        )

    def _learn(self, node: UOp, text: str, names: Names, lines: list[str]) -> str:
        name = names[self._key(node)] = self.name("t")
        lines.append(f"const {self.type_of(node)} {name} = {bare(text)};")
        return name

    # --- sums of indices ---

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
        if not monomial or any(self._varies(atom) for atom in monomial):
            return len(self.frames) - 1
        return self._level(build({monomial: 1}))

    def _partial(
        self,
        whole: UOp,
        before: UOp | None,
        text: str,
        terms: Polynomial,
        level: int,
    ) -> str:
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
        joined = f"({' + '.join(words)})"
        if level == len(self.frames) - 1 and len(joined) <= INLINE:
            return joined
        return self._learn(
            whole, joined, self.frames[level].names, self.frames[level].lines
        )

    def _term(self, monomial: Monomial, number: int) -> str:
        """One term; of the vector's own axis it is a number."""
        if (
            self.vector is not None
            and len(monomial) == 1
            and _is_axis(monomial[0], self.vector.axis)
        ):
            return str(number * self.vector.lane)
        return self.value(build({monomial: number}))

    # --- loads ---

    def _load(self, node: UOp) -> str:
        buffer, offset, *masked = node.src
        if self._varies(offset) and self.is_pack(node):
            return f"{self._load_pack(node)}.v[{cast(Vector, self.vector).lane}]"
        plain = f"{self.buffer(buffer)}[{self.bare(offset)}]"
        if masked:
            plain = f"({self.value(masked[0])} ? {plain} : {self.value(masked[1])})"
        return self._keep(node, plain)

    def is_pack(self, access: UOp) -> bool:
        """A load or store of neighbouring elements that begin at a multiple of their number, all of them or none."""
        if self.vector is None or _is_private(access.src[0]):
            return False
        axis, width = self.vector.axis, self.vector.width
        masks = access.src[3:4] if access.op is Ops.STORE else access.src[2:]
        if (
            any(axis in self.facts.axes(m) for m in masks)
            or width * access.src[0].dtype.itemsize not in ACCESSES
        ):
            return False
        return self.facts.is_aligned(access.src[1], axis, width)

    def _load_pack(self, node: UOp) -> str:
        """All elements of a vector in one access, once for a statement."""
        if node in self._packs:
            return self._packs[node]
        buffer, offset, *masked = node.src
        vector = cast(Vector, self.vector)
        lane, vector.lane = vector.lane, 0
        access = (
            f"get<{vector.width}>({self.buffer(buffer)} + {self.value(offset)})"
        )
        kind = f"pack<{TYPES[buffer.dtype]}, {vector.width}>"
        mask = self.bare(masked[0]) if masked else ""
        others = ", ".join([self.value(masked[1])] * vector.width) if masked else ""
        name = self._packs[node] = self.name("q")
        if masked:
            self.line(f"{kind} {name} = {{{{{others}}}}};")
            self.line(f"if ({mask}) {name} = {access};")
        else:
            self.line(f"const {kind} {name} = {access};")
        vector.lane = lane
        return name


def _is_private(buffer: UOp) -> bool:
    return (
        buffer.op is Ops.STAGE
        and cast(StageArg, buffer.arg).scope is not Scope.SHARED
    )


def _is_axis(atom: UOp, axis: int) -> bool:
    return atom.op is Ops.AXIS and cast(AxisArg, atom.arg).id == axis


def identifier(name: str) -> str:
    """A name as C has them."""
    clean = re.sub(r"\W", "_", name)
    return f"k_{clean}" if clean[:1].isdigit() else clean


def bare(text: str) -> str:
    """Without the parentheses round the whole."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and position < len(text) - 1:
            return text
    return text[1:-1]
