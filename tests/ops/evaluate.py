"""A program in NumPy, for the tests of this folder: inputs as PARAM nodes, lowered, then interpreted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.interpret import interpret
from ingot.ir.node import UOp
from ingot.ir.opcode import OpArg
from ingot.ir.region import param
from ingot.ops.lower import lower, lower_all
from ingot.ops.op import Op
from ingot.ops.sample import Sample


class Inputs:
    """Arrays as nodes, and the values to interpret them with."""

    def __init__(self) -> None:
        self.values: dict[UOp, Any] = {}

    def node(self, array: Any) -> UOp:
        made = param(len(self.values), dt.from_numpy(array.dtype), array.shape)
        self.values[made] = array
        return made

    def operand(self, value: Any) -> Any:
        return self.node(value) if isinstance(value, np.ndarray) else value

    def run(self, root: UOp) -> Any:
        with np.errstate(all="ignore"):
            return interpret(lower_all(root), self.values, lower=lower)


def names_of(root: UOp) -> set[str]:
    """The named ops in a graph."""
    return {u.arg.name for u in root.toposort() if isinstance(u.arg, OpArg)}


def arrays_of(sample: Sample, dtype: str = "float64", seed: int = 0) -> list[Any]:
    """The sample's inputs, with floats in `dtype`."""
    given = sample.arguments(seed)
    return [
        _as_array(a, dtype) if isinstance(a, np.ndarray | np.generic | float) else a
        for a in given
    ]


def _as_array(value: Any, dtype: str) -> Any:
    if isinstance(value, float) and not isinstance(value, np.generic):
        return value
    array = np.asarray(value)
    return array.astype(dtype) if array.dtype.kind == "f" else array


def built(op: Op, arguments: Sequence[Any], attrs: Any) -> tuple[UOp, Inputs]:
    inputs = Inputs()
    node = op(*(inputs.operand(a) for a in arguments), **attrs)
    return node, inputs


def results_of(
    op: Op, arguments: Sequence[Any], attrs: Any
) -> tuple[tuple[UOp, ...], Inputs]:
    """One node per result."""
    inputs = Inputs()
    return op.results(*(inputs.operand(a) for a in arguments), **attrs), inputs


def wanted_results(op: Op, arguments: Sequence[Any], attrs: Any) -> tuple[Any, ...]:
    """What the reference says of each result."""
    if not op.several:
        return (wanted(op, arguments, attrs),)
    with np.errstate(all="ignore"):
        found = op.ref(*map(_widened, arguments), **attrs)
    return tuple(np.asarray(part) for part in found)


def _widened(value: Any) -> Any:
    return _as_array(value, "float64") if isinstance(value, np.ndarray) else value


def wanted(op: Op, arguments: Sequence[Any], attrs: Any) -> Any:
    """What the reference says, from inputs widened to float64."""
    with np.errstate(all="ignore"):
        return np.asarray(op.ref(*map(_widened, arguments), **attrs))


def error_in_ulp(got: Any, want: Any, normwise: bool) -> float:
    """The largest distance, in units of the last place of `got`'s type; NaN and infinities are exact."""
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype.kind != "f":
        return 0.0 if np.array_equal(got, want) else np.inf
    rounded = want.astype(got.dtype)
    special = ~np.isfinite(rounded)
    if not np.array_equal(got[special], rounded[special], equal_nan=True):
        return np.inf
    if special.all():
        return 0.0
    size = np.abs(want[~special])
    unit = np.spacing(
        (np.full_like(size, size.max()) if normwise else size).astype(got.dtype)
    ).astype(np.float64)
    off = np.abs(got[~special].astype(np.float64) - want[~special])
    return float((off / unit).max())
