"""`ingot why`: the kernels of an expression and the prices of what was not chosen."""

from __future__ import annotations

import pytest

from ingot.cli import main

Capture = pytest.CaptureFixture[str]


def lines_of(expression: str, capsys: Capture) -> list[str]:
    assert main(["why", expression]) == 0
    return capsys.readouterr().out.splitlines()


def test_two_kernels_and_why(capsys: Capture) -> None:
    lines = lines_of(
        "ig.relu(t(64, 256) @ t(256, 512) + t(512)) @ t(512, 10)", capsys
    )
    heads = [line for line in lines if line.startswith("kernel")]
    assert heads == ["kernel 1 of 2: relu_add_matmul", "kernel 2 of 2: matmul"]
    stored = [line for line in lines if line.strip().startswith("stored")]
    assert "contraction" in stored[0]
    assert "asked for" in stored[1]
    assert lines[-1] == "foreign code: none"


def test_bytes_and_operations(capsys: Capture) -> None:
    lines = lines_of("ig.softmax(t(64, 1000), axis=-1)", capsys)
    assert any(
        "500 KiB: reads 250 KiB of f32[64, 1000], writes 250 KiB of f32[64, 1000]"
        in line
        for line in lines
    )
    assert any("work       448 KFLOP" in line for line in lines)


def test_prices_of_what_was_not_chosen(capsys: Capture) -> None:
    lines = lines_of("ig.softmax(t(64, 1000), axis=-1)", capsys)
    rejected = [line for line in lines if "not chosen" in line]
    assert any(
        "storing softmax > exp f32[64, 1000]: 51.2 us more for memory" in line
        for line in rejected
    )


def test_an_intermediate_says_what_recomputing_costs(capsys: Capture) -> None:
    lines = lines_of(
        "(lambda y: (y @ y, y.sum()))(ig.relu(t(8, 8) @ t(8, 8)))", capsys
    )
    assert any(
        "computing it in each reader again: a reduction for every element" in line
        for line in lines
    )


def test_mistakes_are_explained(capsys: Capture) -> None:
    assert main(["why", "t(3).nothing()"]) == 1
    assert "a tensor has no attribute 'nothing'" in capsys.readouterr().err


def test_kernels_of_a_loop_are_explained(capsys: Capture) -> None:
    program = "ig.scan(lambda c, x: (c + x @ t(3, 3).T, c * x), t(3), t(4, 3))[1]"
    assert main(["why", program]) == 0
    out = capsys.readouterr().out
    assert "kernel 1 of 3: matmul\n" in out
    assert "kernel 2 of 3: add, in a body" in out
