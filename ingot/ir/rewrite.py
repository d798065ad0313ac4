"""Rewriting whole graphs. In: a root and a table of rules. Out: the root that no rule changes any more.

The walk keeps its own stack, so depth is no limit, and remembers what each node became, so a shared node costs once.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingot.errors import IngotError
from ingot.ir.match_stats import last_rule, matcher_of
from ingot.ir.node import UOp, uop
from ingot.ir.pattern import Matcher, PatternMatcher

__all__ = ["RewriteError", "graph_rewrite", "substitute"]

LONGEST_CHAIN = 2000  # rewrites of one node before we call the table endless
STEPS_PER_NODE = 100  # rewrites of a whole graph, for each node that it has


class RewriteError(IngotError, RuntimeError):
    """A table of rules that does not come to rest."""


def graph_rewrite(sink: UOp, pm: PatternMatcher, ctx: object = None, bottom_up: bool = False, name: str = "") -> UOp:
    """Applies rules until none matches. Sources first, then the node; `bottom_up`: the node first, then its sources."""
    walk = _Walk(sink, matcher_of(pm), ctx, name)
    return walk.node_first() if bottom_up else walk.sources_first()


class _Walk:
    """One rewriting of one graph.

    `done[n]` is what n became for good. `became[n]` is the node that n turned into and whose own result it waits for.
    """

    def __init__(self, root: UOp, table: list[Matcher], ctx: object, name: str) -> None:
        self.root = root
        self.table = table
        self.ctx = ctx
        self.name = name
        self.done: dict[UOp, UOp] = {}
        self.became: dict[UOp, UOp] = {}
        self.chain: dict[UOp, int] = {}
        self.steps = 0
        self.budget = 200_000

    def sources_first(self) -> UOp:
        done, became, table, ctx = self.done, self.became, self.table, self.ctx
        stack = [self.root]
        while stack:
            node = stack[-1]
            if node in done:
                stack.pop()
                continue
            if node in became:
                self.settle(node, stack)
                continue
            missing = [s for s in node.src if s not in done]
            if missing:
                self.enter(missing, stack)
                continue
            rebuilt = _rebuild(node, done)
            if rebuilt in done:
                done[node] = done[rebuilt]
                continue
            changed = table[rebuilt.op](rebuilt, ctx)
            if changed is None:
                done[rebuilt] = done[node] = rebuilt
                stack.pop()
            else:
                self.follow(node, changed)
        return done[self.root]

    def node_first(self) -> UOp:
        done, became, table, ctx = self.done, self.became, self.table, self.ctx
        stack = [self.root]
        settled: set[UOp] = set()
        while stack:
            node = stack[-1]
            if node in done:
                stack.pop()
                continue
            if node in became:
                self.settle(node, stack)
                continue
            if node not in settled:
                changed = table[node.op](node, ctx)
                if changed is not None:
                    self.follow(node, changed)
                    continue
                settled.add(node)
            missing = [s for s in node.src if s not in done]
            if missing:
                self.enter(missing, stack)
                continue
            rebuilt = _rebuild(node, done)
            if rebuilt is node:
                done[node] = node
                stack.pop()
            else:
                self.follow(node, rebuilt)
        return done[self.root]

    def enter(self, missing: list[UOp], stack: list[UOp]) -> None:
        """Visits sources. One that waits for what it became, which is what we are working on, would grow for ever."""
        for source in missing:
            if source in self.became:
                raise self.endless(source)
        stack.extend(reversed(missing))

    def follow(self, node: UOp, changed: UOp) -> None:
        """`node` became `changed`, which is rewritten in turn."""
        length = self.chain.get(node, 0) + 1
        self.steps += 1
        if length > LONGEST_CHAIN or (self.steps > self.budget and self.spent()):
            raise self.endless(node)
        self.chain[changed] = max(length, self.chain.get(changed, 0))
        self.became[node] = changed

    def spent(self) -> bool:
        """More rewrites than a graph of this size can need."""
        self.budget = max(self.budget, STEPS_PER_NODE * len(self.root.toposort()))
        return self.steps > self.budget

    def settle(self, node: UOp, stack: list[UOp]) -> None:
        """Takes over the result of what `node` became, or visits that first."""
        changed = self.became[node]
        if changed in self.done:
            self.done[node] = self.done[changed]
            stack.pop()
        elif changed in self.became:
            raise self.endless(changed)
        else:
            stack.append(changed)

    def endless(self, node: UOp) -> RewriteError:
        where = f" in {self.name}" if self.name else ""
        turns = [node]
        while turns[-1] in self.became and len(turns) < 6:
            turns.append(self.became[turns[-1]])
        steps = "\n  -> ".join(f"{_brief(u)} {last_rule(u)}" for u in turns)
        return RewriteError(
            f"endless rewrite{where}: no rule may make a node that leads back to it\n  {steps}",
            fix="set SPEC=1 to see the rules, and give one of them a condition",
        )


def _brief(node: UOp) -> str:
    return f"{node.op.name}({', '.join(s.op.name for s in node.src)})"


def _rebuild(node: UOp, done: dict[UOp, UOp]) -> UOp:
    """The node over what its sources became."""
    src = node.src
    for source in src:
        if done[source] is not source:
            return uop(node.op, node.dtype, tuple([done[s] for s in src]), node.arg, node.tag)
    return node


def substitute(root: UOp, mapping: Mapping[UOp, UOp]) -> UOp:
    """The graph with some nodes replaced; what replaces them is not entered."""
    done: dict[UOp, UOp] = dict(mapping)
    stack = [root]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        missing = [s for s in node.src if s not in done]
        if missing:
            stack.extend(missing)
            continue
        done[node] = _rebuild(node, done)
        stack.pop()
    return done[root]
