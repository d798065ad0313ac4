"""One program, run and compared. In: a program. Out: what is wrong with it, or nothing; the smallest one that is wrong."""

from __future__ import annotations

import random
import sys
import time
from typing import Any

import numpy as np

from ingot.errors import IngotError
from ingot.tensor.evaluate import evaluate
from tests.fuzz.programs import Program, random_program, reference, smaller, tensors

Array = np.ndarray[Any, Any]
TOLERANCE = (
    4e-3  # of the largest value: many steps of float32, some of which cancel
)


def fault(program: Program) -> str:
    """What is wrong, in one line."""
    wanted = reference(program)
    try:
        made = tensors(program)
        evaluate(*made)
        found = [t.numpy() for t in made]
    except (
        IngotError,
        AssertionError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    for got, want, root in zip(found, wanted, program.roots, strict=True):
        problem = difference(got, want)
        if problem:
            return f"{program.steps[root].op}: {problem}"
    return ""


def difference(got: Array, want: Array) -> str:
    if got.shape != want.shape:
        return f"shape {got.shape}, wanted {want.shape}"
    if want.dtype.kind != "f":
        return "" if np.array_equal(got, want) else "other whole numbers"
    finite = np.isfinite(want)
    if not finite.all():
        return ""  # beyond the range of float32 the two may part
    scale = max(1.0, float(np.max(np.abs(want), initial=0)))
    error = float(np.max(np.abs(got.astype(np.float64) - want), initial=0))
    return (
        ""
        if error <= TOLERANCE * scale
        else f"an error of {error:.2e} at {scale:.1e}"
    )


def smallest(program: Program, kind: str) -> Program:
    """The smallest program with the same kind of fault."""
    while True:
        for candidate in smaller(program):
            if fault(candidate).split(":")[0] == kind.split(":")[0]:
                program = candidate
                break
        else:
            return program


def script(program: Program) -> str:
    """The program as Python that shows the fault."""
    return f"from tests.fuzz.check import fault\nfrom tests.fuzz.programs import *\nprint(fault({program!r}))"


def main(count: int, seed: int, length: int = 8) -> int:
    """Run programs; print what is wrong with those that are."""
    started = time.time()
    wrong = 0
    for number in range(seed, seed + count):
        program = random_program(
            random.Random(number), random.Random(-number).randint(2, length)
        )
        problem = fault(program)
        if problem:
            wrong += 1
            least = smallest(program, problem)
            print(f"--- seed {number}: {fault(least)}\n{script(least)}", flush=True)
    print(f"{count} programs, {wrong} wrong, {time.time() - started:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
