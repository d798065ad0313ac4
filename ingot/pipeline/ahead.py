"""Work of a loop that is the same in every turn. In: the kernels of a loop's body. Out: launches that run once, before it.

A contraction packs one operand in a launch of its own. Where that operand is a value from outside of the loop, a weight
say, it is packed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ingot.pipeline.call import Call
from ingot.pipeline.recipe import Step
from ingot.runtime.program import Slot


class Ahead(NamedTuple):
    """The launches of a kernel in a loop that are the same in every turn: they run once, before it.

    What they write are temporaries, which then live as long as the loop.
    """

    step: int
    launches: frozenset[int]
    temporaries: dict[int, int]  # number -> bytes


class Done(NamedTuple):
    """Launches of a kernel that ran before the loop, and where they left what."""

    launches: frozenset[int]
    rooms: dict[int, Slot]


NOTHING = Done(frozenset(), {})


def launches_ahead(number: int, step: Step, call: Call, still: set[int]) -> Ahead:
    """The launches of one kernel that touch nothing but what is still, and temporaries that no later one writes."""
    count = len(step.buffers)
    fixed = {n for n, buffer in enumerate(step.buffers) if buffer in still}
    launches = call.member.launches
    early: set[int] = set()
    for index, launch in enumerate(launches[:-1]):
        inside = set(launch.touches) - fixed
        later = {slot for other in launches[index + 1 :] for slot in other.writes}
        made_before = {slot for n in early for slot in launches[n].writes}
        own = set(launch.writes)
        if not launch.touches or min(inside, default=count) < count:
            continue
        if later.isdisjoint(own) and inside <= own | made_before:
            early.add(index)
    sizes = call.temporaries()
    written = {slot - count for n in early for slot in launches[n].writes}
    return Ahead(number, frozenset(early), {t: sizes[t] for t in written})


def still(count: int, changed: Sequence[int]) -> frozenset[int]:
    """The parameters of a loop's body that no turn changes."""
    return frozenset(range(count)) - frozenset(changed)
