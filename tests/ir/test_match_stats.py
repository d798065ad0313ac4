"""TRACK_MATCH_STATS: counts and times by rule, and the rule that made a node."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from ingot.ir.match_stats import last_rule, report
from ingot.ir.node import UOp
from ingot.ir.pattern import PatternMatcher, UPat
from ingot.ir.rewrite import graph_rewrite
from ingot.settings import child_environment, settings

X = UOp.variable("x", 0, 10)
x, y = UPat.var("x"), UPat.var("y")
ROOT = str(Path(__file__).parents[2])
LINE = re.compile(r"^ *\d+ / +\d+ -- +\d+\.\d+ / +\d+\.\d+ ms -- \S.*$")


def test_counts_and_times() -> None:
    pm = PatternMatcher([(x + 5, x - 5), (x + y, lambda x: None)])
    with settings.override(track_match_stats=1):
        assert graph_rewrite((X + 5) * (X + 6), pm) is (X - 5) * (X + 6)
    first, second = pm.rules
    assert (first.matches, first.attempts) == (1, 2)
    assert (second.matches, second.attempts) == (0, 1)
    assert 0 < first.match_seconds <= first.total_seconds
    text = report()
    assert first.location in text
    assert all(LINE.match(line) for line in text.split("\n"))


def test_nothing_is_tracked_unless_asked() -> None:
    pm = PatternMatcher([(x + 5, x - 5)])
    graph_rewrite(X + 5, pm)
    assert pm.rules[0].attempts == 0


def test_the_last_rule_is_remembered_under_spec() -> None:
    pm = PatternMatcher([(x + 7, x - 7)])
    with settings.override(spec=1):
        made = graph_rewrite(X + 7, pm)
    assert last_rule(made) == pm.rules[0].location
    assert last_rule(X) == ""


def test_printed_at_exit_dearest_first() -> None:
    source = (
        "from ingot.ir.node import UOp; from ingot.ir.algebra import simplify\n"
        "x = UOp.variable('x', 0, 10); simplify((x // 4) * 4 + x % 4 + (x * 3 + 1) // 3)"
    )
    environment = child_environment(TRACK_MATCH_STATS="2")
    done = subprocess.run(
        [sys.executable, "-c", source],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        check=True,
    )
    lines = [line for line in done.stdout.split("\n") if line]
    assert len(lines) > 10
    assert all(LINE.match(line) for line in lines)
    totals = [float(line.split(" / ")[2].split(" ms")[0]) for line in lines[:-1]]
    assert totals == sorted(totals, reverse=True)
    assert "algebra.py:" in done.stdout
