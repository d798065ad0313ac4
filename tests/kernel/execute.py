"""Running a kernel of nests. In: a Kernel, arrays, sizes. Out: the arrays, written by interpreter or compiled code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.interpret_tree import run_tree
from ingot.ir.node import UOp
from ingot.ir.opcode import KernelArg, VarArg
from ingot.ir.spec import KERNEL, verify
from ingot.ir.text import tree_text
from ingot.kernel.decompose import decompose
from ingot.kernel.launches import Built
from ingot.kernel.nest import Kernel
from ingot.kernel.tree import build
from ingot.pipeline.host import evaluate, source
from tests.render.native import call, compiled

Array = np.ndarray[Any, Any]
Sizes = Mapping[str, int | float]


def built(kernel: Kernel) -> Built:
    """The loop trees, checked by the spec of their level."""
    made = build(kernel)
    for launch in made.launches:
        verify(launch, KERNEL, "after build")
    return made


def text(kernel: Kernel) -> str:
    """The moves and the loop trees as a person reads them."""
    trees = [tree_text(launch) for launch in build(kernel).launches]
    return "\n\n".join(["\n".join(kernel.moves), *trees]) + "\n"


def number(expression: UOp, sizes: Sizes) -> int:
    """A size expression's value."""
    return evaluate(source(expression), sizes)


def temporaries(made: Built, sizes: Sizes) -> list[Array]:
    """Memory between launches, filled with what nobody should read."""
    return [
        poison(number(count, sizes), dtype) for dtype, count in made.temporaries
    ]


def poison(count: int, dtype: dt.DType) -> Array:
    made = np.zeros(count, dt.to_numpy(dtype))
    made.view(np.uint8)[:] = 0xCB
    return made


def interpret(
    kernel: Kernel | Built,
    buffers: Sequence[Array],
    sizes: Sizes,
    fold: str = "sequence",
) -> None:
    """The meaning of the loop trees; `buffers` are written in place. Chunks run last first: any order must do."""
    made = built(kernel) if isinstance(kernel, Kernel) else kernel
    between = temporaries(made, sizes)
    for launch in made.launches:
        chunks = number(cast(KernelArg, launch.arg).chunks, sizes)
        run_tree(
            launch,
            [*buffers, *between],
            sizes,
            chunk_order=range(chunks)[::-1],
            fold=fold,
        )


class Native:
    """The same by compiled code."""

    def __init__(self, kernel: Kernel, language: str = "llvm") -> None:
        self.made = built(kernel)
        self.functions = [
            compiled(decompose(launch), language) for launch in self.made.launches
        ]

    def run(self, buffers: Sequence[Array], sizes: Sizes) -> None:
        between = temporaries(self.made, sizes)
        for launch, function in zip(
            self.made.launches, self.functions, strict=True
        ):
            arg = cast(KernelArg, launch.arg)
            scalars = [sizes[cast(VarArg, s.arg).name] for s in arg.sizes]
            chunks, scratch = number(arg.chunks, sizes), number(arg.scratch, sizes)
            call(function, [*buffers, *between], scalars, chunks, scratch)
