"""What DEBUG shows. In: events of scheduling, compiling and running. Out: lines on stderr, by level.

1 a line per schedule    2 a line per kernel, and compile time by stage    3 the moves    4 source    5 loop trees
6 LLVM IR    7 assembly
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from ingot.ir.text import tree_text
from ingot.kernel.nest import Kernel
from ingot.kernel.plan import Plan
from ingot.kernel.tree import Built
from ingot.runtime.objects import assembly
from ingot.target import Target

Marks = tuple[float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class Report:
    """Prints what its level asks for."""

    level: int = 0

    def line(self, level: int, text: str) -> None:
        if self.level >= level:
            print(text, file=sys.stderr)

    def compiled(self, kernel: Kernel, plan: Plan, built: Built, sources: list[str], marks: Marks, target: Target) -> None:
        """One kernel has been compiled."""
        if self.level < 2:
            return
        moves, tree, render, llvm = (1e3 * (b - a) for a, b in zip(marks, marks[1:], strict=False))
        self.line(2, f"compiled {kernel.name}: moves {moves:.1f}, tree {tree:.1f}, render {render:.1f}, LLVM {llvm:.1f} ms")
        self.line(3, "\n".join(f"  {move}" for move in plan.kernel.moves))
        if self.level >= 5:
            self.line(5, "\n".join(tree_text(k) for k in built.launches))
        for source in sources:
            self.line(6, source)
            if self.level >= 7:
                self.line(7, assembly(source, target))
