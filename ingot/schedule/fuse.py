"""Fusion: which nodes are stored in memory, and why. In: the roots of a primitive graph. Out: kernels in running order.

Every node is computed where it is read unless there is a reason to store it; the reason is kept for `ingot why`. A reduction
stays in its reader's kernel if the reader asks for it exactly at its own loop counters, so that nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import ELEMENTWISE, MOVEMENT, REGION, Ops, ResultArg
from ingot.ir.region import shallow
from ingot.kernel.nest import Kernel, Nest, Prefix, Store
from ingot.kernel.skeleton.table import is_algorithm
from ingot.kernel.structure import contraction, streams
from ingot.schedule.algorithms import by_algorithm, drafted_algorithm, in_memory
from ingot.schedule.nests import Draft, draft, stored_by
from ingot.schedule.prices import PRICES, Prices
from ingot.schedule.region import Region, region_of

LEAVES = frozenset(
    {Ops.BUFFER, Ops.CONST, Ops.PARAM, Ops.DEFINE_VAR, Ops.BIND, Ops.STATE, Ops.OP}
)
CAPS = (
    160,
    1,
)  # operations in a kernel at most: as many as fit, or, if compiling would cost more than it saves, one
LONG = 64  # so many operations are worth a kernel of their own

EFFECTS = REGION | {Ops.ASSERT}


@dataclass(slots=True)
class Effect:
    """What runs between kernels: an assertion, or a region with those of its results that are read, and its bodies."""

    node: UOp
    results: dict[int, UOp]
    bodies: tuple[Fusion, ...] = ()


@dataclass(slots=True)
class Fusion:
    """The choice made for a graph: stored nodes with their reasons, and a draft per kernel, sources first."""

    roots: tuple[UOp, ...]
    reasons: dict[UOp, str] = field(default_factory=dict)
    drafts: list[Draft] = field(default_factory=list)
    steps: list[Draft | Effect] = field(default_factory=list)  # in running order

    def everywhere(self) -> Iterator[Fusion]:
        """This one, then those of the bodies in it."""
        yield self
        for step in self.steps:
            if isinstance(step, Effect):
                for body in step.bodies:
                    yield from body.everywhere()


def fuse(
    roots: Sequence[UOp], prices: Prices = PRICES, checks: Sequence[UOp] = ()
) -> Fusion:
    """Choose what is stored, then draft the kernels. `checks` are assertions: what they read is computed first."""
    graph = _Graph(tuple(dict.fromkeys(roots)), tuple(checks))
    reasons, regions = _cheapest(graph, prices)
    fusion = Fusion(tuple(roots), reasons)
    for node in [u for u in graph.written(reasons) if 0 not in u.shape]:
        _draft_until_legal(graph, fusion, node, regions)
    for node in [u for u in graph.order if u.op is Ops.PREFIX and 0 not in u.shape]:
        _draft_until_legal(graph, fusion, node, regions)
    for node in filter(is_algorithm, graph.order):
        if any(0 not in shape for _, shape in node.results):
            fusion.drafts.append(drafted_algorithm(node))
    fusion.drafts.sort(key=graph.place)
    fusion.steps = [*fusion.drafts, *graph.effects()]
    fusion.steps.sort(key=graph.place)
    return fusion


def _cheapest(
    graph: _Graph, prices: Prices
) -> tuple[dict[UOp, str], dict[UOp, Region]]:
    """What to store, with kernels as large as they pay: many different kernels take long to compile."""
    best = graph.stored(prices, CAPS[0])
    if len(best) <= MANY_KERNELS:
        return best, {}
    choices = [best, *(graph.stored(prices, cap) for cap in CAPS[1:])]
    regions = [graph.regions(reasons) for reasons in choices]
    spent = [_price(found, prices) for found in regions]
    cheapest = spent.index(min(spent))
    return choices[cheapest], regions[cheapest]


MANY_KERNELS = 32


def _price(regions: dict[UOp, Region], prices: Prices) -> float:
    different = {r.root: r.size for r in regions.values() if not is_known(r.root)}
    return prices.kernels(len(regions), list(different.values()))


def _draft_until_legal(
    graph: _Graph, fusion: Fusion, node: UOp, regions: dict[UOp, Region]
) -> None:
    """Draft a kernel; store what cannot stay inside it, as a kernel of its own, and draft again."""
    waiting = [node]
    while waiting:
        output = waiting.pop()
        region = regions.pop(output, None) or region_of(output, fusion.reasons)
        made, broken = drafted(region)
        if broken is None:
            nodes = {param: leaf for leaf, param in region.leaves.items()}
            inner, outer = stored_by(region.root), stored_by(output)
            nodes |= dict(zip(inner, outer, strict=True))
            buffers = tuple([nodes[u] for u in made.buffers])
            own = Draft(made.kernel, buffers, outer, made.reductions)
            fusion.drafts.append(own)
            continue
        inside, reason = broken
        apart = graph.apart(inside, made, region, fusion.reasons)
        fusion.reasons[apart] = reason
        waiting.extend((output, apart))


class _Graph:
    """The nodes below the roots, in order, with their readers."""

    def __init__(self, roots: tuple[UOp, ...], checks: tuple[UOp, ...]) -> None:
        self.roots = roots
        sink = UOp(Ops.SINK, dt.void, (*checks, *roots))
        self.order = [
            u for u in shallow(sink) if u is not sink and u.op is not Ops.FUNCTION
        ]
        self.position = {u: n for n, u in enumerate(self.order)}
        self.readers: dict[UOp, list[UOp]] = {u: [] for u in self.order}
        for node in self.order:
            for source in dict.fromkeys(node.src):
                if source.op is not Ops.FUNCTION:
                    self.readers[source].append(node)

        # All that leads to these has room in their kernel.
        self.fitting: set[UOp] = set()
        # Parts of how a reduction combines: they are no values.
        self.combining: set[UOp] = set()
        for node in self.order:
            is_part = not self.combining.isdisjoint(node.src)
            if node.op is Ops.STATE or (is_part and node.op in ELEMENTWISE):
                self.combining.add(node)
        self.read_whole = {
            in_memory(s) for u in self.order if is_algorithm(u) for s in u.src
        }
        self.chain: dict[
            UOp, int
        ] = {}  # operations one after the other, from memory
        for node in self.order:
            below = max(
                (self.chain[s] for s in node.src if s in self.chain), default=0
            )
            self.chain[node] = below + (node.op in ELEMENTWISE)

    def written(self, reasons: dict[UOp, str]) -> list[UOp]:
        """The stored nodes that kernels write."""
        return [
            u
            for u in self.order
            if u in reasons and not is_result(u) and not by_algorithm(u)
        ]

    def regions(self, reasons: dict[UOp, str]) -> dict[UOp, Region]:
        """The region of every stored node."""
        return {u: region_of(u, reasons) for u in self.written(reasons)}

    def effects(self) -> list[Effect]:
        """Regions and assertions, with the results that are read."""
        found = {u: Effect(u, {}) for u in self.order if u.op in EFFECTS}
        for node in self.order:
            if is_result(node):
                index = cast(ResultArg, node.arg).index
                found[node.src[0]].results[index] = node
        return list(found.values())

    def place(self, step: Draft | Effect) -> int:
        """Where a step comes in the order."""
        if isinstance(step, Effect):
            return self.position[step.node]
        first = step.outputs[0]
        return self.position[
            first.src[0]
            if by_algorithm(first) and first.op is Ops.RESULT
            else first
        ]

    def stored(self, prices: Prices, cap: int) -> dict[UOp, str]:
        """Nodes that must be stored whatever their kernel looks like; no kernel has more than `cap` operations."""
        reasons: dict[UOp, str] = {}
        owners: dict[UOp, frozenset[UOp]] = {}
        crowd: dict[UOp, int] = {}
        for node in reversed(self.order):
            mine = self._owners(node, reasons, owners)
            owners[node] = mine
            reason = self._reason(node, mine, crowd, prices)
            if not reason and node.op in ELEMENTWISE and node not in self.combining:
                reason = self._crowded(node, max(crowd[o] for o in mine), cap)
            if reason:
                reasons[node] = reason
                crowd[node] = 1
            elif node.op in ELEMENTWISE:
                for owner in mine:
                    crowd[owner] += 1
        return reasons

    def _crowded(self, node: UOp, operations: int, cap: int) -> str:
        """Why a kernel of so many operations takes no more; one that would be cut in the middle is cut before it."""
        if operations >= cap:
            return f"its kernel has {cap} operations already"
        if not self.fitting.isdisjoint(self.readers[node]):
            self.fitting.add(node)
            return ""
        own = self._length(node, cap + 1)
        if own <= cap - operations:
            self.fitting.add(node)
        elif LONG <= own <= cap:
            return f"its {own} operations do not fit into a kernel that has {operations}"
        return ""

    def _length(self, node: UOp, limit: int) -> int:
        """How many operations lead to a node from what is in memory; no more than `limit` are counted."""
        if self.chain[node] >= limit:
            return limit
        seen, stack, count = {node}, [node], 0
        while stack and count < limit:
            here = stack.pop()
            if here.op is Ops.REDUCE:
                return limit
            count += here.op in ELEMENTWISE
            fresh = [s for s in here.src if s not in seen and s.op not in LEAVES]
            seen.update(fresh)
            stack.extend(fresh)
        return count

    def _owners(
        self, node: UOp, reasons: dict[UOp, str], owners: dict[UOp, frozenset[UOp]]
    ) -> frozenset[UOp]:
        """The stored nodes whose kernels compute this one."""
        found: set[UOp] = set()
        for reader in self.readers[node]:
            found.update((reader,) if reader in reasons else owners[reader])
        return frozenset(found)

    def _reason(
        self,
        node: UOp,
        owners: frozenset[UOp],
        crowd: dict[UOp, int],
        prices: Prices,
    ) -> str:
        if node in self.roots:
            return "asked for"
        outside = self._outside(node)
        if outside or node.op in LEAVES or node.dtype is dt.void or not owners:
            return outside
        if node.op is Ops.CONTIGUOUS:
            return "contiguous() asks for storage"
        if node.op in (Ops.REDUCE, Ops.RESULT) and len(owners) > 1:
            return f"a reduction that {len(owners)} kernels read"
        if node.op is Ops.TAKE and (len(owners) > 1 or self._repeated(node)):
            return "a gather whose values are read more than once"
        if node.op in ELEMENTWISE and self._is_long_and_repeated(node):
            return "many operations, whose result is read again and again"
        if (
            node.op in ELEMENTWISE
            and len(owners) > 1
            and node not in self.combining
            and prices.recompute(node) > prices.store(node)
        ):
            return f"{len(owners)} kernels read it, and computing it again costs more than storing it"
        return ""

    def _outside(self, node: UOp) -> str:
        """Why a value has to lie in memory because of what runs between kernels."""
        if is_result(node):
            return f"a result of {node.src[0].op.name.lower()}"
        if by_algorithm(node):
            return "an algorithm, or a running value, stores it"
        if node.op in (Ops.PARAM, Ops.BUFFER):
            return ""
        if node in self.read_whole:
            return "an algorithm reads it from memory"
        user = next((r for r in self.readers[node] if r.op in EFFECTS), None)
        return "" if user is None else f"{user.op.name.lower()} reads it"

    def _is_long_and_repeated(self, node: UOp) -> bool:
        """An operand of a contraction that would be computed for every tile."""
        moves = any(r.op in MOVEMENT for r in self.readers[node])
        return (
            moves
            and LONG <= self._length(node, 4 * LONG) < 4 * LONG
            and self._repeated(node)
        )

    def _repeated(self, node: UOp) -> bool:
        """Some reader asks for the same element again and again, as the operands of a contraction are."""
        waiting = [node]
        while waiting:
            for reader in self.readers[waiting.pop()]:
                if reader.op is Ops.EXPAND and 0 not in reader.shape:
                    return True
                if reader.op in MOVEMENT or reader.op in ELEMENTWISE:
                    waiting.append(reader)
        return False

    def apart(
        self,
        inside: UOp,
        made: Draft,
        region: Region,
        stored: Mapping[UOp, str],
    ) -> UOp:
        """What to store so that a misfit leaves its kernel: the misfit with its epilogue, or itself.

        A misfit that is what its kernel stores stays: then the first other reduction goes.
        """
        others = set(made.reductions.values()) - {inside}
        nodes = {new: old for old, new in region.became.items()}
        for new in (inside, *(u for u in region.became.values() if u in others)):
            for value in self._values(nodes[new]):
                for choice in (self.epilogue(value), value):
                    if choice not in stored:
                        return choice
        raise AssertionError("every reduction of a kernel is stored")

    def _values(self, reduction: UOp) -> Sequence[UOp]:
        """What can be stored of a reduction: itself, or those of its results that are read."""
        if reduction.dtype is not dt.void:
            return (reduction,)
        return [u for u in self.readers[reduction] if u.op is Ops.RESULT]

    def epilogue(self, node: UOp) -> UOp:
        """The last elementwise node that only this reduction leads to: what a stored reduction stores."""
        while len(self.readers[node]) == 1:
            reader = self.readers[node][0]
            if (
                reader.op not in ELEMENTWISE
                or reader.dtype.itemsize > node.dtype.itemsize
            ):
                break
            node = reader
        return node


def is_result(node: UOp) -> bool:
    """What a region wrote: it lies in memory, and no kernel computes it."""
    return node.op is Ops.RESULT and node.src[0].op in REGION


_drafts: dict[UOp, tuple[Draft, tuple[UOp, str] | None]] = {}
KEPT_DRAFTS = 8192


def is_known(root: UOp) -> bool:
    """A region that was drafted before, so its kernel is compiled already."""
    return root in _drafts


def drafted(region: Region) -> tuple[Draft, tuple[UOp, str] | None]:
    """The draft of a region, and what cannot stay in it. The same region is drafted once."""
    key = region.root
    if key not in _drafts:
        if len(_drafts) >= KEPT_DRAFTS:
            _drafts.pop(next(iter(_drafts)))
        made = draft("kernel", (region.root,), lambda u: False)
        _drafts[key] = made, misfit(made)
    return _drafts[key]


def misfit(made: Draft) -> tuple[UOp, str] | None:
    """A reduction that cannot stay in this kernel, and why."""
    kernel = made.kernel
    for nest in kernel.nests:
        if isinstance(nest.body, Store | Prefix):
            continue
        reason = _misfit(kernel, nest)
        if reason:
            return made.reductions[nest.id], reason
    return None


def _misfit(kernel: Kernel, nest: Nest) -> str:
    along = 0
    for reader, read in kernel.readers(nest):
        if isinstance(reader.body, Prefix):
            return "a running value reads it from memory"
        counters = [kernel.loops[a].counter for a in reader.loops]
        if any(at not in counters for at in read.src) or len(set(read.src)) != len(
            read.src
        ):
            return "it is read at other places than the reader's loop counters"
        if _contracts(kernel, nest) and _is_part(kernel, nest, read):
            return "only a part of it is read, and tiles are made for all of it"
        used = {a for a in reader.loops if kernel.loops[a].counter in read.src}
        if not _nested(kernel, reader, used):
            return (
                "its axes and those of another reduction cannot both be outer loops"
            )
        along += bool(used & set(reader.reduced))
        if used & set(reader.reduced) and _is_summed(kernel, reader):
            return (
                "what sums it up is summed up itself, and would be computed again"
            )
        if _contracts(kernel, nest) and _splits_rows(kernel, nest, reader, used):
            return "a reduction runs along it, and a tile has only a part of a row"
        if contraction(kernel, reader) and not streams(kernel):
            return "it feeds a contraction, whose operands are packed from memory"
    if along > 1 and not streams(kernel):
        return f"{along} reductions run along it"
    if _has_rival(kernel, nest):
        return (
            "a contraction is in its kernel, and the tiles are made for that alone"
        )
    return ""


def _splits_rows(kernel: Kernel, nest: Nest, reader: Nest, used: set[int]) -> bool:
    """A reduction over some axes of a contraction that others read too, or that is one of a batch: tiles cannot wait."""
    some = used & set(reader.reduced)
    if not some or some == used or streams(kernel):
        return False
    return len(nest.dims) > 2 or len(list(kernel.readers(nest))) > 1


def _is_summed(kernel: Kernel, nest: Nest) -> bool:
    """Another reduction runs along this one's results."""
    if isinstance(nest.body, Store) or streams(kernel):
        return False
    for reader, read in kernel.readers(nest):
        reduced = {kernel.loops[axis].counter for axis in reader.reduced}
        if reduced & set(read.src):
            return True
    return False


def _has_rival(kernel: Kernel, nest: Nest) -> bool:
    """A reduction beside a contraction that it does not read: the last contraction stays, all others go."""
    if streams(kernel):
        return False
    tiled = [n for n in kernel.nests if _contracts(kernel, n)]
    if not tiled or nest is tiled[-1]:
        return False
    users = [user.id for n in tiled for user, _ in kernel.readers(n)]
    return _contracts(kernel, nest) or nest.id not in users


def _is_part(kernel: Kernel, nest: Nest, read: UOp) -> bool:
    """The reader's loops are shorter than those of the nest."""
    lengths = {loop.counter: loop.extent for loop in kernel.loops.values()}
    own = [kernel.loops[axis].extent for axis in nest.dims]
    return [lengths[at] for at in read.src] != own


def _contracts(kernel: Kernel, nest: Nest) -> bool:
    return not isinstance(nest.body, Store) and bool(contraction(kernel, nest))


def _nested(kernel: Kernel, reader: Nest, used: set[int]) -> bool:
    """The axis sets of all reductions that `reader` reads form a chain."""
    for other in kernel.nests:
        for user, read in (
            kernel.readers(other) if not isinstance(other.body, Store) else ()
        ):
            if user.id != reader.id:
                continue
            theirs = {
                a for a in reader.loops if kernel.loops[a].counter in read.src
            }
            if not (used <= theirs or theirs <= used):
                return False
    return True
