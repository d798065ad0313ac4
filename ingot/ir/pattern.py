"""Patterns and rule tables. In: `(pattern, replacement)` rows that read like algebra. Out: matchers by opcode.

    x, n = UPat.var("x"), UPat.cvar("n")
    PatternMatcher([
        (x + 0,                 x),                      # data on both sides
        ((x // n) * n + x % n,  x),
        (UPat(Ops.MAX, src=(x, x)), lambda x: x),        # or a function of the captured nodes
        (x % n,                 x, lambda x, n: 0 <= x.vmin and x.vmax < n.value),   # a third column: when it holds
    ])

A function gets what its parameters name: captured nodes, and `ctx` if it asks. None means "does not apply".
The tables are generated to Python source at their first use (see `matcher.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ingot.ir.dtype import DType, Scalar
from ingot.ir.matcher import compile_rules
from ingot.ir.node import UOp
from ingot.ir.opcode import COMMUTATIVE, Arg, Ops

Condition = Callable[..., bool]
Replacement = "Callable[..., UOp | None] | UPat"


class Order(Enum):
    """How the sources of a pattern meet those of a node."""

    EXACT = "one pattern for each source, in order"
    PREFIX = "as many sources as patterns, in order, then any"
    ANY = "two sources in either order"
    EVERY = "one pattern for all sources"


def _location() -> str:
    """The line outside this file that is writing a pattern."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _as_set(given: Any, kind: type) -> frozenset[Any] | None:
    if given is None:
        return None
    return frozenset({given}) if isinstance(given, kind) else frozenset(given)


class UPat:
    """A shape that a node may have."""

    __slots__ = (
        "arg",
        "choices",
        "dtype",
        "literal",
        "location",
        "name",
        "op",
        "order",
        "src",
        "when",
    )

    def __init__(
        self,
        op: Ops | Iterable[Ops] | None = None,
        dtype: DType | Iterable[DType] | None = None,
        src: tuple[UPat, ...] | list[UPat] | UPat | None = None,
        arg: Arg | None = None,
        name: str | None = None,
        allow_any_len: bool = False,
        when: Callable[[UOp], bool] | None = None,
    ) -> None:
        self.op: frozenset[Ops] | None = _as_set(op, Ops)
        self.dtype: frozenset[DType] | None = _as_set(dtype, DType)
        self.arg = arg
        self.name = name
        self.when = when
        self.literal: Scalar | None = None
        self.choices: tuple[UPat, ...] = ()
        self.location = _location()
        self.order = _order(src, allow_any_len)
        self.src: tuple[UPat, ...] | None = (
            (src,) if isinstance(src, UPat) else None if src is None else tuple(src)
        )

    # --- leaves ---------------------------------------------------------------------------------------------------

    @staticmethod
    def var(
        name: str | None = None,
        dtype: DType | Iterable[DType] | None = None,
        when: Callable[[UOp], bool] | None = None,
    ) -> UPat:
        """Any node."""
        return UPat(None, dtype, name=name, when=when)

    @staticmethod
    def cvar(
        name: str | None = None,
        dtype: DType | Iterable[DType] | None = None,
        when: Callable[[UOp], bool] | None = None,
    ) -> UPat:
        """Any constant."""
        return UPat(Ops.CONST, dtype, name=name, when=when)

    @staticmethod
    def const(dtype: DType | Iterable[DType] | None, value: Scalar) -> UPat:
        """The constant with exactly this value, the sign of zero included."""
        made = UPat(Ops.CONST, dtype)
        made.literal = value
        return made

    @staticmethod
    def any(*choices: UPat) -> UPat:
        """The first of several patterns that matches."""
        made = UPat()
        made.choices = choices
        return made

    def named(self, name: str) -> UPat:
        """The same pattern, captured under a name."""
        made = UPat(self.op, self.dtype, arg=self.arg, name=name, when=self.when)
        made.src, made.order = self.src, self.order
        made.literal, made.choices = self.literal, self.choices
        return made

    # --- algebra --------------------------------------------------------------------------------------------------

    def alu(
        self, op: Ops, *others: UPat | Scalar, dtype: DType | None = None
    ) -> UPat:
        """An elementwise pattern; commutative opcodes match in either order."""
        operands = (self, *(_lift(o) for o in others))
        return UPat(op, dtype, list(operands) if op in COMMUTATIVE else operands)

    def __add__(self, other: UPat | Scalar) -> UPat:
        return self.alu(Ops.ADD, other)

    def __sub__(self, other: UPat | Scalar) -> UPat:
        return self.alu(Ops.SUB, other)

    def __mul__(self, other: UPat | Scalar) -> UPat:
        return self.alu(Ops.MUL, other)

    def __truediv__(self, other: UPat | Scalar) -> UPat:
        return self.alu(Ops.FDIV, other)

    def __floordiv__(self, other: UPat | Scalar) -> UPat:
        return self.alu(Ops.IDIV, other)

    def __mod__(self, other: UPat | Scalar) -> UPat:
        return self.alu(Ops.MOD, other)

    def __and__(self, other: UPat | Scalar) -> UPat:
        return self.alu(Ops.AND, other)

    def __or__(self, other: UPat | Scalar) -> UPat:
        return self.alu(Ops.OR, other)

    def __xor__(self, other: UPat | Scalar) -> UPat:
        return self.alu(Ops.XOR, other)

    def __lshift__(self, other: UPat | Scalar) -> UPat:
        return self.alu(Ops.SHL, other)

    def __rshift__(self, other: UPat | Scalar) -> UPat:
        return self.alu(Ops.SHR, other)

    def __lt__(self, other: UPat | Scalar) -> UPat:
        return self.alu(Ops.CMPLT, other)

    def __neg__(self) -> UPat:
        return self.alu(Ops.NEG)

    def __invert__(self) -> UPat:
        return self.alu(Ops.NOT)

    def maximum(self, other: UPat | Scalar) -> UPat:
        return self.alu(Ops.MAX, other)

    def minimum(self, other: UPat | Scalar) -> UPat:
        return self.alu(Ops.MIN, other)

    def eq(self, other: UPat | Scalar) -> UPat:
        return self.alu(Ops.CMPEQ, other)

    def ne(self, other: UPat | Scalar) -> UPat:
        return self.alu(Ops.CMPNE, other)

    def where(self, yes: UPat | Scalar, no: UPat | Scalar) -> UPat:
        return self.alu(Ops.WHERE, yes, no)

    def cast(self, dtype: DType | None = None) -> UPat:
        return self.alu(Ops.CAST, dtype=dtype)

    def bitcast(self, dtype: DType | None = None) -> UPat:
        return self.alu(Ops.BITCAST, dtype=dtype)

    def __repr__(self) -> str:
        return describe(self)


def _order(
    src: tuple[UPat, ...] | list[UPat] | UPat | None, allow_any_len: bool
) -> Order:
    if isinstance(src, UPat):
        return Order.EVERY
    if isinstance(src, list):
        if len(src) != 2:
            raise ValueError(
                f"a list of sources means two in either order, got {len(src)}; give a tuple"
            )
        return Order.ANY
    return Order.PREFIX if allow_any_len else Order.EXACT


def _lift(value: UPat | Scalar) -> UPat:
    return value if isinstance(value, UPat) else UPat.const(None, value)


def describe(pattern: UPat) -> str:
    """The pattern as a formula."""
    if pattern.literal is not None:
        return str(pattern.literal)
    if pattern.choices:
        return " | ".join(describe(p) for p in pattern.choices)
    if pattern.op is None or (pattern.src is None and pattern.name):
        return pattern.name or "_"
    names = "|".join(sorted(op.name.lower() for op in pattern.op))
    return f"{names}({', '.join(describe(p) for p in pattern.src or ())})"


@dataclass(eq=False, slots=True)
class Rule:
    """One line of a table, and how often it was tried."""

    pattern: UPat
    right: Any
    when: Condition | None
    location: str
    matches: int = 0
    attempts: int = 0
    match_seconds: float = 0.0
    total_seconds: float = 0.0
    alone: Callable[[UOp, object], UOp | None] | None = field(
        default=None, repr=False
    )

    def __str__(self) -> str:
        right = (
            describe(self.right)
            if isinstance(self.right, UPat)
            else getattr(self.right, "__name__", "...")
        )
        return f"{describe(self.pattern)} -> {right}"

    def apply(self, node: UOp, ctx: object = None) -> UOp | None:
        """This rule by itself."""
        if node.op not in self.opcodes:
            return None
        if self.alone is None:
            self.alone = compile_rules([self], str(self))
        return self.alone(node, ctx)

    @property
    def opcodes(self) -> frozenset[Ops]:
        """The opcodes of the nodes that this rule can match."""
        return root_opcodes(self.pattern)


def root_opcodes(pattern: UPat) -> frozenset[Ops]:
    """The opcodes that a pattern accepts at its root."""
    if pattern.choices:
        return frozenset[Ops]().union(*(root_opcodes(p) for p in pattern.choices))
    return pattern.op if pattern.op is not None else frozenset(Ops)


def _rule(row: tuple[Any, ...]) -> Rule:
    pattern, right, *when = row
    return Rule(pattern, right, when[0] if when else None, pattern.location)


Matcher = Callable[[UOp, object], "UOp | None"]


class PatternMatcher:
    """A table of rules. Tables add up: the rules of one pass share one walk."""

    def __init__(
        self, rows: Iterable[tuple[Any, ...]] = (), *, rules: tuple[Rule, ...] = ()
    ) -> None:
        self.rules: tuple[Rule, ...] = rules or tuple(_rule(row) for row in rows)
        self._table: list[Matcher] = []

    @property
    def table(self) -> list[Matcher]:
        """A matcher for each opcode."""
        if not self._table:
            self._table = [self._compile_later(op) for op in range(len(Ops) + 1)]
        return self._table

    def __add__(self, other: PatternMatcher) -> PatternMatcher:
        return PatternMatcher(rules=self.rules + other.rules)

    def rewrite(self, node: UOp, ctx: object = None) -> UOp | None:
        """What the first rule that applies makes of a node, or None."""
        return self.table[node.op](node, ctx)

    def rules_for(self, op: Ops) -> list[Rule]:
        """The rules that can match an opcode, in order."""
        return [rule for rule in self.rules if op in rule.opcodes]

    def _compile_later(self, op: int) -> Matcher:
        """Most opcodes are never met, so that their matchers need not be made."""

        def first_use(node: UOp, ctx: object) -> UOp | None:
            rules = self.rules_for(Ops(op))
            matcher = compile_rules(rules, Ops(op).name) if rules else _no_match
            self._table[op] = matcher
            return matcher(node, ctx)

        return first_use


def _no_match(node: UOp, ctx: object) -> UOp | None:
    return None
