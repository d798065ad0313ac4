"""Fusion: which nodes are stored in memory, and why. In: the roots of a primitive graph. Out: kernels in running order.

Every node is computed where it is read unless there is a reason to store it; the reason is kept for `ingot why`. A reduction
stays in its reader's kernel if the reader asks for it exactly at its own loop counters, so that nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import ELEMENTWISE, Ops
from ingot.kernel.nest import Kernel, Nest, Store
from ingot.kernel.structure import contraction, streams
from ingot.schedule.nests import Draft, draft
from ingot.schedule.prices import PRICES, Prices
from ingot.schedule.region import Region, region_of

LEAVES = frozenset(
    {Ops.BUFFER, Ops.CONST, Ops.PARAM, Ops.DEFINE_VAR, Ops.BIND, Ops.STATE, Ops.OP}
)
CAPS = (
    160,
    1,
)  # operations in a kernel at most: as many as fit, or, if compiling would cost more than it saves, one


@dataclass(slots=True)
class Fusion:
    """The choice made for a graph: stored nodes with their reasons, and a draft per kernel, sources first."""

    roots: tuple[UOp, ...]
    reasons: dict[UOp, str] = field(default_factory=dict)
    drafts: list[Draft] = field(default_factory=list)


def fuse(roots: Sequence[UOp], prices: Prices = PRICES) -> Fusion:
    """Choose what is stored, then draft the kernels."""
    graph = _Graph(tuple(dict.fromkeys(roots)))
    reasons, regions = _cheapest(graph, prices)
    fusion = Fusion(tuple(roots), reasons)
    for node in [u for u in graph.order if u in reasons and 0 not in u.shape]:
        _draft_until_legal(graph, fusion, node, regions)
    fusion.drafts.sort(key=lambda d: graph.position[d.outputs[0]])
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
            nodes[region.root] = output
            buffers = tuple([nodes[u] for u in made.buffers])
            own = Draft(made.kernel, buffers, (output,), made.reductions)
            fusion.drafts.append(own)
            continue
        inside, reason = broken
        reduction = next(old for old, new in region.became.items() if new is inside)
        apart = graph.epilogue(reduction)
        if apart in fusion.reasons:
            apart = reduction
        fusion.reasons[apart] = reason
        waiting.extend((output, apart))


class _Graph:
    """The nodes below the roots, in order, with their readers."""

    def __init__(self, roots: tuple[UOp, ...]) -> None:
        self.roots = roots
        sink = UOp(Ops.SINK, dt.void, roots)
        self.order = [u for u in sink.toposort() if u is not sink]
        self.position = {u: n for n, u in enumerate(self.order)}
        self.readers: dict[UOp, list[UOp]] = {u: [] for u in self.order}
        for node in self.order:
            for source in dict.fromkeys(node.src):
                self.readers[source].append(node)

    def regions(self, reasons: dict[UOp, str]) -> dict[UOp, Region]:
        """The region of every stored node."""
        return {u: region_of(u, reasons) for u in self.order if u in reasons}

    def stored(self, prices: Prices, cap: int) -> dict[UOp, str]:
        """Nodes that must be stored whatever their kernel looks like; no kernel has more than `cap` operations."""
        reasons: dict[UOp, str] = {}
        owners: dict[UOp, frozenset[UOp]] = {}
        crowd: dict[UOp, int] = {}
        for node in reversed(self.order):
            mine = self._owners(node, reasons, owners)
            owners[node] = mine
            reason = self._reason(node, mine, crowd, prices)
            if (
                not reason
                and node.op in ELEMENTWISE
                and any(crowd[o] >= cap for o in mine)
            ):
                reason = f"its kernel has {cap} operations already"
            if reason:
                reasons[node] = reason
                crowd[node] = 1
            elif node.op in ELEMENTWISE:
                for owner in mine:
                    crowd[owner] += 1
        return reasons

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
        if node.op in LEAVES or node.dtype is dt.void or not owners:
            return ""
        if node.op is Ops.CONTIGUOUS:
            return "contiguous() asks for storage"
        if node.op in (Ops.REDUCE, Ops.RESULT) and len(owners) > 1:
            return f"a reduction that {len(owners)} kernels read"
        if (
            node.op in ELEMENTWISE
            and len(owners) > 1
            and prices.recompute(node) > prices.store(node)
        ):
            return f"{len(owners)} kernels read it, and computing it again costs more than storing it"
        return ""

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
        if isinstance(nest.body, Store):
            continue
        reason = _misfit(kernel, nest)
        if reason:
            return made.reductions[nest.id], reason
    return None


def _misfit(kernel: Kernel, nest: Nest) -> str:
    along = 0
    for reader, read in kernel.readers(nest):
        counters = [kernel.loops[a].counter for a in reader.loops]
        if any(at not in counters for at in read.src) or len(set(read.src)) != len(
            read.src
        ):
            return "it is read at other places than the reader's loop counters"
        used = {a for a in reader.loops if kernel.loops[a].counter in read.src}
        if not _nested(kernel, reader, used):
            return (
                "its axes and those of another reduction cannot both be outer loops"
            )
        along += bool(used & set(reader.reduced))
        if contraction(kernel, reader) and not streams(kernel):
            return "it feeds a contraction, whose operands are packed from memory"
    if along > 1 and not streams(kernel):
        return f"{along} reductions run along it"
    return ""


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
