"""What is computed: the benchmark programs as data.

In:  nothing but the table.  Out: inputs (the same bytes in every process) and a check of results against float64.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "PROGRAMS",
    "Array",
    "Program",
    "Tolerance",
    "check",
    "error_of",
    "inputs_of",
]

Array = NDArray[np.floating[Any]]
Shape = tuple[int, ...]

SEED = 20


@dataclass(frozen=True, slots=True)
class Tolerance:
    """An element may be off by `relative` of its value plus `absolute`."""

    relative: float
    absolute: float


@dataclass(frozen=True, slots=True)
class Program:
    """`op` names the function that each library writes in its own words; `scales` multiply the normal inputs."""

    name: str
    op: str
    shapes: tuple[Shape, ...]
    tolerance: Tolerance
    scales: tuple[float, ...] = ()


def _sum_of(length: int) -> Tolerance:
    """For sums of `length` products of normal numbers: five deviations of float32 rounding, added one by one."""
    return Tolerance(1e-5, 2e-7 * length)


ELEMENT = Tolerance(1e-5, 1e-6)  # a few roundings and one or two special functions
NORMALISED = Tolerance(1e-4, 1e-5)  # an element over a sum, or less a mean
EXACT = Tolerance(0.0, 0.0)


def _gemm(m: int, k: int, n: int, name: str = "") -> Program:
    return Program(name or f"gemm{m}", "matmul", ((m, k), (k, n)), _sum_of(k))


_SQUARE = (1024, 1024)
_ROWS = (4096, 1024)
_LARGE = (4096, 4096)
_HEADS = (2, 8, 512, 64)

_TABLE = (
    _gemm(256, 256, 256),
    _gemm(512, 512, 512),
    _gemm(1024, 1024, 1024),
    _gemm(2048, 2048, 2048),
    _gemm(1000, 1013, 997, name="gemm1000x1013x997"),
    _gemm(1, 4096, 4096, name="gemv4096"),
    Program(
        "gemm_bias_relu1024",
        "linear_relu",
        (_SQUARE, _SQUARE, (1024,)),
        _sum_of(1024),
    ),
    Program(
        "mlp64",
        "mlp",
        shapes=((64, 784), (784, 256), (256,), (256, 10), (10,)),
        tolerance=_sum_of(784 + 256),
        scales=(1, 0.03, 1, 0.1, 1),
    ),
    Program("softmax4096x1024", "softmax", (_ROWS,), Tolerance(1e-5, 0.0)),
    Program(
        "layernorm4096x1024", "layer_norm", (_ROWS, (1024,), (1024,)), NORMALISED
    ),
    Program(
        "attention2x8x512x64", "attention", (_HEADS, _HEADS, _HEADS), NORMALISED
    ),
    Program("chain4M", "chain", (_ROWS, _ROWS), ELEMENT),
    Program("sum_last4096", "sum_last", (_LARGE,), _sum_of(4096)),
    Program("sum_first4096", "sum_first", (_LARGE,), _sum_of(4096)),
    Program("transpose4096", "transpose", (_LARGE,), EXACT),
    Program(
        "conv8x64x56", "conv3x3", ((8, 64, 56, 56), (64, 64, 3, 3)), _sum_of(576)
    ),
    Program("tiny_add", "add", ((8,), (8,)), EXACT),
)

PROGRAMS = {program.name: program for program in _TABLE}


def inputs_of(program: Program) -> list[Array]:
    """The inputs, float32. The seed depends on the name alone, so choosing programs does not change their inputs."""
    rng = np.random.default_rng([SEED, zlib.crc32(program.name.encode())])
    scales = program.scales or (1.0,) * len(program.shapes)
    arrays = []
    for shape, scale in zip(program.shapes, scales, strict=True):
        normal = rng.standard_normal(shape, dtype=np.float32)
        arrays.append(normal * np.float32(scale))
    return arrays


def reference_of(program: Program, function: Callable[..., Array]) -> Array:
    """What NumPy's form of the program gives in float64."""
    return function(*(array.astype(np.float64) for array in inputs_of(program)))


def error_of(got: Array, want: Array, tolerance: Tolerance) -> float:
    """The largest error in units of what is allowed: at most 1 is right. An exact program has no middle way."""
    off = np.abs(got.astype(np.float64) - want)
    if not off.any():
        return 0.0
    allowed = tolerance.relative * np.abs(want)
    allowed += tolerance.absolute
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(off == 0, 0.0, off / allowed)
    worst = float(ratio.max())
    return inf if isnan(worst) else worst


def check(program: Program, got: Array, want: Array) -> str:
    """What is wrong with a result, or an empty string."""
    if got.dtype != np.float32:
        return f"result is {got.dtype}, wanted float32"
    if got.shape != want.shape:
        return f"shape is {got.shape}, wanted {want.shape}"
    error = error_of(got, _as_float32_allows(program, want), program.tolerance)
    if error > 1:
        return f"off by {error:.3g} times what is allowed"
    return ""


def _as_float32_allows(program: Program, want: Array) -> Array:
    """A single addition is exact when it is the float64 sum, rounded once."""
    if program.tolerance == EXACT:
        return want.astype(np.float32).astype(np.float64)
    return want
