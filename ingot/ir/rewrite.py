"""Rewriting whole graphs. In: a root and a table of rules. Out: the root that no rule changes any more.

The walk keeps its own stack, so depth is no limit, and remembers what each node became, so a shared node costs once.
"""

from __future__ import annotations

from collections.abc import Mapping

from ingot.errors import IngotError
from ingot.ir.match_stats import last_rule, matcher_of
from ingot.ir.node import UOp, set_spot, uop
from ingot.ir.pattern import Matcher, PatternMatcher

__all__ = ["RewriteError", "graph_rewrite", "substitute"]

LONGEST_CHAIN = 2000  # rewrites of one node before we call the table endless
STEPS_PER_NODE = 100  # rewrites of a whole graph, for each node that it has


class RewriteError(IngotError, RuntimeError):
    """A table of rules that does not come to rest."""


def graph_rewrite(
    sink: UOp,
    pm: PatternMatcher,
    ctx: object = None,
    bottom_up: bool = False,
    name: str = "",
) -> UOp:
    """Applies rules until none matches. Sources first, then the node; `bottom_up`: the node first, then its sources."""
    walk = _Walk(sink, matcher_of(pm), ctx, name)
    return walk.node_first() if bottom_up else walk.sources_first()


class _Walk:
    """One rewriting of one graph.

    `done[n]` is what n became for good. `became[n]` is the form that n, still on the stack, has now.
    """

    def __init__(
        self, root: UOp, table: list[Matcher], ctx: object, name: str
    ) -> None:
        self.root = root
        self.table = table
        self.ctx = ctx
        self.name = name
        self.done: dict[UOp, UOp] = {}
        self.became: dict[UOp, UOp] = {}
        self.turns: dict[UOp, int] = {}
        self.steps = 0
        self.budget = 20_000

    def sources_first(self) -> UOp:
        done, became, table, ctx = self.done, self.became, self.table, self.ctx
        stack = [self.root]
        while stack:
            node = stack[-1]
            form = became.get(node, node)
            if form in done:
                done[node] = done[form]
                stack.pop()
                continue
            missing = [s for s in form.src if s not in done]
            if missing:
                self.enter(missing, stack)
                continue
            rebuilt = _rebuild(form, done)
            if rebuilt in done:
                done[form] = done[node] = done[rebuilt]
                stack.pop()
                continue
            changed = table[rebuilt.op](rebuilt, ctx)
            if changed is None:
                done[rebuilt] = done[form] = done[node] = rebuilt
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
            form = became.get(node, node)
            if form in done:
                done[node] = done[form]
                stack.pop()
                continue
            if form not in settled:
                changed = table[form.op](form, ctx)
                if changed is not None:
                    self.follow(node, changed)
                    continue
                settled.add(form)
            missing = [s for s in form.src if s not in done]
            if missing:
                self.enter(missing, stack)
                continue
            rebuilt = _rebuild(form, done)
            if rebuilt is form:
                done[form] = done[node] = form
                stack.pop()
            else:
                self.follow(node, rebuilt)
        return done[self.root]

    def enter(self, missing: list[UOp], stack: list[UOp]) -> None:
        """Visits sources. One that has changed but is not done waits for us: a graph that would grow for ever."""
        for source in missing:
            if source in self.became:
                raise self.endless(source)
        stack.extend(reversed(missing))

    def follow(self, node: UOp, changed: UOp) -> None:
        """`node` has the form `changed` now, which is rewritten in turn."""
        self.became[node] = changed
        self.turns[node] = self.turns.get(node, 0) + 1
        self.steps += 1
        if self.turns[node] > LONGEST_CHAIN or (
            self.steps > self.budget and self.spent()
        ):
            raise self.endless(node)

    def spent(self) -> bool:
        """More rewrites than a graph of this size can need."""
        self.budget = max(self.budget, STEPS_PER_NODE * len(self.root.toposort()))
        return self.steps > self.budget

    def endless(self, node: UOp) -> RewriteError:
        where = f" in {self.name}" if self.name else ""
        forms = [node]
        while len(forms) < 6:
            changed = self.table[forms[-1].op](
                forms[-1], self.ctx
            ) or self.became.get(forms[-1])
            if changed is None:
                break
            forms.append(changed)
        steps = "\n  -> ".join(f"{_brief(u)} {last_rule(u)}" for u in forms)
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
            return uop(
                node.op,
                node.dtype,
                tuple([done[s] for s in src]),
                node.arg,
                node.tag,
            )
    return node


def substitute(root: UOp, mapping: Mapping[UOp, UOp]) -> UOp:
    """The graph with some nodes replaced; what replaces them is not entered."""
    done: dict[UOp, UOp] = dict(mapping)
    stack = [root]
    while stack:
        node = stack.pop()
        if node in done:
            continue
        for source in node.src:
            if source not in done:
                stack.append(node)
                stack.extend(node.src)
                break
        else:
            made = done[node] = _rebuild(node, done)
            if made.spot is None and node.spot is not None:
                set_spot(made, node.spot)
    return done[root]
