"""CUDA C on a CPU, for tests: each CUDA thread is a thread of the host. In: a kernel tree. Out: a function that runs it.

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

HOST = """\
#include <barrier>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>
struct place { int x, y, z; };
static thread_local place threadIdx, blockIdx;
static std::barrier<>* whole_block;
static std::vector<std::barrier<>*> whole_warp;
static unsigned char exchange[1024][16];
#define __global__
#define __shared__ static
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
static void __syncthreads() { whole_block->arrive_and_wait(); }
template <class T> static T __shfl_xor_sync(unsigned, T value, int step) {
    const int me = threadIdx.x;
    std::memcpy(exchange[me], &value, sizeof(T));
    whole_warp[me / 32]->arrive_and_wait();
    T other;
    std::memcpy(&other, exchange[me ^ step], sizeof(T));
    whole_warp[me / 32]->arrive_and_wait();
    return other;
}
template <class T, class F> static T bits_as(F from) {
    static_assert(sizeof(T) == sizeof(F));
    T to;
    std::memcpy(&to, &from, sizeof(T));
    return to;
}
template <class T, int N> struct pack { T v[N]; };
template <int N, class T> static pack<T, N> get(const T* p) {
    if (reinterpret_cast<unsigned long long>(p) % (sizeof(T) * N)) __builtin_trap();
    pack<T, N> made;
    std::memcpy(&made, p, sizeof(made));
    return made;
}
template <int N, class T> static void put(T* p, const pack<T, N>& value) {
    if (reinterpret_cast<unsigned long long>(p) % (sizeof(T) * N)) __builtin_trap();
    std::memcpy(p, &value, sizeof(value));
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

START = """
extern "C" void start(int gx, int gy, int gz, int threads, void** args) {{
    std::barrier<> block(threads);
    whole_block = &block;
    whole_warp.clear();
    for (int w = 0; w < (threads + 31) / 32; ++w) whole_warp.push_back(new std::barrier<>(32));
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) all.emplace_back([=] {{
        threadIdx = {{t, 0, 0}};
        for (int z = 0; z < gz; ++z) for (int y = 0; y < gy; ++y) for (int x = 0; x < gx; ++x) {{
            blockIdx = {{x, y, z}};
            {call};
            __syncthreads();
        }}
    }});
    for (auto& one : all) one.join();
}}
"""


def run_on_cpu(kernel: UOp, buffers: Sequence[Array], sizes: Mapping[str, int | float]) -> None:
    """One launch; `buffers` are in slot order and written in place."""
    arg = cast(KernelArg, kernel.arg)
    shape = geometry(kernel)
    scalars = [np.array([sizes[cast(VarArg, s.arg).name]], dt.to_numpy(s.dtype)) for s in arg.sizes]
    aligned = [_aligned(b) for b in buffers]
    pointers = (ctypes.c_void_p * (len(buffers) + len(scalars)))(*(a.ctypes.data for a in [*aligned, *scalars]))
    grid = shape.blocks({name: int(n) for name, n in sizes.items()})
    _compiled(_source(kernel)).start(*grid, shape.threads, pointers)
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
    pointers = [f"({TYPES[p.dtype]}*)args[{slot}]" for slot, p in enumerate(arg.params)]
    scalars = [f"*({TYPES[s.dtype]}*)args[{count + slot}]" for slot, s in enumerate(arg.sizes)]
    call = f"{arg.name}({', '.join(pointers + scalars)})"
    return HOST + text[len(PRELUDE) :] + START.format(call=call)


@cache
def _compiled(source: str) -> ctypes.CDLL:
    assert COMPILER is not None
    folder = Path(tempfile.mkdtemp())
    file = folder / f"{hashlib.sha256(source.encode()).hexdigest()[:16]}.cpp"
    library = file.with_suffix(".so")
    file.write_text(source)
    flags = "-O1 -std=c++20 -ffp-contract=off -shared -fPIC -pthread -w".split()
    done = subprocess.run([COMPILER, *flags, str(file), "-o", str(library)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + source
    loaded = ctypes.CDLL(str(library))
    shutil.rmtree(folder)
    return loaded
