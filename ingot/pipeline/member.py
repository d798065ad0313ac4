"""Members of a family: what the binder must know of compiled kernels. In: text from the disk. Out: a Member.

Everything but the code is text and numbers, so that a Member can be stored next to its object file and used again
without building a single node.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ingot.pipeline.host import Number, evaluate


class Launch(NamedTuple):
    """One function call per chunk; chunks and scratch bytes as Python source over the sizes."""

    module: str  # key of its object
    function: str
    chunks: str
    scratch: str
    touches: tuple[int, ...] = ()  # its buffers: arguments, then temporaries
    writes: tuple[int, ...] = ()


class Member(NamedTuple):
    """One compiled variant of a family."""

    guards: tuple[str, ...]
    extra: tuple[tuple[str, str], ...]  # arguments that follow from the sizes
    arguments: tuple[str, ...]  # scalar arguments in order
    temporaries: tuple[tuple[int, str], ...]  # bytes per element, elements
    launches: tuple[Launch, ...]

    def fits(self, names: Mapping[str, Number]) -> bool:
        """May it run with these sizes?"""
        return all(evaluate(g, names) for g in self.guards)

    def complete(self, names: Mapping[str, Number]) -> dict[str, Number]:
        """The sizes with the arguments that follow from them."""
        all_names = dict(names)
        for name, text in self.extra:
            all_names[name] = evaluate(text, all_names)
        return all_names

    def text(self) -> str:
        return json.dumps(self)


def member_from_text(text: str) -> Member:
    """The inverse of `Member.text`."""
    guards, extra, arguments, temporaries, launches = json.loads(text)
    return Member(
        tuple(guards),
        tuple((name, value) for name, value in extra),
        tuple(arguments),
        tuple((width, count) for width, count in temporaries),
        tuple(_launch(*launch) for launch in launches),
    )


def _launch(
    module: str,
    function: str,
    chunks: str,
    scratch: str,
    touches: Sequence[int] = (),
    writes: Sequence[int] = (),
) -> Launch:
    return Launch(module, function, chunks, scratch, tuple(touches), tuple(writes))
