"""C to programs and libraries. In: C text. Out: a program, or a library that is called with NumPy arrays.

The compiler is CC, gcc or clang, the first that is there. What fails leaves no file behind and shows what the compiler said.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ingot.emit.self_check import sized
from ingot.errors import ArgumentError, CompileError, MissingPackage
from ingot.ir import dtype as dt
from ingot.ir.shape import Shape
from ingot.model.graph import Array, Graph, Kind
from ingot.model.logical import LogicalModel
from ingot.settings import settings

FLAGS = ("-O3", "-std=c11")


def compiler() -> str:
    """The C compiler of this machine."""
    wished = settings.runtime.cc
    for name in (wished,) if wished else ("gcc", "clang"):
        found = shutil.which(name)
        if found:
            return found
    raise MissingPackage(
        "there is no C compiler",
        given=f"CC={wished}" if wished else "neither gcc nor clang",
        fix="install gcc, or set CC to a compiler",
    )


def compile_c_code(
    code: str,
    name: str | Path,
    *,
    shared: bool = False,
    flags: Sequence[str] = FLAGS,
) -> Path:
    """Compile C text into the program `name`, or into a shared library."""
    target = Path(name)
    if shared and not target.suffix:
        target = target.with_suffix(".so")
    extra = ("-shared", "-fPIC", "-DINGOT_NO_MAIN") if shared else ()
    with tempfile.TemporaryDirectory(prefix="ingot-c-") as folder:
        source, made = Path(folder, "model.c"), Path(folder, "made")
        source.write_text(code)
        words = [compiler(), *flags, *extra, str(source), "-o", str(made)]
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise CompileError(
                f"{Path(words[0]).name} refused the code:\n{ran.stderr.strip()}"
            )
        shutil.move(made, target)
    return target


def compiled(model: LogicalModel, code: str, **options: Any) -> Callable[..., Any]:
    """The model's C code as a function of NumPy arrays: inputs in order, then the parameters by name."""
    with tempfile.TemporaryDirectory(prefix="ingot-c-") as folder:
        path = compile_c_code(
            code, Path(folder, model.name), shared=True, **options
        )
        library = ctypes.CDLL(str(path))
    return _Callable(model.graph, library)


class _Callable:
    def __init__(self, graph: Graph, library: ctypes.CDLL) -> None:
        self.graph = graph
        self.forward = getattr(library, f"{graph.name}_forward")

    def __call__(self, *inputs: Array, **parameters: Array) -> Any:
        given = dict(
            zip([p.name for p in self.graph.of(Kind.INPUT)], inputs, strict=True)
        )
        given |= parameters
        arrays = {
            p.name: np.ascontiguousarray(given[p.name], dt.to_numpy(p.dtype))
            for p in self.graph.ports
            if p.value is None
        }
        sizes = self._sizes(arrays)
        here = sized(self.graph, sizes[0]) if sizes else self.graph
        outputs = {n: _empty(u.dtype, u.shape) for n, u in here.outputs.items()}
        code = self.forward(*self._words(arrays, sizes, outputs))
        if code:
            raise ArgumentError(f"{self.graph.name}_forward returned {code}")
        made = tuple(outputs.values())
        return made[0] if len(made) == 1 else made

    def _sizes(self, arrays: dict[str, Array]) -> list[int]:
        found = []
        for variable in self.graph.variables:
            for port in self.graph.ports:
                if variable in port.shape:
                    axis = port.shape.index(variable)
                    found.append(arrays[port.name].shape[axis])
                    break
        return found

    def _words(
        self, arrays: dict[str, Array], sizes: list[int], outputs: dict[str, Array]
    ) -> list[Any]:
        words: list[Any] = [ctypes.c_int64(size) for size in sizes]
        words += [_address(arrays[p.name]) for p in self.graph.of(Kind.INPUT)]
        parameters = self.graph.of(Kind.PARAMETER)
        if parameters:
            pointers = [arrays[p.name].ctypes.data for p in parameters]
            words.append((ctypes.c_void_p * len(pointers))(*pointers))
        return words + [_address(array) for array in outputs.values()]


def _address(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _empty(dtype: dt.DType, shape: Shape) -> Array:
    sizes: Any = shape
    return np.empty(sizes, dt.to_numpy(dtype))
