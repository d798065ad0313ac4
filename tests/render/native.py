"""Compile and call what a renderer wrote: LLVM IR through LLJIT, C through gcc. For tests only."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ingot.ir.node import UOp
from ingot.render import c, llvm
from ingot.target import Target, host

Array = np.ndarray[Any, Any]
Native = Callable[..., int]
LANGUAGES = ("llvm", "c") if shutil.which("gcc") else ("llvm",)
_kept: list[object] = []


@cache
def _llvm() -> Any:
    import llvmlite.binding

    llvmlite.binding.initialize_native_target()
    llvmlite.binding.initialize_native_asmprinter()
    return llvmlite.binding


def _machine(target: Target) -> Any:
    features = ",".join(f"+{f}" for f in target.features)
    made = _llvm().Target.from_triple(target.triple)
    return made.create_target_machine(
        cpu=target.cpu, features=features, opt=2, reloc="pic", codemodel="small"
    )


def assembly(text: str, target: Target) -> str:
    module = _llvm().parse_assembly(text)
    return str(_machine(target).emit_assembly(module))


def object_code(text: str, target: Target) -> bytes:
    binding = _llvm()
    module = binding.parse_assembly(text)
    module.verify()
    return bytes(_machine(target).emit_object(module))


def from_llvm(text: str, name: str, target: Target) -> Native:
    """The function `name` of a module."""
    binding = _llvm()
    data = object_code(text, target)
    compiler = binding.create_lljit_compiler(_machine(target))
    unique = "lib" + hashlib.sha256(data).hexdigest()[:16] + str(len(_kept))
    library = (
        binding.JITLibraryBuilder()
        .add_object_img(data)
        .export_symbol(name)
        .link(compiler, unique)
    )
    _kept.extend((compiler, library))
    return _function(library[name])


def from_c(text: str, name: str, level: str = "-O3") -> Native:
    folder = Path(tempfile.mkdtemp())
    source, library = folder / "kernel.c", folder / "kernel.so"
    source.write_text(text)
    flags = "-ffp-contract=off -std=c11 -Wall -Wextra -Werror -shared -fPIC".split()
    done = subprocess.run(
        ["gcc", level, *flags, str(source), "-o", str(library)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr + text
    loaded = ctypes.CDLL(str(library))
    _kept.append(loaded)
    shutil.rmtree(folder)
    address = ctypes.cast(getattr(loaded, name), ctypes.c_void_p).value
    assert address is not None
    return _function(address)


def _function(address: int) -> Native:
    return ctypes.CFUNCTYPE(
        ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p
    )(address)


def compiled(
    kernel: UOp,
    language: str = "llvm",
    target: Target | None = None,
    level: str = "-O3",
) -> Native:
    wanted = target or host()
    name: str = kernel.arg.name  # type: ignore[union-attr]
    if language == "llvm":
        return from_llvm(llvm.render(kernel, wanted), name, wanted)
    return from_c(c.render(kernel, wanted), name, level)


def scalar_word(value: float) -> int:
    """A scalar argument: an int, or a float32 as its bits."""
    if isinstance(value, int):
        return value
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def block(buffers: Sequence[Array], scalars: Sequence[float] = ()) -> Any:
    """The argument block."""
    words = [b.ctypes.data for b in buffers] + [
        scalar_word(s) & (2**64 - 1) for s in scalars
    ]
    return (ctypes.c_uint64 * max(1, len(words)))(*words)


def aligned(nbytes: int) -> Array:
    """Bytes that begin on a cache line."""
    raw = np.zeros(nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + nbytes]


def call(
    function: Native,
    buffers: Sequence[Array],
    scalars: Sequence[float] = (),
    chunks: int = 1,
    scratch: int = 0,
) -> None:
    """Run every chunk."""
    memory = aligned(max(scratch, 64))
    words = block(buffers, scalars)
    for number in range(chunks):
        assert function(ctypes.addressof(words), number, memory.ctypes.data) == 0
