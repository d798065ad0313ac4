"""The targets by name, Ingot's own and those of other packages. In: a word. Out: a generator.

A package adds one with an entry point in the group `ingot.emit`: the name of the target, and a class that is a
`CodeGenerator`. Nothing is imported before somebody asks for it.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, cast

from ingot.emit.generator import CodeGenerator
from ingot.errors import ArgumentError

GROUP = "ingot.emit"
OWN = {
    "python": "ingot.emit.python_gen:PythonGenerator",
    "numpy": "ingot.emit.numpy_gen:NumPyGenerator",
    "torch": "ingot.emit.torch_gen:TorchGenerator",
    "jax": "ingot.emit.jax_gen:JaxGenerator",
    "tensorflow": "ingot.emit.tensorflow_gen:TensorFlowGenerator",
    "tinygrad": "ingot.emit.tinygrad_gen:TinygradGenerator",
    "c": "ingot.emit.c_gen:CGenerator",
    "raw_c": "ingot.emit.raw_c_gen:RawCGenerator",
}


def names() -> list[str]:
    """Every target that can be asked for."""
    return [*OWN, *sorted(_others())]


def _others() -> dict[str, Any]:
    return {found.name: found for found in entry_points(group=GROUP)}


def generator(target: str, **options: Any) -> CodeGenerator:
    """The generator of a target."""
    if target in OWN:
        module, name = OWN[target].split(":")
        kind = getattr(import_module(module), name)
    elif target in _others():
        kind = _others()[target].load()
    else:
        raise ArgumentError(
            f"there is no target {target!r}", wanted="one of " + ", ".join(names())
        )
    return cast(CodeGenerator, kind(**options))
