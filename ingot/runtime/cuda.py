"""CUDA, thinly: compile source, load it, launch it, move arrays. In: CUDA C. Out: results in device memory.

The packages cuda-bindings and nvidia-cuda-nvrtc (the `cuda` extra) are imported on first use; compiling needs no GPU.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from ingot.errors import CompileError, DeviceError, MissingPackage

Array = np.ndarray[Any, np.dtype[Any]]
FLAGS = ("--fmad=false", "--std=c++17", "--device-as-default-execution-space")


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"cuda.bindings.{name}")
    except ImportError as error:
        raise MissingPackage(
            f"CUDA needs a package that is not installed ({error})",
            fix="pip install 'ingot[cuda]'",
        ) from error


# --- compiling --------------------------------------------------------------------------------------------------------


def compile_cubin(source: str, arch: str = "sm_90a") -> bytes:
    """Machine code for one architecture. Contraction is off: a * b + c rounds twice unless the source says fma."""
    nvrtc = _module("nvrtc")
    program = _nvrtc(
        nvrtc, nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], [])
    )
    options = [
        f"--gpu-architecture={arch}".encode(),
        *(flag.encode() for flag in FLAGS),
    ]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if int(status) != 0:
        raise CompileError(f"NVRTC refused the source:\n{_log(nvrtc, program)}")
    size = _nvrtc(nvrtc, nvrtc.nvrtcGetCUBINSize(program))
    code = bytes(size)
    _nvrtc(nvrtc, nvrtc.nvrtcGetCUBIN(program, code))
    nvrtc.nvrtcDestroyProgram(program)
    return code


def _log(nvrtc: ModuleType, program: Any) -> str:
    text = bytes(_nvrtc(nvrtc, nvrtc.nvrtcGetProgramLogSize(program)))
    _nvrtc(nvrtc, nvrtc.nvrtcGetProgramLog(program, text))
    return text.decode(errors="replace").rstrip("\0 \n")


def _nvrtc(nvrtc: ModuleType, answer: tuple[Any, ...]) -> Any:
    status, *values = answer
    if int(status) != 0:
        raise CompileError(
            f"NVRTC: {nvrtc.nvrtcGetErrorString(status)[1].decode()}"
        )
    return values[0] if values else None


# --- running ----------------------------------------------------------------------------------------------------------


def _driver(answer: tuple[Any, ...]) -> Any:
    status, *values = answer
    if int(status) != 0:
        driver = _module("driver")
        _, text = driver.cuGetErrorString(status)
        raise DeviceError(f"CUDA: {text.decode() if text else status}")
    return values[0] if values else None


class Device:
    """One GPU with its primary context current in this thread."""

    def __init__(self, number: int = 0) -> None:
        self.driver = _module("driver")
        _driver(self.driver.cuInit(0))
        self.handle = _driver(self.driver.cuDeviceGet(number))
        context = _driver(self.driver.cuDevicePrimaryCtxRetain(self.handle))
        _driver(self.driver.cuCtxSetCurrent(context))

    def load(self, cubin: bytes, name: str) -> Function:
        """A kernel of a compiled module."""
        module = _driver(self.driver.cuModuleLoadData(cubin))
        function = _driver(self.driver.cuModuleGetFunction(module, name.encode()))
        return Function(self, name, module, function)

    def allocate(self, nbytes: int) -> Memory:
        address = int(_driver(self.driver.cuMemAlloc(max(nbytes, 1))))
        return Memory(self, address, nbytes)

    def upload(self, array: Array) -> Memory:
        """A copy of an array in device memory."""
        memory = self.allocate(array.nbytes)
        whole = np.ascontiguousarray(array)
        _driver(
            self.driver.cuMemcpyHtoD(
                memory.address, whole.ctypes.data, whole.nbytes
            )
        )
        return memory

    def synchronize(self) -> None:
        """Wait for all work; a fault of a kernel is raised here."""
        _driver(self.driver.cuCtxSynchronize())


@dataclass(frozen=True, slots=True)
class Function:
    """A loaded kernel."""

    device: Device
    name: str
    module: Any
    handle: Any

    def prepare(
        self,
        grid: tuple[int, int, int],
        threads: int,
        buffers: Sequence[int],
        sizes: Sequence[int | np.generic],
    ) -> Call:
        """A launch ready to start: device addresses in slot order, then the scalars as the kernel takes them."""
        words = [np.array([address], np.uint64) for address in buffers]
        words += [
            np.array([size], np.int64 if isinstance(size, int) else size.dtype)
            for size in sizes
        ]
        return Call(self, (*grid, threads, 1, 1), words)


class Call:
    """A kernel with its arguments; it can be started many times."""

    def __init__(
        self, function: Function, shape: tuple[int, ...], words: list[Array]
    ) -> None:
        self.function = function
        self.shape = shape
        self.words = words
        self.pointers = np.array([word.ctypes.data for word in words], np.uint64)

    def launch(self, stream: int = 0) -> None:
        if 0 not in self.shape:
            driver = self.function.device.driver
            address = self.pointers.ctypes.data
            _driver(
                driver.cuLaunchKernel(
                    self.function.handle, *self.shape, 0, stream, address, 0
                )
            )


class Memory:
    """Device memory, freed with its last reference."""

    def __init__(self, device: Device, address: int, nbytes: int) -> None:
        self.device = device
        self.address = address
        self.nbytes = nbytes

    def download(self, like: Array) -> Array:
        """Its contents as an array of this shape and type."""
        result = np.empty_like(like)
        _driver(
            self.device.driver.cuMemcpyDtoH(
                result.ctypes.data, self.address, result.nbytes
            )
        )
        return result

    def __del__(self) -> None:
        self.device.driver.cuMemFree(self.address)
