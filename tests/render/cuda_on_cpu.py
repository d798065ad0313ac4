"""CUDA C on a CPU, for tests: each CUDA thread is a thread of the host. In: a kernel tree. Out: its buffers, written.

Blocks run one after the other; barriers and shuffles are barriers of the host's threads. Slow, and exact to the bit.
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import KernelArg, VarArg
from ingot.render.cuda import geometry, render_cuda
from ingot.render.cuda_text import PRELUDE, TYPES

Array = np.ndarray[Any, Any]
COMPILER = shutil.which("g++")

# Compiled once: threads and their barriers.
HOST = """\
#include <barrier>
#include <memory>
#include <thread>
#include <vector>
static std::unique_ptr<std::barrier<>> block;
static std::vector<std::unique_ptr<std::barrier<>>> warps;
extern "C" void wait_block() { block->arrive_and_wait(); }
extern "C" void wait_warp(int warp) { warps[warp]->arrive_and_wait(); }
extern "C" void spawn(int threads, void (*run)(int, const int*, void**), const int* grid, void** args) {
    block = std::make_unique<std::barrier<>>(threads);
    warps.clear();
    for (int w = 0; w < threads / 32; ++w) warps.push_back(std::make_unique<std::barrier<>>(32));
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) all.emplace_back([=] { run(t, grid, args); });
    for (auto& one : all) one.join();
}
"""

# Before each kernel: what CUDA has and C++ lacks.
BEFORE = """\
#include <math.h>
#include <string.h>
struct place { int x, y, z; };
static thread_local place threadIdx, blockIdx;
static unsigned char exchange[1024][16];
extern "C" { void (*wait_block)(); void (*wait_warp)(int); }
#define __global__
#define __shared__ static
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
static void __syncthreads() { wait_block(); }
template <class T> static T __shfl_xor_sync(unsigned, T value, int step) {
    const int me = threadIdx.x;
    memcpy(exchange[me], &value, sizeof(T));
    wait_warp(me / 32);
    T other;
    memcpy(&other, exchange[me ^ step], sizeof(T));
    wait_warp(me / 32);
    return other;
}
template <class T, class F> static T bits_as(F from) {
    static_assert(sizeof(T) == sizeof(F), "the same number of bits");
    T to;
    memcpy(&to, &from, sizeof(T));
    return to;
}
template <class T, int N> struct pack { T v[N]; };
template <int N, class T> static pack<T, N> get(const T* p) {
    if ((unsigned long long)p % (sizeof(T) * N)) __builtin_trap();
    pack<T, N> made;
    memcpy(&made, p, sizeof(made));
    return made;
}
template <int N, class T> static void put(T* p, const pack<T, N>& value) {
    if ((unsigned long long)p % (sizeof(T) * N)) __builtin_trap();
    memcpy(p, &value, sizeof(value));
}
template <int N, class T> static void put_global(T* p, const pack<T, N>& value) { put<N>(p, value); }
template <class T> static T most(T a, T b) { return a != a || a > b ? a : b; }
template <class T> static T least(T a, T b) { return a != a || a < b ? a : b; }
template <class T> static T quotient(T a, T b) {
    if (b == 0) return 0;
    T q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
template <class T> static T remainder_of(T a, T b) {
    if (b == 0) return 0;
    T r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static float half_to_float(unsigned short h) { return (float)bits_as<_Float16>(h); }
static unsigned short float_to_half(float f) { return bits_as<unsigned short>((_Float16)f); }
"""

# After it: one thread of all blocks.
AFTER = """
extern "C" void thread(int number, const int* grid, void** args) {{
    threadIdx = {{number, 0, 0}};
    for (int z = 0; z < grid[2]; ++z) for (int y = 0; y < grid[1]; ++y) for (int x = 0; x < grid[0]; ++x) {{
        blockIdx = {{x, y, z}};
        {call};
        __syncthreads();
    }}
}}
"""


def run_on_cpu(
    kernel: UOp, buffers: Sequence[Array], sizes: Mapping[str, int | float]
) -> None:
    """One launch; `buffers` are in slot order and written in place."""
    arg = cast(KernelArg, kernel.arg)
    shape = geometry(kernel)
    scalars = [
        np.array([sizes[cast(VarArg, s.arg).name]], dt.to_numpy(s.dtype))
        for s in arg.sizes
    ]
    aligned = [_aligned(b) for b in buffers]
    pointers = (ctypes.c_void_p * (len(buffers) + len(scalars)))(
        *(a.ctypes.data for a in [*aligned, *scalars])
    )
    grid = (ctypes.c_int * 3)(
        *shape.blocks({name: int(n) for name, n in sizes.items()})
    )
    host, code = _compiled(HOST), _compiled(_source(kernel))
    for name in ("wait_block", "wait_warp"):
        address = ctypes.cast(getattr(host, name), ctypes.c_void_p)
        ctypes.c_void_p.in_dll(code, name).value = address.value
    host.spawn(shape.threads, code.thread, grid, pointers)
    for buffer, copy in zip(buffers, aligned, strict=True):
        buffer[...] = copy.reshape(buffer.shape)


def _aligned(buffer: Array) -> Array:
    """A copy that begins at a multiple of 16 bytes, as device memory does."""
    room = np.empty(buffer.nbytes + 16, np.uint8)
    start = -room.ctypes.data % 16
    copy = room[start : start + buffer.nbytes].view(buffer.dtype)
    copy[...] = buffer.reshape(-1)
    return copy


def _source(kernel: UOp) -> str:
    arg = cast(KernelArg, kernel.arg)
    text = render_cuda(kernel)
    assert text.startswith(PRELUDE)
    count = len(arg.params)
    pointers = [
        f"({TYPES[p.dtype]}*)args[{slot}]" for slot, p in enumerate(arg.params)
    ]
    scalars = [
        f"*({TYPES[s.dtype]}*)args[{count + slot}]"
        for slot, s in enumerate(arg.sizes)
    ]
    call = f"{arg.name}({', '.join(pointers + scalars)})"
    return BEFORE + text[len(PRELUDE) :] + AFTER.format(call=call)


@cache
def _compiled(source: str) -> ctypes.CDLL:
    assert COMPILER is not None
    folder = Path(tempfile.mkdtemp())
    file = folder / f"{hashlib.sha256(source.encode()).hexdigest()[:16]}.cpp"
    library = file.with_suffix(".so")
    file.write_text(source)
    flags = "-O1 -std=c++20 -ffp-contract=off -shared -fPIC -pthread -w".split()
    done = subprocess.run(
        [COMPILER, *flags, str(file), "-o", str(library)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr + source
    loaded = ctypes.CDLL(str(library))
    shutil.rmtree(folder)
    return loaded
