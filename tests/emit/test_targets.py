"""Every model of the zoo in every target, executed and compared with the interpreter."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingot.emit import (
    CGenerator,
    JaxGenerator,
    NumPyGenerator,
    PythonGenerator,
    RawCGenerator,
    TensorFlowGenerator,
    TinygradGenerator,
    TorchGenerator,
)
from ingot.emit.self_check import filled, outcome, sized
from ingot.model.graph import Kind
from ingot.model.logical import LogicalModel
from tests.emit.zoo import MODELS, Build, model

Array = np.ndarray[Any, Any]
BATCH = 3


def check(found: Any, wanted: dict[str, Array], rtol: float = 2e-4) -> None:
    results = found if isinstance(found, tuple) else (found,)
    assert len(results) == len(wanted)
    for got, (name, value) in zip(results, wanted.items(), strict=True):
        array = np.asarray(got)
        assert array.shape == value.shape, name
        np.testing.assert_allclose(array, value, rtol, 1e-5, err_msg=name)


def expected(made: LogicalModel) -> tuple[dict[str, Array], dict[str, Array]]:
    graph = sized(made.graph, BATCH)
    given = filled(graph)
    return given, outcome(graph, given)


def arguments(
    made: LogicalModel, given: dict[str, Array], to: Callable[[Array], Any]
) -> list[Any]:
    inputs: list[Any] = [to(given[name]) for name in made.inputs]
    if made.parameters:
        inputs.append({name: to(given[name]) for name in made.parameters})
    return inputs


def run(source: str, entry: str, inputs: list[Any]) -> Any:
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return namespace[entry](*inputs)


@pytest.mark.parametrize("build", MODELS, ids=lambda b: b.__name__)
@pytest.mark.parametrize("optimize", [True, False])
def test_numpy(build: Build, optimize: bool) -> None:
    made = model(build)
    given, wanted = expected(made)
    source = NumPyGenerator(optimize=optimize).generate(made)
    found = run(source, "forward", arguments(made, given, np.asarray))
    check(found, wanted)
    for value in found if isinstance(found, tuple) else (found,):
        assert value.dtype == np.float32


@pytest.mark.parametrize("build", MODELS, ids=lambda b: b.__name__)
@pytest.mark.parametrize("optimize", [True, False])
def test_python(build: Build, optimize: bool) -> None:
    made = model(build)
    given, wanted = expected(made)
    source = PythonGenerator(optimize=optimize).generate(made)
    assert [line for line in source.splitlines() if "import" in line] == [
        "import math"
    ]
    inputs = arguments(made, given, lambda array: array.tolist())
    check(run(source, "model_forward", inputs), wanted)


@pytest.mark.parametrize("build", MODELS, ids=lambda b: b.__name__)
def test_torch(build: Build) -> None:
    torch = pytest.importorskip("torch")
    made = model(build)
    given, wanted = expected(made)
    source = TorchGenerator().generate(made)
    check(run(source, "forward", arguments(made, given, torch.from_numpy)), wanted)


@pytest.mark.filterwarnings(
    "ignore:Explicitly requested dtype int64"
)  # JAX has int32 unless told
@pytest.mark.parametrize("build", MODELS, ids=lambda b: b.__name__)
def test_jax(build: Build) -> None:
    jnp = pytest.importorskip("jax.numpy")
    made = model(build)
    given, wanted = expected(made)
    source = JaxGenerator().generate(made)
    check(run(source, "forward", arguments(made, given, jnp.asarray)), wanted)


@pytest.mark.parametrize("build", MODELS, ids=lambda b: b.__name__)
def test_tensorflow(build: Build) -> None:
    tf = pytest.importorskip("tensorflow")
    made = model(build)
    given, wanted = expected(made)
    source = TensorFlowGenerator().generate(made)
    check(run(source, "forward", arguments(made, given, tf.constant)), wanted)


@pytest.mark.parametrize("build", MODELS, ids=lambda b: b.__name__)
def test_tinygrad(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEV", "PYTHON")
    tinygrad = pytest.importorskip("tinygrad")
    made = model(build)
    given, wanted = expected(made)
    source = TinygradGenerator().generate(made)
    found = run(source, "forward", arguments(made, given, tinygrad.Tensor))
    results = found if isinstance(found, tuple) else (found,)
    check(tuple(r.numpy() for r in results), wanted)


# --- C ----------------------------------------------------------------------------------------------------------------

needs_gcc = pytest.mark.skipif(
    shutil.which("gcc") is None, reason="there is no gcc"
)
STRICT = "-std=c11 -Wall -Wextra -Werror".split()


def built(source: str, folder: Path, *flags: str) -> Path:
    file, result = (
        folder / "model.c",
        folder / ("model.so" if "-shared" in flags else "model"),
    )
    file.write_text(source)
    words = ["gcc", *flags, str(file), "-o", str(result)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return result


def called(
    made: LogicalModel, library: Path, given: dict[str, Array], batch: int
) -> tuple[int, dict[str, Array]]:
    graph = sized(made.graph, batch)
    forward = getattr(ctypes.CDLL(str(library)), f"{made.name}_forward")
    words: list[Any] = [ctypes.c_int64(batch) for _ in made.graph.variables]
    words += [ctypes.c_void_p(given[name].ctypes.data) for name in made.inputs]
    if made.parameters:
        pointers = [given[p.name].ctypes.data for p in graph.of(Kind.PARAMETER)]
        words.append((ctypes.c_void_p * len(pointers))(*pointers))
    outputs = {}
    for name, node in graph.outputs.items():
        shape: Any = node.shape
        outputs[name] = np.zeros(shape, np.float32)
    words += [ctypes.c_void_p(array.ctypes.data) for array in outputs.values()]
    return forward(*words), outputs


@needs_gcc
@pytest.mark.parametrize("build", MODELS, ids=lambda b: b.__name__)
@pytest.mark.parametrize("optimize", [True, False])
def test_raw_c(build: Build, optimize: bool, tmp_path: Path) -> None:
    made = model(build)
    given, wanted = expected(made)
    source = RawCGenerator(optimize=optimize).generate(made)
    library = built(
        source, tmp_path, "-O1", *STRICT, "-DINGOT_NO_MAIN", "-shared", "-fPIC"
    )
    code, found = called(made, library, given, BATCH)
    assert code == 0
    check(tuple(found.values()), wanted)


@needs_gcc
@pytest.mark.parametrize("build", MODELS, ids=lambda b: b.__name__)
def test_c(build: Build, tmp_path: Path) -> None:
    """The section for the best instruction set of this machine; its results are those of the JIT, bit for bit."""
    made = model(build)
    given, _ = expected(made)
    source = CGenerator().generate(made)
    library = built(
        source, tmp_path, "-O1", *STRICT, "-DINGOT_NO_MAIN", "-shared", "-fPIC"
    )
    code, found = called(made, library, given, BATCH)
    assert code == 0
    ours = made(
        *(given[n] for n in made.inputs), **{n: given[n] for n in made.parameters}
    )
    for got, want in zip(
        found.values(), ours if isinstance(ours, tuple) else (ours,), strict=True
    ):
        np.testing.assert_array_equal(got, want.numpy())


@needs_gcc
@pytest.mark.parametrize(
    "generator", [CGenerator(use_simd=False), RawCGenerator()], ids=["c", "raw_c"]
)
@pytest.mark.parametrize("build", MODELS, ids=lambda b: b.__name__)
def test_a_program_checks_itself(
    generator: Any, build: Build, tmp_path: Path
) -> None:
    program = built(generator.generate(model(build)), tmp_path, "-O1")
    said = subprocess.run(
        [program], check=True, capture_output=True, text=True
    ).stdout
    assert "as expected" in said


@needs_gcc
def test_a_wrong_program_says_so(tmp_path: Path) -> None:
    """The self-check can fail."""
    source = RawCGenerator().generate(model(MODELS[0]))
    broken = source.replace("acc = 0.0f;", "acc = 0.5f;", 1)
    assert broken != source
    program = built(broken, tmp_path, "-O1")
    ran = subprocess.run([program], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "wanted" in ran.stderr


@needs_gcc
def test_files_of_numbers(tmp_path: Path) -> None:
    made = model(MODELS[0])
    given, wanted = expected(made)
    program = built(RawCGenerator().generate(made), tmp_path, "-O1")
    given["input"].tofile(tmp_path / "x.bin")
    weights = [given[name].reshape(-1) for name in made.parameters]
    np.concatenate(weights).tofile(tmp_path / "w.bin")
    words = "--input x.bin --weights w.bin --output y.bin".split()
    subprocess.run([program, *words], check=True, cwd=tmp_path)
    found = np.fromfile(tmp_path / "y.bin", np.float32)
    np.testing.assert_allclose(found, wanted["output"].reshape(-1), 2e-4)
    assert os.path.getsize(tmp_path / "y.bin") == wanted["output"].nbytes


@needs_gcc
def test_error_codes(tmp_path: Path) -> None:
    made = model(MODELS[0])
    given, _ = expected(made)
    flags = "-O1 -DINGOT_NO_MAIN -shared -fPIC".split()
    library = built(RawCGenerator().generate(made), tmp_path, *flags)
    forward = ctypes.CDLL(str(library)).mlp_forward
    nothing = ctypes.c_void_p(0)
    assert forward(ctypes.c_int64(1), nothing, nothing, nothing) == 1
    big = dict(given, input=np.zeros((300, 12), np.float32))
    code, _ = called(made, library, big, 300)
    assert code == 2
    code, found = called(made, library, given, 0)
    assert code == 0
    assert found["output"].size == 0


@needs_gcc
@pytest.mark.parametrize(
    "generator", [CGenerator(), RawCGenerator()], ids=["c", "raw_c"]
)
def test_headers(generator: Any, tmp_path: Path) -> None:
    source, header = generator.generate_with_header(model(MODELS[0]))
    (tmp_path / "mlp.h").write_text(header)
    assert '#include "' not in source
    user = '#include "mlp.h"\n#include "mlp.h"\nint main(void) { return mlp_forward(0, 0, 0, 0) != 1; }\n'
    (tmp_path / "model.c").write_text(user)
    (tmp_path / "mlp.c").write_text(source)
    words = f"gcc -O1 -DINGOT_NO_MAIN {tmp_path}/model.c {tmp_path}/mlp.c -o {tmp_path}/user"
    subprocess.run(words.split(), check=True, capture_output=True)
    subprocess.run([tmp_path / "user"], check=True)


@pytest.mark.parametrize(
    "generator",
    [CGenerator, RawCGenerator, NumPyGenerator, PythonGenerator],
    ids=lambda g: g.target,
)
def test_the_same_model_is_the_same_text(generator: Any) -> None:
    assert generator().generate(model(MODELS[1])) == generator().generate(
        model(MODELS[1])
    )
