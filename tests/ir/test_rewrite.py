"""Rewriting graphs: fixed points, both orders, depth, sharing, endless tables."""

from __future__ import annotations

import time

import pytest

from ingot.ir import dtype as dt
from ingot.ir.node import UOp, arena
from ingot.ir.opcode import Ops
from ingot.ir.pattern import PatternMatcher, UPat
from ingot.ir.rewrite import RewriteError, graph_rewrite, substitute

X, Y = UOp.variable("x", 0, 10), UOp.variable("y", 0, 10)
x, y, n, m = UPat.var("x"), UPat.var("y"), UPat.cvar("n"), UPat.cvar("m")
FOLD = PatternMatcher([
    (n + m, lambda n, m: n.ufix(int(n.value) + int(m.value))),
    (x + 0, x),
    ((x + n) + m, x + (n + m)),
])  # fmt: skip


def test_to_a_fixed_point() -> None:
    graph = X + 1 + 2 + 3 - Y * (X + 4 + -4)
    assert graph_rewrite(graph, FOLD) is X + 6 - Y * X


@pytest.mark.parametrize("bottom_up", [False, True])
def test_both_orders_reach_the_same_end(bottom_up: bool) -> None:
    graph = (X + 1 + 2) * (X + 1 + 2 + 0)
    assert graph_rewrite(graph, FOLD, bottom_up=bottom_up) is (X + 3) * (X + 3)


def test_order_of_visits() -> None:
    seen: list[Ops] = []
    note = PatternMatcher([(UPat(name="u"), lambda ctx, u: ctx.append(u.op))])
    graph_rewrite((X + 1) * 2, note, seen)
    assert seen.index(Ops.ADD) < seen.index(Ops.MUL)
    seen.clear()
    graph_rewrite((X + 1) * 2, note, seen, bottom_up=True)
    assert seen.index(Ops.MUL) < seen.index(Ops.ADD)


def test_bottom_up_sees_the_node_before_its_sources_change() -> None:
    """(x + 1) * 2 as a whole, before x + 1 becomes something else."""
    pm = PatternMatcher([((x + 1) * 2, x), (x + 1, x - 1)])
    assert graph_rewrite((X + 1) * 2, pm, bottom_up=True) is X
    assert graph_rewrite((X + 1) * 2, pm) is (X - 1) * 2


def test_shared_nodes_are_visited_once() -> None:
    seen: list[UOp] = []
    graph = X
    for _ in range(50):
        graph = graph + graph
    graph_rewrite(
        graph,
        PatternMatcher([(UPat(Ops.ADD, name="u"), lambda ctx, u: ctx.append(u))]),
        seen,
    )
    assert len(seen) == 50


@pytest.mark.parametrize("bottom_up", [False, True])
def test_a_hundred_thousand_nodes_deep(bottom_up: bool) -> None:
    count = 100_000
    with arena():
        graph = X
        for _ in range(count):
            graph = UOp(Ops.NEG, dt.index, (graph,))
        swap = PatternMatcher([(-x, UPat.var("x").alu(Ops.FLOOR))])
        start = time.process_time()
        made = graph_rewrite(graph, swap, bottom_up=bottom_up)
        spent = time.process_time() - start
        nodes = made.toposort()
    assert sum(u.op is Ops.FLOOR for u in nodes) == count
    assert len(nodes) == count + 1
    assert spent < 10


def test_a_hundred_thousand_nodes_collapse() -> None:
    with arena():
        graph = UOp.variable("x", 0, 1)
        for _ in range(100_000):
            graph = graph + 1
        made = graph_rewrite(graph, FOLD)
        assert made is UOp.variable("x", 0, 1) + 100_000


def test_two_rules_that_undo_each_other() -> None:
    pm = PatternMatcher([(x + 1, x - 1), (x - 1, x + 1)])
    with pytest.raises(
        RewriteError, match="endless rewrite in there and back"
    ) as caught:
        graph_rewrite(X + 1, pm, name="there and back")
    assert "ADD(DEFINE_VAR, CONST)" in str(caught.value)


@pytest.mark.parametrize("bottom_up", [False, True])
def test_a_rule_that_wraps_its_own_node(bottom_up: bool) -> None:
    pm = PatternMatcher([(UPat(Ops.DEFINE_VAR, name="v"), lambda v: v + 1)])
    with pytest.raises(RewriteError, match="endless"):
        graph_rewrite(X * 2, pm, bottom_up=bottom_up)


@pytest.mark.parametrize("bottom_up", [False, True])
def test_a_rule_that_grows_for_ever(bottom_up: bool) -> None:
    pm = PatternMatcher([(x + n, lambda x, n: x + (int(n.value) + 1))])
    with pytest.raises(RewriteError, match="endless"):
        graph_rewrite(X + 1, pm, bottom_up=bottom_up)


def test_growth_below_is_found_too() -> None:
    def grow(x: UOp) -> UOp:
        inner = -(x * 2)
        return -inner - x

    pm = PatternMatcher([(-x, grow)])
    with pytest.raises(RewriteError, match="endless"):
        graph_rewrite(-X, pm)


def test_tags_survive() -> None:
    made = graph_rewrite(
        (X + 1).rtag("a") * 2, PatternMatcher([(UPat(Ops.DEFINE_VAR), lambda: Y)])
    )
    assert made.src[0] is (Y + 1).rtag("a")


def test_substitute() -> None:
    graph = (X + 1) * (X + Y)
    assert substitute(graph, {X: Y}) is (Y + 1) * (Y + Y)
    assert substitute(graph, {X: X + 1}) is (X + 1 + 1) * (X + 1 + Y)
    assert substitute(graph, {X + 1: X}) is X * (X + Y)
    assert substitute(graph, {}) is graph
    assert substitute(X, {X: Y}) is Y


def test_substitute_is_deep() -> None:
    with arena():
        base, other = UOp.variable("x", 0, 1), UOp.variable("y", 0, 1)
        graph = base
        for _ in range(100_000):
            graph = UOp(Ops.NEG, dt.index, (graph,))
        assert other in substitute(graph, {base: other}).toposort()
