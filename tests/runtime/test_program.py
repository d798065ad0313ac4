"""Commands do what they say, on one thread and on several."""

import ctypes
import platform
import threading
import time
from collections.abc import Mapping

import numpy as np
import pytest

from ingot.errors import ArgumentError
from ingot.runtime.buffer import Buffer
from ingot.runtime.layout import LIMIT_FAULT
from ingot.runtime.library import Library
from ingot.runtime.pool import Pool, Tuning
from ingot.runtime.program import (
    CommandFault,
    Program,
    ProgramBuilder,
    float32_word,
    float64_word,
    signed,
)
from tests.runtime.conftest import EAGER, MakePool
from tests.runtime.kernels import FLUSH, FLUSH_KEY

Kernels = Mapping[str, int]


def words(*values: int) -> tuple[np.ndarray, int]:
    """An int64 array and its address."""
    array = np.array(values, dtype=np.int64)
    return array, Buffer.from_array(array).address


def marking(kernels: Kernels, pool: Pool, chunks: int, turns: int = 1) -> Program:
    builder = ProgramBuilder()
    counts = builder.slot()
    builder.run(kernels["mark"], [counts, turns], chunks=chunks, label="mark")
    return builder.finish(pool)


@pytest.mark.parametrize("chunks", [0, 1, 2, 3, 64, 1000])
def test_every_chunk_runs_once(kernels: Kernels, pool: Pool, chunks: int) -> None:
    counts, address = words(*[0] * (chunks + 1))
    program = marking(kernels, pool, chunks)
    for _ in range(5):
        program.run(address)
    assert counts.tolist() == [5] * chunks + [0]


def test_slots_take_new_values_each_run(kernels: Kernels, pool: Pool) -> None:
    builder = ProgramBuilder()
    to, number = builder.slot(), builder.slot()
    builder.run(kernels["sum"], [to + 8, number + 100, -1])
    program = builder.finish(pool)
    out, address = words(0, 0)
    for value in (1, -7, 1 << 40):
        program.run(address, value)
        assert out.tolist() == [0, value + 99]


def test_slots_may_be_chunks_scratch_and_sizes(
    kernels: Kernels, pool: Pool
) -> None:
    builder = ProgramBuilder()
    where, chunks, scratch, count = (builder.slot() for _ in range(4))
    builder.run(
        kernels["use_scratch"], [where, count], chunks=chunks, scratch=scratch
    )
    program = builder.finish(pool)
    out, address = words(*[0] * 9)
    program.run(address, 4, 8 * 1000, 1000)
    program.run(address, 8, 8 * 300_000, 300_000)
    assert (out[:8] != 0).all()
    assert out[8] == 0
    assert (out[:8] % 64 == 0).all()


def test_scratch_is_private_to_a_thread(
    kernels: Kernels, make_pool: MakePool
) -> None:
    pool = make_pool(4)
    builder = ProgramBuilder()
    where = builder.slot()
    builder.run(kernels["use_scratch"], [where, 500], chunks=64, scratch=4000)
    program = builder.finish(pool)
    out, address = words(*[0] * 64)
    seen: set[int] = set()
    for _ in range(2000):
        program.run(address)
        seen |= set(out.tolist())
        if len(seen) == 4:
            break
    assert 2 <= len(seen) <= 4, "several threads help, each with one block"


def test_wrong_number_of_values_is_an_argument_error(
    kernels: Kernels, pool: Pool
) -> None:
    program = marking(kernels, pool, 2)
    for values in [(), (1, 2), (1 << 63,)]:
        with pytest.raises(ArgumentError, match="one for each slot"):
            program.run(*values)


@pytest.mark.parametrize("nbytes", [0, 1, 1000, 262144, 262145, 3_000_001])
def test_copy(pool: Pool, nbytes: int) -> None:
    source = np.random.default_rng(0).integers(0, 256, nbytes + 1, dtype=np.uint8)
    to = np.zeros(nbytes + 1, np.uint8)
    builder = ProgramBuilder()
    a, b, n = builder.slot(), builder.slot(), builder.slot()
    builder.copy(a, b, n)
    builder.finish(pool).run(
        Buffer.from_array(to).address, Buffer.from_array(source).address, nbytes
    )
    assert (to[:nbytes] == source[:nbytes]).all()
    assert to[nbytes] == 0


# --- faults ---


def test_the_lowest_faulting_chunk_is_reported(
    kernels: Kernels, pool: Pool
) -> None:
    codes, codes_at = words(*[0] * 40)
    codes[[7, 9, 30]] = [70, 90, 300]
    counts, counts_at = words(*[0] * 40)
    later, later_at = words(*[0] * 4)
    builder = ProgramBuilder()
    builder.run(kernels["mark"], [later_at, 1], chunks=1)
    index = builder.run(
        kernels["fail"], [counts_at, codes_at], chunks=40, label="divide"
    )
    builder.run(kernels["mark"], [later_at, 1], chunks=4)
    program = builder.finish(pool)
    for turn in range(1, 30):
        with pytest.raises(
            CommandFault, match=r"command 1 \(divide\) reported fault 70 in chunk 7"
        ) as caught:
            program.run()
        assert (caught.value.command, caught.value.code, caught.value.chunk) == (
            index,
            70,
            7,
        )
        assert counts[:8].tolist() == [turn] * 8, (
            "all chunks below the fault have run"
        )
        assert later.tolist() == [turn, 0, 0, 0], "nothing after the fault has run"


def test_the_first_of_many_faults_is_reported(
    kernels: Kernels, make_pool: MakePool
) -> None:
    """All chunks fault. Chunk 0 is always claimed first, but another thread may be done before it begins."""
    _, codes_at = words(1, 2, 3)
    _, counts_at = words(0, 0, 0)
    builder = ProgramBuilder()
    builder.run(kernels["fail"], [counts_at, codes_at], chunks=3)
    program = builder.finish(make_pool(3))
    for _ in range(10_000):
        with pytest.raises(CommandFault) as caught:
            program.run()
        assert (caught.value.code, caught.value.chunk) == (1, 0)


def test_a_program_runs_again_after_a_fault(kernels: Kernels, pool: Pool) -> None:
    codes, codes_at = words(0, 5, 0)
    _, counts_at = words(0, 0, 0)
    builder = ProgramBuilder()
    builder.run(kernels["fail"], [counts_at, codes_at], chunks=3)
    program = builder.finish(pool)
    with pytest.raises(CommandFault):
        program.run()
    codes[1] = 0
    program.run()


def test_check_stops_at_an_error_word(kernels: Kernels, pool: Pool) -> None:
    error, error_at = words(0)
    counts, counts_at = words(0)
    builder = ProgramBuilder()
    builder.check(error_at)
    builder.run(kernels["mark"], [counts_at, 1])
    program = builder.finish(pool)
    program.run()
    error[0] = 42
    with pytest.raises(CommandFault, match="fault 42"):
        program.run()
    assert counts.tolist() == [1]


# --- variables and control ---


def test_a_size_from_memory_sets_arguments_and_chunks(
    kernels: Kernels, pool: Pool
) -> None:
    size, size_at = words(0)
    counts, counts_at = words(*[0] * 100)
    builder = ProgramBuilder()
    n, chunks = builder.cell(), builder.cell()
    builder.read(n, size_at, limit=1000)
    builder.divide(chunks, n, 10)
    builder.run(kernels["mark"], [counts_at, n], chunks=chunks)
    program = builder.finish(pool)
    for value, expected in [(0, 0), (1, 1), (10, 1), (11, 2), (1000, 100)]:
        counts[:] = 0
        size[0] = value
        program.run()
        assert counts.sum() == expected
    size[0] = 1001
    with pytest.raises(CommandFault, match="above its limit") as caught:
        program.run()
    assert caught.value.code == LIMIT_FAULT


def test_a_condition_of_one_byte_chooses(kernels: Kernels, pool: Pool) -> None:
    condition = np.array([0, 255], np.uint8)
    counts, counts_at = words(0, 0)
    builder = ProgramBuilder()
    flag, other, end = builder.cell(), builder.label(), builder.label()
    builder.read(flag, Buffer.from_array(condition).address, nbytes=1)
    builder.branch_if_zero(flag, other)
    builder.run(kernels["mark"], [counts_at, 1])
    builder.jump(end)
    builder.place(other)
    builder.run(kernels["mark"], [counts_at + 8, 1])
    builder.place(end)
    program = builder.finish(pool)
    program.run()
    assert counts.tolist() == [0, 1]
    condition[0] = 1
    program.run()
    assert counts.tolist() == [1, 1]


def test_a_loop_counts_and_moves_a_pointer(kernels: Kernels, pool: Pool) -> None:
    out, out_at = words(*[0] * 10)
    builder = ProgramBuilder()
    base = builder.slot()
    left, pointer, top = builder.cell(), builder.cell(), builder.label()
    builder.set(left, 10)
    builder.set(pointer, base)
    builder.place(top)
    builder.run(kernels["sum"], [pointer, left, 1000])
    builder.add(pointer, 8)
    builder.add(left, -1)
    builder.branch_if_nonzero(left, top)
    program = builder.finish(pool)
    for _ in range(2):
        out[:] = 0
        program.run(out_at)
        assert out.tolist() == [1000 + n for n in range(10, 0, -1)]


def test_stop_ends_a_run(kernels: Kernels, pool: Pool) -> None:
    counts, counts_at = words(0)
    builder = ProgramBuilder()
    builder.stop()
    builder.run(kernels["mark"], [counts_at, 1])
    builder.finish(pool).run()
    assert counts.tolist() == [0]


def test_labels_must_be_placed_once(pool: Pool) -> None:
    builder = ProgramBuilder()
    label = builder.label()
    builder.jump(label)
    with pytest.raises(ArgumentError, match="needs a placed label"):
        builder.finish(pool)
    builder.place(label)
    with pytest.raises(ArgumentError, match="placed once"):
        builder.place(label)


# --- host functions ---


def test_host_functions_see_words_and_may_evaluate(
    kernels: Kernels, pool: Pool
) -> None:
    counts, counts_at = words(*[0] * 64)
    inner = marking(kernels, pool, 64)
    seen = []

    def call(number: int, address: int) -> None:
        seen.append((number, counts.sum()))
        inner.run(address)

    builder = ProgramBuilder()
    number = builder.slot()
    builder.run(kernels["mark"], [counts_at, 1], chunks=64)
    builder.host(call, [number + 1, counts_at])
    builder.run(kernels["mark"], [counts_at, 1], chunks=64)
    program = builder.finish(pool)
    program.run(5)
    program.run(6)
    assert seen == [(6, 64), (7, 4 * 64)]
    assert counts.tolist() == [6] * 64


def test_a_program_may_run_inside_itself(kernels: Kernels, pool: Pool) -> None:
    counts, counts_at = words(*[0] * 8)
    programs: list[Program] = []

    def again(depth: int) -> None:
        if depth:
            programs[0].run(depth - 1)

    builder = ProgramBuilder()
    depth = builder.slot()
    builder.host(again, [depth])
    builder.run(kernels["mark"], [counts_at, 1], chunks=8)
    programs.append(builder.finish(pool))
    programs[0].run(5)
    assert counts.tolist() == [6] * 8


def test_what_a_host_function_raises_comes_out(
    kernels: Kernels, pool: Pool
) -> None:
    def bad() -> None:
        raise ZeroDivisionError("in the host function")

    builder = ProgramBuilder()
    builder.host(bad)
    program = builder.finish(pool)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError, match="in the host function"):
            program.run()


# --- threads, time slices, modes ---


def test_threads_evaluate_at_once(kernels: Kernels, pool: Pool) -> None:
    shared = marking(kernels, pool, 64, turns=50)
    arrays = [words(*[0] * 64) for _ in range(4)]

    def work(address: int) -> None:
        for _ in range(300):
            shared.run(address)

    threads = [
        threading.Thread(target=work, args=(address,)) for _, address in arrays
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((counts == 300).all() for counts, _ in arrays)


def test_scratch_of_concurrent_runs_is_not_shared(
    kernels: Kernels, make_pool: MakePool
) -> None:
    pool = make_pool(2)
    builder = ProgramBuilder()
    where = builder.slot()
    builder.run(kernels["use_scratch"], [where, 5000], chunks=16, scratch=40_000)
    program = builder.finish(pool)
    faults = []

    def work() -> None:
        _, address = out = words(*[0] * 16)
        for _ in range(200):
            try:
                program.run(address)
            except CommandFault as fault:
                faults.append(fault)
        del out

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def test_short_slices_lose_no_chunk(kernels: Kernels, make_pool: MakePool) -> None:
    """A slice of no time: the run comes back to Python again and again, and goes on where it was."""
    counts, address = words(*[0] * 500)
    for threads in (1, 3):
        program = marking(
            kernels, make_pool(threads, EAGER._replace(slice_ns=-1)), 500, turns=100
        )
        counts[:] = 0
        for _ in range(20):
            program.run(address)
        assert (counts == 20).all()


def test_short_slices_keep_loops_going(
    kernels: Kernels, make_pool: MakePool
) -> None:
    counts, address = words(*[0] * 7)
    builder = ProgramBuilder()
    left, top = builder.cell(), builder.label()
    builder.set(left, 100)
    builder.place(top)
    builder.run(kernels["mark"], [address, 1], chunks=7)
    builder.add(left, -1)
    builder.branch_if_nonzero(left, top)
    builder.finish(make_pool(2, EAGER._replace(slice_ns=-1))).run()
    assert (counts == 100).all()


@pytest.mark.skipif(
    platform.machine() != "x86_64",
    reason="flush-to-zero is set by an x86 instruction",
)
def test_workers_compute_in_the_mode_of_the_caller(
    kernels: Kernels, library: Library, make_pool: MakePool
) -> None:
    address = library.functions(FLUSH_KEY, lambda: FLUSH)["set_flush"]
    set_flush = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)
    products, threads = np.zeros(2000, np.float32), np.zeros(2000, np.int64)
    pointers = [Buffer.from_array(array).address for array in (products, threads)]
    builder = ProgramBuilder()
    factors = [float32_word(1e-38), float32_word(0.7)]
    builder.run(kernels["multiply"], [*pointers, *factors], chunks=2000, scratch=64)
    program = builder.finish(make_pool(4))
    for flush in (0, 1, 0):
        helpers: set[int] = set()
        end = time.monotonic() + 20
        while len(helpers) < 3 and time.monotonic() < end:
            set_flush(flush)
            program.run()
            set_flush(0)
            helpers |= set(threads.tolist())
            assert ((products == 0.0) == bool(flush)).all()
        assert len(helpers) >= 2, "no worker has helped"


def test_a_closed_pool_still_runs(kernels: Kernels, make_pool: MakePool) -> None:
    pool = make_pool(3)
    counts, address = words(*[0] * 64)
    program = marking(kernels, pool, 64)
    program.run(address)
    assert pool.workers == 2
    pool.close()
    assert pool.workers == 0
    program.run(address)
    assert (counts == 2).all()


# --- when threads are worth it ---


def costing(
    kernels: Kernels, pool: Pool, cost_ns: int, loop: bool = False
) -> Program:
    """A short program that is said to cost so much, once or in a loop."""
    counts = np.zeros(64, np.int64)
    builder = ProgramBuilder()
    builder.keep(counts)
    left, top = builder.cell(), builder.label()
    builder.set(left, 2)
    builder.place(top)
    builder.run(
        kernels["mark"],
        [Buffer.from_array(counts).address, 1],
        chunks=64,
        cost_ns=cost_ns,
    )
    if loop:
        builder.add(left, -1)
        builder.branch_if_nonzero(left, top)
    return builder.finish(pool)


def test_small_work_starts_no_threads(
    kernels: Kernels, make_pool: MakePool
) -> None:
    pool = make_pool(2, Tuning(wake_ns=100_000))
    for cost, workers in [(1_000, 0), (99_000, 0), (101_000, 1)]:
        costing(kernels, pool, cost).run()
        assert pool.workers == workers


def test_tiny_commands_are_done_alone(
    kernels: Kernels, make_pool: MakePool
) -> None:
    pool = make_pool(2, EAGER._replace(solo_ns=3_000))
    for cost, workers in [(2_000, 0), (4_000, 1)]:
        costing(kernels, pool, cost).run()
        assert pool.workers == workers


def test_work_in_a_loop_is_expected_again(
    kernels: Kernels, make_pool: MakePool
) -> None:
    pool = make_pool(2, Tuning(wake_ns=100_000))
    for loop, workers in [(False, 0), (True, 1)]:
        costing(kernels, pool, 30_000, loop).run()
        assert pool.workers == workers


def test_many_small_runs_in_succession_pay_together(
    kernels: Kernels, make_pool: MakePool
) -> None:
    pool = make_pool(2, Tuning(wake_ns=20_000_000))
    program = costing(kernels, pool, 15_000_000)
    for _ in range(3):
        program.run()
    assert pool.workers == 0
    for _ in range(100):
        program.run()
    assert pool.workers == 1


def test_small_runs_far_apart_do_not(kernels: Kernels, make_pool: MakePool) -> None:
    pool = make_pool(2, Tuning(wake_ns=1_000_000))
    program = costing(kernels, pool, 900_000)
    for _ in range(12):
        program.run()
        time.sleep(0.004)
    assert pool.workers == 0


def test_profile_names_the_slow_command(kernels: Kernels, pool: Pool) -> None:
    _, address = words(*[0] * 64)
    builder = ProgramBuilder()
    builder.run(kernels["mark"], [address, 10], label="fast")
    builder.run(kernels["mark"], [address, 20_000], chunks=64, label="slow")
    builder.host(lambda: None)
    program = builder.finish(pool)
    times = dict(zip(program.labels, program.profile(), strict=True))
    assert times["slow"] > 20 * times["fast"] >= 0
    assert times["slow"] > 100_000


def test_observing_a_run_gives_its_cells(kernels: Kernels, pool: Pool) -> None:
    """They begin with 0, whatever runs before have left."""
    builder = ProgramBuilder()
    turns, left, top = builder.cell(), builder.cell(), builder.label()
    builder.set(left, 5)
    builder.place(top)
    builder.add(turns, 1)
    builder.add(left, -1)
    builder.branch_if_nonzero(left, top)
    program = builder.finish(pool)
    program.run()
    seen = program.observe()
    assert [seen.cells[cell.number] for cell in (turns, left)] == [5, 0]
    assert len(seen.times) == len(program.labels)


def test_words_of_floats() -> None:
    assert float64_word(-0.0) == -(1 << 63)
    assert float64_word(1.0) == 0x3FF0 << 48
    assert float32_word(-1.0) == 0xBF800000
    assert signed(0xFFFFFFFFFFFFFFFF) == -1
    with pytest.raises(ArgumentError, match="64 bits"):
        signed(1 << 64)
