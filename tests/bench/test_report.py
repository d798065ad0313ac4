"""The report: words, colours, JSON; never a ratio for a row that is not right."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from ingot.bench.report import (
    best_other,
    cell,
    conclusion,
    duration,
    json_report,
    table,
    troubles,
)
from ingot.bench.runner import Row, Status
from ingot.cli import main


def row(library: str, seconds: float, status: Status = Status.OK) -> Row:
    return Row(
        "gemm", library, 1, status, note="why", version="1.0", seconds=[seconds] * 9
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1.5, "1.50 s"),
        (0.0123, "12.3 ms"),
        (0.2, "200 ms"),
        (5.25e-7, "525 ns"),
        (9.999e-4, "1000 µs"),
        (0.0, "0.00 ns"),
    ],
)
def test_duration(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_cells() -> None:
    assert cell(row("numpy", 0.001)) == "1.00 ms [dim]± 0%[/dim]"
    assert cell(row("numpy", 0.001, Status.ABSENT)) == ""
    assert "wrong" in cell(row("numpy", 0.001, Status.WRONG))


def test_the_best_other_is_right_and_not_us() -> None:
    rows = [
        row("ingot", 1),
        row("numpy", 3),
        row("torch", 2),
        row("jax", 1, Status.WRONG),
    ]
    best = best_other(rows)
    assert best is not None
    assert best.library == "torch"


def test_conclusions() -> None:
    assert "faster: 2.00x (2.00..2.00) numpy" in conclusion(
        [row("numpy", 2), row("ingot", 1)]
    )
    assert conclusion([row("numpy", 2), row("torch", 1)]) == "torch"
    assert conclusion([row("numpy", 2), row("ingot", 1, Status.WRONG)]) == ""
    assert conclusion([row("ingot", 1)]) == ""


def test_the_table_has_a_line_a_program() -> None:
    out = io.StringIO()
    Console(file=out, width=200).print(
        table([row("numpy", 2), row("ingot", 1)], ["numpy", "ingot"], threads=1)
    )
    text = out.getvalue()
    assert "1 thread:" in text
    assert "gemm" in text
    assert "ingot is" in text


def test_troubles_are_sentences() -> None:
    assert troubles(
        [
            row("numpy", 1),
            row("jax", 1, Status.FAILED),
            row("torch", 1, Status.ABSENT),
        ]
    ) == ["gemm in jax, 1 threads: failed: why"]


def test_json_holds_every_round() -> None:
    report = json_report([row("numpy", 1), row("jax", 1, Status.WRONG)])
    right, wrong = json.loads(json.dumps(report))["rows"]
    assert right["rounds"] == [1.0] * 9
    assert "rounds" not in wrong
    assert wrong["note"] == "why"
    assert report["versions"]["numpy"] == "1.0"


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    assert (
        main(
            [
                "bench",
                "tiny_add",
                "--libs",
                "numpy",
                "--rounds",
                "1",
                "--threads",
                "1",
                "--json",
                str(out),
            ]
        )
        == 0
    )
    assert "tiny_add" in capsys.readouterr().out
    assert json.loads(out.read_text())["rows"][0]["status"] == "ok"


def test_the_command_lists_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--list"]) == 0
    assert "gemm1024" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no_such"], "no such program: given 'no_such'"),
        (["--libs", "numpyy"], "no such library: given 'numpyy'"),
        (["--threads", "100000"], "--threads: given 100000, wanted 1 to "),
        (["--rounds", "0"], "--rounds: given 0, wanted 1 to "),
    ],
)
def test_mistakes_are_explained(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *words]) == 1
    assert message in capsys.readouterr().err
