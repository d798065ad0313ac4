"""Emitted source, executed and compared with the interpreter. In: a model, a target. Out: the largest error, or why not.

Library targets run in this process, C through a compiler. The inputs are those of the self-check.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ingot.emit.compile_c import compiled
from ingot.emit.self_check import filled, outcome, sized
from ingot.emit.targets import generator
from ingot.errors import ArgumentError, MissingPackage
from ingot.model.graph import Array, Kind
from ingot.model.logical import LogicalModel

SIZE = 3  # of a size that the model leaves open
TOLERANCE = 1e-4  # of the largest value of an output
C_TARGETS = frozenset({"c", "raw_c"})


class Verdict(NamedTuple):
    """`error` is the largest difference, as a part of the largest value of that output."""

    target: str
    error: float
    outputs: int

    def __str__(self) -> str:
        return f"{self.target}: {self.outputs} outputs agree with the interpreter, largest error {self.error:.1e}"


def _arrays(module: str, function: str) -> Callable[[Array], Any]:
    """How a library takes a NumPy array."""

    def convert(array: Array) -> Any:
        try:
            library = import_module(module)
        except ImportError:
            raise MissingPackage(
                f"{module} is not installed",
                fix=f"pip install {module.split('.')[0]}",
            ) from None
        return getattr(library, function)(array)

    return convert


CONVERT: dict[str, Callable[[Array], Any]] = {
    "numpy": np.asarray,
    "python": lambda array: array.tolist(),
    "torch": _arrays("torch", "from_numpy"),
    "jax": _arrays("jax.numpy", "asarray"),
    "tensorflow": _arrays("tensorflow", "constant"),
    "tinygrad": _arrays("tinygrad", "Tensor"),
}
ENTRY = {"python": "model_forward"}


def verify(model: LogicalModel, target: str, **options: Any) -> Verdict:
    """Run the emitted source; an output that is off by more than the tolerance is an error."""
    source = generator(target, **options).generate(model)
    graph = sized(model.graph, SIZE)
    given = filled(graph)
    wanted = outcome(graph, given)
    found = _run(model, target, source, given)
    results = found if isinstance(found, tuple) else (found,)
    worst = 0.0
    for name, result in zip(graph.outputs, results, strict=False):
        error = _error(_numpy(result), wanted[name])
        if not error <= TOLERANCE:
            raise ArgumentError(
                f"{target}: output {name!r} of {model.name} differs from the interpreter",
                given=f"an error of {error:.1e}",
                wanted=f"at most {TOLERANCE:.0e} of the largest value",
            )
        worst = max(worst, error)
    return Verdict(target, worst, len(graph.outputs))


def _run(
    model: LogicalModel, target: str, source: str, given: dict[str, Array]
) -> Any:
    if target in C_TARGETS:
        parameters = {p.name: given[p.name] for p in model.graph.of(Kind.PARAMETER)}
        inputs = [given[p.name] for p in model.graph.of(Kind.INPUT)]
        return compiled(model, source)(*inputs, **parameters)
    convert = CONVERT.get(target)
    if convert is None:
        raise ArgumentError(
            f"verify cannot run {target}", wanted="one of " + ", ".join(CONVERT)
        )
    arguments: list[Any] = [
        convert(given[p.name]) for p in model.graph.of(Kind.INPUT)
    ]
    for kind in (Kind.PARAMETER, Kind.STATE):
        ports = model.graph.of(kind)
        if ports:
            arguments.append({p.name: convert(given[p.name]) for p in ports})
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return namespace[ENTRY.get(target, "forward")](*arguments)


def _numpy(result: Any) -> Array:
    return result.numpy() if hasattr(result, "numpy") else np.asarray(result)


def _error(found: Array, wanted: Array) -> float:
    if found.shape != wanted.shape:
        raise ArgumentError(
            "the shapes differ", given=found.shape, wanted=wanted.shape
        )
    if not wanted.size:
        return 0.0
    if not np.array_equal(np.isnan(found), np.isnan(wanted)):
        return float("inf")
    exact = wanted.astype(np.float64)
    scale = max(float(np.nanmax(np.abs(exact))), 1e-30)
    difference = np.nanmax(np.abs(found.astype(np.float64) - exact))
    return float(difference) / scale
