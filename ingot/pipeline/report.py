"""What DEBUG shows. In: events of scheduling, compiling and running. Out: lines on stderr, by level.

1 a line per schedule    2 a line per kernel, and compile time by stage    3 the moves    4 source in C    5 loop trees
6 LLVM IR    7 assembly
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from ingot.place import Place, spot_here


class Report:
    """Prints what its level asks for."""

    __slots__ = ("level",)

    def __init__(self, level: int = 0) -> None:
        self.level = level

    def line(self, level: int, text: str) -> None:
        if self.level >= level:
            print(text, file=sys.stderr)

    def lines(self, level: int, write: Callable[[], Iterable[str]]) -> None:
        """Text that is dear to write, and written only if it is shown."""
        if self.level >= level:
            for text in write():
                print(text, file=sys.stderr)

    def scheduled(self, kernels: int, seconds: float, hit: bool, key: str) -> None:
        if self.level >= 1:
            found = "cache hit" if hit else "CACHE MISS"
            self.line(
                1,
                f"scheduled {kernels} kernels in {1e3 * seconds:.2f} ms | {found} | {key} | {user_line()}",
            )

    def ran(self, label: str, nanoseconds: int, flops: int, nbytes: int) -> None:
        """Operations and bytes are estimates of what the kernel has to do; bytes per nanosecond are GB per second."""
        rates = f"{flops / max(nanoseconds, 1):9.2f} GFLOP/s {nbytes / max(nanoseconds, 1):9.2f} GB/s"
        self.line(2, f"{label:32} {nanoseconds / 1e3:12.2f} us {rates}")


def user_line() -> str:
    """The line outside of this package that asked for the value."""
    spot = spot_here()
    return Place.of(spot).where if spot is not None else "the command line"
