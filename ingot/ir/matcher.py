"""Rule tables as Python source. In: rules. Out: one function `match(n, ctx) -> UOp | None` that tries them in order.

A pattern becomes nested `if`s; what must match in either order is written out twice. For `(x + 0, x)`:

    if len(n.src) == 2:
        a, b = n.src
        if b.op is CONST and b.arg.bits == bits_of_0.get(b.dtype):
            return a
        if a.op is CONST and a.arg.bits == bits_of_0.get(a.dtype):
            return b
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ingot.ir import dtype as dt
from ingot.ir.dtype import DType, Scalar
from ingot.ir.node import UOp, uop
from ingot.ir.opcode import COMPARE, Ops

if TYPE_CHECKING:
    from ingot.ir.pattern import Rule, UPat

Names = dict[str, str]
Continue = Callable[[Names], None]


def compile_rules(
    rules: Sequence[Rule], name: str
) -> Callable[[UOp, object], UOp | None]:
    """One function that tries `rules` in order."""
    writer = _Writer()
    for rule in rules:
        writer.rule(rule)
    source = (
        "def match(n, ctx):\n" + "\n".join(writer.lines) + "\n    return None\n"
    )
    namespace = writer.constants
    exec(compile(source, f"<rules for {name}>", "exec"), namespace)
    matcher: Callable[[UOp, object], UOp | None] = namespace["match"]
    return matcher


def source_of(rules: Sequence[Rule]) -> str:
    """The generated source, for people."""
    writer = _Writer()
    for rule in rules:
        writer.rule(rule)
    return "\n".join(writer.lines)


def exact_bits(value: Scalar) -> dict[DType, int]:
    """The bits of a literal in each type that holds it exactly."""
    return _exact_bits(type(value).__name__, repr(value))


@cache
def _exact_bits(kind: str, written: str) -> dict[DType, int]:
    value: Scalar = (
        {"int": int, "float": float}[kind](written)
        if kind != "bool"
        else written == "True"
    )
    found = {}
    for dtype in dt.ALL[1:]:
        if not dtype.is_float and not abs(value) < float("inf"):
            continue
        bits = dt.to_bits(dtype, value)
        if dt.from_bits(dtype, bits) == value:
            found[dtype] = bits
    return found


class _Writer:
    """Lines of source, the constants they name, and the current indentation."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {
            "uop": uop,
            "const": UOp.const,
            "boolean": dt.boolean,
        }
        self.depth = 1
        self.count = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def constant(self, value: object) -> str:
        """The name under which generated code finds a value."""
        if isinstance(value, Ops):
            name = value.name
        else:
            name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name

    def test(self, condition: str, then: Callable[[], None]) -> None:
        """`then` under an `if`."""
        if condition:
            self.line(f"if {condition}:")
            self.depth += 1
            then()
            self.depth -= 1
        else:
            then()

    # --- the left side ----------------------------------------------------------------------------------------

    def rule(self, rule: Rule) -> None:
        self.match(
            rule.pattern, "n", {}, lambda names: self.right(rule, names), root=True
        )

    def match(
        self, p: UPat, node: str, names: Names, then: Continue, root: bool = False
    ) -> None:
        """Tests that `node` matches `p`; `then` writes what follows, given the names captured so far."""
        if p.choices:
            for choice in p.choices:
                self.match(
                    choice,
                    node,
                    names,
                    lambda found: self.capture(p, node, found, then),
                )
            return
        tests = self.node_tests(p, node, root)
        self.test(" and ".join(tests), lambda: self.capture(p, node, names, then))

    def node_tests(self, p: UPat, node: str, root: bool) -> list[str]:
        tests = []
        if (
            p.op is not None and not root
        ):  # the root's opcode has chosen this matcher
            tests.append(self.membership(f"{node}.op", p.op))
        if p.dtype is not None:
            tests.append(self.membership(f"{node}.dtype", p.dtype))
        if p.arg is not None:
            tests.append(f"{node}.arg == {self.constant(p.arg)}")
        if p.literal is not None:
            tests.append(
                f"{node}.arg.bits == {self.constant(exact_bits(p.literal))}.get({node}.dtype)"
            )
        return tests

    def membership(self, what: str, allowed: frozenset[Any]) -> str:
        if len(allowed) == 1:
            return f"{what} is {self.constant(next(iter(allowed)))}"
        return f"{what} in {self.constant(allowed)}"

    def capture(self, p: UPat, node: str, names: Names, then: Continue) -> None:
        if p.name is None:
            self.sources(p, node, names, then)
        elif p.name in names:
            self.test(
                f"{node} is {names[p.name]}",
                lambda: self.sources(p, node, names, then),
            )
        else:
            self.sources(p, node, names | {p.name: node}, then)

    def sources(self, p: UPat, node: str, names: Names, then: Continue) -> None:
        if p.src is None:
            self.finish(p, node, names, then)
        elif p.order.name == "EVERY":
            self.test(
                self.every(p.src[0], node),
                lambda: self.finish(p, node, names, then),
            )
        else:
            self.each_source(p, node, names, then)

    def each_source(self, p: UPat, node: str, names: Names, then: Continue) -> None:
        assert p.src is not None
        parts = [self.fresh() for _ in p.src]
        wanted = p.src
        compare = ">=" if p.order.name == "PREFIX" else "=="

        def write() -> None:
            if parts:
                rest = ", *_" if compare == ">=" else ","
                self.line(f"{', '.join(parts)}{rest} = {node}.src")
            self.in_turn(
                list(zip(wanted, parts, strict=True)),
                names,
                lambda found: self.finish(p, node, found, then),
            )
            if p.order.name == "ANY" and wanted[0] is not wanted[1]:
                swapped = list(zip(wanted, reversed(parts), strict=True))
                self.in_turn(
                    swapped, names, lambda found: self.finish(p, node, found, then)
                )

        self.test(f"len({node}.src) {compare} {len(parts)}", write)

    def in_turn(
        self, pairs: list[tuple[UPat, str]], names: Names, then: Continue
    ) -> None:
        """Matches several patterns, those that can fail cheaply first."""
        if not pairs:
            then(names)
            return
        pick = next((i for i, (p, _) in enumerate(pairs) if p.op is not None), 0)
        pattern, node = pairs[pick]
        rest = pairs[:pick] + pairs[pick + 1 :]
        self.match(
            pattern, node, names, lambda found: self.in_turn(rest, found, then)
        )

    def finish(self, p: UPat, node: str, names: Names, then: Continue) -> None:
        condition = f"{self.constant(p.when)}({node})" if p.when is not None else ""
        self.test(condition, lambda: then(names))

    def every(self, p: UPat, node: str) -> str:
        """A test that all sources match; nothing inside can be captured."""
        inner = _Writer()
        inner.match(p, "n", {}, lambda names: inner.line("return True"))
        source = "def holds(n):\n" + "\n".join(inner.lines) + "\n    return False\n"
        exec(compile(source, "<pattern>", "exec"), inner.constants)
        return f"all(map({self.constant(inner.constants['holds'])}, {node}.src))"

    # --- the right side ---------------------------------------------------------------------------------------

    def right(self, rule: Rule, names: Names) -> None:
        condition = (
            self.call(rule.when, names, rule) if rule.when is not None else ""
        )
        if callable(rule.right):
            self.test(condition, lambda: self.right_function(rule, names))
            return
        if _has_literal(rule.right):
            # A constant is a scalar: it stands for a node only where that is one too.
            condition = (
                f"not n.shape and {condition}" if condition else "not n.shape"
            )
        self.test(
            condition,
            lambda: self.line(f"return {self.build(rule.right, names, 'n.dtype')}"),
        )

    def right_function(self, rule: Rule, names: Names) -> None:
        made = self.fresh()
        self.line(f"{made} = {self.call(rule.right, names, rule)}")
        self.line(f"if {made} is not None and {made} is not n: return {made}")

    def call(self, function: Callable[..., Any], names: Names, rule: Rule) -> str:
        """A call with the arguments that the function's parameters name."""
        given = names | {"ctx": "ctx"}
        wanted, optional = _parameters(function)
        missing = [
            name for name in wanted if name not in given and name not in optional
        ]
        if missing:
            known = ", ".join(given)
            raise TypeError(
                f"rule at {rule.location} wants {missing[0]!r}, the pattern captures {known}"
            )
        arguments = ", ".join(
            f"{name}={given[name]}" for name in wanted if name in given
        )
        return f"{self.constant(function)}({arguments})"

    def build(self, p: UPat, names: Names, dtype: str) -> str:
        """An expression that makes the node which `p` describes; `dtype` is the type its place asks for."""
        if p.literal is not None:
            given = self.constant(next(iter(p.dtype))) if p.dtype else dtype
            return f"const({given}, {self.constant(p.literal)})"
        if p.src is None:
            if p.name not in names:
                raise TypeError(
                    f"the right side at {p.location} uses {p.name!r}, which the pattern does not capture"
                )
            return names[p.name]
        assert p.op is not None
        (op,) = p.op
        own, inner = self.types(p, op, names, dtype)
        parts = [self.build(s, names, inner[i]) for i, s in enumerate(p.src)]
        return f"uop({self.constant(op)}, {own}, ({', '.join(parts)},))"

    def types(
        self, p: UPat, op: Ops, names: Names, dtype: str
    ) -> tuple[str, list[str]]:
        """The type of a built node and the types that its sources are asked for."""
        assert p.src is not None
        if op in COMPARE:
            asked = next(
                (self.type_of(s, names) for s in p.src if self.type_of(s, names)),
                "n.src[0].dtype",
            )
            return "boolean", [asked, asked]
        if op is Ops.WHERE:
            return dtype, ["boolean", dtype, dtype]
        own = self.constant(next(iter(p.dtype))) if p.dtype else dtype
        return own, [own] * len(p.src)

    def type_of(self, p: UPat, names: Names) -> str:
        """The type of a source as an expression, "" if a captured node does not tell."""
        if p.name in names:
            return f"{names[p.name]}.dtype"
        return next(
            (self.type_of(s, names) for s in p.src or () if self.type_of(s, names)),
            "",
        )


def _parameters(
    function: Callable[..., Any],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(all parameters, those with a default). A plain function tells by itself, which is faster than `inspect`."""
    if isinstance(function, FunctionType):
        code = function.__code__
        wanted = code.co_varnames[: code.co_argcount]
        return wanted, wanted[len(wanted) - len(function.__defaults__ or ()) :]
    found = inspect.signature(function).parameters
    return tuple(found), tuple(
        p.name for p in found.values() if p.default is not inspect.Parameter.empty
    )


def _has_literal(p: UPat) -> bool:
    return p.literal is not None or any(_has_literal(s) for s in p.src or ())
