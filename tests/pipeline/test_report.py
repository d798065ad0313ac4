"""What DEBUG prints, level by level."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import ingot as ig
from ingot.pipeline.session import Session
from ingot.settings import settings
from tests.pipeline.programs import layer, tensor

Printed = Callable[[int], list[str]]


@pytest.fixture
def printed(session: Session, capfd: pytest.CaptureFixture[str]) -> Printed:
    """The lines that evaluating relu(x @ w + b) prints at a level of DEBUG."""

    def run(level: int) -> list[str]:
        with settings.override(debug=level):
            layer().numpy()
        return capfd.readouterr().err.splitlines()

    return run


def test_silence_is_the_default(printed: Printed) -> None:
    assert printed(0) == []


def test_1_a_line_a_schedule(printed: Printed) -> None:
    (line,) = printed(1)
    wanted = r"scheduled 1 kernels in \d+\.\d\d ms \| CACHE MISS \| [0-9a-f]{12} \| \S*test_report\.py:\d+"
    assert re.fullmatch(wanted, line)
    (again,) = printed(1)
    assert "| cache hit |" in again
    assert again.split(" | ")[2] == line.split(" | ")[2]


def test_1_names_the_line_that_asked(printed: Printed) -> None:
    (line,) = printed(1)
    where = int(line.rpartition(":")[2])
    assert (
        "layer().numpy()"
        in Path(__file__).read_text(encoding="utf-8").splitlines()[where - 1]
    )


def test_2_a_line_a_kernel(printed: Printed) -> None:
    lines = printed(2)
    kernel = lines[-1]
    assert re.match(
        r"relu_add_matmul +\d+\.\d\d us +\d+\.\d\d GFLOP/s +\d+\.\d\d GB/s$", kernel
    )
    (compiled,) = [
        line for line in lines if line.startswith("compiled relu_add_matmul as ")
    ]
    for stage in ("moves", "tree", "decompose", "source", "object"):
        assert re.search(rf"\b{stage} \d+\.\d", compiled)
    (scheduled,) = [line for line in lines if line.startswith("scheduled:")]
    for stage in ("lower", "fuse", "family"):
        assert re.search(rf"\b{stage} \d+\.\d", scheduled)


def test_2_says_nothing_of_compiling_where_nothing_is_compiled(
    printed: Printed,
) -> None:
    printed(2)
    assert [line.split()[0] for line in printed(2)] == [
        "scheduled",
        "relu_add_matmul",
    ]


MARKS = {
    3: "split('",
    4: "#include <stdint.h>",
    5: "kernel r2(",
    6: "define i64 @r2(",
    7: ".globl",
}


@pytest.mark.parametrize("level", MARKS)
def test_3_to_7_each_show_one_thing_more(level: int, printed: Printed) -> None:
    text = "\n".join(printed(level))
    shown = [one for one, mark in MARKS.items() if mark in text]
    assert shown == list(range(3, level + 1))


def test_what_is_on_disk_is_shown_all_the_same(
    printed: Printed, session: Session
) -> None:
    """A second process asks to see the moves of a kernel that the first has compiled."""
    printed(0)
    session.forges.clear()
    assert any(MARKS[3] in line for line in printed(3))


def test_kernels_of_one_name_are_told_apart(
    session: Session, capfd: pytest.CaptureFixture[str]
) -> None:
    with settings.override(debug=2):
        ig.eval(tensor(4, 5).sum(axis=0), tensor(4, 5, seed=1).sum(axis=1))
    lines = capfd.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines[-2:]] == ["sum", "sum_2"]
