"""The arguments of one call. In: what was given. Out: tensors in memory, and the key of the capture that will do.

Sizes that may change are variables: those that a tensor brings along, and those that `dynamic` names. They are no part of
the key.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple, cast

from ingot.errors import ArgumentError, ShapeError
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, VarArg
from ingot.jit.capture import Sizes
from ingot.jit.tree import Flattening, Form
from ingot.tensor.tensor import Tensor

Dynamic = Mapping[str, Mapping[int, str]]
MOST = (1 << 31) - 1


class Arguments(NamedTuple):
    """One call."""

    form: Any  # (forms of what was given by position, (name, form) of what was given by name)
    names: list[str]  # of what was given by position
    tensors: list[Tensor]
    paths: list[str]
    shapes: list[tuple[int | UOp, ...]]  # with variables for what may change
    sizes: Sizes
    own_sizes: bool  # `dynamic` has made the variables: results do not keep them

    def key(self) -> Hashable:
        """What has to be the same for a capture to do."""
        kinds = tuple(
            (t.dtype, tuple(_unbound(n) for n in shape))
            for t, shape in zip(self.tensors, self.shapes, strict=True)
        )
        return self.form, kinds


def _unbound(size: int | UOp) -> Hashable:
    return size.src[0] if isinstance(size, UOp) and size.op is Ops.BIND else size


class Reader:
    """Reads the calls of one function."""

    def __init__(self, function: Callable[..., Any], dynamic: Dynamic) -> None:
        self.function = function
        self.dynamic = dynamic
        self._names: list[str] | None = None

    @property
    def names(self) -> list[str]:
        """The parameters in order."""
        if self._names is None:
            try:
                found = inspect.signature(self.function).parameters
            except (TypeError, ValueError):  # some builtins have none
                found = cast(Any, {})
            self._names = list(found)
        return self._names

    def check(self, words: Mapping[str, object], option: str) -> None:
        """An option that names parameters must name real ones."""
        for name in words:
            if name not in self.names:
                raise ArgumentError(
                    f"jit: {option} names {name!r}, which is no parameter of {name_of(self.function)}",
                    wanted="one of " + ", ".join(self.names),
                )

    def read(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        on_object: Callable[[Any, str], Form],
    ) -> Arguments:
        """Take a call apart."""
        flat = Flattening(on_object, keeps_leaves=True)
        names = self._positions(len(args))
        forms = tuple(flat.form(a, n) for a, n in zip(args, names, strict=True))
        named = tuple((n, flat.form(kwargs[n], n)) for n in sorted(kwargs))
        sizes: dict[str, int] = {}
        shapes = [
            self._shape(tensor, path, sizes)
            for tensor, path in zip(flat.tensors, flat.paths, strict=True)
        ]
        found = tuple(sorted(sizes.items()))
        form = (forms, named)
        own = bool(self.dynamic)
        return Arguments(form, names, flat.tensors, flat.paths, shapes, found, own)

    def _positions(self, count: int) -> list[str]:
        extra = [f"argument {n + 1}" for n in range(len(self.names), count)]
        return [*self.names[:count], *extra]

    def _shape(
        self, tensor: Tensor, path: str, sizes: dict[str, int]
    ) -> tuple[int | UOp, ...]:
        axes = self.dynamic.get(top(path), {})
        shape = list(tensor.shape)
        for axis, name in axes.items():
            self._check_axis(tensor, path, axis)
            size = shape[axis]
            if isinstance(size, int):
                shape[axis] = UOp.variable(name, 1, MOST).bind(size)
        for size in shape:
            if isinstance(size, UOp):
                _note_size(size, path, sizes)
        return tuple(shape)

    def _check_axis(self, tensor: Tensor, path: str, axis: int) -> None:
        if not -tensor.ndim <= axis < tensor.ndim:
            raise ShapeError(
                f"jit: dynamic names axis {axis} of {path}, which has shape {tuple(tensor.shape)}",
                wanted=f"an axis in {-tensor.ndim}..{tensor.ndim - 1}",
            )


def _note_size(size: UOp, path: str, sizes: dict[str, int]) -> None:
    if size.op is not Ops.BIND or len(size.src) != 2:
        return
    variable, value = size.unbind()
    name = cast(VarArg, variable.arg).name
    before = sizes.setdefault(name, value)
    if before != value:
        raise ShapeError(
            f"jit: the size {name} is {before} and {value} in one call (the second in {path})",
            fix="give sizes that may differ different names",
        )


def name_of(function: Callable[..., Any]) -> str:
    """What people call it: without the functions that it was defined in."""
    name: str = getattr(function, "__qualname__", None) or repr(function)
    return name.rsplit("<locals>.", 1)[-1]


def top(path: str) -> str:
    """The parameter that a path like `batch["x"][0]` begins with."""
    return path.split("[")[0].split(".")[0]
