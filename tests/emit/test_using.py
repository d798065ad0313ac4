"""Emitting as users do it: options, compiling, verifying, the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ingot as ig
from ingot.cli import main
from ingot.emit import (
    CGenerator,
    NumPyGenerator,
    RawCGenerator,
    compile_c_code,
    compiled,
    generator,
    names,
    verify,
)
from ingot.errors import ArgumentError, CompileError
from ingot.model import Input, LogicalModel, Output, State
from tests.emit.test_targets import needs_gcc
from tests.emit.zoo import MODELS, model

FILE = """\
import ingot as ig
from ingot.model import Input, LogicalModel, Output, Parameter

with LogicalModel("net") as net:
    x = Input((None, 4), "x")
    Output(ig.relu(x @ Parameter((4, 2), "w")), "y")
"""


def test_the_text_is_what_a_person_would_write() -> None:
    text = NumPyGenerator().generate(model(MODELS[0]))
    assert (
        "output = softmax(np.maximum(input_ @ w1 + b1, 0) @ w2 + b2, axis=1)"
        in text
    )


def test_without_optimize_each_operation_has_its_line() -> None:
    text = NumPyGenerator(optimize=False).generate(model(MODELS[0]))
    assert "h1 = input_ @ w1" in text


def test_debug_tells_types_and_shapes() -> None:
    text = NumPyGenerator(debug=True).generate(model(MODELS[0]))
    assert "# float32 (batch, 5)" in text


def test_own_functions_for_operations() -> None:
    own = {"relu": "my_relu"}
    text = NumPyGenerator(custom_operator_mappings=own).generate(model(MODELS[0]))
    assert "my_relu(" in text
    with pytest.raises(ArgumentError, match="no op called 'rely'"):
        NumPyGenerator(custom_operator_mappings={"rely": "f"}).generate(
            model(MODELS[0])
        )


def test_options_are_honoured_or_refused() -> None:
    with pytest.raises(ArgumentError, match="cannot honour use_simd"):
        NumPyGenerator(use_simd=False)
    with pytest.raises(ArgumentError, match="cannot honour precision"):
        CGenerator(precision="float64")
    with pytest.raises(ArgumentError, match="has no option 'speed'"):
        CGenerator(speed=9)
    with pytest.raises(ArgumentError, match="no target 'fortran'"):
        generator("fortran")
    assert "c" in names()


def test_names_that_python_or_c_has_taken() -> None:
    with LogicalModel("m") as made:
        a = Input((2,), "lambda")
        b = Input((2,), "int")
        Output(a + b, "list")
    text = NumPyGenerator().generate(made)
    assert "def forward(lambda_, int_):" in text
    assert (
        "int64_t"
        not in RawCGenerator().generate(made).split("m_forward(")[1].split(")")[0]
    )


def test_names_that_meet_in_c() -> None:
    with LogicalModel("m") as made:
        Output(Input((2,), "a.b") + Input((2,), "a_b"), "y")
    with pytest.raises(ArgumentError, match="both 'a_b' in C"):
        RawCGenerator().generate(made)


def test_state_is_refused_by_c() -> None:
    with LogicalModel("m") as made:
        s = State((2,), "s")
        s.update(s + 1)
        Output(s * 2, "y")
    with pytest.raises(ArgumentError, match="carries state"):
        CGenerator().generate(made)
    text = NumPyGenerator().generate(made)
    namespace: dict[str, object] = {}
    exec(text, namespace)
    y, after = namespace["forward"]({"s": np.zeros(2, np.float32)})  # type: ignore[operator]
    assert after["s"].tolist() == [1, 1]
    assert y.tolist() == [0, 0]


@needs_gcc
@pytest.mark.parametrize("kind", [CGenerator, RawCGenerator])
def test_an_index_out_of_range_is_an_error_code(kind: type[CGenerator]) -> None:
    made = model(MODELS[-1])
    run = compiled(made, kind().generate(made), flags=("-O1",))
    table, x = np.ones((5, 3), np.float32), np.zeros((4, 3), np.float32)
    assert run(np.array([0, 4, -1, 2]), x, table=table).tolist() == [[2.0] * 3] * 4
    with pytest.raises(ArgumentError, match="returned 3"):
        run(np.array([0, 5, 1, 2]), x, table=table)


def test_loops_are_refused_where_they_cannot_be_said() -> None:
    with LogicalModel("loop") as made:
        x = Input((5, 3), "x")
        Output(ig.scan(lambda c, v: (c + v, c * v), ig.zeros(3), x)[1], "y")
    for target in names():
        with pytest.raises(ArgumentError, match="SCAN"):
            generator(target).generate(made)


@needs_gcc
def test_compiled_code_takes_arrays() -> None:
    made = model(MODELS[0])
    run = compiled(made, RawCGenerator().generate(made))
    x = np.random.default_rng(0).standard_normal((5, 12)).astype(np.float32)
    weights = {n: v.numpy() for n, v in made.init(2).items()}
    np.testing.assert_allclose(run(x, **weights), made(x, **weights).numpy(), 1e-4)


@needs_gcc
def test_what_the_compiler_says_is_shown_and_nothing_is_left(
    tmp_path: Path,
) -> None:
    with pytest.raises(CompileError, match="refused the code"):
        compile_c_code("int main(void) { return x; }", tmp_path / "program")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("target", ["numpy", "python"])
def test_verify(target: str) -> None:
    verdict = verify(model(MODELS[1]), target)
    assert verdict.error < 1e-5
    assert "agree with the interpreter" in str(verdict)


def test_verify_finds_a_wrong_result() -> None:
    with LogicalModel("m") as made:
        Output(ig.relu(Input((4,), "x")), "y")
    with pytest.raises(ArgumentError, match="differs from the interpreter"):
        verify(made, "numpy", custom_operator_mappings={"relu": "np.abs"})


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "nets.py"
    file.write_text(FILE)
    words = ["emit", f"{file}:net", "--target", "numpy", "--verify"]
    assert main([*words, "--out", str(tmp_path / "build")]) == 0
    assert "agree with the interpreter" in capsys.readouterr().out
    assert "def forward(x, params):" in (tmp_path / "build" / "net.py").read_text()
    assert main(["emit", f"{file}:nothing"]) != 0
    assert "has no model 'nothing'" in capsys.readouterr().err
