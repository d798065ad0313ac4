"""What must be known of a GPU kernel before it is written. In: a KERNEL. Out: its grid, facts about its expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from ingot.errors import CompileError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    COMMUTATIVE,
    AxisArg,
    FoldArg,
    LoopArg,
    LoopKind,
    Ops,
    Scope,
    StageArg,
    VarArg,
)
from ingot.ir.polynomial import polynomial
from ingot.ir.rewrite import substitute

WARP = 32
MOST_THREADS = 1024
MOST_BLOCKS = (1 << 31) - 1
SHARED_BYTES = 48 << 10


@dataclass(frozen=True, slots=True)
class Geometry:
    """The extents of the grid in x, y and z, over the kernel's sizes; the threads of a block."""

    grid: tuple[UOp, UOp, UOp]
    threads: int

    def blocks(self, sizes: Mapping[str, int]) -> tuple[int, int, int]:
        """The grid for these sizes."""
        x, y, z = (_evaluate(extent, sizes) for extent in self.grid)
        return x, y, z


def _evaluate(extent: UOp, sizes: Mapping[str, int]) -> int:
    known = {
        v: UOp.const(v.dtype, sizes[cast(VarArg, v.arg).name])
        for v in extent.variables()
    }
    return int(substitute(extent, known).simplify().value)


def statements(root: UOp) -> Iterator[UOp]:
    """Every statement of a tree, in order."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if node.op in (Ops.KERNEL, Ops.LOOP, Ops.WHEN):
            inside = node.src if node.op is Ops.KERNEL else node.src[1:]
            stack.extend(reversed(inside))


def whole(extent: UOp) -> int:
    """A constant extent or size."""
    if extent.op is not Ops.CONST:
        raise CompileError(f"wanted a constant here, not {extent!r}")
    return int(extent.value)


def ranged(kernel: UOp) -> UOp:
    """The kernel with every counter knowing how far it goes: bounds of index expressions follow."""
    tops: dict[int, UOp] = {}
    for node in statements(kernel):
        if node.op in (Ops.LOOP, Ops.FOLD):
            arg = cast(LoopArg | FoldArg, node.arg)
            tops[arg.axis] = _top(node.src[0], arg.kind)
    axes = [
        u
        for u in kernel.toposort()
        if u.op is Ops.AXIS and not u.src and cast(AxisArg, u.arg).id in tops
    ]
    return substitute(
        kernel, {u: u.replace(src=(tops[cast(AxisArg, u.arg).id],)) for u in axes}
    )


def _top(extent: UOp, kind: LoopKind) -> UOp:
    if extent.op is Ops.CONST:
        return extent
    most = MOST_BLOCKS if kind is LoopKind.BLOCK else extent.vmax
    return UOp.const(dt.index, int(min(most, 1 << 62)))


class Facts:
    """Facts about one kernel, each found once."""

    def __init__(self, kernel: UOp) -> None:
        self.kernel = kernel
        self._axes: dict[UOp, frozenset[int]] = {}
        self._reads: dict[UOp, bool] = {}
        self.sources: dict[
            int, str
        ] = {}  # what the hardware calls a loop that it runs
        self.threads: tuple[int, ...] = ()  # the axes of warps and lanes
        self.geometry = self._find_geometry()
        self._varying: set[UOp] = (
            set()
        )  # private buffers whose contents may differ between the lanes of a warp
        self._find_varying()
        self._check_shared()

    # --- launch ---

    def _find_geometry(self) -> Geometry:
        bound: dict[LoopKind, dict[int, UOp]] = {
            LoopKind.BLOCK: {},
            LoopKind.WARP: {},
            LoopKind.LANE: {},
        }
        for node in statements(self.kernel):
            if node.op is Ops.LOOP and cast(LoopArg, node.arg).kind in bound:
                arg = cast(LoopArg, node.arg)
                bound[arg.kind].setdefault(arg.axis, node.src[0])
        threads = self._find_threads(bound[LoopKind.WARP], bound[LoopKind.LANE])
        blocks = list(bound[LoopKind.BLOCK].items())
        if len(blocks) > 3:
            raise CompileError(
                f"{len(blocks)} block loops: a grid has 3 axes; fuse some of them"
            )
        one = UOp.const(dt.index, 1)
        extents = [extent for _, extent in reversed(blocks)] + [one] * (
            3 - len(blocks)
        )
        for (axis, _), letter in zip(reversed(blocks), "xyz", strict=False):
            self.sources[axis] = f"(int)blockIdx.{letter}"
        return Geometry((extents[0], extents[1], extents[2]), threads)

    def _find_threads(self, warps: dict[int, UOp], lanes: dict[int, UOp]) -> int:
        if len(warps) > 1 or len(lanes) > 1:
            raise CompileError(
                "a kernel has one loop over its warps and one over its lanes"
            )
        if any(
            extent.op is not Ops.CONST or int(extent.value) != WARP
            for extent in lanes.values()
        ):
            raise CompileError(
                f"a lane loop has an extent of {WARP}, the lanes of a warp"
            )
        self.sources |= dict.fromkeys(lanes, f"(int)threadIdx.x % {WARP}")
        self.sources |= dict.fromkeys(warps, f"(int)threadIdx.x / {WARP}")
        self.threads = (*warps, *lanes)
        total = WARP if lanes else 1
        for extent in warps.values():
            total *= (
                int(extent.value)
                if extent.op is Ops.CONST and lanes
                else MOST_THREADS + 1
            )
        if total > MOST_THREADS:
            raise CompileError(
                f"a block has at most {MOST_THREADS} threads: a constant number of warps, of {WARP} lanes each"
            )
        return total

    def _check_shared(self) -> None:
        stages = {
            u
            for u in statements(self.kernel)
            if u.op is Ops.STAGE and _scope(u) is Scope.SHARED
        }
        size = sum(int(u.src[0].vmax) * u.dtype.itemsize for u in stages)
        if size > SHARED_BYTES:
            raise CompileError(
                f"{size} bytes of shared memory: a block has {SHARED_BYTES}; take smaller tiles"
            )

    # --- expressions ---

    def axes(self, root: UOp) -> frozenset[int]:
        """The loops that an expression depends on."""
        if root not in self._axes:
            for node in root.toposort(
                lambda u: u not in self._axes and u.op is not Ops.AXIS
            ):
                own = (cast(AxisArg, node.arg).id,) if node.op is Ops.AXIS else ()
                found = (
                    (self._axes[s] for s in node.src)
                    if node.op is not Ops.AXIS
                    else ()
                )
                self._axes.setdefault(node, frozenset(own).union(*found))
        return self._axes[root]

    def reads(self, root: UOp) -> bool:
        """An expression depends on memory or on the state of a fold."""
        if root not in self._reads:
            for node in root.toposort(lambda u: u not in self._reads):
                own = node.op in (Ops.LOAD, Ops.STATE)
                self._reads.setdefault(
                    node, own or any(self._reads[s] for s in node.src)
                )
        return self._reads[root]

    def is_aligned(self, offset: UOp, axis: int, width: int) -> bool:
        """offset == axis + a multiple of width"""
        found = False
        for monomial, number in polynomial(offset).items():
            inside = [atom for atom in monomial if axis in self.axes(atom)]
            if not inside:
                if number % width:
                    return False
            elif (
                found
                or number != 1
                or len(monomial) > 1
                or inside[0].op is not Ops.AXIS
            ):
                return False
            else:
                found = True
        return found

    def is_commutative(self, combine: UOp) -> bool:
        sources = [s.op for s in combine.src]
        return (
            combine.op in COMMUTATIVE
            and sources == [Ops.STATE, Ops.STATE]
            and combine.src[0] is not combine.src[1]
        )

    def is_common(self, buffer: UOp) -> bool:
        """Threads see each other's stores to it."""
        return buffer.op is Ops.PARAM or _scope(buffer) is Scope.SHARED

    # --- what all lanes of a warp have alike ---

    def is_uniform(self, root: UOp) -> bool:
        """All lanes of a warp compute the same value."""
        lanes = set(self.threads[-1:])
        if self.axes(root) & lanes:
            return False
        return not any(
            u.op is Ops.LOAD and u.src[0] in self._varying for u in root.toposort()
        )

    def _find_varying(self) -> None:
        """What is written from something that varies varies too: look until nothing new is found."""
        found = {
            b
            for b in self._written_apart(self.kernel.src, False)
            if not self.is_common(b)
        }
        while not found <= self._varying:
            self._varying |= found
            found = {
                b
                for b in self._written_apart(self.kernel.src, False)
                if not self.is_common(b)
            }

    def _written_apart(self, nodes: tuple[UOp, ...], apart: bool) -> Iterator[UOp]:
        for node in nodes:
            if node.op is Ops.WHEN or node.op is Ops.LOOP:
                bound = (
                    node.op is Ops.LOOP
                    and cast(LoopArg, node.arg).axis in self.sources
                )
                inside = apart or not (bound or self.is_uniform(node.src[0]))
                yield from self._written_apart(node.src[1:], inside)
            elif node.op is Ops.STORE:
                if apart or not all(self.is_uniform(s) for s in node.src[1:]):
                    yield node.src[0]
            elif node.op is Ops.FOLD:
                arg = cast(FoldArg, node.arg)
                values = node.src[1 + arg.n : 1 + 2 * arg.n]
                alike = arg.kind is LoopKind.LANE or all(
                    self.is_uniform(v) for v in values
                )
                if apart or not alike:
                    yield from (t.src[0] for t in node.src[1 : 1 + arg.n])


def _scope(stage: UOp) -> Scope:
    return cast(StageArg, stage.arg).scope
