"""Patterns and tables: what matches, what is captured, what is made."""

from __future__ import annotations

import pytest

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, ParamArg
from ingot.ir.pattern import PatternMatcher, UPat

X, Y = UOp.variable("x", 0, 10), UOp.variable("y", 0, 10)
F = UOp(Ops.PARAM, dt.float32, (), ParamArg(0))
x, y = UPat.var("x"), UPat.var("y")


def once(*row: object) -> PatternMatcher:
    return PatternMatcher([tuple(row)])


def test_data_on_both_sides() -> None:
    pm = once(x + 0, x)
    assert pm.rewrite(X + 0) is X
    assert pm.rewrite(0 + X) is X
    assert pm.rewrite(X + 1) is None
    assert pm.rewrite(X * 0) is None


def test_literals_compare_bits() -> None:
    pm = once(x + 0.0, x)
    assert pm.rewrite(F + 0.0) is F
    assert pm.rewrite(F + -0.0) is None
    assert once(x + -0.0, x).rewrite(F + -0.0) is F
    assert once(x * 1, x).rewrite(F * 1.0) is F


def test_a_literal_that_a_type_cannot_hold_does_not_match() -> None:
    assert (
        once(x + 300, x).rewrite(UOp.const(dt.int8, 44) + UOp.const(dt.int8, 44))
        is None
    )


def test_the_same_name_is_the_same_node() -> None:
    pm = once(x + x, x * 2)
    assert pm.rewrite(X + X) is X * 2
    assert pm.rewrite(X + Y) is None


def test_nested_algebra() -> None:
    n = UPat.cvar("n")
    pm = once((x // n) * n + x % n, x)
    assert pm.rewrite((X // 4) * 4 + X % 4) is X
    assert pm.rewrite(X % 4 + (X // 4) * 4) is X
    assert pm.rewrite(UOp.const(dt.index, 4) * (X // 4) + X % 4) is X
    assert pm.rewrite((X // 4) * 4 + X % 5) is None
    assert pm.rewrite((X // 4) * 4 + Y % 4) is None


def test_right_sides_are_typed() -> None:
    assert once(x < y, (y - 1) < x).rewrite(X < Y) is ((Y - 1) < X)
    made = once(
        UPat.var("c", dt.boolean).where(x, y), UPat.var("c").where(y, x)
    ).rewrite((X < 3).where(F, -F))
    assert made is (X < 3).where(-F, F)
    assert once(x.cast(dt.int32), x.cast(dt.float64)).rewrite(
        F.cast(dt.int32)
    ) is F.cast(dt.float64)


def test_a_constant_is_not_put_in_place_of_a_tensor() -> None:
    tensor = UOp(Ops.PARAM, dt.int32, (UOp.const(dt.index, 3),), ParamArg(0))
    pm = once(x - x, UPat.const(None, 0))
    assert pm.rewrite(tensor - tensor) is None
    assert pm.rewrite(X - X) is UOp.const(dt.index, 0)


def test_functions_get_what_they_ask_for() -> None:
    seen: list[object] = []

    def with_ctx(ctx: list[object], x: UOp) -> UOp | None:
        ctx.append(x)
        return None

    assert once(x * y, with_ctx).rewrite(X * Y, seen) is None
    assert seen[0] is X
    assert once(x * y, lambda y: y).rewrite(X * Y) is Y
    assert once(x * y, lambda x, extra=None: x).rewrite(X * Y) is X


def test_a_function_that_asks_for_what_is_not_captured() -> None:
    with pytest.raises(TypeError, match="wants 'z'"):
        once(x * y, lambda z: z).rewrite(X * Y)
    with pytest.raises(TypeError, match="does not capture"):
        once(x * y, UPat.var("z")).rewrite(X * Y)


def test_none_and_the_node_itself_mean_no_match() -> None:
    pm = PatternMatcher(
        [
            (x + y, lambda x: None),
            (UPat(Ops.ADD, name="n"), lambda n: n),
            (x + y, y),
        ]
    )
    assert pm.rewrite(X + Y) is Y


def test_conditions() -> None:
    pm = once(x % UPat.cvar("n"), x, lambda x, n: 0 <= x.vmin and x.vmax < n.value)
    assert pm.rewrite(X % 11) is X
    assert pm.rewrite(X % 10) is None
    even = UPat.cvar("n", when=lambda node: int(node.value) % 2 == 0)
    assert once(x * even, x).rewrite(X * 4) is X
    assert once(x * even, x).rewrite(X * 3) is None


def test_sets_of_opcodes_and_types() -> None:
    pm = once(
        UPat((Ops.ADD, Ops.MUL), dtype=(dt.float32, dt.float64), name="n"),
        lambda n: n.src[0],
    )
    assert pm.rewrite(F + F) is F
    assert pm.rewrite(F * F) is F
    assert pm.rewrite(F - F) is None
    assert pm.rewrite(X + X) is None


def test_sources_exact_any_length_and_every() -> None:
    sink = X.sink(Y, F)
    assert once(UPat(Ops.SINK, src=(x, y)), x).rewrite(sink) is None
    assert (
        once(UPat(Ops.SINK, src=(x, y), allow_any_len=True), y).rewrite(sink) is Y
    )
    every = UPat(Ops.SINK, src=UPat(Ops.DEFINE_VAR), name="s")
    assert once(every, lambda s: s.src[0]).rewrite(X.sink(Y)) is X
    assert once(every, lambda s: s.src[0]).rewrite(sink) is None
    assert (
        once(UPat(Ops.SINK, src=()), lambda: X).rewrite(UOp(Ops.SINK, dt.void)) is X
    )


def test_a_list_of_sources_is_any_order() -> None:
    pm = once(UPat(Ops.SUB, src=[UPat.cvar("c"), x]), x)
    assert pm.rewrite(X - 3) is X
    assert pm.rewrite(3 - X) is X
    with pytest.raises(ValueError, match="either order"):
        UPat(Ops.SUB, src=[x])


def test_args_and_alternatives() -> None:
    pm = once(UPat(Ops.PARAM, arg=ParamArg(0), name="p"), lambda p: X)
    assert pm.rewrite(F) is X
    assert pm.rewrite(F.replace(arg=ParamArg(1))) is None
    either = UPat.any(x + 1, x * 2)
    assert once(either, x).rewrite(X + 1) is X
    assert once(either, x).rewrite(X * 2) is X
    assert once(-either, x).rewrite(-(X * 2)) is X
    assert once(either, x).rewrite(X - 2) is None


def test_named_and_describe() -> None:
    pm = once((x + 1).named("sum"), lambda sum, x: x)
    assert pm.rewrite(X + 1) is X
    assert str(pm.rules[0]).startswith("add(x, 1)")
    assert repr(x // UPat.cvar("n")) == "idiv(x, n)"


def test_tables_add_up_in_order() -> None:
    first, second = once(x + y, x), once(x + y, y)
    assert (first + second).rewrite(X + Y) is X
    assert (second + first).rewrite(X + Y) is Y
    assert len((first + second).rules) == 2


def test_rules_know_their_line() -> None:
    pm = PatternMatcher([
        (x + 1, x),
        (x + 2, x),
    ])  # fmt: skip
    lines = [int(rule.location.rsplit(":", 1)[1]) for rule in pm.rules]
    assert pm.rules[0].location.rsplit(":", 1)[0] == __file__
    assert lines[1] == lines[0] + 1


def test_a_rule_alone_checks_the_opcode() -> None:
    (rule,) = once(x + y, x).rules
    assert rule.apply(X + Y) is X
    assert rule.apply(X * Y) is None
