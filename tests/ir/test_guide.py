"""The idioms of a UOp compiler, as people write them: patterns, transforms with ctx, variables, tags, views."""

from __future__ import annotations

from ingot.ir import dtype as dt
from ingot.ir.algebra import simplify
from ingot.ir.node import UOp
from ingot.ir.opcode import AxesArg, BufferArg, Ops
from ingot.ir.pattern import PatternMatcher, UPat
from ingot.ir.region import sizes
from ingot.ir.rewrite import graph_rewrite

X = UOp.variable("x", 0, 10)
BUFFER = UOp(Ops.BUFFER, dt.float32, sizes((4, 8)), BufferArg(660_001))


def test_a_pattern_over_two_constants() -> None:
    pm = PatternMatcher([
        (UPat(Ops.ADD, src=(UPat.cvar("x"), UPat.cvar("x"))), lambda x: x * 2),
    ])  # fmt: skip
    three = UOp.const(dt.int32, 3)
    assert graph_rewrite(three + three, pm) is three * 2
    assert graph_rewrite(three + UOp.const(dt.int32, 4), pm).op is Ops.ADD


def test_a_transform_with_ctx() -> None:
    new_arg = AxesArg((1, 0))

    def my_transform(ctx: dict[UOp, bool], x: UOp) -> UOp | None:
        if x in ctx:
            return None
        made = x.replace(arg=new_arg)
        ctx[made] = True
        return made

    pm = PatternMatcher([(UPat(Ops.PERMUTE, name="x"), my_transform)])
    before = UOp(Ops.PERMUTE, dt.float32, (BUFFER,), AxesArg((0, 1)))
    context: dict[UOp, bool] = {}
    result = graph_rewrite(before, pm, ctx=context)
    assert result.arg == new_arg
    assert list(context) == [result]


def test_values_are_stripped_from_binds_and_put_back() -> None:
    """Schedules are cached by structure: BIND(variable, value) is BIND(variable) in the key."""

    def strip(ctx: dict[UOp, UOp], b: UOp) -> UOp:
        bare = b.replace(src=b.src[:1])
        ctx[bare] = b
        return bare

    before = PatternMatcher([
        (UPat(Ops.BIND, src=(UPat(Ops.DEFINE_VAR), UPat.cvar()), name="b"), strip),
    ])  # fmt: skip
    after = PatternMatcher([
        (UPat(Ops.BIND, src=(UPat(Ops.DEFINE_VAR),), name="b"), lambda ctx, b: ctx.get(b)),
    ])  # fmt: skip
    keys = []
    for value in (3, 4):
        found: dict[UOp, UOp] = {}
        key = graph_rewrite(X.bind(value) * 2 + 1, before, ctx=found)
        keys.append(key)
        assert graph_rewrite(key, after, ctx=found) is X.bind(value) * 2 + 1
        assert [b.unbind() for b in found.values()] == [(X, value)]
        assert all(len(b.src) == 1 for b in key.toposort() if b.op is Ops.BIND)
    assert keys[0] is keys[1]


def test_nodes_by_opcode() -> None:
    graph = (X + 1) * (X + 2)
    assert [u for u in graph.toposort() if u.op is Ops.ADD] == [X + 1, X + 2]
    assert any(u.op is Ops.DEFINE_VAR for u in graph.backward_slice)


def test_variables_and_their_values() -> None:
    bound = X.bind(7)
    variable, value = bound.unbind()
    assert (variable, value) == (X, 7)
    assert (bound + 1).variables() == [X]


def test_a_buffer_after_its_effects() -> None:
    write = UOp(Ops.ASSIGN, dt.float32, (BUFFER, BUFFER))
    big_sink = UOp(Ops.AFTER, dt.float32, (BUFFER, write)).sink()
    after_map = [(u, u.buf_uop) for u in big_sink.toposort() if u.op is Ops.AFTER]
    assert [pair[1] for pair in after_map] == [BUFFER]


def test_tags_and_the_cache_of_nodes() -> None:
    assert (X + 1).rtag(5).replace(tag=None) is X + 1
    assert (X + 1).rtag(5).replace(op=Ops.MUL).tag == 5


def test_symbolic_bounds() -> None:
    assert (X * 4 + 3).vmin == 3
    assert (X * 4 + 3).vmax == 43
    assert simplify(X % 11) is X
    assert UOp.const(dt.int32, 3).simplify() is UOp.const(dt.int32, 3)


def test_max_is_an_opcode() -> None:
    assert X.maximum(3).op is Ops.MAX
    assert (X + 1).sink().op is Ops.SINK
