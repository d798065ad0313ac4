"""What the thread pool and the executor cost: `python bench/pool.py`.

In:  nothing; torch is used if it is installed.
Out: what a barrier between kernels costs, a replay from Python, a small evaluation after idleness, and what happens to
     evaluations that take turns with torch.mm. Times are medians; ratios compare runs that were interleaved.
"""

import ctypes
import functools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from ingot.runtime.buffer import Buffer
from ingot.runtime.cache import ObjectCache
from ingot.runtime.library import Library
from ingot.runtime.pool import Pool
from ingot.runtime.program import Program, ProgramBuilder
from ingot.settings import settings
from ingot.target import host

WIDE = "<16 x float>"
CHAINS = 12  # independent multiply-adds in flight: two units with four cycles of latency are kept busy


def burn_text() -> str:
    """args: turns. Time without memory traffic, at the clock that matrix multiplications run at."""
    phis = [
        f"%x{c} = phi {WIDE} [ zeroinitializer, %entry ], [ %y{c}, %turn ]"
        for c in range(CHAINS)
    ]
    fma = f"call {WIDE} @llvm.fma.v16f32"
    steps = [
        f"%y{c} = {fma}({WIDE} %x{c}, {WIDE} %x{c}, {WIDE} %x{c})"
        for c in range(CHAINS)
    ]
    sums = [
        f"%s{c} = fadd {WIDE} %{'y0' if c == 1 else f's{c - 1}'}, %y{c}"
        for c in range(1, CHAINS)
    ]
    return BURN.format(
        phis="\n  ".join(phis),
        steps="\n  ".join(steps),
        sums="\n  ".join(sums),
        last=CHAINS - 1,
    )


BURN = """
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
define i64 @burn(ptr %args, i64 %chunk, ptr %scratch) nounwind {{
entry:
  %turns = load i64, ptr %args
  br label %turn
turn:
  %i = phi i64 [ 0, %entry ], [ %i.next, %turn ]
  {phis}
  {steps}
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %turns
  br i1 %more, label %turn, label %out
out:
  {sums}
  %lane = extractelement <16 x float> %s{last}, i64 0
  %bad = fcmp olt float %lane, -1.0
  %code = zext i1 %bad to i64
  ret i64 %code
}}
"""

KERNELS = """
define i64 @empty(ptr %args, i64 %chunk, ptr %scratch) nounwind {
  ret i64 0
}

; args: a, b, out. Eight floats.
define i64 @add(ptr %args, i64 %chunk, ptr %scratch) nounwind {
  %a.at = getelementptr ptr, ptr %args, i64 0
  %b.at = getelementptr ptr, ptr %args, i64 1
  %out.at = getelementptr ptr, ptr %args, i64 2
  %a = load ptr, ptr %a.at
  %b = load ptr, ptr %b.at
  %out = load ptr, ptr %out.at
  %x = load <8 x float>, ptr %a, align 4
  %y = load <8 x float>, ptr %b, align 4
  %z = fadd <8 x float> %x, %y
  store <8 x float> %z, ptr %out, align 4
  ret i64 0
}
"""
KEY = "00000000000000d3"
CHUNKS = 8
IDLE = 0.005

Kernels = Mapping[str, int]


def median(times: Iterable[float]) -> float:
    return statistics.median(times)


def line(name: str, text: str) -> None:
    print(f"{name:28s} {text}")


def nanoseconds(call: Callable[[], object], times: int = 1) -> float:
    started = time.perf_counter_ns()
    for _ in range(times):
        call()
    return (time.perf_counter_ns() - started) / times


# --- barriers ---


def barrier_program(kernels: Kernels, pool: Pool, regions: int) -> Program:
    """The same two-chunk kernel again and again: each turn publishes, shares and joins."""
    builder = ProgramBuilder()
    left, top = builder.cell(), builder.label()
    builder.set(left, regions)
    builder.place(top)
    builder.run(kernels["empty"], [], chunks=2, cost_ns=1_000_000)
    builder.add(left, -1)
    builder.branch_if_nonzero(left, top)
    return builder.finish(pool)


def show_barrier(kernels: Kernels, pool: Pool) -> None:
    regions = 20_000
    program = barrier_program(kernels, pool, regions)
    program.run()
    times = [nanoseconds(program.run) / regions for _ in range(30)]
    line(
        f"hot barrier, {pool.threads} threads",
        f"{median(times):7.0f} ns, best {min(times):.0f} ns",
    )


# --- replay ---


def show_replay(kernels: Kernels, pool: Pool) -> None:
    builder = ProgramBuilder()
    builder.run(kernels["add"], [builder.slot() for _ in range(3)], cost_ns=10)
    program = builder.finish(pool)
    arrays = [np.ones(8, np.float32) for _ in range(3)]
    addresses = [Buffer.from_array(array).address for array in arrays]
    bare = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(kernels["empty"])
    calls: dict[str, Callable[[], object]] = {
        "a bare ctypes call": lambda: bare(0),
        "one kernel, three pointers": lambda: program.run(*addresses),
        "np.add of 8 floats": lambda: np.add(arrays[0], arrays[1], out=arrays[2]),
        "allocate and free 32 bytes": lambda: Buffer.allocate(32),
    }
    rounds = [
        {name: nanoseconds(call, 2000) for name, call in calls.items()}
        for _ in range(40)
    ]
    for name in calls:
        line(name, f"{median([row[name] for row in rounds]):7.0f} ns")


# --- after idleness ---


def burn_program(
    kernels: Kernels, pool: Pool, turns: int, turn_ns: float
) -> Program:
    builder = ProgramBuilder()
    builder.run(
        kernels["burn"],
        [turns // CHUNKS],
        chunks=CHUNKS,
        cost_ns=int(turns * turn_ns),
    )
    return builder.finish(pool)


def measure_turn(kernels: Kernels, single: Pool) -> float:
    """Nanoseconds of one turn of @burn, measured long enough for the clock to settle."""
    turns = 1_000_000
    program = burn_program(kernels, single, turns, 1.0)
    return min(nanoseconds(program.run) for _ in range(30)) / turns


def show_after_idle(
    kernels: Kernels, single: Pool, pool: Pool, turn_ns: float
) -> None:
    print(
        f"\nafter {IDLE * 1e3:.0f} ms of idleness    1 thread   {pool.threads} threads    ratio    hot: ratio"
    )
    for microseconds in (2, 5, 13, 50, 117, 465, 2000):
        turns = int(microseconds * 1000 / turn_ns)
        one, many = (
            burn_program(kernels, p, turns, turn_ns) for p in (single, pool)
        )
        cold = [(after_idle(one), after_idle(many)) for _ in range(60)]
        times = max(10, 5000 // microseconds)
        hot = [
            (nanoseconds(one.run, times), nanoseconds(many.run, times))
            for _ in range(20)
        ]
        alone, together = (
            median(column) / 1e3 for column in zip(*cold, strict=True)
        )
        ratio, hot_ratio = (
            median([m / o for o, m in pairs]) for pairs in (cold, hot)
        )
        work = f"{microseconds} us of work"
        print(
            f"{work:21s} {alone:9.1f}   {together:9.1f} us {ratio:8.2f} {hot_ratio:13.2f}"
        )


def after_idle(program: Program) -> float:
    time.sleep(IDLE)
    return nanoseconds(program.run)


# --- beside torch ---


def show_beside_torch(
    kernels: Kernels, single: Pool, pool: Pool, turn_ns: float
) -> None:
    try:
        import torch
    except ImportError:
        print("\ntorch is not installed: nothing to take turns with")
        return
    print(
        f"\nin turns with torch.mm on {torch.get_num_threads()} threads    torch alone, ratio     ours alone, ratio"
    )
    for size in (256, 1024):
        multiply = functools.partial(
            torch.matmul, torch.rand(size, size), torch.rand(size, size)
        )
        for microseconds in (300, 1000, 5000, 15000):
            turns = int(microseconds * 1000 / turn_ns)
            for threads, used in ((1, single), (pool.threads, pool)):
                program = burn_program(kernels, used, turns, turn_ns)
                show_pair(
                    f"mm {size}, {microseconds} us on {threads}",
                    multiply,
                    program.run,
                )


def show_pair(
    name: str, theirs: Callable[[], object], ours: Callable[[], object]
) -> None:
    """Each alone for a while, then in turns; several rounds, so that the clock's drift meets all."""
    rows = []
    for _ in range(7):
        theirs_alone = [nanoseconds(theirs) for _ in range(15)]
        ours_alone = [nanoseconds(ours) for _ in range(15)]
        both = [(nanoseconds(theirs), nanoseconds(ours)) for _ in range(15)]
        rows.append(
            [
                median(times)
                for times in (theirs_alone, ours_alone, *zip(*both, strict=True))
            ]
        )
    torch_alone, our_alone = (
        median([row[i] for row in rows]) / 1e3 for i in (0, 1)
    )
    torch_ratio, our_ratio = (
        median([row[i + 2] / row[i] for row in rows]) for i in (0, 1)
    )
    print(
        f"{name:32s} {torch_alone:12.0f} us {torch_ratio:6.2f} {our_alone:14.0f} us {our_ratio:6.2f}"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        library = Library(ObjectCache(Path(directory), 1 << 26), host())
        kernels = library.functions(KEY, lambda: KERNELS + burn_text())
        threads = (
            int(sys.argv[1]) if len(sys.argv) > 1 else settings.runtime.threads
        )
        single, pool = Pool(1, library), Pool(threads, library)
        turn_ns = measure_turn(kernels, single)
        show_barrier(kernels, pool)
        show_replay(kernels, pool)
        show_after_idle(kernels, single, pool, turn_ns)
        show_beside_torch(kernels, single, pool, turn_ns)


if __name__ == "__main__":
    main()
