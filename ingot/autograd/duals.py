"""Values with their rates of change, while they are being worked out. In: nodes and a table of rules. Out: duals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

from ingot.autograd.lanes import keep_spot, parts
from ingot.errors import ArgumentError
from ingot.ir import dtype as dt
from ingot.ir.node import UOp
from ingot.ir.opcode import Ops, ResultArg
from ingot.ops.elementwise import constant

Tangent = UOp | None  # None: it does not change
Tangents = tuple[Tangent, ...]


class Dual(NamedTuple):
    """A value, and how it changes as the inputs move along their tangents."""

    primal: UOp
    tangent: Tangent


# A rule sees the node over its sources as they are now, and their tangents: at least one is there.
Rule = Callable[["Forward", UOp, Tangents], "Tangent | tuple[Dual, ...]"]


class Forward:
    """One pass forward: what each node has become so far. What depends on no tangent is not kept here."""

    def __init__(
        self, tangents: Mapping[UOp, UOp], rules: Mapping[Ops, Rule]
    ) -> None:
        self.rules = rules
        self.made: dict[UOp, tuple[Dual, ...]] = {
            node: (Dual(node, tangent),) for node, tangent in tangents.items()
        }
        self.steady: set[UOp] = set()
        self.bodies: dict[object, tuple[UOp, tuple[bool, ...]]] = {}

    def inside(
        self, roots: Sequence[UOp], tangents: Mapping[UOp, UOp]
    ) -> list[Dual]:
        """Another program with inputs of its own: the body of a function."""
        walk = Forward(tangents, self.rules)
        walk.bodies = self.bodies
        return walk.duals(roots)

    def duals(self, roots: Sequence[UOp]) -> list[Dual]:
        """What these nodes become."""
        self.visit(UOp(Ops.SINK, dt.void, tuple(roots)))
        return [self.dual(root) for root in roots]

    def visit(self, root: UOp) -> None:
        """Everything below that changes, sources first. A function is entered where it is called."""
        made, steady = self.made, self.steady
        for node in root.toposort(
            lambda u: u.op is not Ops.FUNCTION and u not in made and u not in steady
        ):
            if node in made:
                continue
            closed = node.op is Ops.FUNCTION  # its parameters are its own
            if not closed and any(s in made for s in node.src):
                self._add(node, self._result(node))
            else:
                steady.add(node)

    def _add(self, node: UOp, duals: tuple[Dual, ...]) -> None:
        self.made[node] = duals
        for dual in duals:
            keep_spot(node, dual.tangent or dual.primal)
        primal = duals[0].primal
        if len(duals) == 1 and primal is not node:
            self.made[primal] = duals

    def _result(self, node: UOp) -> tuple[Dual, ...]:
        if node.op is Ops.SINK:
            return tuple(self.dual(s) for s in node.src)
        if node.op is Ops.RESULT:
            return (self.component(node),)
        now = self.now(node)
        tangents = tuple(self.tangent(s) for s in node.src)
        if all(t is None for t in tangents) or not _changes(node):
            return tuple(Dual(r, None) for r in parts(now))
        rule = self.rules.get(node.op)
        if rule is None:
            raise ArgumentError(
                f"jvp: {node.op.name} has no derivative",
                fix="stop the derivative before it with .detach()",
            )
        found = rule(self, now, tangents)
        return found if isinstance(found, tuple) else (Dual(now, found),)

    def now(self, node: UOp) -> UOp:
        """The node over its sources as they are now."""
        sources = tuple(self.dual(s).primal for s in node.src)
        return node if sources == node.src else node.replace(src=sources)

    def component(self, node: UOp) -> Dual:
        """What one result of a node has become."""
        return self.made[node.src[0]][cast(ResultArg, node.arg).index]

    def dual(self, node: UOp) -> Dual:
        """What a node has become; a node with several results is found by its RESULTs."""
        found = self.made.get(node)
        return Dual(node, None) if found is None else found[0]

    def tangent(self, node: UOp) -> Tangent:
        """How a node changes."""
        return self.dual(node).tangent


def _changes(node: UOp) -> bool:
    """Whole numbers and truth values do not change by small steps."""
    return any(kind.is_float for kind, _ in node.results)


def duals_of(node: UOp, tangents: Sequence[Tangent]) -> tuple[Dual, ...]:
    """Each result of a node with its tangent."""
    return tuple(Dual(p, t) for p, t in zip(parts(node), tangents, strict=True))


def zeros(like: UOp) -> UOp:
    """The tangent of what does not change, where one has to be there."""
    return constant(0, like.dtype, like.shape)


def total(tangents: Sequence[Tangent]) -> Tangent:
    """The sum of those that are there."""
    found: Tangent = None
    for tangent in tangents:
        if found is None:
            found = tangent
        elif tangent is not None:
            found = found + tangent
    return found
