"""Simplification of whole expressions, with what is known about loops, and on random ones."""

from __future__ import annotations

import random

import pytest

from ingot.ir import dtype as dt
from ingot.ir.algebra import loop_extents, simplify
from ingot.ir.interpret import interpret
from ingot.ir.node import UOp, arena
from ingot.ir.opcode import AxisArg, LoopArg, LoopKind, Ops, ParamArg
from ingot.ir.rewrite import substitute
from ingot.ir.text import expr_text

X, Y = UOp.variable("x", 0, 1000), UOp.variable("y", 0, 1000)
N, M = UOp.variable("n", 1, 4096), UOp.variable("m", 1, 4096)
I, J, K = UOp.axis(0), UOp.axis(1), UOp.axis(2)
F = UOp(Ops.PARAM, dt.float32, (), ParamArg(0))
D = UOp(Ops.PARAM, dt.int32, (), ParamArg(1))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ((X // 4) * 4 + X % 4, X),
        ((X // 4) % 8 * 4 + X % 4, X % 32),
        ((X // 32) * 32 + (X // 4) % 8 * 4 + X % 4, X),
        ((X // 3) // 5, X // 15),
        ((X % 12) % 4, X % 4),
        ((X % 12) // 4, (X // 4) % 3),
        ((X * 12 + 7) // 4, X * 3 + 1),
        ((X * 12 + 7) % 4, UOp.const(dt.index, 3)),
        ((X * 6) // 4, X * 3 // 2),
        ((X * 6) % 4, X % 2 * 2),
        (X * 17 % 16, X % 16),
        ((X - 1) // 16 + 1, (X + 15) // 16),
        (X % 1001, X),
        (X // 1001, UOp.const(dt.index, 0)),
        (X * 3 + Y * 2 - X - X * 2, Y * 2),
        (Y + X, X + Y),
        ((X + 1) * 4 + (Y - 1) * 4, X * 4 + Y * 4),
        (X * (Y + 2) - Y * X, X * 2),
        (X + 3 < 10, X < 7),
        (X * 4 < 18, X < 5),
        (3 - X < 0, UOp.const(dt.index, 3) < X),
        (X < 1001, UOp.const(dt.boolean, True)),
        (X.maximum(0), X),
        (X.minimum(1000), X),
        ((X + 1).maximum(X), X + 1),
        (X.eq(X + 1), UOp.const(dt.boolean, False)),
        ((X < 5).where(X, X), X),
        (((X < 5).alu(Ops.NOT)), UOp.const(dt.index, 4) < X),
        (N * M // M, N),
        ((N * M + N) % N, UOp.const(dt.index, 0)),
        (X // 0, UOp.const(dt.index, 0)),
    ],
    ids=lambda node: expr_text(node),
)
def test_index_expressions(given: UOp, wanted: UOp) -> None:
    assert expr_text(simplify(given)) == expr_text(wanted)
    assert simplify(given) is wanted


@pytest.mark.parametrize(
    ("given", "extents", "wanted"),
    [
        ((I * 16 + J) // 16, {J: 16}, I),
        ((I * 16 + J) % 16, {J: 16}, J),
        ((I * M + J) // M, {J: M}, I),
        ((I * M + J) % M, {J: M}, J),
        ((I * 64 + J * 16 + K) % 64 // 16, {J: 4, K: 16}, J),
        (((I * N + J) * M + K) // (N * M), {J: N, K: M}, I),
        (((I * N + J) * M + K) // M % N, {J: N, K: M}, J),
        (((I * N + J) * M + K) % M, {J: N, K: M}, K),
        (I < N, {I: N}, UOp.const(dt.boolean, True)),
        (I * 16 + J < N, {I: N // 16, J: 16}, UOp.const(dt.boolean, True)),
        (I * 16 + J < N // 16 * 16, {I: N // 16, J: 16}, UOp.const(dt.boolean, True)),
        (I * 16 + J < N, {J: (N - I * 16).minimum(16)}, UOp.const(dt.boolean, True)),
        (I.minimum(N - 1), {I: N}, I),
        (I * M + J < N * M, {I: N, J: M}, UOp.const(dt.boolean, True)),
        ((I * M + J) < M * N + 1, {I: N}, I * M + J < M * N + 1),
    ],
    ids=lambda node: expr_text(node) if isinstance(node, UOp) else "",
)
def test_what_loops_tell(given: UOp, extents: dict[UOp, UOp | int], wanted: UOp) -> None:
    made = simplify(given, extents)
    assert expr_text(made) == expr_text(wanted)
    assert made is wanted


def test_nothing_is_assumed_without_extents() -> None:
    assert simplify((I * 16 + J) // 16) is not I
    assert simplify((I * 16 + J) // 16, {J: 17}) is not I
    assert simplify((I * M + J) // M, {J: N}) is not I


def test_a_tree_supplies_its_extents() -> None:
    out = UOp(Ops.PARAM, dt.index, (), ParamArg(0, True))
    store = UOp(Ops.STORE, dt.void, (out, (I * M + J) // M, (I * M + J) % M))
    inner = UOp(Ops.LOOP, dt.void, (M, store), LoopArg(1, LoopKind.LOOP))
    tree = UOp(Ops.LOOP, dt.void, (N, inner), LoopArg(0, LoopKind.LOOP))
    assert loop_extents(tree) == {I: N, J: M}
    made = simplify(tree)
    assert made.src[1].src[1].src[1:] == (I, J)
    assert not any(u.src for u in made.toposort() if u.op is Ops.AXIS)


def test_floats_keep_ieee() -> None:
    for kept in (F * 0.0, F / F, F - F, F + 0.0, 0.0 - F, F.eq(F), F * 3.0 + F, (F + 1.0) + 2.0):
        assert simplify(kept) is kept
    assert simplify(F * 1.0) is F
    assert simplify(F + -0.0) is F
    assert simplify(F - 0.0) is F
    assert simplify(F / 8.0) is F * 0.125
    assert simplify(F / 3.0) is F / 3.0
    assert simplify(F / 2.0**-127) is F * 2.0**127
    assert simplify(F / 2.0**-140) is F / 2.0**-140  # its inverse overflows


def test_constants_fold_to_the_bit() -> None:
    third = UOp.const(dt.float32, 1.0) / UOp.const(dt.float32, 3.0)
    assert simplify(third).value == 0.3333333432674408
    minus = simplify(-UOp.const(dt.float32, 0.0))
    assert minus is UOp.const(dt.float32, -0.0)
    assert simplify(UOp.const(dt.int8, 127) + UOp.const(dt.int8, 1)) is UOp.const(dt.int8, -128)
    assert simplify(UOp.const(dt.int32, -7) // UOp.const(dt.int32, 2)) is UOp.const(dt.int32, -4)
    assert simplify(UOp.const(dt.int32, 7) % UOp.const(dt.int32, 0)) is UOp.const(dt.int32, 0)
    bits = UOp.const(dt.float32, 1.0).bitcast(dt.int32)
    assert simplify(bits) is UOp.const(dt.int32, 0x3F800000)
    left = UOp(Ops.EXP, dt.float32, (UOp.const(dt.float32, 1.0),))
    assert simplify(left) is left


def test_wrapping_integers_are_not_polynomials() -> None:
    assert simplify((D * 2) // 2) is (D * 2) // 2
    assert simplify(D + 3 + 4) is D + 7
    assert simplify(D < D + 1) is (D < D + 1)


def test_casts() -> None:
    assert simplify(D.cast(dt.int64).cast(dt.int32)) is D
    assert simplify(F.cast(dt.float64).cast(dt.float32)) is F
    kept = F.cast(dt.float16).cast(dt.float32)
    assert simplify(kept) is kept
    kept = D.cast(dt.float32).cast(dt.int32)
    assert simplify(kept) is kept


def test_tensors_are_left_whole() -> None:
    shaped = UOp(Ops.PARAM, dt.index, (N,), ParamArg(0))
    assert simplify(shaped - shaped).shape == (N,)
    assert simplify(shaped + shaped) is shaped + shaped
    assert simplify(shaped < shaped).shape == (N,)


def test_it_is_idempotent_and_a_method() -> None:
    once = ((X // 4) * 5 + X % 4 + Y).simplify()
    assert once.simplify() is once
    assert X.simplify() is X


def test_arenas_have_their_own_constants() -> None:
    with arena():
        x = UOp.variable("x", 0, 10)
        assert simplify(x + 1 + 2) is x + 3


def _random_index(rng: random.Random, depth: int, leaves: list[UOp]) -> UOp:
    if depth == 0:
        return rng.choice([*leaves, UOp.const(dt.index, rng.randint(-5, 20))])
    a = _random_index(rng, depth - 1, leaves)
    b = _random_index(rng, depth - 1, leaves)
    number = rng.choice([1, 2, 3, 4, 8, 16])
    makes = [a + b, a - b, a * number, a // number, a % number, a.minimum(b), a.maximum(b), (a < b).where(a, b)]
    return rng.choice([*makes, a * b if depth < 3 else a + b])


def test_random_expressions_keep_their_value() -> None:
    rng = random.Random(5)
    for _ in range(250):
        extents = {I: rng.randint(1, 9), J: rng.choice([4, 16]), K: N}
        node = _random_index(rng, rng.randint(1, 4), [X, N, I, J, K])
        made = simplify(node, extents)
        for _ in range(6):
            sizes = {"x": rng.choice([0, 1000, rng.randint(0, 1000)]), "n": rng.choice([1, 2, 3, 16, 4096])}
            at = {a: UOp.const(dt.index, _below(rng, e, sizes)) for a, e in extents.items()}
            before = interpret(substitute(node, at), sizes=sizes)
            after = interpret(substitute(made, at), sizes=sizes)
            assert before == after, f"{expr_text(node)} became {expr_text(made)} at {sizes} {at}"


def _below(rng: random.Random, extent: UOp | int, sizes: dict[str, int]) -> int:
    top = (extent if isinstance(extent, int) else sizes["n"]) - 1
    return rng.choice([0, top, rng.randint(0, top)])


def test_a_long_sum() -> None:
    with arena():
        total = UOp.const(dt.index, 0)
        for k in range(400):
            total = total + UOp(Ops.AXIS, dt.index, (), AxisArg(k % 7)) * 2
        made = simplify(total)
        assert expr_text(made).count("*") == 7
