"""Storage: where each nest keeps its values. In: nests with their paths. Out: a Place per nest.

An axis needs no storage if the nest and all its readers run inside the same loop over it and read at its counter.
"""

from __future__ import annotations

from dataclasses import dataclass

from ingot.errors import MoveError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import LoopKind, Ops, ParamArg, Scope, StageArg
from ingot.ir.rewrite import substitute
from ingot.kernel.nest import THREADS, Ahead, Kernel, Nest, Reduce, Store, axes_in
from ingot.kernel.threads import Threaded

REGISTER_ELEMENTS = 1024
STACK_BYTES = 16384
FIXED = frozenset({LoopKind.UNROLL, LoopKind.VECTOR})


@dataclass(slots=True)
class Place:
    """A buffer per slot, the axes that index it with their strides, and the loops it lives inside."""

    buffers: tuple[UOp, ...]
    axes: tuple[int, ...]
    strides: tuple[UOp, ...]
    home: tuple[int, ...]
    size: UOp
    is_temporary: bool = False
    layout: UOp | None = None
    counters: tuple[UOp, ...] = ()
    ahead: Ahead | None = None

    def offset(self, dims: tuple[int, ...], indices: tuple[UOp, ...]) -> UOp:
        """The element that holds the value at `indices`, one per dim."""
        at = dict(zip(dims, indices, strict=True))
        total = UOp.const(dt.index, 0)
        if self.layout is not None:
            total = substitute(
                self.layout, dict(zip(self.counters, indices, strict=True))
            )
        for axis, stride in zip(self.axes, self.strides, strict=True):
            total = total + at[axis] * stride
        if self.ahead is not None:
            total = total + at[self.ahead.axis] % self.ahead.depth * (
                self.size // self.ahead.depth
            )
        return total.simplify()


def paths(threads: Threaded) -> dict[int, tuple[int, ...]]:
    """Nest id -> its loops, threads included."""
    return {n.id: threads.path(n.loops) for n in threads.kernel.nests}


def folds(kernel: Kernel, nest: Nest) -> bool:
    """A reduction across the lanes of a vector or of the hardware, not by a loop."""
    kinds = {kernel.loops[a].kind for a in nest.reduced}
    return bool(kinds) and (kinds == {LoopKind.VECTOR} or kinds <= THREADS)


def defined_in(
    kernel: Kernel, nest: Nest, path: tuple[int, ...]
) -> tuple[int, ...]:
    """The loops in each iteration of which the nest's values are complete."""
    if folds(kernel, nest):
        return tuple(a for a in path if kernel.loops[a].kind is not LoopKind.VECTOR)
    first = next((i for i, a in enumerate(path) if a in nest.reduced), len(path))
    return path[:first]


Route = dict[int, tuple[int, ...]]
Reads = list[tuple[Nest, UOp]]


def place_all(threads: Threaded, launch_of: dict[int, int]) -> dict[int, Place]:
    """A Place for every nest that others read."""
    kernel = threads.kernel
    route, reads = paths(threads), kernel.reads()
    places: dict[int, Place] = {}
    slots = len(kernel.params)
    for nest in kernel.nests:
        if isinstance(nest.body, Store):
            continue
        crosses = any(
            launch_of[r.id] != launch_of[nest.id] for r, _ in reads[nest.id]
        )
        if crosses and nest.ahead is not None:
            raise MoveError(
                f"{nest.name} runs ahead of readers in another launch; bind its loops as theirs are"
            )
        home = () if crosses else _home(kernel, nest, route, reads[nest.id])
        place = _place(threads, nest, home, crosses, slots, reads[nest.id])
        slots += len(place.buffers) if crosses else 0
        places[nest.id] = place
    return places


def _home(
    kernel: Kernel, nest: Nest, route: Route, reads: Reads
) -> tuple[int, ...]:
    home = defined_in(kernel, nest, route[nest.id])
    position = {n.id: k for k, n in enumerate(kernel.nests)}
    for reader, read in reads:
        first, last = sorted((position[nest.id], position[reader.id]))
        between = kernel.nests[first : last + 1]
        before = position[reader.id] < position[nest.id]
        _check_iteration(
            kernel,
            nest,
            reader,
            before,
            _still_open(route[nest.id], between, route),
            route,
        )
        home = _while_same(kernel, nest, read, _still_open(home, between, route))
    if nest.ahead is not None:
        if nest.ahead.axis not in home:
            raise MoveError(
                f"{nest.name} runs ahead in a loop that ends before its readers; keep them together"
            )
        home = home[: home.index(nest.ahead.axis)]
    return before_fixed(kernel, home)


def before_fixed(kernel: Kernel, path: tuple[int, ...]) -> tuple[int, ...]:
    """The loops outside the first that is unrolled or a vector."""
    for position, axis in enumerate(path):
        if kernel.loops[axis].kind in FIXED:
            return path[:position]
    return path


def _check_iteration(
    kernel: Kernel,
    nest: Nest,
    reader: Nest,
    before: bool,
    open_loops: tuple[int, ...],
    route: Route,
) -> None:
    """What each iteration of a loop overwrites is read before the next one, or after all; what is running, inside."""
    if before and not set(nest.reduced) & set(open_loops):
        raise MoveError(
            f"{reader.name} reads {nest.name} before it runs, and not in the loop that it runs in"
        )
    kept = {*nest.dims, *(nest.reduced if folds(kernel, nest) else ())}
    for axis in route[nest.id]:
        if axis not in kept and axis in route[reader.id] and axis not in open_loops:
            name = kernel.loops[axis].name
            raise MoveError(
                f"{reader.name} reads {nest.name} of the same iteration of {name}, but runs in another loop over it"
            )


def _still_open(
    home: tuple[int, ...], between: tuple[Nest, ...], route: Route
) -> tuple[int, ...]:
    """The loops that stay open while these nests run: all are inside them."""
    for nest in between:
        home = _common(home, route[nest.id])
    return home


def _common(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    length = 0
    while length < min(len(a), len(b)) and a[length] == b[length]:
        length += 1
    return a[:length]


def _while_same(
    kernel: Kernel, nest: Nest, read: UOp, common: tuple[int, ...]
) -> tuple[int, ...]:
    """Cut before the first loop over an axis of the nest that is read at another place than its counter."""
    if nest.scope is Scope.SHARED:
        return common
    at = dict(zip(nest.dims, read.src, strict=True))
    for position, axis in enumerate(common):
        if axis in at and at[axis] is not kernel.loops[axis].counter:
            return common[:position]
    return common


def _place(
    threads: Threaded,
    nest: Nest,
    home: tuple[int, ...],
    crosses: bool,
    slot: int,
    reads: Reads,
) -> Place:
    kernel = threads.kernel
    private = set(home) - (
        set(threads.axes) if nest.scope is Scope.SHARED else set()
    )
    private |= {nest.ahead.axis} if nest.ahead is not None else set()
    axes = tuple(d for d in nest.dims if d not in private)
    strides: list[UOp] = []
    size = UOp.const(dt.index, 1)
    for axis in reversed(axes):
        strides.insert(0, size)
        size = (size * kernel.loops[axis].capacity).simplify()
    if nest.layout is not None:
        size = nest.layout.size
    if nest.ahead is not None:
        size = (size * nest.ahead.depth).simplify()
    if crosses:
        buffers = tuple(_temporary(t, slot + j) for j, t in enumerate(nest.types))
    else:
        scope = _scope(kernel, nest, axes, size, reads)
        buffers = tuple(
            _stage(nest, j, t, scope, size) for j, t in enumerate(nest.types)
        )
    place = Place(
        buffers, axes, tuple(strides), home, size, crosses, ahead=nest.ahead
    )
    if nest.layout is not None:
        place.layout = nest.layout.offset
        place.axes, place.strides = (), ()
        place.counters = tuple(kernel.loops[d].counter for d in nest.dims)
    return place


def _temporary(dtype: dt.DType, slot: int) -> UOp:
    return UOp(Ops.PARAM, dtype, (), ParamArg(slot, writable=True))


def _stage(nest: Nest, slot: int, dtype: dt.DType, scope: Scope, size: UOp) -> UOp:
    name = nest.name if len(nest.types) == 1 else f"{nest.name}{slot}"
    return UOp(
        Ops.STAGE, dtype, (size,), StageArg(nest.id * 16 + slot, scope, name)
    )


def _scope(
    kernel: Kernel, nest: Nest, axes: tuple[int, ...], size: UOp, reads: Reads
) -> Scope:
    if nest.scope in (Scope.SHARED, Scope.PACKED):
        return nest.scope
    constant = size.op is Ops.CONST
    if (
        constant
        and int(size.value) <= REGISTER_ELEMENTS
        and _fixed(kernel, nest, axes, reads)
    ):
        return Scope.REGISTER
    if constant and int(size.value) * nest.types[0].itemsize <= STACK_BYTES:
        return Scope.STACK
    return Scope.PACKED


def _fixed(kernel: Kernel, nest: Nest, axes: tuple[int, ...], reads: Reads) -> bool:
    """All accesses have constant offsets once the unrolled loops are written out."""
    if nest.ahead is not None or any(
        kernel.loops[a].kind not in FIXED for a in axes
    ):
        return False
    positions = [i for i, d in enumerate(nest.dims) if d in axes]
    for _, read in reads:
        used = {a for i in positions for a in axes_in(read.src[i])}
        if any(kernel.loops[a].kind not in FIXED for a in used):
            return False
    return not (isinstance(nest.body, Reduce) and nest.scope is Scope.STACK)
