"""What a program becomes over a batch, while it is being worked out. In: nodes and a table of rules. Out: lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp, set_spot
from ingot.ir.opcode import Ops
from ingot.ir.region import results
from ingot.ops.movement import Dim, broadcast_to, reshape


class Lane(NamedTuple):
    """A value inside the batch: with the batch as its first axis, or the same for every example."""

    node: UOp
    batched: bool


Rule = Callable[["Batch", UOp], "UOp | tuple[Lane, ...]"]


class Batch:
    """One batching: what each node has become so far."""

    def __init__(
        self, given: Mapping[UOp, UOp], length: Dim, rules: Mapping[Ops, Rule]
    ) -> None:
        self.length = length
        self.rules = rules
        self.made: dict[UOp, tuple[Lane, ...]] = {
            leaf: (Lane(node, True),) for leaf, node in given.items()
        }
        self.steady: set[UOp] = set()  # seen, and the same for every example
        self.bodies: dict[object, tuple[UOp, tuple[bool, ...]]] = {}

    def inside(self, roots: Sequence[UOp], given: Mapping[UOp, UOp]) -> list[Lane]:
        """Another program over the same batch: the body of a function."""
        walk = Batch(given, self.length, self.rules)
        walk.bodies = self.bodies
        return walk.lanes(roots)

    def lanes(self, roots: Sequence[UOp]) -> list[Lane]:
        """What these nodes become."""
        self.visit(UOp(Ops.SINK, dt.void, tuple(roots)))
        return [self.lane(root) for root in roots]

    def visit(self, root: UOp) -> None:
        """Everything below that depends on the batch, sources first. A function is entered where it is called."""
        made, steady = self.made, self.steady
        for node in root.toposort(
            lambda u: u.op is not Ops.FUNCTION and u not in made and u not in steady
        ):
            if node in made:
                continue
            closed = node.op is Ops.FUNCTION  # its parameters are its own
            if not closed and any(s in made for s in node.src):
                made[node] = self._result(node)
                for lane in made[node]:
                    keep_spot(node, lane.node)
            else:
                steady.add(node)

    def _result(self, node: UOp) -> tuple[Lane, ...]:
        gathers = node.op in (Ops.RESULT, Ops.SINK)
        if not gathers and not any(map(self.is_batched, node.src)):
            same = tuple(self.lane(s).node for s in node.src)
            return tuple(Lane(p, False) for p in parts(node.replace(src=same)))
        rule = self.rules.get(node.op)
        if rule is None:
            raise ArgumentError(
                f"vmap: {node.op.name} has no meaning over a batch",
                fix="compute it outside of the function that is mapped, and pass it in",
            )
        found = rule(self, node)
        return (Lane(found, True),) if isinstance(found, UOp) else found

    def lane(self, node: UOp) -> Lane:
        """What a node with one result has become."""
        found = self.made.get(node)
        return Lane(node, False) if found is None else found[0]

    def is_batched(self, node: UOp) -> bool:
        """The node differs from example to example."""
        return any(lane.batched for lane in self.made.get(node, ()))

    def plain(self, node: UOp) -> UOp:
        """A value that has to be the same for every example: a size."""
        made, batched = self.lane(node)
        if batched:
            raise ArgumentError(
                "vmap: a size differs from example to example",
                fix="all results need one shape: mask or pad in place of selecting",
            )
        return made

    def full(self, node: UOp) -> UOp:
        """The value with the batch in front, repeated if it is the same for every example."""
        return self.spread(self.lane(node))

    def spread(self, lane: Lane) -> UOp:
        """A lane with the batch in front."""
        if lane.batched:
            return lane.node
        row = reshape(lane.node, (1, *lane.node.shape))
        return broadcast_to(row, self.shape(lane.node))

    def shape(self, node: UOp) -> tuple[Dim, ...]:
        """The shape of a node once it has the batch in front."""
        return (self.length, *node.shape)


def parts(node: UOp) -> tuple[UOp, ...]:
    """Each result of a node."""
    return (node,) if len(node.results) == 1 else results(node)


def keep_spot(node: UOp, made: UOp) -> None:
    """What stands for a node was written where the node was: errors at evaluation name that line."""
    if node.spot is not None and made.spot is None:
        set_spot(made, node.spot)


def every_result(node: UOp) -> tuple[Lane, ...]:
    """The results of a node, all with the batch in front."""
    return tuple(Lane(made, True) for made in results(node))
