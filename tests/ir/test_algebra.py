"""Simplification of whole expressions, with what is known about loops, and on random ones."""

from __future__ import annotations

import random

import pytest

from ingot.ir import dtype as dt
from ingot.ir.algebra import loop_extents, simplify
from ingot.ir.interpret import interpret
from ingot.ir.node import UOp, arena
from ingot.ir.opcode import AxisArg, LoopArg, LoopKind, Ops, ParamArg, VarArg
from ingot.ir.rewrite import substitute
from ingot.ir.text import expr_text

X, Y = UOp.variable("x", 0, 1000), UOp.variable("y", 0, 1000)
N, M = UOp.variable("n", 1, 4096), UOp.variable("m", 1, 4096)
U, V, W = UOp.axis(0), UOp.axis(1), UOp.axis(2)
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
        ((U * 16 + V) // 16, {V: 16}, U),
        ((U * 16 + V) % 16, {V: 16}, V),
        ((U * M + V) // M, {V: M}, U),
        ((U * M + V) % M, {V: M}, V),
        ((U * 64 + V * 16 + W) % 64 // 16, {V: 4, W: 16}, V),
        (((U * N + V) * M + W) // (N * M), {V: N, W: M}, U),
        (((U * N + V) * M + W) // M % N, {V: N, W: M}, V),
        (((U * N + V) * M + W) % M, {V: N, W: M}, W),
        (U < N, {U: N}, UOp.const(dt.boolean, True)),
        (U * 16 + V < N, {U: N // 16, V: 16}, UOp.const(dt.boolean, True)),
        (
            U * 16 + V < N // 16 * 16,
            {U: N // 16, V: 16},
            UOp.const(dt.boolean, True),
        ),
        (
            U * 16 + V < N,
            {V: (N - U * 16).minimum(16)},
            UOp.const(dt.boolean, True),
        ),
        (U.minimum(N - 1), {U: N}, U),
        (U * M + V < N * M, {U: N, V: M}, UOp.const(dt.boolean, True)),
        ((U * M + V) < M * N + 1, {U: N}, U * M + V < M * N + 1),
    ],
    ids=lambda node: expr_text(node) if isinstance(node, UOp) else "",
)
def test_what_loops_tell(
    given: UOp, extents: dict[UOp, UOp | int], wanted: UOp
) -> None:
    made = simplify(given, extents)
    assert expr_text(made) == expr_text(wanted)
    assert made is wanted


def test_nothing_is_assumed_without_extents() -> None:
    assert simplify((U * 16 + V) // 16) is not U
    assert simplify((U * 16 + V) // 16, {V: 17}) is not U
    assert simplify((U * M + V) // M, {V: N}) is not U


def test_a_tree_supplies_its_extents() -> None:
    out = UOp(Ops.PARAM, dt.index, (), ParamArg(0, True))
    store = UOp(Ops.STORE, dt.void, (out, (U * M + V) // M, (U * M + V) % M))
    inner = UOp(Ops.LOOP, dt.void, (M, store), LoopArg(1, LoopKind.LOOP))
    tree = UOp(Ops.LOOP, dt.void, (N, inner), LoopArg(0, LoopKind.LOOP))
    assert loop_extents(tree) == {U: N, V: M}
    made = simplify(tree)
    assert made.src[1].src[1].src[1:] == (U, V)
    assert not any(u.src for u in made.toposort() if u.op is Ops.AXIS)


def test_floats_keep_ieee() -> None:
    for kept in (
        F * 0.0,
        F / F,
        F - F,
        F + 0.0,
        0.0 - F,
        F.eq(F),
        F * 3.0 + F,
        (F + 1.0) + 2.0,
    ):
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
    assert simplify(UOp.const(dt.int8, 127) + UOp.const(dt.int8, 1)) is UOp.const(
        dt.int8, -128
    )
    assert simplify(UOp.const(dt.int32, -7) // UOp.const(dt.int32, 2)) is UOp.const(
        dt.int32, -4
    )
    assert simplify(UOp.const(dt.int32, 7) % UOp.const(dt.int32, 0)) is UOp.const(
        dt.int32, 0
    )
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
    makes = [
        a + b,
        a - b,
        a * number,
        a // number,
        a % number,
        a.minimum(b),
        a.maximum(b),
        (a < b).where(a, b),
    ]
    return rng.choice(
        [*makes, a * b if depth < 3 else a + b, a // b, a % b, (a // b) * b + a % b]
    )


def test_random_expressions_keep_their_value() -> None:
    rng = random.Random(5)
    for _ in range(250):
        extents: dict[UOp, UOp | int] = {
            U: rng.randint(1, 9),
            V: rng.choice([4, 16]),
            W: N,
        }
        node = _random_index(rng, rng.randint(1, 4), [X, N, U, V, W])
        made = simplify(node, extents)
        for _ in range(6):
            sizes = {
                "x": rng.choice([0, 1000, rng.randint(0, 1000)]),
                "n": rng.choice([1, 2, 3, 16, 4096]),
            }
            at = {
                a: UOp.const(dt.index, _below(rng, e, sizes))
                for a, e in extents.items()
            }
            before = interpret(substitute(node, at), sizes=sizes)
            after = interpret(substitute(made, at), sizes=sizes)
            assert before == after, (
                f"{expr_text(node)} became {expr_text(made)} at {sizes} {at}"
            )


DIVISORS = [
    0,
    1,
    3,
    12,
    -1,
    -4,
    *(UOp.variable("d", lo, hi) for lo, hi in ((0, 5), (-3, 3), (1, 9), (-9, -1))),
]


@pytest.mark.parametrize(
    "divisor",
    DIVISORS,
    ids=lambda d: str(d) if isinstance(d, int) else str(d.bounds),
)
@pytest.mark.parametrize(
    "second",
    DIVISORS,
    ids=lambda d: str(d) if isinstance(d, int) else str(d.bounds),
)
def test_divisors_of_any_sign(divisor: UOp | int, second: UOp | int) -> None:
    """Zero divides too, and gives 0: quotient and remainder then make no whole."""
    rng = random.Random(1)
    d = UOp.const(dt.index, divisor) if isinstance(divisor, int) else divisor
    e = (
        UOp.const(dt.index, second)
        if isinstance(second, int)
        else substitute(second, {}).replace(
            arg=VarArg("e", int(second.vmin), int(second.vmax))
        )
    )
    x = X - 500
    forms = [
        (x // d) * d + x % d,
        ((x // d) % e) * d + x % d,
        (x // d) // e,
        (x % d) % e,
        (x % d) // e,
        (x * d + e) // d,
        (x * d + e) % d,
        (x * d) // (d * e),
        (x % (d * e)) // d,
        (x % (d * e)) % d,
    ]
    for node in forms:
        made = simplify(node)
        for _ in range(8):
            sizes = {
                "x": rng.randint(0, 1000),
                "d": _inside(rng, d),
                "e": _inside(rng, e),
            }
            before, after = (
                interpret(node, sizes=sizes),
                interpret(made, sizes=sizes),
            )
            assert before == after, (
                f"{expr_text(node)} became {expr_text(made)} at {sizes}"
            )


def _inside(rng: random.Random, node: UOp) -> int:
    low, high = int(node.vmin), int(node.vmax)
    return rng.choice([low, high, min(max(0, low), high), rng.randint(low, high)])


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
