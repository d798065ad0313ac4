"""What a kernel tree means, run over NumPy buffers. In: a KERNEL, its buffers and sizes. Out: the buffers, written.

Slow and exact. Loops run in order; a VECTOR loop is an array axis, so that a statement's loads, for all lanes, happen
before its stores. Every access is checked: outside a buffer, a read of staged memory that nothing has written, and two
lanes that store to one place, are faults. GPU trees have an interpreter of their own (`interpret_simt.py`).

The tree is written out as Python (see `tree_program.py`); this file has the memory that the program works on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from ingot.errors import ArgumentError, KernelFault
from ingot.ir import dtype as dt
from ingot.ir import meaning
from ingot.ir.dtype import DType
from ingot.ir.node import UOp
from ingot.ir.opcode import KernelArg, ParamArg, VarArg
from ingot.ir.tree_program import TreeProgram

__all__ = ["run_tree"]

Array = np.ndarray[Any, np.dtype[Any]]


def run_tree(
    kernel: UOp,
    buffers: Sequence[Array],
    sizes: Mapping[str, int | float] | None = None,
    *,
    chunk_order: Sequence[int] | None = None,
    fold: str = "sequence",
) -> None:
    """Runs a kernel. `buffers` are in slot order and written in place; `sizes` go by the names of the variables.

    `chunk_order` permutes the chunks; `fold="halves"` combines lanes as a vector renderer does.
    """
    arg = cast(KernelArg, kernel.arg)
    program = TreeProgram(kernel)
    machine = _Machine(chunk_order, fold)
    values = {program.variable(s): _size(s, sizes or {}) for s in arg.sizes}
    memories = _arguments(arg, buffers)
    namespace: dict[str, Any] = {
        **program.constants,
        **machine.functions(),
        **values,
    }
    exec(compile(program.source, "<kernel tree>", "exec"), namespace)
    try:
        with np.errstate(all="ignore"):
            namespace["run"](*memories)
    except KernelFault as fault:
        raise fault.add_context(program.where(fault)) from None


def _size(variable: UOp, sizes: Mapping[str, int | float]) -> Any:
    name = cast(VarArg, variable.arg).name
    if name not in sizes:
        raise ArgumentError(
            f"run_tree: no value for {name}",
            given=sorted(sizes),
            wanted=f"a number for {name!r}",
        )
    return meaning.constant(variable.dtype, sizes[name])


def _arguments(arg: KernelArg, buffers: Sequence[Array]) -> list[Memory]:
    if len(buffers) != len(arg.params):
        raise ArgumentError(
            f"{arg.name}: buffers", given=len(buffers), wanted=len(arg.params)
        )
    return [
        _argument(param, buffer)
        for param, buffer in zip(arg.params, buffers, strict=True)
    ]


def _argument(param: UOp, buffer: Array) -> Memory:
    slot = cast(ParamArg, param.arg).slot
    wanted = dt.to_numpy(param.dtype)
    if buffer.dtype != wanted:
        raise ArgumentError(f"buffer p{slot}", given=buffer.dtype, wanted=wanted)
    if not buffer.flags.c_contiguous:
        raise ArgumentError(
            f"buffer p{slot}",
            given="strides " + str(buffer.strides),
            wanted="C order",
        )
    return Memory(f"p{slot}", param.dtype, buffer.reshape(-1))


class Memory:
    """One flat buffer. `written` marks the elements of staged memory that hold something."""

    def __init__(
        self, name: str, dtype: DType, data: Array, staged: bool = False
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.data = data
        self.size = len(data)
        self.written = np.zeros(len(data), bool) if staged else None

    def fault(
        self, what: str, offset: int, lane: tuple[int, ...] | None = None
    ) -> KernelFault:
        error = KernelFault(
            f"{what} {self.name}[{offset}], which has {self.size} elements"
        )
        error.given = None
        error.__dict__["lane"] = lane
        return error

    # --- one element ----------------------------------------------------------------------------------------------

    def load(self, offset: int) -> Any:
        if not 0 <= offset < self.size:
            raise self.fault("load outside", offset)
        if self.written is not None and not self.written[offset]:
            raise self.fault("load of unwritten", offset)
        if self.dtype is dt.bfloat16:
            return meaning.load(self.dtype, self.data[offset])
        value = self.data[offset]
        return int(value) if self.dtype is dt.index else value

    def store(self, offset: int, value: Any) -> None:
        if not 0 <= offset < self.size:
            raise self.fault("store outside", offset)
        self.data[offset] = meaning.store(self.dtype, value)
        if self.written is not None:
            self.written[offset] = True

    # --- all lanes ------------------------------------------------------------------------------------------------

    def gather(self, offset: Array, mask: Any) -> Any:
        """Loads for every lane; where `mask` is off nothing is touched and the value means nothing."""
        if mask is not True:
            offset, mask = np.broadcast_arrays(offset, mask)
            offset = np.where(mask, offset, 0)
        self._check_inside("load outside", offset, mask)
        if self.size == 0:
            return np.zeros(np.shape(offset), meaning.held(self.dtype))
        if self.written is not None and not self.written[offset].all():
            self._check("load of unwritten", ~self.written[offset], offset, mask)
        return meaning.load(self.dtype, self.data[offset])

    def scatter(self, offset: Any, value: Any, mask: Any) -> None:
        """Stores of every lane that is on."""
        offset, value, active = np.broadcast_arrays(offset, value, mask)
        self._check_inside("store outside", offset, active)
        where, what = offset[active], meaning.store(self.dtype, value[active])
        self._check_single(where, np.asarray(what))
        self.data[where] = what
        if self.written is not None:
            self.written[where] = True

    def _check_inside(self, what: str, offset: Array, active: Any) -> None:
        if offset.size and not (offset.min() >= 0 and offset.max() < self.size):
            self._check(what, (offset < 0) | (offset >= self.size), offset, active)

    def _check(self, what: str, wrong: Any, offset: Any, active: Any) -> None:
        bad = np.logical_and(wrong, active)
        if bad.any():
            lane = tuple(int(k) for k in np.argwhere(bad)[0])
            raise self.fault(
                what, int(np.broadcast_to(offset, bad.shape)[lane]), lane
            )

    def _check_single(self, where: Array, what: Array) -> None:
        """Lanes may store to one place only if they store the same."""
        if (where[1:] > where[:-1]).all():
            return
        order = np.argsort(where, kind="stable")
        place = where[order]
        stored = np.ascontiguousarray(what)[order]
        stored = stored.view(f"u{stored.dtype.itemsize}")
        clash = (place[1:] == place[:-1]) & (stored[1:] != stored[:-1])
        if clash.any():
            raise self.fault(
                "two lanes store different values to", int(place[1:][clash][0])
            )


class _Machine:
    """The functions that a written-out tree calls."""

    def __init__(self, chunk_order: Sequence[int] | None, fold: str) -> None:
        self.chunk_order = chunk_order
        self.fold_order = fold

    def functions(self) -> dict[str, Any]:
        return {"np": np, "chunks": self.chunks, "stage": stage, "fold": self.fold}

    def chunks(self, extent: int) -> Iterable[int]:
        if self.chunk_order is None:
            return range(extent)
        if sorted(self.chunk_order) != list(range(extent)):
            raise ArgumentError(
                "chunk_order",
                given=list(self.chunk_order),
                wanted=f"a permutation of 0..{extent - 1}",
            )
        return self.chunk_order

    def fold(
        self, values: list[tuple[Any, ...]], combine: Callable[..., tuple[Any, ...]]
    ) -> tuple[Any, ...]:
        if not values:
            raise KernelFault("fold over no lanes: its extent is 0")
        if self.fold_order == "halves":
            return fold_halves(values, combine)
        state = values[0]
        for value in values[1:]:
            state = combine(*state, *value)
        return state


def fold_halves(
    values: list[tuple[Any, ...]], combine: Callable[..., tuple[Any, ...]]
) -> tuple[Any, ...]:
    """Lane k with lane k + half, until one is left."""
    while len(values) > 1:
        half = (len(values) + 1) // 2
        pairs = zip(values[:half], values[half:], strict=False)
        made = [combine(*left, *right) for left, right in pairs]
        values = made + values[len(made) : half]
    return values[0]


def stage(name: str, dtype: DType, size: int) -> Memory:
    """Fresh local memory."""
    return Memory(name, dtype, np.zeros(int(size), dt.to_numpy(dtype)), staged=True)
