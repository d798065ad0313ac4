"""What this machine costs, measured. In: a library and a pool. Out: `Costs` for the prices of fusion.

Runs for about a second: arithmetic long enough for the clock to settle, copies that fit each cache, barriers and calls.
"""

import time
from collections.abc import Callable
from statistics import median

from ingot.runtime.buffer import Buffer
from ingot.runtime.library import Library
from ingot.runtime.pool import Pool
from ingot.runtime.program import Program, ProgramBuilder
from ingot.target import Costs, Target

__all__ = ["measure"]

_ACCUMULATORS = 12
_SETTLE_NS = 60_000_000  # shorter, and a sleepy clock is what is measured
_BARRIERS = 2000
_LONG_NS = 1 << 40  # an estimate that makes the pool wake everyone


def measure(library: Library, pool: Pool) -> Costs:
    """The costs of this machine, now."""
    target = library.target
    functions = library.functions(
        f"ca11b{_digest(target)}", lambda: _module(target)
    )
    return Costs(
        fma_gflops=_arithmetic(functions["fma"], target, pool),
        l1_bytes_per_ns=_copying(target.l1 // 3, pool),
        l2_bytes_per_ns=_copying(target.l2 // 3, pool),
        l3_bytes_per_ns=_copying(max(2 * target.l2, target.l3 // 4), pool),
        memory_bytes_per_ns=_copying(4 * target.l3, pool),
        barrier_ns=_barrier(functions["nothing"], pool),
        wake_ns=_waking(functions["nothing"], pool),
        call_ns=_best(_single(functions["nothing"], pool).run),
    )


def _digest(target: Target) -> str:
    return f"{sum(target.key().encode()):08x}{target.vector_bytes:04x}"


def _module(target: Target) -> str:
    """Two kernels: independent chains of multiply-adds, and nothing."""
    vector = f"<{target.lanes(4)} x float>"
    name = f"@llvm.fma.v{target.lanes(4)}f32"
    chains = range(_ACCUMULATORS)
    starts = "\n".join(
        f"  %a{i} = phi {vector} [ zeroinitializer, %entry ], [ %b{i}, %loop ]"
        for i in chains
    )
    steps = "\n".join(
        f"  %b{i} = call {vector} {name}({vector} %x, {vector} %x, {vector} %a{i})"
        for i in chains
    )
    sums = "\n".join(f"  %s{i + 1} = fadd {vector} %s{i}, %b{i}" for i in chains)
    return f"""
declare {vector} {name}({vector}, {vector}, {vector})
define i64 @nothing(ptr %args, i64 %chunk, ptr %scratch) nounwind {{
  ret i64 0
}}
define i64 @fma(ptr %args, i64 %chunk, ptr %scratch) nounwind {{
entry:
  %n = load i64, ptr %args
  %to = getelementptr i64, ptr %args, i64 1
  %out = load ptr, ptr %to
  %x = load {vector}, ptr %out, align 4
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
{starts}
{steps}
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  %s0 = fadd {vector} %x, %x
{sums}
  store {vector} %s{_ACCUMULATORS}, ptr %out, align 4
  ret i64 0
}}
"""


def _arithmetic(kernel: int, target: Target, pool: Pool) -> float:
    """Billions of floating-point operations a second, on one core."""
    data = Buffer.allocate(target.vector_bytes)
    data.as_array("float32", (target.lanes(4),))[:] = 0.0
    steps = 1 << 20
    builder = ProgramBuilder()
    builder.keep(data)
    builder.run(kernel, [steps, data.address])
    run = builder.finish(pool).run
    started = time.perf_counter_ns()
    while time.perf_counter_ns() - started < _SETTLE_NS:
        run()
    return 2.0 * target.lanes(4) * _ACCUMULATORS * steps / _best(run, calls=3)


def _copying(nbytes: int, pool: Pool) -> float:
    """Bytes read and written in a nanosecond, on one core, by copies of this size."""
    source, to = Buffer.allocate(nbytes), Buffer.allocate(nbytes)
    for buffer in (source, to):
        buffer.as_array("uint8", (nbytes,))[:] = 0
    times = max(1, (1 << 20) // nbytes)
    builder = ProgramBuilder()
    builder.keep((source, to))
    for _ in range(times):
        builder.copy(to.address, source.address, nbytes)
    return 2.0 * nbytes * times / _best(builder.finish(pool).run, calls=3)


def _barrier(nothing: int, pool: Pool) -> float:
    """From one kernel to the next, all threads awake."""
    builder = ProgramBuilder()
    for _ in range(_BARRIERS):
        builder.run(nothing, [], chunks=pool.threads, cost_ns=_LONG_NS)
    return _best(builder.finish(pool).run, calls=1) / _BARRIERS


def _waking(nothing: int, pool: Pool) -> float:
    """How much longer a kernel takes when the other threads sleep."""
    builder = ProgramBuilder()
    builder.run(nothing, [], chunks=pool.threads, cost_ns=_LONG_NS)
    program = builder.finish(pool)
    found = []
    for _ in range(20):
        time.sleep(0.003)
        started = time.perf_counter_ns()
        program.run()
        found.append(time.perf_counter_ns() - started)
    return max(float(median(found)), 1.0)


def _single(nothing: int, pool: Pool) -> Program:
    builder = ProgramBuilder()
    builder.run(nothing, [])
    return builder.finish(pool)


def _best(run: Callable[[], None], calls: int = 1000, rounds: int = 7) -> float:
    """Nanoseconds of one call; the best of several rounds, so that a neighbour's work is left out."""
    found = []
    for _ in range(rounds):
        started = time.perf_counter_ns()
        for _ in range(calls):
            run()
        found.append((time.perf_counter_ns() - started) / calls)
    return max(min(found), 1e-3)
