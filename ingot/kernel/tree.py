"""From nests to the loop tree. In: a Kernel after its moves. Out: one KERNEL per launch, all with the same arguments.

Neighbouring nests share the loops that they both begin with. Values that cross from one launch to the next live in temporary
buffers (on a CPU a launch ends in a barrier of all threads, on a GPU it is a grid).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import cast

from ingot.errors import MoveError
from ingot.ir import dtype as dt
from ingot.ir.algebra import simplify
from ingot.ir.node import UOp
from ingot.ir.opcode import (
    UNCACHED,
    FoldArg,
    LoopKind,
    Ops,
    Scope,
    StageArg,
    ValueArg,
)
from ingot.ir.rewrite import substitute
from ingot.kernel import prefix
from ingot.kernel.edges import all_of, loop_node, peeled
from ingot.kernel.launches import Built, interface, one_grid
from ingot.kernel.legality import check_nest, check_order
from ingot.kernel.nest import (
    GRID,
    Ahead,
    Edge,
    Kernel,
    Loop,
    Map,
    Nest,
    Reduce,
    Store,
    axes_in,
    fill_states,
    steps_of,
)
from ingot.kernel.pipeline import check_ahead
from ingot.kernel.skeleton import table
from ingot.kernel.skeleton.form import Skeleton
from ingot.kernel.storage import (
    Place,
    before_fixed,
    defined_in,
    folds,
    paths,
    place_all,
)
from ingot.kernel.threads import Threaded, threaded

ZERO = UOp.const(dt.index, 0)
ONE = UOp.const(dt.index, 1)


@dataclass(slots=True)
class Branch:
    """A loop of the tree while it grows; the root has none."""

    loop: Loop | None
    children: list[Branch | UOp] = field(default_factory=list)

    def at(self, loops: list[Loop]) -> Branch:
        """The branch inside these loops, sharing those that are open."""
        here = self
        for loop in loops:
            last = here.children[-1] if here.children else None
            if not (
                isinstance(last, Branch)
                and last.loop is not None
                and last.loop.axis == loop.axis
            ):
                last = Branch(loop)
                here.children.append(last)
            here = last
        return here


def build(kernel: Kernel) -> Built:
    """Write the nests as trees; an algorithm writes its own."""
    if isinstance(kernel, Skeleton):
        return table.build(kernel)
    if prefix.is_running(kernel):
        return prefix.build(kernel)
    for nest in kernel.nests:
        check_nest(kernel, nest)
        check_ahead(kernel, nest)
    threads = threaded(kernel)
    launch_of = _launches(threads.kernel)
    places = place_all(threads, launch_of)
    writer = _Writer(threads, places)
    count = 1 + max(launch_of.values())
    bodies = []
    for number in range(count):
        nests = [n for n in threads.kernel.nests if launch_of[n.id] == number]
        body = writer.write(nests)
        bodies.append(one_grid(body) if kernel.grouped else body)
    built = interface(threads.kernel, bodies, places)
    if not threads.axes:
        return built
    return replace(
        built, launches=tuple(launch.simplify() for launch in built.launches)
    )


def _launches(kernel: Kernel) -> dict[int, int]:
    """Nest id -> launch: nests in the same grid loop run together."""
    result: dict[int, int] = {}
    number, grid = 0, None
    for position, nest in enumerate(kernel.nests):
        first = tuple(a for a in nest.loops if kernel.loops[a].kind in GRID)
        if position and first != grid and not kernel.grouped:
            number += 1
        grid = first
        result[nest.id] = number
    return result


class _Writer:
    """Writes the nests of one launch into a tree."""

    def __init__(self, threads: Threaded, places: dict[int, Place]) -> None:
        self.threads = threads
        self.kernel = threads.kernel
        self.places = places
        self.route = paths(threads)
        self.declared: set[int] = set()
        self.checked: set[tuple[int, ...]] = set()
        self.most: dict[UOp, UOp | int] = {
            lp.counter: lp.capacity for lp in self.kernel.loops.values()
        }
        self.last_ahead: UOp | None = None
        self.filled: list[
            Nest
        ] = []  # shared tiles whose barrier still stands last in its branch

    def write(self, nests: list[Nest]) -> tuple[UOp, ...]:
        root = Branch(None)
        started: set[int] = set()
        for position, nest in enumerate(nests):
            coming = [
                (n, nests[position : k + 1])
                for k, n in enumerate(nests)
                if k >= position and n.id not in started
            ]
            due = [n for n, between in coming if self._must_start(n, between)]
            for other in sorted(due, key=self._depth):
                started.add(other.id)
                self._declare(root, other)
                self._start(root, other)
            self._declare(root, nest)
            self._body(root, nest)
        return self._nodes(root)

    def _branch(self, root: Branch, path: tuple[int, ...]) -> Branch:
        return root.at(self._inside(path))

    def _inside(self, path: tuple[int, ...]) -> list[Loop]:
        loops = [self.kernel.loops[a] for a in path]
        if path not in self.checked:
            self.checked.add(path)
            check_order(self.kernel, loops)
        return loops

    def _depth(self, nest: Nest) -> int:
        """In how many loops its state begins anew."""
        if nest.ahead is not None:
            return self.route[nest.id].index(nest.ahead.axis)
        return len(defined_in(self.kernel, nest, self.route[nest.id]))

    def _must_start(self, nest: Nest, between: list[Nest]) -> bool:
        """Its initial state is due: all nests from now to it share the loop that it reduces over, or runs ahead in."""
        if nest.ahead is not None:
            first = {nest.ahead.axis}
        elif isinstance(nest.body, Reduce) and not folds(self.kernel, nest):
            first = set(nest.reduced)
        else:
            return False
        path = self.route[nest.id]
        shared = 1 + next(n for n, a in enumerate(path) if a in first)
        return all(self.route[n.id][:shared] == path[:shared] for n in between)

    def _declare(self, root: Branch, nest: Nest) -> None:
        place = self.places.get(nest.id)
        if place is None or nest.id in self.declared:
            return
        self.declared.add(nest.id)
        if (
            isinstance(nest.body, Reduce)
            and nest.body.n > 1
            and not folds(self.kernel, nest)
        ):
            outer = before_fixed(
                self.kernel, defined_in(self.kernel, nest, self.route[nest.id])
            )
            self._branch(root, outer).children[:0] = self._next_states(nest)[0]
        if not place.is_temporary:
            self._branch(root, place.home).children[:0] = place.buffers

    def _next_states(self, nest: Nest) -> tuple[list[UOp], UOp]:
        """Registers for the new states of one step, and the one of them that this lane has."""
        loops = [self.kernel.loops[a] for a in self.places[nest.id].axes]
        lane = next((lp for lp in loops if lp.kind is LoopKind.VECTOR), None)
        size, offset = (
            (ONE, ZERO) if lane is None else (lane.capacity, lane.counter)
        )
        args = [
            StageArg(nest.id * 16 + 8 + j, Scope.REGISTER, f"{nest.name}{j}_next")
            for j in range(len(nest.types))
        ]
        return [
            UOp(Ops.STAGE, t, (size,), arg)
            for t, arg in zip(nest.types, args, strict=True)
        ], offset

    def _start(self, root: Branch, nest: Nest) -> None:
        if nest.ahead is not None:
            self._fill_first(root, nest, nest.ahead)
            return
        body, place = cast(Reduce, nest.body), self.places[nest.id]
        path = self.route[nest.id]
        outer = defined_in(self.kernel, nest, path)
        inner = tuple(a for a in path[len(outer) :] if a not in nest.reduced)
        branch = self._branch(root, (*outer, *inner))
        for buffer, init in zip(place.buffers, body.inits, strict=True):
            branch.children.append(self._store(buffer, self._own(nest), init))

    def _own(self, nest: Nest) -> UOp:
        counters = tuple(self.kernel.loops[a].counter for a in nest.dims)
        return self.places[nest.id].offset(nest.dims, counters)

    @staticmethod
    def _store(
        buffer: UOp, offset: UOp, value: UOp, mask: UOp | None = None
    ) -> UOp:
        src = (
            (buffer, offset, value)
            if mask is None
            else (buffer, offset, value, mask)
        )
        return UOp(Ops.STORE, dt.void, src)

    def _body(self, root: Branch, nest: Nest) -> None:
        if isinstance(nest.body, Store):
            self._output(root, nest, nest.body)
        elif isinstance(nest.body, Map):
            self._fill(root, nest, nest.body)
        elif folds(self.kernel, nest):
            self._fold(root, nest, nest.body)
        else:
            self._step(root, nest, nest.body)

    def _output(self, root: Branch, nest: Nest, body: Store) -> None:
        guards = [
            *self.threads.guards[nest.id].values(),
            *self.threads.conditions(nest),
            *self._one_thread(nest),
        ]
        statement = self._store(
            body.buffer,
            self._lower(body.offset, nest),
            self._lower(body.value, nest),
            all_of(guards),
        )
        if body.uncached:
            statement = statement.replace(tag=UNCACHED)
        self._branch(root, self.route[nest.id]).children.append(statement)

    def _one_thread(self, nest: Nest) -> list[UOp]:
        """Only thread 0 acts where a nest does not use the threads."""
        idle = [a for a in self.threads.axes if a not in nest.loops]
        return [self.kernel.loops[a].counter.eq(0) for a in idle]

    def _fill(self, root: Branch, nest: Nest, body: Map) -> None:
        if nest.ahead is not None:
            self._fill_next(root, nest, nest.ahead)
            return
        shared = nest.scope is Scope.SHARED
        place, path = self.places[nest.id], self.route[nest.id]
        outside = self._branch(
            root,
            path[: len(path) - len([a for a in nest.loops if a not in place.home])],
        )
        if shared and not self._follows_fill(outside, nest):
            outside.children.append(UOp(Ops.BARRIER, dt.void))
        self._branch(root, path).children.append(self._filled(nest, body))
        if shared:
            outside.children.append(UOp(Ops.BARRIER, dt.void))
            self.filled.append(nest)

    def _filled(self, nest: Nest, body: Map) -> UOp:
        guards = [*self.threads.guards[nest.id].values(), *self._one_thread(nest)]
        mask = all_of(guards) if nest.scope is Scope.SHARED else None
        return self._store(
            self.places[nest.id].buffers[0],
            self._own(nest),
            self._lower(body.value, nest),
            mask,
        )

    def _fill_first(self, root: Branch, nest: Nest, ahead: Ahead) -> None:
        """Before the loop: the tiles of its first iterations."""
        path = self.route[nest.id]
        outside = self._branch(root, path[: path.index(ahead.axis)])
        if nest.scope is Scope.SHARED:
            outside.children.append(UOp(Ops.BARRIER, dt.void))
        for step in range(ahead.depth - 1):
            outside.children.append(self._fill_of(nest, ahead, ZERO + step))

    def _fill_next(self, root: Branch, nest: Nest, ahead: Ahead) -> None:
        """In the loop: the tile of a later iteration. One barrier says that the last was read, and this one filled."""
        path = self.route[nest.id]
        inside = self._branch(root, path[: path.index(ahead.axis) + 1])
        follows = bool(inside.children) and inside.children[-1] is self.last_ahead
        if nest.scope is Scope.SHARED and not follows:
            inside.children.append(UOp(Ops.BARRIER, dt.void))
        self.last_ahead = self._fill_of(
            nest, ahead, self.kernel.loops[ahead.axis].counter + (ahead.depth - 1)
        )
        inside.children.append(self.last_ahead)

    def _fill_of(self, nest: Nest, ahead: Ahead, step: UOp) -> UOp:
        """The fill of one iteration, if there is such an iteration."""
        path, loop = self.route[nest.id], self.kernel.loops[ahead.axis]
        inner = Branch(None)
        inside = inner.at(self._inside(path)[path.index(ahead.axis) + 1 :])
        inside.children.append(self._filled(nest, cast(Map, nest.body)))
        step = step.simplify()
        statements = (
            substitute(s, {loop.counter: step}).simplify()
            for s in self._nodes(inner)
        )
        return UOp(Ops.WHEN, dt.void, (step < loop.extent, *statements))

    def _follows_fill(self, outside: Branch, nest: Nest) -> bool:
        """The barrier of the fill before this one can wait, if this one reads nothing that was filled since."""
        last = outside.children[-1] if outside.children else None
        if not isinstance(last, UOp) or last.op is not Ops.BARRIER:
            self.filled = []
            return False
        if any(
            reader.id == nest.id
            for tile in self.filled
            for reader, _ in self.kernel.readers(tile)
        ):
            return False
        outside.children.pop()
        return True

    def _fold(self, root: Branch, nest: Nest, body: Reduce) -> None:
        if len(nest.reduced) != 1:
            raise MoveError(
                f"{nest.name} folds over {len(nest.reduced)} lane axes at once; rfactor them one by one"
            )
        place, loop = self.places[nest.id], self.kernel.loops[nest.reduced[0]]
        targets = [
            UOp(Ops.LOAD, b.dtype, (b, self._own(nest))) for b in place.buffers
        ]
        values = [self._lower(v, nest) for v in body.values]
        inside = all_of(self._summed_guards(nest))
        if inside is not None:
            values = [
                inside.where(value, init)
                for value, init in zip(values, body.inits, strict=True)
            ]
        node = UOp(
            Ops.FOLD,
            dt.void,
            (loop.capacity, *targets, *values, *body.combines),
            FoldArg(loop.axis, loop.kind, body.n),
        )
        path = defined_in(self.kernel, nest, self.route[nest.id])
        self._branch(root, path).children.append(node)

    def _step(self, root: Branch, nest: Nest, body: Reduce) -> None:
        if any(self.kernel.loops[a].kind is LoopKind.VECTOR for a in nest.reduced):
            raise MoveError(
                f"{nest.name} reduces over a vector loop together with others; rfactor the vector loop first"
            )
        place, offset = self.places[nest.id], self._own(nest)
        olds = [UOp(Ops.LOAD, b.dtype, (b, offset)) for b in place.buffers]
        steps = [self._lower(s, nest) for s in steps_of(body)]
        news = [_fused(fill_states(s, dict(enumerate(olds)))) for s in steps]
        inside = all_of(self._summed_guards(nest))
        if inside is not None:
            news = [
                inside.where(new, old) for new, old in zip(news, olds, strict=True)
            ]
        branch = self._branch(root, self.route[nest.id])
        if body.n == 1:
            branch.children.append(self._store(place.buffers[0], offset, news[0]))
        else:
            self._simultaneous(branch, nest, offset, news)

    def _summed_guards(self, nest: Nest) -> list[UOp]:
        """Questions that a step must ask: what is past the end adds nothing to this reduction, or to one around it."""
        summed = set(nest.reduced)
        guards = [
            c
            for a, c in self.threads.guards[nest.id].items()
            if a in summed or axes_in(c) & summed
        ]
        return guards + [
            c for c in self.threads.conditions(nest) if axes_in(c) & summed
        ]

    def _simultaneous(
        self, branch: Branch, nest: Nest, offset: UOp, news: list[UOp]
    ) -> None:
        """All new states are known before any old one is overwritten."""
        copies, own = self._next_states(nest)
        for copy, new in zip(copies, news, strict=True):
            branch.children.append(self._store(copy, own, new))
        for buffer, copy in zip(self.places[nest.id].buffers, copies, strict=True):
            branch.children.append(
                self._store(buffer, offset, UOp(Ops.LOAD, copy.dtype, (copy, own)))
            )

    def _lower(self, expression: UOp, nest: Nest) -> UOp:
        """Reads of nests become loads; loads of buffers are masked where the nest runs past an extent."""
        guards, conditions = (
            self.threads.guards[nest.id],
            self.threads.conditions(nest),
        )
        repeated = self._clamped(nest)
        done: dict[UOp, UOp] = {}
        for node in expression.toposort():
            src = tuple(done[s] for s in node.src)
            if node.op is Ops.VALUE:
                read = self._read(node, src)
                done[node] = _masked(
                    read, guards, conditions, self._past_the_end(node, read)
                )
            elif node.op is Ops.LOAD and (guards or conditions):
                ends = {lp.counter: end for lp, end in repeated}
                load = node.replace(src=tuple(substitute(s, ends) for s in src))
                used = axes_in(load.src[1]) - {lp.axis for lp, _ in repeated}
                done[node] = _masked(load, guards, conditions, used)
            else:
                done[node] = node if src == node.src else node.replace(src=src)
        return done[expression]

    def _clamped(self, nest: Nest) -> list[tuple[Loop, UOp]]:
        """Loops that repeat their last iteration past their end, and the counter that does so."""
        loops = [self.kernel.loops[a] for a in nest.loops if a not in nest.reduced]
        return [
            (lp, lp.counter.minimum(lp.extent - 1))
            for lp in loops
            if lp.edge is Edge.CLAMP and lp.guarded
        ]

    def _read(self, node: UOp, indices: tuple[UOp, ...]) -> UOp:
        arg = cast(ValueArg, node.arg)
        place, nest = self.places[arg.nest], self.kernel.by_id(arg.nest)
        buffer = place.buffers[arg.slot]
        return UOp(
            Ops.LOAD, buffer.dtype, (buffer, place.offset(nest.dims, indices))
        )

    def _past_the_end(self, node: UOp, read: UOp) -> set[int]:
        """The loops that can take a read past what a tile holds: they run further than those that fill it."""
        if (
            read.src[0].op is Ops.STAGE
            and cast(StageArg, read.src[0].arg).scope is Scope.REGISTER
        ):
            return set()
        dims = self.kernel.by_id(cast(ValueArg, node.arg).nest).dims
        apart = [
            at
            for d, at in zip(dims, node.src, strict=True)
            if not self._holds(self.kernel.loops[d], at)
        ]
        return {axis for at in apart for axis in axes_in(at)}

    def _holds(self, loop: Loop, at: UOp) -> bool:
        """A tile's axis has an element, and its fill has written it, wherever a reader's loops can ask for it."""
        if at is loop.counter:
            return True
        if loop.kind in _EXACT and loop.extent is not loop.capacity:
            return False
        if at.op is Ops.AXIS:
            return self.most.get(at) is loop.capacity
        return simplify(at < loop.capacity, self.most).vmin == 1

    def _nodes(self, branch: Branch) -> tuple[UOp, ...]:
        """The finished statements of a branch."""
        result: list[UOp] = []
        for child in branch.children:
            if isinstance(child, UOp):
                result.append(child)
                continue
            loop = cast(Loop, child.loop)
            body = self._nodes(child)
            tails = self._tails(loop, child) if loop.edge is Edge.PEEL else []
            if tails and loop.full is not None:
                result.extend(peeled(loop, tails, body, self.most))
            else:
                extent = loop.capacity if loop.kind not in _EXACT else loop.extent
                result.append(loop_node(loop, extent, body))
        return tuple(result)

    def _tails(self, loop: Loop, branch: Branch) -> list[Loop]:
        """The loops inside a branch that only its last tile can leave early."""
        inner = _loops_inside(branch)
        return [
            lp for lp in inner if lp.guarded and loop.axis in axes_in(lp.extent)
        ]


def _loops_inside(branch: Branch) -> list[Loop]:
    found: dict[int, Loop] = {}
    for child in branch.children:
        if isinstance(child, Branch) and child.loop is not None:
            found[child.loop.axis] = child.loop
            found.update((lp.axis, lp) for lp in _loops_inside(child))
    return list(found.values())


_EXACT = frozenset({LoopKind.LOOP, LoopKind.CHUNK, LoopKind.BLOCK})


def _masked(
    load: UOp,
    guards: dict[int, UOp],
    conditions: list[UOp],
    used: frozenset[int] | set[int],
) -> UOp:
    """The load with the questions about the loops `used`."""
    asked = [c for a, c in guards.items() if a in used] + [
        c for c in conditions if axes_in(c) & used
    ]
    mask = all_of([*load.src[2:3], *asked])
    if mask is None:
        return load
    otherwise = load.src[3] if len(load.src) == 4 else UOp.const(load.dtype, 0)
    return load.replace(src=(*load.src[:2], mask, otherwise))


def _fused(step: UOp) -> UOp:
    """acc + a * b   ->   fma(a, b, acc): the one place where a sum of products is contracted."""
    if step.op is not Ops.ADD or not step.dtype.is_float:
        return step
    acc, term = step.src
    if acc.op is Ops.LOAD and term.op is Ops.MUL:
        return UOp(Ops.MULACC, step.dtype, (*term.src, acc))
    return step
