"""What is kept: in memory, on disk, and for how long. A second process needs no compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot as ig
from ingot.errors import CompileError
from ingot.pipeline.compiler import describe
from ingot.pipeline.member import Launch, Member, member_from_text
from ingot.pipeline.recipe import Recipe, Step, Use, Value, recipe_from_text
from ingot.pipeline.report import Report
from ingot.pipeline.session import Session
from ingot.pipeline.store import Store, source_digest
from ingot.runtime.cache import ObjectCache
from ingot.settings import Codegen, child_environment, settings
from ingot.target import Costs, host
from tests.architecture.sources import ROOT
from tests.pipeline.programs import array, layer, layer_wanted, sink_of, tensor

COSTS = Costs(fma_gflops=80.0)
PROGRAM = """
import sys, numpy as np, ingot as ig
from ingot.pipeline.session import session
x, w, b = np.ones((3, 4), "f"), np.ones((4, 5), "f"), np.ones(5, "f")
y = ig.softmax(ig.relu(ig.from_numpy(x) @ ig.from_numpy(w) + ig.from_numpy(b)), axis=-1).numpy()
late = [m for m in sys.modules if m.startswith(("llvmlite", "ingot.render", "ingot.pipeline.compiler"))]
print(session.forge().compiled, len(late), float(y.sum()))
"""


LOOPS = """
import sys, numpy as np, ingot as ig
from ingot.pipeline.session import session
w = ig.from_numpy(np.eye(3, dtype="f"))
def step(carry, x):
    return ig.cond(carry.sum() > 4, lambda c: c * 0.5, lambda c: c @ w.T + x, carry), carry
last, rows = ig.scan(step, ig.zeros(3), ig.from_numpy(np.ones((6, 3), "f")))
grown = ig.while_loop(lambda v: v.sum() < 50, lambda v: v * 2, last)
y = ig.extern("doubled", lambda a: a * 2, (grown,), [("float32", (3,))]).numpy()
late = [m for m in sys.modules if m.startswith(("llvmlite", "ingot.render", "ingot.pipeline.compiler"))]
print(session.forge().compiled, len(late), float(y.sum()))
"""


def second_process(
    cache: Path, program: str = PROGRAM, **changes: str
) -> tuple[int, int, float]:
    """(kernels compiled, modules of the compiler loaded, the result) of a process of its own."""
    environment = child_environment(
        INGOT_CACHE_DIR=str(cache), PYTHONPATH=str(ROOT), **changes
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    compiled, late, total = done.stdout.split()
    return int(compiled), int(late), float(total)


def test_a_second_process_needs_no_compiler(tmp_path: Path) -> None:
    compiled, late, total = second_process(tmp_path)
    assert compiled == 2
    assert late > 10
    assert total == pytest.approx(3.0)
    compiled, late, total = second_process(tmp_path)
    assert (compiled, late) == (0, 0)
    assert total == pytest.approx(3.0)


def test_loops_and_branches_need_no_compiler_either(tmp_path: Path) -> None:
    compiled, _, total = second_process(tmp_path, LOOPS)
    assert compiled > 4
    assert second_process(tmp_path, LOOPS) == (0, 0, total)


def test_other_code_settings_find_nothing_of_these(tmp_path: Path) -> None:
    second_process(tmp_path)
    assert second_process(tmp_path, NOOPT="1")[0] == 2


def test_a_spec_is_checked_although_everything_is_on_disk(tmp_path: Path) -> None:
    second_process(tmp_path)
    assert second_process(tmp_path, SPEC="1")[0] == 2


def test_objects_that_are_gone_are_compiled_again(tmp_path: Path) -> None:
    second_process(tmp_path)
    for path in tmp_path.iterdir():
        if path.stat().st_size > 4000:  # objects; recipes and members are small
            path.unlink()
    compiled, _, total = second_process(tmp_path)
    assert compiled >= 1
    assert total == pytest.approx(3.0)


# --- names and structure ----------------------------------------------------------------------------------------------


def test_names_are_no_part_of_a_family(session: Session) -> None:
    """relu(x) and maximum(x, 0) are one kernel under two names."""
    ig.relu(tensor(40)).numpy()
    np.testing.assert_array_equal(
        ig.maximum(tensor(41), 0.0).numpy(), np.maximum(array(41), 0)
    )
    assert session.forge().compiled == 1
    labels = [
        step.label
        for schedule in session.forge().schedules.values()
        for step in schedule.recipe.steps
    ]
    assert labels == ["relu", "maximum"]


def test_another_shape_compiles_nothing(session: Session) -> None:
    for rows, columns in ((5, 9), (6, 11), (7, 10)):
        np.testing.assert_allclose(
            layer(rows, 7, columns).numpy(),
            layer_wanted(rows, 7, columns),
            rtol=1e-4,
            atol=1e-5,
        )
    assert session.forge().compiled == 1


def test_a_guard_that_fails_gives_another_member(session: Session) -> None:
    """A member whose guards do not hold is never chosen, and the schedule stays what it was."""
    forge = session.forge()
    x = tensor(40)
    (x + 1.0).numpy()
    ((family, (member,)),) = forge.members.items()
    forge.members[family] = [member._replace(guards=("n0 < 0",))]
    forge.store.keep_member = lambda family, member: None  # type: ignore[method-assign]
    forge.store.members = lambda family: []  # type: ignore[method-assign]
    np.testing.assert_allclose((tensor(41) + 1.0).numpy(), array(41) + 1.0)
    assert [m.guards for m in forge.members[family]] == [("n0 < 0",), member.guards]


# --- text -------------------------------------------------------------------------------------------------------------


def test_a_recipe_survives_being_text(session: Session) -> None:
    recipe, _ = (
        session.forge()
        .compiler()
        .schedule(sink_of(layer(), tensor(3) + 2.5), Report())
    )
    assert recipe_from_text(recipe.text()) == recipe
    values = [value.value for use in recipe.uses for value in use.values]
    assert 2.5 in values


def test_a_recipe_holds_bits_of_floats() -> None:
    use = Use(
        "f" * 40,
        (Value("c0", "float32", 0.1), Value("n0", "index", "(n * 4)")),
        "1",
        "2",
        "3",
    )
    recipe = Recipe((0,), ("4",), (), (0, 0), (use,), (Step("add", 0, (0, 1)),))
    assert recipe_from_text(recipe.text()) == recipe
    assert use.names({"n": 3}) == {"c0": 0.1, "n0": 12}


def test_a_member_survives_being_text() -> None:
    launch = Launch("ab" * 32, "r2", "((n0 + 7) // 8)", "0")
    member = Member(
        ("(n0 < 8)",),
        (("g0", "max(n0, 1)"),),
        ("n0", "g0"),
        ((4, "n0"),),
        (launch,),
    )
    assert member_from_text(member.text()) == member
    assert member.fits({"n0": 7})
    assert not member.fits({"n0": 8})
    assert member.complete({"n0": 0}) == {"n0": 0, "g0": 1}


# --- keys -------------------------------------------------------------------------------------------------------------


def test_the_source_digest_follows_the_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (
        "",
        "ir",
        "kernel",
        "ops",
        "pipeline",
        "render",
        "runtime",
        "schedule",
    ):
        (tmp_path / "package" / folder).mkdir(parents=True, exist_ok=True)
    source = tmp_path / "package" / "kernel" / "tree.py"
    source.write_text("a = 1\n")
    monkeypatch.setattr("ingot.pipeline.store._PACKAGE", str(tmp_path / "package"))
    cache = ObjectCache(tmp_path / "cache", 1 << 20)
    first = source_digest.__wrapped__(cache)
    assert source_digest.__wrapped__(cache) == first
    os.utime(source, ns=(1, 1))
    assert source_digest.__wrapped__(cache) == first, "only the time changed"
    source.write_text("a = 2\n")
    assert source_digest.__wrapped__(cache) != first


def test_keys_tell_settings_apart(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path, 1 << 20)
    recipe = Recipe((), (), (), (), (), ())
    Store(cache, host(), Codegen(), COSTS).keep_recipe("ab", recipe)
    assert Store(cache, host(), Codegen(), COSTS).recipe("ab") == recipe
    assert Store(cache, host(), Codegen(noopt=True), COSTS).recipe("ab") is None
    assert Store(cache, host(), Codegen(), COSTS).recipe("cd") is None
    assert (
        Store(cache, host(), Codegen(), Costs(fma_gflops=7.0)).recipe("ab") is None
    )


def test_members_of_a_family_add_up(tmp_path: Path) -> None:
    store = Store(ObjectCache(tmp_path, 1 << 20), host(), Codegen(), COSTS)
    one, two = Member(("a",), (), (), (), ()), Member(("b",), (), (), (), ())
    store.keep_member("ab", one)
    store.keep_member("ab", two)
    store.keep_member("ab", two)
    assert store.members("ab") == [two, one]


def test_only_so_many_schedules_are_kept(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingot.pipeline.session.KEPT_SCHEDULES", 2)
    for size in (3, 4, 5):
        (tensor(size) + 1.0).numpy()
    assert len(session.forge().schedules) == 2


def test_only_so_many_programs_are_kept(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingot.pipeline.session.KEPT_PROGRAMS", 2)
    n = ig.Variable("n", 1, 16)
    for size in (3, 4, 5):
        (tensor(16).shrink(((0, n.bind(size)),)) + 1.0).numpy()
    (schedule,) = session.forge().schedules.values()
    assert len(schedule.programs) == 2


def test_recipes_are_plain_text(session: Session, tmp_path: Path) -> None:
    with settings.override(debug=0):
        layer().numpy()
    texts = [
        raw
        for path in (tmp_path / "cache").iterdir()
        if b"relu_add_matmul" in (raw := path.read_bytes())
    ]
    assert any(json.loads(raw[48:])[5][0][1] == "relu_add_matmul" for raw in texts)


def test_one_program_may_need_two_members_of_a_family(session: Session) -> None:
    """Each use of a family is compiled for its own sizes, not for those of the first."""
    small, large = layer(2, 2, 2), layer(300, 37, 64)
    ig.eval(small, large)
    np.testing.assert_allclose(
        small.numpy(), layer_wanted(2, 2, 2), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(
        large.numpy(), layer_wanted(300, 37, 64), rtol=1e-4, atol=1e-4
    )
    (schedule,) = session.forge().schedules.values()
    first, second = schedule.recipe.uses
    members = session.forge().members
    for use in (first, second):
        names = use.names({})
        assert any(member.fits(names) for member in members[use.family])


def test_a_member_that_does_not_fit_its_own_sizes_is_refused(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_guard(modules: Any, plan: Any, built: Any) -> Member:
        return describe(modules, plan, built)._replace(guards=("n0 < 8",))

    monkeypatch.setattr("ingot.pipeline.compiler.describe", with_guard)
    with pytest.raises(CompileError, match="do not allow it"):
        (tensor(40) + 1.0).numpy()
