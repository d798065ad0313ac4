"""`ingot show`: stages of an expression, exactly or for people, and replaced from a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingot.cli import main
from ingot.pipeline.stages import STAGES

Capture = pytest.CaptureFixture[str]
LAYER = "ig.relu(t(4, 3) @ t(3, 5) + t(5))"


def shown(capsys: Capture, *words: str) -> str:
    assert main(["show", *words]) == 0
    return capsys.readouterr().out


def refused(capsys: Capture, *words: str) -> str:
    assert main(["show", *words]) == 1
    return capsys.readouterr().err


def test_the_stages_are_listed(capsys: Capture) -> None:
    lines = shown(capsys, "--list").splitlines()
    assert [line.split()[0] for line in lines] == [stage.name for stage in STAGES]


@pytest.mark.parametrize("stage", [stage.name for stage in STAGES])
def test_every_stage_is_shown(stage: str, capsys: Capture) -> None:
    assert shown(capsys, LAYER, "--stage", stage).strip()


def test_loop_trees_are_the_default(capsys: Capture) -> None:
    assert shown(capsys, LAYER).lstrip().startswith(("kernel ", "temporary "))


def test_other_languages_and_devices(capsys: Capture) -> None:
    assert "__global__" in shown(
        capsys, LAYER, "--stage", "source", "--device", "CUDA"
    )
    assert "int64_t" in shown(capsys, LAYER, "--stage", "source", "--language", "c")
    assert "# block" in shown(capsys, LAYER, "--stage", "tree", "--device", "CUDA")


def test_a_replaced_stage_goes_on(capsys: Capture, tmp_path: Path) -> None:
    file = tmp_path / "tree.txt"
    file.write_text(
        shown(capsys, "t(9) + 1.0", "--exact").replace("const(1.0,", "const(2.5,")
    )
    assert "+ 2.5" in shown(
        capsys, "t(9) + 1.0", "--stage", "decompose", "--replace", f"tree={file}"
    )


def test_several_tensors_are_one_program(capsys: Capture) -> None:
    text = shown(capsys, "t(3) + 1.0, t(4).sum()", "--stage", "fuse")
    assert "add -> f32[3]: asked for" in text
    assert "sum -> f32: asked for" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["foo(1)"], "NameError: name 'foo' is not defined"),
        (["t(3"], "SyntaxError"),
        (["3 + 4"], "EXPR gives no tensor: given '3 + 4', a int"),
        (["t(3) @ t(4)"], "ShapeError"),
        (
            ["t(3)", "--stage", "soup"],
            "no such stage: given 'soup', wanted one of program",
        ),
        (["t(3)", "--replace", "tree"], "STAGE=FILE"),
        (["t(3)", "--stage", "fuse", "--exact"], "no text that rebuilds it"),
        ([], "no expression"),
    ],
)
def test_mistakes_are_explained(
    words: list[str], message: str, capsys: Capture
) -> None:
    assert message in refused(capsys, *words)


def test_inputs_are_the_same_in_every_run() -> None:
    from ingot.cli.expression import tensors

    first, second = (
        tensors("t(3), t(3), t(2, dtype='int32'), t(4, dtype='bool')")
        for _ in range(2)
    )
    assert [a.tolist() for a in first] == [b.tolist() for b in second]
    assert first[0].tolist() != first[1].tolist()
    assert [str(a.dtype) for a in first] == ["float32", "float32", "int32", "bool"]
