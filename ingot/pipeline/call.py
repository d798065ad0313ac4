"""A kernel with its arguments. In: a use of a family, and the member found for it. Out: words, launches, temporaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ingot.ir import dtype as dt
from ingot.pipeline.host import Number, evaluate
from ingot.pipeline.member import Launch, Member
from ingot.pipeline.recipe import Use

Address = Callable[[Launch], int]


class Call:
    """A member with its arguments: what all steps that use it so have in common."""

    __slots__ = ("cost", "launches", "member", "names", "words")

    def __init__(
        self,
        use: Use,
        member: Member,
        names: Mapping[str, Number],
        address: Address,
        cost: int,
    ) -> None:
        types = {value.name: value.dtype for value in use.values}
        self.member = member
        self.names = member.complete(names)
        self.words = [
            word(types.get(name, "index"), self.names[name])
            for name in member.arguments
        ]
        self.cost = cost
        self.launches = [
            self._launch(launch, address) for launch in member.launches
        ]

    def _launch(self, launch: Launch, address: Address) -> tuple[int, int, int]:
        """(function, chunks, bytes of scratch)"""
        return (
            address(launch),
            self._number(launch.chunks),
            self._number(launch.scratch),
        )

    def _number(self, text: str) -> int:
        return evaluate(text, self.names)

    def temporaries(self) -> list[int]:
        """Bytes of each."""
        return [
            width * self._number(count) for width, count in self.member.temporaries
        ]


def word(dtype: str, value: Number) -> int:
    """A scalar argument as the 64 bits that the kernel reads."""
    kind = dt.named(dtype)
    return dt.to_bits(kind, float(value)) if kind.is_float else int(value)
