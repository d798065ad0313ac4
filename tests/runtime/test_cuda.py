"""CUDA at run time: what compiling refuses, what a missing package says, and, where there is a GPU, the same bits."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from typing import cast

import pytest

from ingot.errors import CompileError, DeviceError, MissingPackage
from ingot.ir import dtype as dt
from ingot.ir.opcode import KernelArg, VarArg
from ingot.render.cuda import geometry, render_cuda
from ingot.runtime.cuda import Device, compile_cubin
from tests.kernel.execute import temporaries
from tests.kernel.gpu_programs import Array, Program, program

CASES: list[tuple[str, tuple[int, ...]]] = [
    ("chain", (8, 64)),
    ("softmax", (3, 256)),
    ("softmax", (2, 37)),
    ("softmax", (2, 40000)),
    ("layer_norm", (2, 100)),
    ("transpose", (33, 47)),
    ("row_sum", (3, 2000)),
    ("total", (40, 100)),
    ("argmax", (3, 200)),
    ("gemm", (20, 32, 36)),
    ("gemm", (33, 19, 35)),
]


@cache
def device() -> Device | None:
    try:
        return Device()
    except (MissingPackage, DeviceError, RuntimeError):
        return None


def on_gpu(given: Program, gpu: Device) -> Array:
    """The result of a program, computed by the GPU."""
    made = given.scheduled()
    buffers = given.fresh()
    memory = [gpu.upload(b) for b in [*buffers, *temporaries(made, given.sizes)]]
    for launch in made.launches:
        arg, shape = cast(KernelArg, launch.arg), geometry(launch)
        function = gpu.load(compile_cubin(render_cuda(launch)), arg.name)
        grid = shape.blocks({name: int(n) for name, n in given.sizes.items()})
        scalars = [
            dt.to_numpy(s.dtype).type(given.sizes[cast(VarArg, s.arg).name])
            for s in arg.sizes
        ]
        function.prepare(
            grid, shape.threads, [m.address for m in memory], scalars
        ).launch()
    gpu.synchronize()
    return memory[len(buffers) - 1].download(buffers[-1])


@pytest.mark.skipif(
    device() is None,
    reason="no CUDA device, or no cuda-bindings: pip install 'ingot[cuda]'",
)
@pytest.mark.parametrize(("name", "shape"), CASES)
def test_a_gpu_gives_the_interpreters_bits(
    name: str, shape: tuple[int, ...]
) -> None:
    given = program(name, *shape)
    got = on_gpu(given, cast(Device, device()))
    assert got.tobytes() == given.simulated().tobytes()


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)
    with pytest.raises(MissingPackage, match=r"pip install 'ingot\[cuda\]'"):
        compile_cubin("")


def test_importing_the_runtime_imports_no_cuda_package() -> None:
    code = "import sys, ingot.runtime.cuda; sys.exit(any(name.startswith('cuda.') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_architecture_that_nobody_has_is_refused() -> None:
    pytest.importorskip(
        "cuda.bindings.nvrtc",
        reason="cuda-bindings is not installed: pip install 'ingot[cuda]'",
    )
    with pytest.raises(CompileError, match="gpu-architecture"):
        compile_cubin("", arch="sm_1")
