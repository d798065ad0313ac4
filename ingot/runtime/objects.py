"""LLVM IR text to object bytes, through llvmlite.

In:  a module as text, and the target it is for.
Out: a relocatable object with no undefined symbol. LLVM's middle-end is not run: kernels arrive as final vector code,
     and its passes would cost most of the compile time and change nothing.

llvmlite is imported when the first module is compiled, never before: a warm start does not need it.
"""

import os
import threading
from functools import cache
from typing import Any

from ingot.errors import CompileError, MissingPackage
from ingot.runtime.loader import check
from ingot.target import Target

__all__ = ["assembly", "compile_object"]

# llvmlite compiles one module at a time. A child that is forked while another thread compiles would inherit llvmlite's
# lock in the locked state; so a fork waits until the compilation is over.
compiling = threading.RLock()
os.register_at_fork(
    before=compiling.acquire,
    after_in_parent=compiling.release,
    after_in_child=compiling.release,
)


def compile_object(ir: str, target: Target, effort: int = 2) -> bytes:
    """The object of a module; CompileError shows what LLVM says about bad IR. Effort 0: quickly made, not quick to run."""
    with compiling:
        machine = _machine(target, effort)
        data = bytes(machine.emit_object(_parse(ir, target)))
    check(data, target.triple.partition("-")[0])
    return data


def assembly(ir: str, target: Target) -> str:
    """The same code for a person."""
    with compiling:
        return str(_machine(target).emit_assembly(_parse(ir, target)))


@cache
def _llvm() -> Any:
    try:
        from llvmlite import binding
    except ImportError:
        raise MissingPackage(
            "compiling for the CPU needs llvmlite", fix="pip install llvmlite"
        ) from None
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding


@cache
def _machine(target: Target, effort: int = 2) -> Any:
    features = ",".join(f"+{name}" for name in target.features)
    found = _llvm().Target.from_triple(target.triple)
    return found.create_target_machine(
        cpu=target.cpu,
        features=features,
        opt=effort,
        reloc="pic",
        codemodel="small",
    )


def _parse(ir: str, target: Target) -> Any:
    machine = _machine(target)
    try:
        module = _llvm().parse_assembly(ir)
        module.triple = target.triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM refuses the module: {error}") from error
    return module
