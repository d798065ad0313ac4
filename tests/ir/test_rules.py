"""Every rewrite rule of the simplifier by itself: both sides mean the same on random values of every type it takes."""

from __future__ import annotations

import pytest

from ingot.ir import dtype as dt
from ingot.ir.algebra import symbolic
from ingot.ir.pattern import PatternMatcher, Rule, UPat
from tests.ir.rule_samples import FLOATS, INTS, Sampler, disagreement, well_typed

INSTANCES = 1000  # nodes tried at most
ENOUGH = 60  # matches that are compared


def _name(rule: Rule) -> str:
    return f"{rule.location.rsplit('/', 1)[-1]}"


@pytest.mark.parametrize("rule", symbolic.rules, ids=_name)
def test_rule_keeps_meaning(rule: Rule) -> None:
    sampler = Sampler(seed=7)
    matched = 0
    for _ in range(INSTANCES):
        node = sampler.instance(rule)
        if not well_typed(node):
            continue
        made = rule.apply(node)
        if made is None:
            continue
        matched += 1
        if matched > ENOUGH:
            break
        wrong = disagreement(sampler, node, made)
        assert not wrong, f"{rule} at {rule.location}: {wrong}"
    assert matched >= 20, (
        f"{rule} at {rule.location} was matched by {matched} of {INSTANCES} instances"
    )


f, i, x = UPat.var("f", FLOATS), UPat.var("i", INTS), UPat.var("x")
k, h = UPat.var("k", dt.index), UPat.var("h", dt.index)
FALSE = {
    "x*0 is nan for inf": (f * 0.0, UPat.const(None, 0.0)),
    "x + 0.0 loses the sign of -0.0": (f + 0.0, f),
    "x/x is nan for 0": (f / f, UPat.const(None, 1.0)),
    "x - x is nan for inf": (f - f, UPat.const(None, 0.0)),
    "x == x is false for nan": (f.eq(f), UPat.const(dt.boolean, True)),
    "-(a - b) has another zero than b - a": (
        -(f - UPat.var("g", FLOATS)),
        UPat.var("g", FLOATS) - f,
    ),
    "x//x is 0 for 0": (i // i, UPat.const(None, 1)),
    "(x + n)//n needs n > 0": (
        (i + UPat.cvar("n", INTS)) // UPat.cvar("n", INTS),
        i // UPat.cvar("n", INTS) + 1,
    ),
    "(x*2)//2 wraps": ((i * 2) // 2, i),
    "(x//a)%b is not x//(a*b)": ((k // 3) % 4, k // 12),
    "x % n is not x for negative x": (k % 4, k, lambda k: k.vmax < 4),
    "k < h is not k - 1 < h": (k < h, (k - 1) < h),
    "max of a nan": (
        f.maximum(UPat.var("g", FLOATS)),
        (UPat.var("g", FLOATS) < f).where(f, UPat.var("g", FLOATS)),
    ),
}


@pytest.mark.parametrize("name", FALSE)
def test_a_false_rule_is_found(name: str) -> None:
    (rule,) = PatternMatcher([FALSE[name]]).rules
    sampler = Sampler(seed=3)
    for _ in range(INSTANCES):
        node = sampler.instance(rule)
        made = rule.apply(node) if well_typed(node) else None
        if made is not None and disagreement(sampler, node, made):
            return
    pytest.fail(f"nothing contradicts {rule}")
