"""No compile time, measured: fresh processes, replay and scheduling, with the peer in the same run.

    python bench/startup.py [--rounds 5]

First result: from `import` done to the first result of a 2-layer MLP, inputs included, in a fresh process. JAX and Ingot take
turns; Ingot once with an empty cache and once with a warm one. Replay: one call of a captured function over 8 elements,
beside NumPy's own. Scheduling: chains of one repeated operation and of random ones.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

MLP = """
import time, numpy as np
{imports}
draw = np.random.default_rng(0).standard_normal
started = time.perf_counter()
shapes = ((64, 784), (784, 256), (256,), (256, 10), (10,))
x, w1, b1, w2, b2 = [{put}(draw(s, dtype=np.float32)) for s in shapes]
{run}
print(1e3 * (time.perf_counter() - started))
"""
INGOT = MLP.format(
    imports="import ingot as ig",
    put="ig.from_numpy",
    run="(ig.relu(x @ w1 + b1) @ w2 + b2).numpy()",
)
JAX = MLP.format(
    imports="import jax, jax.numpy as jnp",
    put="jnp.asarray",
    run="jax.jit(lambda *a: jax.nn.relu(a[0] @ a[1] + a[2]) @ a[3] + a[4])(x, w1, b1, w2, b2).block_until_ready()",
)
SCHEDULE = """
import random, time, numpy as np, ingot as ig
random.seed(0)
ops = [lambda v: v + 1.0, lambda v: v * 0.5, ig.relu, lambda v: v - 0.25, lambda v: -v, lambda v: ig.maximum(v, 0.1)]
x = ig.from_numpy(np.ones(64, np.float32))
for _ in range({count}):
    x = {step}
started = time.perf_counter()
x.realize()
print(1e3 * (time.perf_counter() - started))
"""
BYTECODE = Path(tempfile.gettempdir()) / "ingot-bench-bytecode"
STEPS = {
    "one operation repeated": "x + 1.0",
    "random operations": "random.choice(ops)(x)",
}


def child(code: str, cache: Path) -> float:
    """What the code prints, in a process of its own; bytecode is kept, as it is for any installed package."""
    environment = {**os.environ, "INGOT_CACHE_DIR": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(BYTECODE)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return float(done.stdout.split()[-1])


def first_results(rounds: int) -> None:
    times: dict[str, list[float]] = {
        "jax": [],
        "ingot, empty cache": [],
        "ingot, warm cache": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        child(JAX, Path(folder))  # writes the bytecode
        child(INGOT, Path(folder))
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            cache = Path(folder)
            times["jax"].append(child(JAX, cache))
            times["ingot, empty cache"].append(child(INGOT, cache))
            times["ingot, warm cache"].append(child(INGOT, cache))
    peer = median(times["jax"])
    for name, found in times.items():
        low, high = min(found), max(found)
        print(
            f"first result, {name:20} {median(found):8.1f} ms  [{low:.1f} .. {high:.1f}]  {median(found) / peer:.2f} x jax"
        )


def best(call: Callable[[], object], calls: int = 5000, rounds: int = 9) -> float:
    found = []
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(calls):
            call()
        found.append((time.perf_counter() - started) / calls)
    return 1e6 * min(found)


def replay() -> None:
    import numpy as np

    import ingot as ig

    arrays = [np.full(8, n, np.float32) for n in range(8)]
    tensors = [ig.from_numpy(a) for a in arrays]
    two, eight = (
        ig.jit(lambda a, b: a + b),
        ig.jit(lambda *v: sum(v[1:], start=v[0])),
    )
    two(*tensors[:2]), eight(*tensors)
    numpy = best(lambda: arrays[0] + arrays[1])
    ours = best(lambda: two(*tensors[:2]))
    print(
        f"replay, 8 elements, 2 inputs    {ours:6.2f} us, NumPy {numpy:.2f}: {ours - numpy:+.2f}"
    )
    numpy = best(lambda: sum(arrays[1:], start=arrays[0]))
    ours = best(lambda: eight(*tensors))
    print(
        f"replay, 8 elements, 8 inputs    {ours:6.2f} us, NumPy {numpy:.2f}: {ours - numpy:+.2f}"
    )


def scheduling() -> None:
    random.seed(0)
    with tempfile.TemporaryDirectory() as folder:
        for name, step in STEPS.items():
            for count in (1_000, 10_000, 100_000):
                took = child(SCHEDULE.format(count=count, step=step), Path(folder))
                print(f"{count:7} nodes, {name:24} {took:9.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    replay()
    scheduling()
    first_results(rounds)


if __name__ == "__main__":
    main()
