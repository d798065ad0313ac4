"""No compile time: a fresh process that finds everything on disk has its first result in milliseconds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.architecture.sources import ROOT

BUDGET = 0.015

# Time of the main thread: other threads of the pool spin while they wait for work.
PROGRAM = """
import time
import numpy as np
import ingot as ig
from ingot.pipeline.session import session

shapes = ((64, 784), (784, 256), (256,), (256, 10), (10,))
arrays = [np.full(shape, 0.01, np.float32) for shape in shapes]
started = time.thread_time()
x, w1, b1, w2, b2 = map(ig.from_numpy, arrays)
result = (ig.relu(x @ w1 + b1) @ w2 + b2).numpy()
print(time.thread_time() - started, session.forge().compiled, float(result[0, 0]))
"""


def first_result(folder: Path) -> tuple[float, int, float]:
    """(seconds, kernels compiled, a number of the result) of a fresh process."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONDONTWRITEBYTECODE"
    }
    environment |= {
        "PYTHONPATH": str(ROOT),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        "INGOT_CACHE_DIR": str(folder / "kernels"),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    seconds, compiled, number = done.stdout.split()
    return float(seconds), int(compiled), float(number)


def test_a_warm_start_takes_milliseconds(tmp_path: Path) -> None:
    """The best of several: a busy neighbour makes processor time dearer, never cheaper."""
    _, compiled, cold = first_result(tmp_path)
    assert compiled == 2
    runs = [first_result(tmp_path) for _ in range(5)]
    assert all((n, number) == (0, cold) for _, n, number in runs)
    best = min(seconds for seconds, _, _ in runs)
    assert best <= BUDGET, f"the first result took {best * 1e3:.1f} ms"
