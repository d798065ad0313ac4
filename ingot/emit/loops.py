"""Loop trees as plain code that people read: loops, assignments, expressions. In: a kernel without moves. Out: lines.

    for i0 in range(batch):                              for (int64_t i0 = 0; i0 < batch; i0++) {
        for i1 in range(128):                                for (int64_t i1 = 0; i1 < 128; i1++) {
            acc = 0.0                                            float acc = 0.0f;
            ...                                                  ...

Python and plain C share the walk and differ in their words: a `Language`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import cast

from ingot.emit.code import COMPARE, PRODUCT, SHIFT, SUM, UNARY, Code
from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopArg, Ops

INDENT = "    "
_INFIX = {
    Ops.ADD: ("+", SUM),
    Ops.SUB: ("-", SUM),
    Ops.MUL: ("*", PRODUCT),
    Ops.CMPLT: ("<", COMPARE),
    Ops.CMPEQ: ("==", COMPARE),
    Ops.CMPNE: ("!=", COMPARE),
    Ops.SHL: ("<<", SHIFT),
    Ops.SHR: (">>", SHIFT),
}


class Language(ABC):
    """How a language says what loop trees hold."""

    def __init__(self) -> None:
        self.needed: dict[str, None] = {}

    def helper(self, name: str, *args: Code) -> Code:
        """A call of a function that the file will hold."""
        self.needed[name] = None
        return Code(f"{name}({', '.join(arg.text for arg in args)})")

    @abstractmethod
    def loop(self, counter: str, extent: str) -> tuple[str, str]:
        """The line before the body of a loop, and the one after it, if any."""

    @abstractmethod
    def when(self, condition: str) -> tuple[str, str]: ...

    @abstractmethod
    def declared(self, name: str, dtype: DType, size: int) -> str:
        """A local variable, or a local array. An empty text if it needs no line."""

    @abstractmethod
    def assigned(self, to: str, value: str) -> str: ...

    @abstractmethod
    def constant(self, node: UOp) -> Code: ...

    @abstractmethod
    def choice(self, condition: Code, yes: Code, no: Code) -> Code: ...

    @abstractmethod
    def operation(self, node: UOp, args: tuple[Code, ...]) -> Code:
        """An operation that is not written alike everywhere."""


class LoopWriter:
    """Writes one kernel. `names`: what its buffers are called; `sizes`: what its size variables are here."""

    def __init__(
        self,
        language: Language,
        names: Mapping[UOp, str],
        taken: Iterable[str] = (),
    ) -> None:
        self.language = language
        self.names = dict(names)
        self.taken = {*names.values(), *taken}
        self.scalars: set[UOp] = set()
        self.counters: dict[int, str] = {}

    def statements(self, nodes: Iterable[UOp]) -> list[str]:
        return [line for node in nodes for line in self.statement(node)]

    def statement(self, node: UOp) -> list[str]:
        if node.op is Ops.LOOP:
            return self._loop(node)
        if node.op is Ops.WHEN:
            head = self.language.when(self.expression(node.src[0]).text)
            return self._block(head, node.src[1:])
        if node.op is Ops.STAGE:
            return self._stage(node)
        if node.op is Ops.STORE:
            return self._store(node)
        raise ArgumentError(f"{node.op.name} is no plain statement")

    def _loop(self, node: UOp) -> list[str]:
        arg = cast(LoopArg, node.arg)
        extent = node.src[0].simplify()
        counter = self._free("k" if arg.name.startswith("r") else arg.name or "i")
        self.counters[arg.axis] = counter
        head = self.language.loop(counter, self.expression(extent).text)
        made = self._block(head, node.src[1:])
        self.taken.discard(counter)
        return made

    def _block(self, head: tuple[str, str], inside: Iterable[UOp]) -> list[str]:
        before, after = head
        body = [INDENT + line for line in self.statements(inside)]
        return [before, *body, *([after] if after else [])]

    def _stage(self, node: UOp) -> list[str]:
        name = self._free("acc")
        self.names[node] = name
        size = node.src[0].simplify()
        if size.op is not Ops.CONST:
            raise ArgumentError("a local array of unknown size")
        count = int(size.value)
        if count == 1:
            self.scalars.add(node)
        line = self.language.declared(name, node.dtype, count)
        return [line] if line else []

    def _store(self, node: UOp) -> list[str]:
        buffer, offset, value, *mask = node.src
        line = self.language.assigned(
            self._place(buffer, offset), self.expression(value).text
        )
        if not mask:
            return [line]
        before, after = self.language.when(self.expression(mask[0]).text)
        return [before, INDENT + line, *([after] if after else [])]

    def _place(self, buffer: UOp, offset: UOp) -> str:
        name = self.names[buffer]
        if buffer in self.scalars:
            return name
        return f"{name}[{self.expression(offset.simplify()).text}]"

    def _free(self, wish: str) -> str:
        name, count = wish, 1
        while name in self.taken:
            count += 1
            name = f"{wish}{count}"
        self.taken.add(name)
        return name

    # --- expressions ----------------------------------------------------------------------------------------------

    def expression(self, root: UOp) -> Code:
        """The text of an expression. Expressions of kernels are small: what is shared is written out."""
        done: dict[UOp, Code] = {}
        stack = [root]
        while stack:
            node = stack[-1]
            waiting = [s for s in _parts(node) if s not in done]
            if node in done:
                stack.pop()
            elif waiting:
                stack.extend(waiting)
            else:
                done[node] = self._code(node, done)
                stack.pop()
        return done[root]

    def _code(self, node: UOp, done: Mapping[UOp, Code]) -> Code:
        op = node.op
        if op is Ops.CONST:
            return self.language.constant(node)
        if op is Ops.DEFINE_VAR:
            return Code(str(node.arg.name))  # type: ignore[union-attr]  # a VarArg
        if op is Ops.AXIS:
            return Code(self.counters[node.arg.id])  # type: ignore[union-attr]  # an AxisArg
        if op is Ops.LOAD:
            return self._load(node, done)
        args = tuple(done[s] for s in node.src)
        if op is Ops.WHERE:
            return self.language.choice(*args)
        if op in _INFIX and self._plain(node):
            sign, level = _INFIX[op]
            near = level + 1 if level == COMPARE else level
            right = args[1].at(level + 1)
            if op is Ops.ADD and right.startswith("-"):
                sign, right = "-", right[1:]
            return Code(f"{args[0].at(near)} {sign} {right}", level)
        if op is Ops.NEG:
            return Code(f"-{args[0].at(UNARY)}", UNARY)
        return self.language.operation(node, args)

    def _plain(self, node: UOp) -> bool:
        """The operator means the same in every language: on floats and sizes. Whole numbers wrap round."""
        kind = node.src[0].dtype
        return kind.is_float or kind is dt.index or node.dtype is dt.boolean

    def _load(self, node: UOp, done: Mapping[UOp, Code]) -> Code:
        buffer, offset, *masked = node.src
        name = self.names[buffer]
        code = Code(
            name if buffer in self.scalars else f"{name}[{done[offset].text}]"
        )
        if not masked:
            return code
        return self.language.choice(done[masked[0]], code, done[masked[1]])


def _parts(node: UOp) -> tuple[UOp, ...]:
    """The sources that are expressions."""
    return node.src[1:] if node.op is Ops.LOAD else node.src
