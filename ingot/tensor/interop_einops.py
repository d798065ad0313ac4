"""einops on tensors. In: `einops.rearrange(x, "b h w -> b (h w)")`. Out: a lazy tensor.

einops finds the library of a tensor among the subclasses of a class of its own. Ours can be made only once einops is
there, and einops is loaded by whoever uses it, if at all: so it is made at the moment when einops is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ingot.tensor.handle import Handle, build

if TYPE_CHECKING:
    # Importing these takes longer than all of Ingot's tensors; finders and loaders need no base class.
    from importlib.machinery import ModuleSpec

_MODULE = "einops._backends"


def define_backend(einops: Any) -> type:
    """The class by which einops knows tensors."""

    class IngotBackend(einops.AbstractBackend):  # type: ignore[misc]  # einops is not there when this is checked
        framework_name = "ingot"

        def is_appropriate_type(self, tensor: object) -> bool:
            return isinstance(tensor, Handle)

        def transpose(self, x: Any, axes: Sequence[int]) -> Any:
            return x.permute(axes)

        def stack_on_zeroth_dimension(self, tensors: Sequence[Any]) -> Any:
            return tensors[0].of(build["stack"](*(t.uop for t in tensors)))

        def concat(self, tensors: Sequence[Any], axis: int) -> Any:
            return tensors[0].of(
                build["concat"](*(t.uop for t in tensors), axis=axis)
            )

        def add_axis(self, x: Any, new_position: int) -> Any:
            return x.unsqueeze(new_position)

        def tile(self, x: Any, repeats: Sequence[int]) -> Any:
            return x.of(build["tile"](x.uop, tuple(repeats)))

        def is_float_type(self, x: Any) -> bool:
            return bool(x.dtype.is_float)

        def einsum(self, pattern: str, *tensors: Any) -> Any:
            nodes = [t.uop for t in tensors]
            return tensors[0].of(build["einsum"](pattern, *nodes))

        def from_numpy(self, x: Any) -> Any:
            raise NotImplementedError("write ig.from_numpy(x)")

        def to_numpy(self, x: Any) -> Any:
            return x.numpy()

    return IngotBackend


class _Watch:
    """Sees einops being imported, once."""

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Then(spec.loader)  # type: ignore[assignment]  # a loader by what it does
        return spec


class _Then:
    """Loads einops' module, and adds our class to it."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self.loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        module.IngotBackend = define_backend(module)  # type: ignore[attr-defined]  # held, so that it stays


def watch_for_einops() -> None:
    """Make tensors known to einops, now or when it is imported."""
    loaded: Any = sys.modules.get(_MODULE)
    if loaded is not None:
        loaded.IngotBackend = define_backend(loaded)
    else:
        sys.meta_path.insert(0, _Watch())
