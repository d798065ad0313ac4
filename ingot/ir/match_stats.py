"""What the rules did: counts, times, and the last rule that touched a node. In: settings. Out: matchers with notes.

TRACK_MATCH_STATS=1 counts; 2 prints at exit, the dearest rule first,

    matches / attempts -- match_time / total_time ms -- file:line

With SPEC on, each node made by a rule remembers that rule, so that a spec fault can name it.
"""

from __future__ import annotations

import atexit
import time
import weakref

from ingot.ir.node import UOp
from ingot.ir.opcode import Ops
from ingot.ir.pattern import Matcher, PatternMatcher, Rule
from ingot.settings import settings

_seen: dict[Rule, None] = {}
_last_rule: weakref.WeakKeyDictionary[UOp, str] = weakref.WeakKeyDictionary()
_tracked: weakref.WeakKeyDictionary[PatternMatcher, list[Matcher]] = (
    weakref.WeakKeyDictionary()
)


def matcher_of(pm: PatternMatcher) -> list[Matcher]:
    """The table's matchers by opcode: plain ones, or such as take notes."""
    runtime = settings.runtime
    if not runtime.track_match_stats and not runtime.spec:
        return pm.table
    if runtime.track_match_stats >= 2:
        _print_at_exit()
    if pm not in _tracked:
        _tracked[pm] = [
            _tracking(pm.rules_for(Ops(op))) if op else _tracking([])
            for op in range(len(Ops) + 1)
        ]
    return _tracked[pm]


def last_rule(node: UOp) -> str:
    """Where the rule stands that made this node, "" if none did or SPEC was off."""
    return _last_rule.get(node, "")


def report() -> str:
    """One line a rule, the dearest first."""
    rules = sorted((r for r in _seen if r.attempts), key=lambda r: -r.total_seconds)
    lines = [_line(rule) for rule in rules]
    matches, attempts = (
        sum(r.matches for r in rules),
        sum(r.attempts for r in rules),
    )
    matched, total = (
        sum(r.match_seconds for r in rules),
        sum(r.total_seconds for r in rules),
    )
    lines.append(
        f"{matches:8d} / {attempts:8d} -- {matched * 1e3:9.2f} / {total * 1e3:9.2f} ms -- all rules"
    )
    return "\n".join(lines)


def _line(rule: Rule) -> str:
    times = f"{rule.match_seconds * 1e3:9.2f} / {rule.total_seconds * 1e3:9.2f} ms"
    return f"{rule.matches:8d} / {rule.attempts:8d} -- {times} -- {rule.location}"


def _tracking(rules: list[Rule]) -> Matcher:
    def match(node: UOp, ctx: object) -> UOp | None:
        for rule in rules:
            made = _timed(rule, node, ctx)
            if made is not None:
                _last_rule[made] = rule.location
                return made
        return None

    _seen.update(dict.fromkeys(rules))
    return match


def _timed(rule: Rule, node: UOp, ctx: object) -> UOp | None:
    start = time.perf_counter()
    made = rule.apply(node, ctx)
    spent = time.perf_counter() - start
    rule.attempts += 1
    rule.total_seconds += spent
    if made is not None:
        rule.matches += 1
        rule.match_seconds += spent
    return made


class _Exit:
    registered = False


def _print_at_exit() -> None:
    if not _Exit.registered:
        _Exit.registered = True
        atexit.register(lambda: print(report()))
