"""How far elementary functions are from exact, over every float32 there is: `python bench/elementary.py [--step N] [NAME ...]`.

In: all 2**32 bit patterns, or every N-th. Out: for each function the largest distance from NumPy's float64 in units of the
last place, and where it is. Numbers whose result is no normal float32 are left out.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import ingot as ig

BLOCK = 1 << 22
LEAST = float(np.finfo(np.float32).tiny)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sqrt": np.sqrt,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
}


def worst(name: str, step: int) -> tuple[float, float, int]:
    """(units of the last place, at which number, of how many)."""
    most, place, count = 0.0, 0.0, 0
    for start in range(0, 1 << 32, BLOCK * step):
        stop = min(start + BLOCK * step, 1 << 32)
        bits = np.arange(start, stop, step, dtype=np.uint64).astype(np.uint32)
        off, x = distances(name, bits.view(np.float32))
        count += len(off)
        if len(off) and off.max() > most:
            most, place = float(off.max()), float(x[off.argmax()])
    return most, place, count


def distances(name: str, x: Any) -> tuple[Any, Any]:
    """The distance of each result, and the numbers that it belongs to."""
    with np.errstate(all="ignore"):
        exact = FUNCTIONS[name](x.astype(np.float64))
        near = exact.astype(np.float32)
    got = getattr(ig, name)(ig.from_numpy(x)).numpy()
    plain = np.isfinite(near) & (np.abs(near) >= LEAST)
    if not np.array_equal(np.isnan(got), np.isnan(near)):
        raise SystemExit(f"{name}: a NaN is not where it should be")
    unit = np.abs(np.spacing(near[plain])).astype(np.float64)
    return np.abs(got[plain].astype(np.float64) - exact[plain]) / unit, x[plain]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--step", type=int, default=1, help="every STEP-th number")
    options = parser.parse_args()
    for name in options.names or FUNCTIONS:
        started = time.perf_counter()
        most, place, count = worst(name, options.step)
        seconds = time.perf_counter() - started
        print(
            f"{name:6} {most:6.3f} ulp at {place!r:24} of {count} ({seconds:.0f} s)"
        )


if __name__ == "__main__":
    main()
