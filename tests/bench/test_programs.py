"""Programs and libraries: the same inputs everywhere, a check that can say no, and every library's every program."""

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from ingot.bench.libraries import LIBRARIES, Origin, installed
from ingot.bench.libraries.numpy import OPS
from ingot.bench.process import Process
from ingot.bench.programs import (
    EXACT,
    PROGRAMS,
    Array,
    Program,
    Tolerance,
    check,
    error_of,
    inputs_of,
    reference_of,
)

SMALL: Mapping[str, tuple[tuple[int, ...], ...]] = {
    "matmul": ((5, 7), (7, 3)),
    "linear_relu": ((5, 7), (7, 3), (3,)),
    "mlp": ((5, 7), (7, 4), (4,), (4, 3), (3,)),
    "softmax": ((5, 7),),
    "layer_norm": ((5, 7), (7,), (7,)),
    "attention": ((2, 3, 5, 4), (2, 3, 5, 4), (2, 3, 5, 4)),
    "chain": ((5, 7), (5, 7)),
    "sum_last": ((5, 7),),
    "sum_first": ((5, 7),),
    "transpose": ((5, 7),),
    "conv3x3": ((2, 3, 6, 5), (4, 3, 3, 3)),
    "add": ((8,), (8,)),
}


def small(op: str) -> Program:
    tolerance = EXACT if op in ("add", "transpose") else Tolerance(1e-5, 1e-5)
    return Program(f"small_{op}", op, SMALL[op], tolerance)


def test_there_is_a_program_for_every_op() -> None:
    assert {program.op for program in PROGRAMS.values()} == set(SMALL) == set(OPS)


def test_inputs_are_the_same_bytes_every_time() -> None:
    program = PROGRAMS["mlp64"]
    first, second = inputs_of(program), inputs_of(program)
    assert [a.tobytes() for a in first] == [b.tobytes() for b in second]
    assert [a.dtype for a in first] == [np.float32] * 5
    assert np.std(first[1]) == pytest.approx(0.03, rel=0.02)
    assert (
        inputs_of(PROGRAMS["gemm256"])[0].tobytes()
        != inputs_of(PROGRAMS["gemm512"])[0][:256, :256].tobytes()
    )


# torch.compile takes a C++ compiler and a minute, and its programs are torch's
@pytest.fixture(
    scope="module", params=[name for name in LIBRARIES if name != "torch.compile"]
)
def worker(request: pytest.FixtureRequest) -> Iterator[Process]:
    """A process for each library: torch and JAX bring threads that a test process should not have."""
    name = str(request.param)
    if not LIBRARIES[name].installed():
        pytest.skip(f"{name} is not installed")
    with Process(name, threads=1) as process, process.awake():
        yield process


@pytest.mark.parametrize("op", SMALL)
def test_every_library_is_right(worker: Process, op: str) -> None:
    program = small(op)
    status, note = worker.ask(("prepare", program), 60)
    if status == "absent":
        pytest.skip(f"{worker.library} has no {op}")
    assert (status, worker.ask(("call", 1), 60)) == ("ok", ("ok", "")), note
    _, result = worker.ask(("result",), 60)
    assert check(program, result, reference_of(program, OPS[op])) == ""


def direct_conv(x: Array, w: Array) -> Array:
    n, _, height, width = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    out = np.zeros((n, w.shape[0], height, width))
    for row in range(3):
        for column in range(3):
            window = padded[:, :, row : row + height, column : column + width]
            out += np.einsum("nchw,oc->nohw", window, w[:, :, row, column])
    return out


def test_the_reference_convolution_is_the_direct_one() -> None:
    x, w = inputs_of(small("conv3x3"))
    np.testing.assert_allclose(
        OPS["conv3x3"](x, w), direct_conv(x, w), rtol=1e-4, atol=1e-5
    )


def test_the_reference_attention_is_the_definition() -> None:
    q, k, v = (a.astype(np.float64) for a in inputs_of(small("attention")))
    weights = np.exp(np.einsum("bhqd,bhkd->bhqk", q, k) / 2.0)
    want = np.einsum("bhqk,bhkd->bhqd", weights / weights.sum(-1, keepdims=True), v)
    np.testing.assert_allclose(OPS["attention"](q, k, v), want)


# --- the check can say no ---


def f32(*values: float) -> Array:
    return np.array(values, np.float32)


def f64(*values: float) -> Array:
    return np.array(values, np.float64)


PLAIN = Program("plain", "chain", ((3,),), Tolerance(1e-5, 1e-6))


@pytest.mark.parametrize(
    ("got", "problem"),
    [
        (f32(1, -2, 3), ""),
        (f32(1, -2, 3.00002), ""),
        (f32(1, -2, 3.0002), "times what is allowed"),
        (f32(1, -2, np.nan), "times what is allowed"),
        (f32(1, -2, np.inf), "times what is allowed"),
        (f32(1, -2), "shape is (2,), wanted (3,)"),
        (f64(1, -2, 3), "result is float64"),
    ],
)
def test_wrong_results_are_seen(got: Array, problem: str) -> None:
    found = check(PLAIN, got, f64(1, -2, 3))
    assert (problem in found) if problem else found == ""


def test_an_exact_program_allows_one_rounding_only() -> None:
    program = Program("exact", "add", ((1,),), EXACT)
    want = f64(0.1)
    assert check(program, f32(0.1), want) == ""
    assert check(program, np.nextafter(f32(0.1), f32(1)), want)


def test_error_is_in_units_of_what_is_allowed() -> None:
    error = error_of(f32(1.5), f64(1.0), Tolerance(0.0, 0.25))
    assert error == pytest.approx(2.0)


def test_a_package_that_lacks_the_name_is_not_installed() -> None:
    assert not Origin("x:y", "no_such_package").installed()
    assert not Origin("x:y", "numpy", attribute="no_such_name").installed()
    assert Origin("x:y", "numpy", attribute="asarray").installed()
    assert "numpy" in installed()
    assert "torch.compile" not in installed()
