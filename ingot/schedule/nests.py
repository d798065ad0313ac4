"""From tensors to loop nests. In: a stored node and the set of other stored nodes. Out: a Draft, one kernel's nests.

The output gets a loop per axis; every node below is asked for its value at index expressions over those loops. Movement
changes the indices and vanishes. A reduction is a nest of its own with loops of its own; the reader reads it by VALUE.
Sizes are still the program's here; family.py turns them into run-time arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from ingot.ir import dtype as dt
from ingot.ir.algebra import simplify
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    ELEMENTWISE,
    AxesArg,
    AxisArg,
    OpArg,
    Ops,
    ParamArg,
    PrefixArg,
    ReduceArg,
    ResultArg,
    WindowArg,
)
from ingot.ir.shape import Shape
from ingot.kernel.nest import Kernel, Loop, Nest, Prefix, Reduce, Store
from ingot.schedule.views import reshaped

Indices = tuple[UOp, ...]
ZERO = UOp.const(dt.index, 0)


@dataclass(frozen=True, slots=True)
class Draft:
    """A kernel of nests with the program's sizes in it, and the node behind each buffer argument (outputs last)."""

    kernel: Kernel
    buffers: tuple[UOp, ...]
    outputs: tuple[UOp, ...]
    reductions: Mapping[int, UOp]  # nest id -> the REDUCE that it computes


def draft(
    name: str, outputs: tuple[UOp, ...], stored: Callable[[UOp], bool]
) -> Draft:
    """The nests that compute `outputs`; other nodes that are `stored` are read from memory."""
    return _Drafting(stored, frozenset(outputs)).run(name, outputs)


def stored_by(node: UOp) -> tuple[UOp, ...]:
    """The values that the kernel of a node stores."""
    kinds = node.results
    if len(kinds) == 1:
        return (node,)
    return tuple(
        UOp(Ops.RESULT, kind, (node,), ResultArg(n))
        for n, (kind, _) in enumerate(kinds)
    )


def as_index(size: int | UOp) -> UOp:
    return size if isinstance(size, UOp) else UOp.const(dt.index, size)


class _Drafting:
    def __init__(
        self, stored: Callable[[UOp], bool], outputs: frozenset[UOp]
    ) -> None:
        self.stored = stored
        self.outputs = outputs
        self.loops: dict[int, Loop] = {}
        self.nests: list[Nest] = []
        self.slots: dict[UOp, UOp] = {}
        self.reduced: dict[UOp, Nest] = {}
        self.count = -1
        self.memo: dict[tuple[UOp, Indices, UOp | None], UOp] = {}
        self.extents: dict[UOp, UOp | int] = {}

    def run(self, name: str, outputs: tuple[UOp, ...]) -> Draft:
        stores: list[Nest] = []
        for output in outputs:
            if output.op is Ops.PREFIX:
                stores.append(self._prefix(output))
                continue
            axes = self._axes(output.shape, f"i{len(stores)}_" if stores else "i")
            value = self._compute(output, axes, None)
            loops = tuple(self._axis_of(a) for a in axes if a is not ZERO)
            stores.append(
                self._nest(
                    "out",
                    loops,
                    Store(
                        self._slot(output, True),
                        self._flat(output.shape, axes),
                        value,
                    ),
                )
            )
        params = tuple(self.slots.values())
        kernel = Kernel(name, self.loops, tuple(self.nests), params)
        return Draft(
            kernel,
            tuple(self.slots),
            outputs,
            {n.id: u for u, n in self.reduced.items()},
        )

    def _prefix(self, node: UOp) -> Nest:
        """A running value: nothing else is computed in its kernel."""
        arg = cast(PrefixArg, node.arg)
        shape = node.src[0].shape
        axes = list(self._axes(shape, "i"))
        if axes[arg.axis] is ZERO:
            axes[arg.axis] = self._loop(f"i{arg.axis}", 1)
        values = tuple(self.at(v, tuple(axes), None) for v in node.src[: arg.n])
        body = Prefix(
            (self._axis_of(axes[arg.axis]),),
            node.src[arg.n : 2 * arg.n],
            values,
            node.src[2 * arg.n :],
            buffers=tuple(self._slot(u, True) for u in stored_by(node)),
            offset=self._flat(shape, tuple(axes)),
            reverse=arg.reverse,
        )
        loops = tuple(self._axis_of(a) for a in axes if a is not ZERO)
        return self._nest("out", loops, body)

    def _axes(self, shape: Shape, prefix: str) -> Indices:
        """A fresh loop per axis; an axis of one element needs none."""
        return tuple(
            ZERO if size == 1 else self._loop(f"{prefix}{n}", size)
            for n, size in enumerate(shape)
        )

    def _loop(self, name: str, size: int | UOp) -> UOp:
        extent = as_index(size)
        loop = Loop(len(self.loops), name, extent, extent)
        self.loops[loop.axis] = loop
        if size != 0:  # an empty axis has no counter to know anything of
            self.extents[loop.counter] = extent
        return loop.counter

    @staticmethod
    def _axis_of(counter: UOp) -> int:
        return cast(AxisArg, counter.arg).id

    def _nest(
        self,
        name: str,
        loops: tuple[int, ...],
        body: Store | Reduce,
        dims: tuple[int, ...] = (),
    ) -> Nest:
        nest = Nest(len(self.nests), f"{name}{len(self.nests)}", loops, dims, body)
        self.nests.append(nest)
        return nest

    def _slot(self, node: UOp, writable: bool) -> UOp:
        if node not in self.slots:
            self.slots[node] = UOp(
                Ops.PARAM, node.dtype, (), ParamArg(len(self.slots), writable)
            )
        return self.slots[node]

    def _flat(self, shape: Shape, indices: Indices) -> UOp:
        """The row-major offset of `indices`."""
        offset, stride = ZERO, as_index(1)
        for size, at in zip(reversed(shape), reversed(indices), strict=True):
            offset = at * stride + offset
            stride = stride * size if isinstance(size, UOp) or size != 1 else stride
        return self.simple(offset)

    def simple(self, expression: UOp) -> UOp:
        return simplify(expression, self.extents)

    def at(self, node: UOp, indices: Indices, valid: UOp | None) -> UOp:
        """The value of a node at `indices`; loads happen only where `valid` holds."""
        key = (node, indices, valid)
        found = self.memo.get(key)
        if found is None:
            found = (
                self._load(node, indices, valid)
                if self._is_read(node)
                else self._compute(node, indices, valid)
            )
            self.memo[key] = found
        return found

    def _is_read(self, node: UOp) -> bool:
        return node.op in (Ops.BUFFER, Ops.PARAM) or (
            self.stored(node) and node not in self.outputs
        )

    def _load(self, node: UOp, indices: Indices, valid: UOp | None) -> UOp:
        src: tuple[UOp, ...] = (
            self._slot(node, False),
            self._flat(node.shape, indices),
        )
        if valid is not None:
            src = (*src, valid, UOp.const(node.dtype, 0))
        return UOp(Ops.LOAD, node.dtype, src)

    def _compute(self, node: UOp, indices: Indices, valid: UOp | None) -> UOp:
        if node.op in ELEMENTWISE:
            return node.replace(
                src=tuple(self.at(s, indices, valid) for s in node.src)
            )
        return _RULES[node.op](self, node, indices, valid)

    # --- one method per kind of node ------------------------------------------------------------------------------

    def const(self, node: UOp, indices: Indices, valid: UOp | None) -> UOp:
        return node

    def reshape(self, node: UOp, indices: Indices, valid: UOp | None) -> UOp:
        below = reshaped(node.src[0].shape, node.shape, indices, self.simple)
        return self.at(node.src[0], below, valid)

    def expand(self, node: UOp, indices: Indices, valid: UOp | None) -> UOp:
        source = node.src[0]
        return self.at(
            source,
            tuple(
                ZERO if n == 1 else at
                for n, at in zip(source.shape, indices, strict=True)
            ),
            valid,
        )

    def permute(self, node: UOp, indices: Indices, valid: UOp | None) -> UOp:
        below = dict(zip(cast(AxesArg, node.arg).axes, indices, strict=True))
        return self.at(
            node.src[0], tuple(below[n] for n in range(len(indices))), valid
        )

    def flip(self, node: UOp, indices: Indices, valid: UOp | None) -> UOp:
        flipped = cast(AxesArg, node.arg).axes
        below = [
            as_index(n - 1) - at if axis in flipped else at
            for axis, (n, at) in enumerate(zip(node.shape, indices, strict=True))
        ]
        return self.at(node.src[0], tuple(map(self.simple, below)), valid)

    def shrink(self, node: UOp, indices: Indices, valid: UOp | None) -> UOp:
        below = tuple(
            self.simple(at + start)
            for at, start in zip(indices, node.src[1::2], strict=True)
        )
        return self.at(node.src[0], below, valid)

    def stride(self, node: UOp, indices: Indices, valid: UOp | None) -> UOp:
        below = tuple(
            self.simple(at * step)
            for at, step in zip(indices, node.src[1:], strict=True)
        )
        return self.at(node.src[0], below, valid)

    def window(self, node: UOp, indices: Indices, valid: UOp | None) -> UOp:
        axis = cast(WindowArg, node.arg).axis
        below = list(indices[:-1])
        below[axis] = self.simple(below[axis] + indices[-1])
        return self.at(node.src[0], tuple(below), valid)

    def pad(self, node: UOp, indices: Indices, valid: UOp | None) -> UOp:
        source = node.src[0]
        below, inside = [], valid
        for at, low, high, size in zip(
            indices, node.src[1::2], node.src[2::2], source.shape, strict=True
        ):
            below.append(self.simple(at - low))
            for needed, condition in ((low, low - 1 < at), (high, at < low + size)):
                if needed is not ZERO:
                    condition = self.simple(condition)
                    inside = condition if inside is None else inside & condition
        value = self.at(source, tuple(below), inside)
        zero = UOp.const(node.dtype, 0)
        if inside is valid or (
            value.op is Ops.LOAD and len(value.src) == 4 and value.src[2] is inside
        ):
            return value
        return cast(UOp, inside).where(value, zero)

    def take(self, node: UOp, indices: Indices, valid: UOp | None) -> UOp:
        """The value at coordinates that are values themselves."""
        axes, (x, *places) = cast(AxesArg, node.arg).axes, node.src
        depth = len(places[0].shape)
        at = indices[:depth]
        taken = {
            a: self.at(i, at, valid).cast(dt.index)
            for a, i in zip(axes, places, strict=True)
        }
        rest = iter(indices[depth:])
        below = (
            taken[a] if a in taken else next(rest) for a in range(len(x.shape))
        )
        return self.at(x, tuple(below), valid)

    def contiguous(self, node: UOp, indices: Indices, valid: UOp | None) -> UOp:
        return self.at(node.src[0], indices, valid)

    def result(self, node: UOp, indices: Indices, valid: UOp | None) -> UOp:
        return self._value(
            node.src[0], indices, cast(ResultArg, node.arg).index, valid
        )

    def reduce(self, node: UOp, indices: Indices, valid: UOp | None) -> UOp:
        return self._value(node, indices, 0, valid)

    def named(self, node: UOp, indices: Indices, valid: UOp | None) -> UOp:
        if cast(OpArg, node.arg).name == "iota":
            return indices[0]
        raise AssertionError(f"{cast(OpArg, node.arg).name} was not lowered")

    def _value(
        self, node: UOp, indices: Indices, slot: int, valid: UOp | None
    ) -> UOp:
        gone = cast(ReduceArg, node.arg).axes
        if all(node.src[0].shape[a] == 1 for a in gone):
            return self._only_element(node.src[slot], gone, indices, valid)
        nest = self.reduced.get(node)
        if nest is None:
            nest = self.reduced[node] = self._reduction(node)
        kept = (
            at
            for at, size in zip(indices, node.results[slot][1], strict=True)
            if size != 1
        )
        return nest.value(*kept, slot=slot)

    def _only_element(
        self,
        source: UOp,
        gone: tuple[int, ...],
        indices: Indices,
        valid: UOp | None,
    ) -> UOp:
        """A reduction over axes of one element is that element."""
        kept = iter(indices)
        return self.at(
            source,
            tuple(
                ZERO if a in gone else next(kept) for a in range(len(source.shape))
            ),
            valid,
        )

    def _reduction(self, node: UOp) -> Nest:
        arg = cast(ReduceArg, node.arg)
        number = self.count = self.count + 1
        shape = node.src[0].shape
        inner = {
            a: ZERO if shape[a] == 1 else self._loop(f"r{number}_{a}", shape[a])
            for a in arg.axes
        }
        free = iter(
            self._axes(
                tuple(n for a, n in enumerate(shape) if a not in inner),
                f"f{number}_",
            )
        )
        indices = tuple(
            inner[a] if a in inner else next(free) for a in range(len(shape))
        )
        values = tuple(self.at(v, indices, None) for v in node.src[: arg.n])
        dims = tuple(
            self._axis_of(i)
            for a, i in enumerate(indices)
            if a not in inner and i is not ZERO
        )
        axes = tuple(self._axis_of(i) for i in inner.values() if i is not ZERO)
        body = Reduce(
            axes, node.src[arg.n : 2 * arg.n], values, node.src[2 * arg.n :]
        )
        return self._nest("r", (*dims, *axes), body, dims)


_RULES: Mapping[Ops, Callable[[_Drafting, UOp, Indices, UOp | None], UOp]] = {
    Ops.CONST: _Drafting.const,
    Ops.DEFINE_VAR: _Drafting.const,
    Ops.BIND: _Drafting.const,
    Ops.RESHAPE: _Drafting.reshape,
    Ops.EXPAND: _Drafting.expand,
    Ops.PERMUTE: _Drafting.permute,
    Ops.FLIP: _Drafting.flip,
    Ops.SHRINK: _Drafting.shrink,
    Ops.STRIDE: _Drafting.stride,
    Ops.WINDOW: _Drafting.window,
    Ops.PAD: _Drafting.pad,
    Ops.CONTIGUOUS: _Drafting.contiguous,
    Ops.TAKE: _Drafting.take,
    Ops.RESULT: _Drafting.result,
    Ops.REDUCE: _Drafting.reduce,
    Ops.OP: _Drafting.named,
}
