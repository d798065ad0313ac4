"""Data-dependent kernels beside NumPy, torch and JAX. In: nothing. Out: a table of milliseconds and ratios.

    python bench/algorithms.py [name ...]

Libraries that are not installed are left out. All of them are measured in turns, and the best turn of each counts, so that
what else the machine does falls on all alike. A ratio above 1 says how many times faster Ingot is than the best other.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import ingot as ig

Run = Callable[[], object]
N = 1_000_000
TURNS = 25
_rng = np.random.default_rng(0)


def _maybe(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


torch, jax = _maybe("torch"), _maybe("jax")
jnp = _maybe("jax.numpy")


def _arrays() -> dict[str, Any]:
    normal = _rng.standard_normal(N)
    return {
        "f32": normal.astype(np.float32),
        "f64": normal,
        "i32": _rng.integers(-(2**31), 2**31, N).astype(np.int32),
        "i64": _rng.integers(-(2**62), 2**62, N),
        "places": _rng.integers(0, N, N),
        "few": _rng.integers(0, 1000, N),
        "table": _rng.standard_normal((100_000, 64)).astype(np.float32),
        "rows": _rng.integers(0, 100_000, 100_000),
        "matrix": _rng.standard_normal((10_000, 100)).astype(np.float32),
    }


class Bench:
    """The same arrays for all libraries."""

    def __init__(self) -> None:
        self.np = _arrays()
        self.ig = {k: ig.Tensor(v).realize() for k, v in self.np.items()}
        self.torch = (
            {k: torch.from_numpy(v) for k, v in self.np.items()} if torch else {}
        )
        self.jax: dict[str, Any] = {}
        if jax is not None:
            jax.config.update("jax_enable_x64", True)
            self.jax = {k: jnp.asarray(v) for k, v in self.np.items()}

    def cases(self) -> dict[str, dict[str, Run]]:
        found: dict[str, dict[str, Run]] = {}
        for kind in ("f32", "i32", "f64", "i64"):
            found[f"sort {kind}"] = self.each("sort", kind)
            found[f"argsort {kind}"] = self.each("argsort", kind)
        found["sort rows of 100"] = self.each("sort", "matrix")
        for k in (10, 1000):
            found[f"topk {k}"] = self.topk(k)
        found["cumsum f32"] = self.each("cumsum", "f32", 0)
        found["gather f32"] = self.gather()
        found["scatter_add f32"] = self.scatter_add()
        found["embedding"] = self.embedding()
        found["unique i64, 1000 values"] = self.unique("few")
        found["unique i64, all"] = self.unique("places")
        found["unique f32"] = self.unique("f32")
        found["nonzero"] = self.nonzero()
        return found

    def each(self, name: str, kind: str, *args: int) -> dict[str, Run]:
        x, mine = self.np[kind], self.ig[kind]
        ours = getattr(ig, name)
        runs: dict[str, Run] = {
            "ingot": lambda: ours(mine, *args).realize(),
            "numpy": lambda: getattr(np, name)(x, *args),
        }
        if torch:
            t = self.torch[kind]
            dim = args or (-1,)
            runs["torch"] = lambda: getattr(torch, name)(t, *dim)
        if jax:
            runs["jax"] = self.jitted(
                lambda v: getattr(jnp, name)(v, *args), self.jax[kind]
            )
        return runs

    def jitted(self, function: Callable[..., Any], *args: Any) -> Run:
        made = jax.jit(function)
        return lambda: jax.block_until_ready(made(*args))

    def topk(self, k: int) -> dict[str, Run]:
        mine = self.ig["f32"]
        runs: dict[str, Run] = {"ingot": lambda: ig.eval(*ig.topk(mine, k))}
        x = self.np["f32"]
        runs["numpy"] = lambda: np.sort(np.partition(x, N - k)[N - k :])
        if torch:
            runs["torch"] = lambda: torch.topk(self.torch["f32"], k)
        if jax:
            runs["jax"] = self.jitted(
                lambda v: jax.lax.top_k(v, k), self.jax["f32"]
            )
        return runs

    def gather(self) -> dict[str, Run]:
        mine, at = self.ig["f32"], self.ig["places"]
        x, i = self.np["f32"], self.np["places"]
        runs: dict[str, Run] = {
            "ingot": lambda: ig.take(mine, at, axis=0).realize(),
            "numpy": lambda: np.take(x, i),
        }
        if torch:
            t, j = self.torch["f32"], self.torch["places"]
            runs["torch"] = lambda: torch.gather(t, 0, j)
        if jax:
            runs["jax"] = self.jitted(
                lambda v, k: v[k], self.jax["f32"], self.jax["places"]
            )
        return runs

    def scatter_add(self) -> dict[str, Run]:
        mine, at = self.ig["f32"], self.ig["places"]
        zeros = ig.zeros((N,)).realize()
        x, i = self.np["f32"], self.np["places"]
        runs: dict[str, Run] = {
            "ingot": lambda: ig.scatter_add(zeros, 0, at, mine).realize(),
            "numpy": lambda: np.bincount(i, x, N),
        }
        if torch:
            t, j, base = self.torch["f32"], self.torch["places"], torch.zeros(N)
            runs["torch"] = lambda: base.scatter_add(0, j, t)
        if jax:
            base_ = jnp.zeros(N, np.float32)
            runs["jax"] = self.jitted(
                lambda v, k: base_.at[k].add(v), self.jax["f32"], self.jax["places"]
            )
        return runs

    def embedding(self) -> dict[str, Run]:
        mine, at = self.ig["table"], self.ig["rows"]
        x, i = self.np["table"], self.np["rows"]
        runs: dict[str, Run] = {
            "ingot": lambda: ig.embedding(mine, at).realize(),
            "numpy": lambda: x[i],
        }
        if torch:
            t, j = self.torch["table"], self.torch["rows"]
            runs["torch"] = lambda: torch.nn.functional.embedding(j, t)
        if jax:
            runs["jax"] = self.jitted(
                lambda v, k: v[k], self.jax["table"], self.jax["rows"]
            )
        return runs

    def unique(self, kind: str) -> dict[str, Run]:
        mine, x = self.ig[kind], self.np[kind]
        runs: dict[str, Run] = {
            "ingot": lambda: ig.unique_values(mine).realize(),
            "numpy": lambda: np.unique(x),
        }
        if torch:
            runs["torch"] = lambda: torch.unique(self.torch[kind])
        return runs

    def nonzero(self) -> dict[str, Run]:
        flags = self.np["f32"] > 0
        mine = ig.Tensor(flags).realize()
        runs: dict[str, Run] = {
            "ingot": lambda: ig.flatnonzero(mine).realize(),
            "numpy": lambda: np.flatnonzero(flags),
        }
        if torch:
            t = torch.from_numpy(flags)
            runs["torch"] = lambda: torch.nonzero(t)
        return runs


def best(runs: dict[str, Run]) -> dict[str, float]:
    """Milliseconds of each, in turns; one that is much slower than the fastest takes few."""
    found = {name: _once(run) for name, run in runs.items()}
    for turn in range(TURNS):
        limit = 5 * min(found.values())
        for name, run in runs.items():
            if turn < 3 or found[name] < limit:
                found[name] = min(found[name], _once(run))
    return found


def _once(run: Run) -> float:
    started = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - started)


def main(names: list[str]) -> None:
    bench = Bench()
    print(f"{'':26}{'ingot':>9}{'numpy':>9}{'torch':>9}{'jax':>9}{'ratio':>8}")
    for name, runs in bench.cases().items():
        if names and not any(word in name for word in names):
            continue
        found = best(runs)
        others = min(ms for who, ms in found.items() if who != "ingot")
        cells = [
            f"{found[who]:9.2f}" if who in found else f"{'':9}"
            for who in ("ingot", "numpy", "torch", "jax")
        ]
        print(
            f"{name:26}{''.join(cells)}{others / found['ingot']:8.2f}", flush=True
        )


if __name__ == "__main__":
    main(sys.argv[1:])
