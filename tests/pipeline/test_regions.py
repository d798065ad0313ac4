"""Control flow as one native program: against the interpreter and NumPy, for every kind of region and for nests of them."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot import pipeline
from ingot.errors import ArgumentError, ShapeError
from ingot.ir import dtype as dt
from ingot.ir.interpret import interpret
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.region import (
    call,
    extern,
    function,
    if_,
    param,
    register_extern,
    scan,
    size_of,
    sizes,
    while_,
)
from ingot.ops.check import checked
from ingot.ops.lower import lower
from ingot.pipeline import stages
from ingot.pipeline.bisect import bisect
from ingot.pipeline.normalise import normalise
from ingot.pipeline.recipe import Scan, recipe_from_text
from ingot.pipeline.reference import array, numbers
from ingot.pipeline.report import Report
from ingot.pipeline.session import Forge, Session
from ingot.pipeline.session import session as current
from ingot.runtime.program import CommandFault
from ingot.settings import settings
from ingot.target import host
from tests.pipeline.programs import array as numbers_like

Array = np.ndarray[Any, Any]
MATRIX = ig.tensor(numbers_like(5, 4)).uop
START = ig.tensor(numbers_like(4, seed=1)).uop


def run(*roots: UOp) -> list[Array]:
    made = pipeline.realize(list(roots))
    return [
        buffer.as_array(dt.to_numpy(root.dtype), numbers(root, {})).copy()
        for buffer, root in zip(made, roots, strict=True)
    ]


def check(*roots: UOp) -> list[Array]:
    """Natively what the interpreter says, bit for bit."""
    sink = UOp(Ops.SINK, dt.void, roots)
    leaves = [u for u in sink.toposort() if u.op is Ops.BUFFER]
    given = {u: array(u, {}) for u in leaves}
    wanted = interpret(sink, given, lower=lower)
    made = run(*roots)
    for got, want in zip(made, wanted, strict=True):
        np.testing.assert_array_equal(got, want)
    return made


def scalar(value: float) -> UOp:
    return UOp.const(dt.float32, value)


def scalar_row(value: float) -> UOp:
    """A number with two axes."""
    return UOp(Ops.RESHAPE, dt.float32, (scalar(value), *sizes((1, 1))))


# --- every kind of region ---------------------------------------------------------------------------------------------

X = param(0, dt.float32, (5, 4))
TWO, THREE = (
    UOp(Ops.EXPAND, dt.float32, (scalar_row(n), *sizes((5, 4)))) for n in (2.0, 3.0)
)
BOTH = function("both", (X,), (X * TWO, X * THREE))
SAME = function("same", (X,), (X, X * TWO))


def test_a_call(session: Session) -> None:
    doubled, tripled = call(BOTH, MATRIX)
    check(doubled, tripled)
    check(tripled)
    check(*call(SAME, MATRIX))


def test_calls_of_calls_share_kernels(session: Session) -> None:
    value = MATRIX
    for _ in range(6):
        value = call(BOTH, value)[0]
    check(value)
    assert session.forge().compiled == 1


@pytest.mark.parametrize("holds", [True, False])
def test_a_branch(session: Session, holds: bool) -> None:
    check(*if_(UOp.const(dt.boolean, holds), BOTH, SAME, MATRIX))


@pytest.mark.parametrize("start", [0, 3, 7])
def test_a_loop_with_a_condition(session: Session, start: int) -> None:
    """Also one that never turns."""
    count, value = param(0, dt.int32), param(1, dt.float32, (5, 4))
    test = function("small", (count, value), (count < 5,))
    step = function("step", (count, value), (count + 1, value * TWO))
    check(*while_(test, step, UOp.const(dt.int32, start), MATRIX))


CARRY, ROW = param(0, dt.float32, (4,)), param(1, dt.float32, (4,))
BODIES: dict[str, tuple[UOp, ...]] = {
    "the carry is stacked": (CARRY + ROW, CARRY + ROW),
    "another value is stacked": (CARRY + ROW, CARRY * ROW),
    "the slice is stacked": (CARRY + ROW, ROW),
    "the old carry is stacked": (ROW, CARRY),
    "the carry stays": (CARRY, CARRY * ROW),
    "one value three times": (CARRY + ROW, CARRY + ROW, CARRY + ROW, CARRY),
    "nothing is stacked": (CARRY * ROW,),
}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_a_scan(session: Session, name: str, reverse: bool) -> None:
    body = function("step", (CARRY, ROW), BODIES[name])
    results = scan(body, (START,), (MATRIX,), reverse=reverse)
    check(*results)
    for result in results:
        check(result)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 17])
def test_a_scan_of_any_length(session: Session, length: int) -> None:
    """The result of an odd and of an even number of turns lies in the same place."""
    rows = ig.tensor(numbers_like(length, 4)).uop
    body = function("step", (CARRY, ROW), (CARRY + ROW, CARRY * ROW))
    check(*scan(body, (START,), (rows,)))


def test_carries_that_change_places(session: Session) -> None:
    a, b, x = (
        param(0, dt.float32, (4,)),
        param(1, dt.float32, (4,)),
        param(2, dt.float32, (4,)),
    )
    body = function("fibonacci", (a, b, x), (b, a + b + x, a))
    other = ig.tensor(numbers_like(4, seed=2)).uop
    check(*scan(body, (START, other), (MATRIX,)))


def test_host_code(session: Session) -> None:
    register_extern(
        "test_regions_sorted", lambda x: (np.sort(x, 1), np.float32(x.sum()))
    )
    types = (("float32", (5, 4)), ("float32", ()))
    rows, total = extern("test_regions_sorted", (MATRIX * TWO,), types)
    check(rows * TWO, total + 1.0)
    check(total)
    register_extern("test_regions_wrong", lambda x: x[:2])
    (wrong,) = extern("test_regions_wrong", (MATRIX,), (("float32", (5, 4)),))
    with pytest.raises(
        ShapeError, match=r"result 0: given \(2, 4\), wanted \(5, 4\)"
    ):
        run(wrong)
    (unknown,) = extern("test_regions_unknown", (MATRIX,), (("float32", (5, 4)),))
    with pytest.raises(
        ArgumentError, match="no host code called 'test_regions_unknown'"
    ):
        run(unknown)


def test_host_code_is_looked_up_when_it_runs(session: Session) -> None:
    register_extern("test_regions_changing", lambda x: x + 1)
    (made,) = extern("test_regions_changing", (MATRIX,), (("float32", (5, 4)),))
    first = run(made)[0]
    register_extern("test_regions_changing", lambda x: x + 2)
    np.testing.assert_array_equal(run(made)[0], first + 1)


# --- nests ------------------------------------------------------------------------------------------------------------


def collatz_like(xs: ig.Tensor) -> Any:
    """A scan in a branch in a loop, with values of all levels in the innermost body."""
    scale = xs.sum() * 0.01

    def rows(total: ig.Tensor) -> Any:
        return ig.scan(lambda c, x: (c * 0.5 + x * scale, c), total, xs)[0]

    def turn(state: tuple[ig.Tensor, ig.Tensor]) -> tuple[ig.Tensor, ig.Tensor]:
        count, total = state
        grown = ig.cond(count % 2 == 0, rows, lambda t: t + xs[0] + count, total)
        return count + 1, grown

    return ig.while_loop(lambda s: s[0] < 7, turn, (0, xs[1] * 0))[1]


def collatz_wanted(xs: Array) -> Any:
    total, scale = xs[1] * 0, xs.sum() * np.float32(0.01)
    for count in range(7):
        if count % 2:
            total = total + xs[0] + count
        else:
            for x in xs:
                total = total * np.float32(0.5) + x * scale
    return total


@pytest.mark.parametrize("device", ["CPU", "PYTHON"])
def test_a_scan_in_a_branch_in_a_loop(session: Session, device: str) -> None:
    xs = numbers_like(5, 3)
    with settings.override(device=device):
        made = collatz_like(ig.tensor(xs)).numpy()
    np.testing.assert_allclose(made, collatz_wanted(xs), rtol=1e-4)


def test_the_device_that_runs_nothing(session: Session) -> None:
    with settings.override(device="NULL"):
        assert collatz_like(ig.tensor(numbers_like(5, 3))).numpy().shape == (3,)


def test_every_level_of_a_nest_agrees(session: Session) -> None:
    lines: list[str] = []
    assert (
        bisect([collatz_like(ig.tensor(numbers_like(3, 2))).uop], lines.append)
        is None
    )
    assert any("add_mul" in line and "source" in line for line in lines)


def lstm(xs: ig.Tensor, w: ig.Tensor, u: ig.Tensor) -> Any:
    hidden = u.shape[1]

    def step(carry: Any, x: ig.Tensor) -> Any:
        h, c = carry
        gates = x @ w.T + h @ u.T
        i, f, g, o = (gates[:, k * hidden : (k + 1) * hidden] for k in range(4))
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        return (h, c), h

    zeros = ig.zeros((xs.shape[1], hidden))
    return ig.scan(step, (zeros, zeros), xs)[1]


def lstm_wanted(xs: Array, w: Array, u: Array) -> Array:
    hidden = u.shape[1]
    h = c = np.zeros((xs.shape[1], hidden))
    sigmoid: Callable[[Array], Array] = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
    rows = []
    for x in xs:
        i, f, g, o = np.split(x @ w.T + h @ u.T, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        rows.append(h)
    return np.stack(rows)


@pytest.mark.parametrize("sizes", [(7, 3, 5, 6), (12, 16, 8, 32)])
def test_a_recurrent_net(session: Session, sizes: tuple[int, ...]) -> None:
    """The products of the inputs move out of the loop, and the weights are turned before it."""
    steps, batch, inputs, hidden = sizes
    given = (
        numbers_like(steps, batch, inputs),
        numbers_like(4 * hidden, inputs, seed=1) / 4,
        numbers_like(4 * hidden, hidden, seed=2) / 4,
    )
    made = lstm(*map(ig.tensor, given)).numpy()
    np.testing.assert_allclose(made, lstm_wanted(*given), rtol=2e-4, atol=1e-5)


# --- what is compiled, and kept ---------------------------------------------------------------------------------------


def sums(rows: Array | ig.Tensor) -> Any:
    xs = rows if isinstance(rows, ig.Tensor) else ig.tensor(rows)
    return ig.scan(lambda c, x: (c + x, c * x), xs[0] * 0, xs)[1]


def test_a_thousand_steps_compile_what_ten_do(session: Session) -> None:
    sums(numbers_like(10, 4)).numpy()
    compiled = session.forge().compiled
    long = numbers_like(1000, 4)
    made = sums(long).numpy()
    assert session.forge().compiled == compiled
    before = np.cumsum(np.concatenate([np.zeros((1, 4)), long[:-1]]), axis=0)
    np.testing.assert_allclose(made, before * long, rtol=1e-3, atol=1e-3)


def test_a_symbolic_length_is_one_schedule(session: Session) -> None:
    n = ig.Variable("n", 1, 64)
    whole = ig.tensor(numbers_like(64, 4))
    for length in (3, 9, 64):
        part = whole.shrink(((0, n.bind(length)), None))
        wanted = sums(whole.numpy()[:length]).numpy()
        schedules = len(session.forge().schedules)
        np.testing.assert_array_equal(sums(part).numpy(), wanted)
        if length > 3:
            assert len(session.forge().schedules) == schedules


def test_recipes_with_loops_come_from_disk(
    session: Session, tmp_path: Path
) -> None:
    first = collatz_like(ig.tensor(numbers_like(5, 3))).numpy()
    vars(session).update(vars(Session()))
    np.testing.assert_array_equal(
        collatz_like(ig.tensor(numbers_like(5, 3))).numpy(), first
    )
    assert session.forge().compiled == 0
    assert session.forge()._compiler is None


def test_a_recipe_with_bodies_is_text(session: Session) -> None:
    sink, _ = normalise([collatz_like(ig.tensor(numbers_like(5, 3))).uop])
    recipe = session.bound(sink, {}, Report())[0].recipe
    assert recipe_from_text(recipe.text()) == recipe
    inner = recipe.bodies[1].bodies
    assert any(isinstance(step, Scan) for body in inner for step in body.steps)


def test_memory_of_a_loop_does_not_grow_with_its_length(session: Session) -> None:
    """A million turns need the room of one."""

    def turns(count: int) -> int:
        state = ig.fori_loop(
            ig.tensor(0), ig.tensor(count), lambda i, v: v * 0.5 + 1, ig.zeros(1000)
        )
        sink, found = normalise([state.uop])
        return session.bound(sink, found.variables, Report())[1].arena

    assert turns(10) == turns(10**6) < 40_000


def test_the_same_bits_with_many_threads(tmp_path: Path) -> None:
    given = (
        numbers_like(6, 64, 48),
        numbers_like(256, 48, seed=1),
        numbers_like(256, 64, seed=2),
    )
    made = []
    for threads in (1, 2, 5):
        one = Session()
        with settings.override(cache_dir=tmp_path, threads=threads):
            made.append(_in(one, lambda: lstm(*map(ig.tensor, given)).numpy()))
    np.testing.assert_array_equal(made[0], made[1])
    np.testing.assert_array_equal(made[0], made[2])


def _in(one: Session, work: Callable[[], Array]) -> Array:
    """The work in a session of its own."""
    from_before = dict(vars(current))
    vars(current).update(vars(one))
    try:
        return work()
    finally:
        current.pool().close()
        vars(current).update(from_before)


# --- when something goes wrong ----------------------------------------------------------------------------------------


def guarded(x: ig.Tensor, most: float) -> ig.Tensor:
    return ig.Tensor.of(
        checked(
            x.uop,
            (x.max() < most).uop,
            "ShapeError",
            "at most {0}, not {1}",
            scalar(most),
            x.max().uop,
        )
    )


@pytest.mark.parametrize("device", ["CPU", "PYTHON"])
def test_a_check(session: Session, device: str) -> None:
    x = ig.tensor(np.arange(6, dtype=np.float32))
    with settings.override(device=device):
        np.testing.assert_array_equal((guarded(x, 6.0) * 2).numpy(), x.numpy() * 2)
        np.testing.assert_array_equal(guarded(x, 6.0).numpy(), x.numpy())
        with pytest.raises(ShapeError, match=r"at most 5\.0, not 5\.0"):
            (guarded(x, 5.0) * 2).numpy()


def test_a_check_comes_before_its_readers(session: Session) -> None:
    """Host code that reads a guarded value is not reached."""
    seen: list[float] = []

    def note(x: Array) -> Array:
        seen.append(float(x.max()))
        return x

    x = ig.tensor(np.arange(6, dtype=np.float32))
    with pytest.raises(ShapeError):
        ig.extern(
            "test_regions_note", note, (guarded(x, 5.0),), [("float32", (6,))]
        ).numpy()
    assert seen == []


def test_a_check_inside_a_loop(session: Session) -> None:
    xs = ig.tensor(np.arange(6, dtype=np.float32))
    made = ig.scan(lambda c, x: (guarded(c + x, 11.0), None), 0.0, xs)[0]
    with pytest.raises(ShapeError, match=r"at most 11\.0, not 15\.0"):
        made.numpy()


def test_host_code_that_fails_in_a_loop(session: Session) -> None:
    def fail(x: Array) -> Array:
        if x > 3:
            raise ZeroDivisionError("host code failed")
        return x

    def step(c: ig.Tensor, x: ig.Tensor) -> tuple[ig.Tensor, None]:
        return ig.extern(
            "test_regions_fail", fail, (c + x,), [("float32", ())]
        ), None

    made = ig.scan(step, 0.0, ig.tensor(np.arange(6, dtype=np.float32)))[0]
    with pytest.raises(ZeroDivisionError, match="host code failed"):
        made.numpy()


def test_a_long_loop_can_be_interrupted(session: Session) -> None:
    endless = ig.while_loop(
        lambda v: v < 1, lambda v: v * 0.5, ig.tensor(0.25)[None].sum()
    )
    started = time.perf_counter()
    threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        endless.numpy()
    assert time.perf_counter() - started < 5


def test_a_size_that_is_computed_inside_a_body(session: Session) -> None:
    count = param(0, dt.int64)
    size = size_of(count, 4)
    body = function(
        "body",
        (count,),
        (
            UOp(
                Ops.EXPAND,
                dt.int64,
                (UOp(Ops.RESHAPE, dt.int64, (count, UOp.const(dt.index, 1))), size),
            ),
        ),
    )
    (made,) = call(body, ig.tensor(3).uop)
    with pytest.raises(ArgumentError, match="computed inside the body"):
        pipeline.realize([made])


def test_what_the_fuse_stage_shows(session: Session) -> None:
    sink, _ = normalise([collatz_like(ig.tensor(numbers_like(5, 3))).uop])
    shown = stages.dump(sink, "fuse", stages.Work(host(), settings.codegen))
    assert "while_turn(" in shown
    assert "        scan_lambda(" in shown


def test_times_of_kernels_in_loops(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    with settings.override(debug=2):
        sums(numbers_like(12, 4)).numpy()
    assert "scan_lambda.mul x12" in capsys.readouterr().err


# --- odd types and sizes ----------------------------------------------------------------------------------------------

TYPES = (
    "bool",
    "int8",
    "uint16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float64",
)


@pytest.mark.parametrize("name", TYPES)
def test_every_width_of_a_carry(session: Session, name: str) -> None:
    def results() -> list[Array]:
        x = ig.tensor(np.arange(15).reshape(5, 3) % 7).astype(name)
        carry, ys = ig.scan(
            lambda c, v: (c | v, c & v) if name == "bool" else (c + v, c * v),
            x[0],
            x,
        )
        state = ig.while_loop(
            lambda s: s[0] < 3,
            lambda s: (s[0] + 1, s[1] | carry if name == "bool" else s[1] + carry),
            (0, carry),
        )
        return [carry.numpy(), ys.numpy(), state[1].numpy()]

    made = results()
    with settings.override(device="PYTHON"):
        wanted = results()
    for got, want in zip(made, wanted, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [(5, 0), (0, 3), (0, 0)])
def test_arrays_of_nothing(session: Session, shape: tuple[int, int]) -> None:
    x = ig.zeros(shape)
    carry, ys = ig.scan(lambda c, v: (c + v, c * 2 + v), ig.zeros(shape[1:]), x)
    assert (carry.numpy().shape, ys.numpy().shape) == (shape[1:], shape)
    total, rows = ig.scan(lambda c, v: (c + v.sum(), v), 1.0, x)
    assert (total.item(), rows.numpy().shape) == (1.0, shape)


def test_a_kernel_that_fails_in_a_loop(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault names the kernel and the loop that it is in."""
    text = "define i64 @fault(ptr %a, i64 %c, ptr %s) nounwind { ret i64 7 }"
    fault = session.forge().library.functions("ab" * 32, text.__str__)["fault"]
    monkeypatch.setattr(Forge, "address", lambda forge, launch: fault)
    rows, start = ig.tensor(numbers_like(5, 4)), ig.tensor(numbers_like(4))
    total = ig.scan(lambda c, x: (c + x, None), start, rows)[0]
    with pytest.raises(
        CommandFault, match=r"scan_lambda\.add\) reported fault 7"
    ) as found:
        total.numpy()
    assert found.value.code == 7
