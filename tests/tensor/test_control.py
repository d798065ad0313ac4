"""Control flow as users write it: what it computes, what it takes from outside, and what it says when it does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.errors import ArgumentError, DTypeError, IngotError, ShapeError
from ingot.ir.opcode import Ops
from ingot.ir.region import shallow, unchanged
from ingot.pipeline.session import session

XS = np.arange(12, dtype=np.float32).reshape(4, 3)


def xs() -> ig.Tensor:
    return ig.tensor(XS)


# --- what they compute ------------------------------------------------------------------------------------------------


def test_scan_carries_and_stacks_trees() -> None:
    def step(carry: Any, x: Any) -> Any:
        total = carry["total"] + x["a"]
        return {"total": total, "count": carry["count"] + 1}, [total * 2, (x["b"],)]

    init = {"total": ig.zeros(3), "count": 0}
    carry, ys = ig.scan(step, init, {"a": xs(), "b": xs() + 1})
    sums = np.cumsum(XS, axis=0)
    np.testing.assert_array_equal(carry["total"].numpy(), sums[-1])
    assert carry["count"].item() == 4
    np.testing.assert_array_equal(ys[0].numpy(), sums * 2)
    np.testing.assert_array_equal(ys[1][0].numpy(), XS + 1)


def test_scan_without_sequences() -> None:
    last, powers = ig.scan(lambda c, x: (c * 2, c), 1, length=5)
    assert last.item() == 32
    assert powers.tolist() == [1, 2, 4, 8, 16]


def test_scan_backwards() -> None:
    last, sums = ig.scan(
        lambda c, x: (c + x, c + x), ig.zeros(3), xs(), reverse=True
    )
    np.testing.assert_array_equal(sums.numpy(), np.cumsum(XS[::-1], axis=0)[::-1])
    np.testing.assert_array_equal(last.numpy(), XS.sum(0))


def test_cond_runs_one_branch() -> None:
    for sign in (1.0, -1.0):
        x = xs() * sign + sign
        made = ig.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x)
        wanted = (XS + 1) * 2 if sign > 0 else -(XS + 1) - 1
        np.testing.assert_array_equal(made.numpy(), wanted)
    assert ig.cond(True, lambda: 1, lambda: 1 / 0) == 1


def test_host_code_of_the_other_branch_does_not_run() -> None:
    calls: list[str] = []

    def host(name: str) -> Callable[[ig.Tensor], ig.Tensor]:
        def run(x: Any) -> Any:
            calls.append(name)
            return x

        kinds = [("float32", (4, 3))]
        return lambda v: ig.extern(f"test_control_{name}", run, (v,), kinds)

    ig.cond(xs().sum() > 0, host("yes"), host("no"), xs()).realize()
    assert calls == ["yes"]


def test_while_loop() -> None:
    count, value = ig.while_loop(
        lambda s: s[1] < 100, lambda s: (s[0] + 1, s[1] * 3), (0, 1.0)
    )
    assert (count.item(), value.item()) == (5, 243.0)


def test_fori_loop() -> None:
    assert ig.fori_loop(2, 6, lambda i, v: v + i, 0).item() == 14
    assert ig.fori_loop(2, 2, lambda i, v: v + i, 7).item() == 7
    first, last = ig.tensor(2), ig.tensor(6)
    assert ig.fori_loop(first, last, lambda i, v: v + i, 0).item() == 14


def test_a_function_is_compiled_once() -> None:
    @ig.function
    def layer(x: ig.Tensor, w: ig.Tensor, slope: float = 0.1) -> ig.Tensor:
        """One layer."""
        return ig.maximum(x @ w, (x @ w) * slope)

    w = ig.tensor(np.eye(3, dtype=np.float32) / 2)
    value = xs()
    for _ in range(3):
        value = layer(value, w, slope=0.2)
    assert (layer.__name__, layer.__doc__) == ("layer", "One layer.")
    functions = {u for u in value.uop.toposort() if u.op is Ops.FUNCTION}
    assert len(functions) == 1
    np.testing.assert_array_equal(value.numpy(), XS / 8)


def test_call_gives_trees() -> None:
    made: Any = ig.call(lambda x, n: {"twice": x * 2, "n": (x + n,)}, xs(), 3)
    np.testing.assert_array_equal(made["twice"].numpy(), XS * 2)
    np.testing.assert_array_equal(made["n"][0].numpy(), XS + 3)


def test_extern_gives_one_or_several() -> None:
    one = ig.extern("test_control_one", np.cos, (xs(),), [("float32", (4, 3))])
    np.testing.assert_array_equal(one.numpy(), np.cos(XS))
    two = ig.extern(
        "test_control_two",
        lambda x: (x.sum(0), x.sum(1)),
        (xs(),),
        [("float32", (3,)), (ig.float32, (4,))],
    )
    np.testing.assert_array_equal(two[1].numpy(), XS.sum(1))


# --- values from outside ----------------------------------------------------------------------------------------------


def test_values_from_outside_are_carried_unchanged() -> None:
    w = ig.tensor(np.eye(3, dtype=np.float32))
    last, _ = ig.scan(lambda c, x: (c @ (w * 2).T + x, None), ig.zeros(3), xs())
    (loop,) = [u for u in shallow(last.uop) if u.op is Ops.SCAN]
    assert unchanged(loop) == {1}
    assert loop.src[2] is (w * 2).uop  # computed once, before the loop
    np.testing.assert_array_equal(last.numpy(), [33, 48, 63])


def test_a_body_may_use_what_an_outer_body_was_given() -> None:
    def outer(carry: ig.Tensor, row: ig.Tensor) -> Any:
        inner = ig.scan(lambda c, x: (c + x * row.sum() + carry, None), 0.0, row)
        return inner[0], inner[0]

    made = ig.scan(outer, 0.0, xs())[1].numpy()
    carry, wanted = 0.0, []
    for row in XS:
        total = 0.0
        for x in row:
            total += x * row.sum() + carry
        carry = total
        wanted.append(total)
    np.testing.assert_allclose(made, wanted, rtol=1e-6)


def test_another_value_from_outside_is_the_same_program() -> None:
    def shifted(by: ig.Tensor) -> Any:
        return ig.scan(lambda c, x: (c + x * by, None), ig.zeros(3), xs())[
            0
        ].numpy()

    shifted(ig.tensor(2.0))
    schedules = len(session.forge().schedules)
    np.testing.assert_array_equal(shifted(ig.tensor(3.0)), XS.sum(0) * 3)
    assert len(session.forge().schedules) == schedules


def test_constants_inside_a_body_stay_there() -> None:
    ones = ig.ones(3)
    ones.realize()
    made = ig.scan(
        lambda c, x: (c + ig.ones(3) + ones * x, None), ig.zeros(3), xs()
    )
    np.testing.assert_array_equal(made[0].numpy(), XS.sum(0) + 4)


def test_inside_a_captured_function() -> None:
    @ig.jit
    def total(x: ig.Tensor, w: ig.Tensor) -> Any:
        return ig.scan(lambda c, row: (c + row * w, None), w * 0, x)[0]

    for scale in (1.0, 2.0):
        w = ig.tensor(np.full(3, scale, np.float32))
        np.testing.assert_array_equal(total(xs(), w).numpy(), XS.sum(0) * scale)


# --- what does not fit ------------------------------------------------------------------------------------------------


def pair(carry: ig.Tensor, x: ig.Tensor) -> tuple[Any, Any]:
    return (carry, x), None


def alone(carry: ig.Tensor, x: ig.Tensor) -> Any:
    return carry


def widens(carry: ig.Tensor, x: ig.Tensor) -> tuple[ig.Tensor, None]:
    return carry + x, None


def compares(carry: ig.Tensor, x: ig.Tensor) -> tuple[ig.Tensor, None]:
    return carry > 1, None


def says(carry: ig.Tensor, x: ig.Tensor) -> tuple[ig.Tensor, str]:
    return carry, "text"


def rows(v: ig.Tensor) -> ig.Tensor:
    return v


def columns(v: ig.Tensor) -> ig.Tensor:
    return v.T


def whole(v: ig.Tensor) -> ig.Tensor:
    return v.astype("int32")


MISTAKES: dict[str, tuple[Callable[[], Any], type[IngotError], str]] = {
    "branches of two shapes": (
        lambda: ig.cond(xs().sum() > 0, rows, columns, xs()),
        ShapeError,
        r"rows and columns return different things: given float32 \(3, 4\), wanted float32 \(4, 3\)",
    ),
    "branches of two types": (
        lambda: ig.cond(xs().sum() > 0, rows, whole, xs()),
        DTypeError,
        "rows and whole return different things: given int32",
    ),
    "branches of two forms": (
        lambda: ig.cond(xs().sum() > 0, rows, lambda v: (v, v), xs()),
        ArgumentError,
        "return different things",
    ),
    "a condition with axes": (
        lambda: ig.cond(xs() > 0, rows, rows, xs()),
        ShapeError,
        r"the condition is \(4, 3\): wanted one bool.*\n.*\.any\(\)",
    ),
    "a condition that is a number": (
        lambda: ig.cond(xs().sum(), rows, rows, xs()),
        DTypeError,
        "the condition is float32: wanted bool.*\n.*x != 0",
    ),
    "a loop whose condition is a number": (
        lambda: ig.while_loop(lambda v: v + 1, lambda v: v, 0.0),
        DTypeError,
        "while_loop of lambda: the condition is float32",
    ),
    "a body that returns no pair": (
        lambda: ig.scan(alone, 0.0, xs()),
        ArgumentError,
        r"scan of alone: it returns float32 \(\): wanted a pair",
    ),
    "a carry that changes its shape": (
        lambda: ig.scan(widens, 0.0, xs()),
        ShapeError,
        r"scan of widens: the carry changes its type: given float32 \(3,\)",
    ),
    "a carry that changes its type": (
        lambda: ig.scan(compares, 0.0, xs()),
        DTypeError,
        r"scan of compares.*\n.*astype\('float32'\)",
    ),
    "a carry that changes its form": (
        lambda: ig.scan(pair, 0.0, xs()),
        ArgumentError,
        "scan of pair: the carry changes its form",
    ),
    "a result that is no tensor": (
        lambda: ig.scan(says, 0.0, xs()),
        ArgumentError,
        "scan of says: it returns a str",
    ),
    "sequences of two lengths": (
        lambda: ig.scan(widens, 0.0, (xs(), xs()[:2])),
        ShapeError,
        "wanted 4 along the first axis",
    ),
    "no sequence at all": (
        lambda: ig.scan(widens, 0.0),
        ArgumentError,
        "scan of widens: there is no sequence",
    ),
    "a number as a sequence": (
        lambda: ig.scan(widens, 0.0, xs().sum()),
        ShapeError,
        "a sequence has no axis",
    ),
    "no function": (
        lambda: ig.scan(3, 0.0, xs()),  # type: ignore[arg-type]
        ArgumentError,
        "a function is wanted: given int",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_explained(name: str) -> None:
    make, kind, message = MISTAKES[name]
    with pytest.raises(kind, match=message):
        make()


def test_a_body_may_not_change_tensors_from_outside() -> None:
    total = ig.zeros(3)

    def adds(carry: ig.Tensor, x: ig.Tensor) -> tuple[ig.Tensor, None]:
        nonlocal total
        total += x
        return carry, None

    with pytest.raises(
        ArgumentError, match="scan of adds: it changes a tensor from outside"
    ):
        ig.scan(adds, 0.0, xs())
    np.testing.assert_array_equal(total.numpy(), np.zeros(3))


def test_a_body_may_change_its_own_tensors() -> None:
    def adds(carry: ig.Tensor, x: ig.Tensor) -> tuple[ig.Tensor, None]:
        own = ig.zeros(3)
        own += x
        return carry + own, None

    made = ig.scan(adds, ig.zeros(3), xs())[0]
    np.testing.assert_array_equal(made.numpy(), XS.sum(0))


def test_random_numbers_do_not_repeat_in_silence() -> None:
    with pytest.raises(ArgumentError, match="random numbers go in as arguments"):
        ig.scan(lambda c, x: (c + ig.rand(3), None), ig.zeros(3), xs())


def test_a_value_cannot_be_looked_at_inside() -> None:
    def looks(carry: ig.Tensor, x: ig.Tensor) -> tuple[ig.Tensor, None]:
        return (carry + 1, None) if x.sum() > 0 else (carry, None)

    with pytest.raises(ArgumentError, match="a value was asked for"):
        ig.scan(looks, 0.0, xs())
