"""The plan of a file: which values get a name, and in which order. In: a graph, a table. Out: lines of text.

Every generator of library code goes through here. A value that is read once and is short is written where it is read;
all others are lines of their own. What the target's table has no row for is taken one level down, until it has.
"""

from __future__ import annotations

import builtins
import keyword
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ingot.emit.code import ATOM, UNARY, Call, Code, Table, Writing
from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ops.lower import lower_all
from ingot.ops.words import ELEMENTWISE, Word, word

WIDEST = 64  # characters of an expression that is written inside another
FULL = 84  # characters of a line, before it is taken apart


class Line(NamedTuple):
    """name = text, for the value of `node`."""

    name: str
    text: str
    node: UOp


def known_words(sink: UOp, table: Table) -> UOp:
    """The same graph in operations that the table has, as far as lowering leads there."""
    return lower_all(sink, keeps=lambda name: name in table)


class Planner:
    """Writes the lines of one function."""

    def __init__(
        self,
        target: str,
        table: Table,
        writing: Writing,
        named: Mapping[UOp, str],
        *,
        inline: bool = True,
    ) -> None:
        self.target = target
        self.table = table
        self.writing = writing
        self.inline = inline
        self.codes: dict[UOp, Code] = {u: Code(n) for u, n in named.items()}
        self.given = set(named)
        self.taken = set(named.values())
        self.lines: list[Line] = []
        self.count = 0

    def write(self, roots: Iterable[UOp], wished: Mapping[UOp, str]) -> list[str]:
        """The texts of the roots, after the lines that they need. `wished`: names that users gave."""
        wanted = list(roots)
        words = self._words(wanted)
        uses = Counter(u for w in words.values() for u in w.inputs)
        uses.update(wanted)
        for node, said in words.items():
            code = self._code(node, said)
            inside = uses[node] == 1 and node not in wished and self.inline
            if inside and len(code.text) <= WIDEST:
                self.codes[node] = code
            else:
                self._line(node, code, wished.get(node, ""))
        return [self._whole(node).text for node in wanted]

    def _words(self, roots: Iterable[UOp]) -> dict[UOp, Word]:
        """The word of every node that is needed, sources first."""
        found: dict[UOp, Word] = {}
        done: dict[UOp, Word] = {}
        stack = list(reversed(list(roots)))
        while stack:
            node = stack[-1]
            if node in done or node in self.given or _is_number(node):
                stack.pop()
                continue
            said = found.get(node) or found.setdefault(node, word(node))
            waiting = [
                u
                for u in said.inputs
                if u not in done and u not in self.given and not _is_number(u)
            ]
            if waiting:
                stack.extend(reversed(waiting))
            else:
                done[node] = said
                stack.pop()
        return done

    def _line(self, node: UOp, code: Code, wish: str) -> None:
        name = self.free(wish) if wish else self._next()
        self.lines.append(Line(name, code.text, node))
        self.codes[node] = Code(name)

    def _next(self) -> str:
        self.count += 1
        while f"h{self.count}" in self.taken:
            self.count += 1
        return self.free(f"h{self.count}")

    def free(self, wish: str) -> str:
        """A name of the target's language that nothing else has."""
        name = spelled(wish)
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def _code(self, node: UOp, said: Word) -> Code:
        """The text of a node; operands that make it too long get lines of their own, the longest first."""
        row = STRUCTURE.get(said.name) or self.table.get(said.name)
        if row is None:
            raise ArgumentError(
                f"{self.target} cannot say {said.name!r}",
                fix="give it a row with custom_operator_mappings, or choose another target",
            )
        while True:
            args = self._operands(said)
            code = row(Call(args, said.attrs, said.inputs, node, self.writing))
            inside = [u for u in said.inputs if self._is_inside(u)]
            if len(code.text) <= FULL or not inside:
                return code
            longest = max(inside, key=lambda u: len(self.codes[u].text))
            self._line(longest, self.codes[longest], "")

    def _operands(self, said: Word) -> tuple[Code, ...]:
        """Numbers stay numbers beside an array in elementwise words; anywhere else they are arrays."""
        plain = said.name in ELEMENTWISE and any(
            u in self.codes for u in said.inputs
        )
        return tuple(
            self._operand(u) if plain else self._whole(u) for u in said.inputs
        )

    def _whole(self, node: UOp) -> Code:
        code = self._operand(node)
        if node.op is not Ops.CONST:
            return code
        return Code(self.writing.scalar(code.text, node.dtype))

    def _is_inside(self, node: UOp) -> bool:
        """The node is an expression and no name."""
        return node in self.codes and self.codes[node].text not in self.taken

    def _operand(self, node: UOp) -> Code:
        found = self.codes.get(node)
        return self._number(node) if found is None else found

    def _number(self, node: UOp) -> Code:
        if node.op is Ops.CONST:
            text = number(node)
            return Code(text, UNARY if text.startswith("-") else 100)
        return Code(self.writing.size(node))


def _called(call: Call) -> Code:
    """A call of another function of the file."""
    name = call.writer.functions[call.attrs["function"]]
    return Code(f"{name}({', '.join(arg.text for arg in call.args)})")


def _picked(call: Call) -> Code:
    """One of several results."""
    return Code(f"{call.args[0].at(ATOM)}[{call.attrs['index']}]")


STRUCTURE: Table = {"call": _called, "result": _picked}


def _is_number(node: UOp) -> bool:
    return node.op is Ops.CONST or (node.dtype is dt.index and not node.shape)


def number(node: UOp) -> str:
    """A constant as Python source, as short as its type allows."""
    value = node.value
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            return f'float("{value}")'
        return short_float(value, node.dtype)
    return repr(value)


def short_float(value: float, dtype: dt.DType) -> str:
    """The fewest digits that give the same bits in this type."""
    bits = dt.to_bits(dtype, value)
    for digits in range(1, 18):
        text = f"{value:.{digits}g}"
        if dt.to_bits(dtype, float(text)) == bits:
            return text if any(c in text for c in ".e") else f"{text}.0"
    return repr(value)


def spelled(name: str) -> str:
    """A user's name as a Python name that hides nothing."""
    plain = name.replace(".", "_")
    if keyword.iskeyword(plain) or hasattr(builtins, plain):
        return f"{plain}_"
    return plain
